"""Predictions that were served for rows whose labels came later.

A model that learns such a row takes the gradient at its present weights, and is charged
for the prediction that it made when the row came: sums of losses, and what depends on
losses, are those of predictions that were served.
"""

from itertools import pairwise

import numpy as np

from ..blocks import Predictions

# Share of predictions by which those of several rows at once may differ.
ROUNDING = 1e-9


class ServedRows:
    """Predictions of some rows by a model and all models within it.

    Learning exchanges them with the predictions that it makes: known rows are charged
    for these here, and those of all other rows are written here.

    Parameters
    ----------
    values : ndarray of shape (n, n_columns)
        Of each row what :attr:`Model.n_served` counts.
    is_known : ndarray of bool of shape (n,)
        Which rows were served.
    is_learned : bool, default=True
        Whether rows may be learned; otherwise they are all predicted only.
    """

    def __init__(self, values, is_known, is_learned=True):
        self.values, self.is_known, self.is_learned = values, is_known, is_learned

    @classmethod
    def unknown(cls, n, n_columns, is_learned=True):
        """Return room for the predictions of rows that were not served yet."""
        return cls(np.empty((n, n_columns)), np.zeros(n, dtype=bool), is_learned)

    def __getitem__(self, rows):
        return ServedRows(self.values[rows], self.is_known[rows], self.is_learned)

    def copy_from(self, other):
        """Copy all numbers of an object of the same size."""
        self.values[:], self.is_known[:] = other.values, other.is_known

    def columns(self, columns):
        """Return a slice of the columns."""
        return ServedRows(self.values[:, columns], self.is_known, self.is_learned)

    def split(self, *sizes):
        """Split the first columns into parts of given sizes."""
        ends = np.cumsum([0, *sizes]).tolist()
        return [self.columns(slice(*each)) for each in pairwise(ends)]

    def swap(self, numbers):
        """Exchange numbers of any kind, of shape (n, n_columns), at once."""
        np.copyto(self.values, numbers, where=~self.is_known[:, np.newaxis])
        return self.values.copy()

    def exchange(self, engine, predictions):
        """Return predictions that rows are charged for, of shape (n, n_columns).

        Predictions that are not finite stay as they are, to be refused.
        """
        charged = np.empty(predictions.shape)
        engine.run(_exchange, self.values, self.is_known, predictions, charged)
        return charged


def _exchange(values, is_known, predictions, charged):
    is_known = is_known[:, np.newaxis]
    np.copyto(values, predictions, where=~is_known)
    charged[:] = np.where(is_known & np.isfinite(predictions), values, predictions)


def find_late(charged, predictions, c, is_late):
    """Set `is_late` to 1 if rows that are learned are charged for other predictions."""
    rounding = ROUNDING * np.maximum(np.abs(charged), np.abs(predictions))
    is_other = (np.abs(charged - predictions) > rounding).any(axis=1) & (c > 0.0)
    is_late[0] = max(is_late[0], float(is_other.any()))


def exchange_predictions(engine, model, block, served, predicted):
    """Return :class:`Predictions` that rows are charged for, but for their losses.

    `is_late` of the model becomes 1 if they differ from its own.
    """
    n_outputs = predicted.predictions.shape[1]
    own, of_averages = served.split(n_outputs, n_outputs)
    charged = own.exchange(engine, predicted.predictions)
    pair, c = (charged, predicted.predictions), block.weights.given
    engine.run(find_late, *pair, c, model.is_late)
    averaged = predicted.averaged
    if averaged is not None:
        averaged = of_averages.exchange(engine, averaged)
    return Predictions(charged, averaged, predicted.losses)


def learn_served(engine, models, block, served, are_new=True):
    """Learn a block as `learn_together` does, but charge for what was served.

    Each of the models, which share a memory, or one, has its :class:`ServedRows`, if
    there are any. Returns the predictions that each is charged for.
    """
    if served is None:
        return models[0].learn_together(engine, models, block, are_new)
    sums = [(model.numbers[1:], np.empty(1)) for model in models]
    for total, before in sums:
        engine.run(np.copyto, before, total)
    found = models[0].learn_together(engine, models, block, are_new)
    charged = []
    of_models = zip(models, served, found, sums, strict=True)
    for model, own, predicted, (total, before) in of_models:
        predicted = exchange_predictions(engine, model, block, own, predicted)
        engine.run(np.copyto, total, before)
        arguments = model.loss, block, predicted.predictions, model.numbers
        losses = engine.compute_losses(*arguments)
        charged.append(predicted._replace(losses=losses))
    return charged

"""Experts of a mixture: how estimators of each kind learn and predict."""

from copy import copy, deepcopy

import numpy as np

from .._shards import columns_differ
from .._state import Part
from ..blocks import Block, RowWeights
from ..config import current_engine
from ..estimators.online_estimator import OnlineEstimator
from ..losses import as_targets, identity
from ..losses.methods import is_by_output
from ..models.linear import LinearModel
from ..models.local import LocalModel
from ..models.model import fill, ordered_blocks
from ..models.served import learn_served
from ..views import dense_view_of

#: An estimator from elsewhere predicts this many rows at once, then learns them.
CHUNK_ROWS = 256


class Expert(Part):
    """An estimator in a mixture.

    Parameters
    ----------
    sees_dense_view : bool, default=False
        Whether it learns the dense view of :class:`TableRows`.

    Attributes
    ----------
    is_native : bool
        Whether the estimator is one of this package, which predicts each row from all
        rows before. Others predict some rows at a time, and need `partial_fit` and one
        of :meth:`MixingScale.methods` only.
    """

    def __init__(self, name, estimator, mixing_scale, sees_dense_view=False):
        self.name = name
        self.sees_dense_view = sees_dense_view
        self.estimator = estimator
        self.mixing_scale = mixing_scale
        self.is_native = isinstance(estimator, OnlineEstimator)
        self.has_learned = False

    def begin(self, X, labels):
        """Create the model for the first rows, without learning them."""
        if self.is_native:
            self.method  # noqa: B018 - raises if there is none
            self.estimator._prepare(X, labels, None, **self._classes)

    def check_parameters(self):
        """Refuse an estimator whose parameters have changed."""
        if self.is_native:
            self.estimator._settle_parameters(begins=False)

    def view_of(self, rows):
        """Return rows, or a chunk of rows, in the view that the expert sees."""
        return rows.dense_view if self.sees_dense_view else rows

    def check_takes_classes(self):
        """Refuse an estimator that cannot take classes that come later."""
        if not self.is_native:
            raise ValueError(
                "new_classes='add' needs estimators of this package, which "
                f"{self.name!r} is not."
            )
        self.estimator._check_takes_classes()

    def add_classes(self, mixing_scale, is_new, has_begun):
        """Extend the estimator to more classes."""
        self.check_takes_classes()
        self.mixing_scale = mixing_scale
        if has_begun:
            self.estimator._add_classes(np.arange(is_new.size), is_new)

    @property
    def model(self):
        """Model of an estimator of this package; None for other estimators."""
        return getattr(self.estimator, "_model", None) if self.is_native else None

    @property
    def block_model(self):
        """Model, if it learns blocks of the mixture's rows; otherwise None.

        It does unless it weighs rows in its own way.
        """
        if getattr(self.estimator, "_weighs_classes", False):
            return None
        model = self.model
        return model if isinstance(model, LinearModel | LocalModel) else None

    # Learning.

    @property
    def n_served(self):
        """Number of columns of :class:`ServedRows`."""
        return self.model.n_served if self.is_native else self.mixing_scale.n_outputs

    @property
    def served_key(self):
        """Text that is the same for experts whose :class:`ServedRows` are alike."""
        own = type(self.estimator).__name__
        return f"{self.name}={self.model.served_key if self.is_native else own}"

    def learn_chunk(self, chunk, labels):
        """Predict rows, then learn them; return predictions and their losses."""
        engine = current_engine()
        if chunk.served is not None and not chunk.served.is_learned:
            predictions = self._serve(chunk)
        elif self.is_native:
            predictions = self._read(self.estimator._learn_chunk(chunk, self.method))
            self.has_learned = True
        else:
            X, c, answers = _in_double(chunk.X), chunk.sample_weight, []
            for rows in ordered_blocks(len(chunk), CHUNK_ROWS):
                given = None if c is None else c[rows]
                answers.append(self._predict_and_learn(X[rows], labels[rows], given))
            predictions = np.concatenate(answers)
            if chunk.served is not None:
                predictions = chunk.served.exchange(engine, predictions)
        scale, ones = self.mixing_scale, np.ones(len(chunk))
        y = as_targets(chunk.y, scale.loss, scale.n_outputs)
        block = Block((), None, y, RowWeights(ones, ones, ones, ones[:0]), None)
        losses = engine.compute_losses(scale.loss, block, predictions, np.zeros(2))
        return predictions, losses

    def _serve(self, chunk):
        """Predict rows that are not to be learned, see :meth:`Model.serve`."""
        if self.is_native:
            return self._read(self.estimator._serve_chunk(chunk, self.method))
        chunk.served.values[:] = predictions = self.predict(chunk.X)
        return predictions

    def shares_mixture_loss(self, predictions):
        """Whether model and mixture have the same loss of these predictions."""
        loss, of_mixture = self.model.loss, self.mixing_scale.loss
        fits = loss is of_mixture or identity(loss) == identity(of_mixture)
        return predictions.averaged is None and fits

    def mixture_predictions(self, engine, predictions, block):
        """Return predictions of its model for the mixture, and their losses."""
        if self.shares_mixture_loss(predictions):
            return predictions.reported, predictions.losses
        loss, scale, reported = self.model.loss, self.mixing_scale, predictions.reported
        y, mixed = block.targets, np.empty((len(reported), scale.n_outputs))
        engine.run(fill, mixed, scale.from_decision, reported, loss)
        if loss.joint != scale.loss.joint:
            y = scale.targets(block.targets)
            engine.run(fill, y, scale.targets, block.targets)
        elif is_by_output(scale.loss):
            y = np.empty(mixed.shape)
            engine.run(np.copyto, y, block.targets)
        block = block._replace(targets=y)
        return mixed, engine.compute_losses(scale.loss, block, mixed, np.zeros(2))

    # Predictions.

    def predict(self, X):
        """Predict rows."""
        if self.is_native:
            return self._read(self.estimator._predict_validated(X, self.method))
        if not self.has_learned:
            return np.zeros((X.shape[0], self.mixing_scale.n_outputs))
        return self._read(getattr(self.estimator, self.method)(_in_double(X)))

    @property
    def method(self):
        """Name of the method of the estimator that predicts."""
        methods = self.mixing_scale.methods(self.is_native)
        for method in methods:
            if hasattr(self.estimator, method):
                return method
        raise ValueError(
            f"The estimator {self.name!r} should have {' or '.join(methods)}."
        )

    # Restoring and merging.

    def _seen(self, X, features):
        return dense_view_of(X) if self.sees_dense_view else X, None

    def _undo(self, X):
        if self.is_native:
            return None
        before = deepcopy(self.estimator)
        return lambda: setattr(self, "estimator", before)

    def with_columns(self, placement, has_begun):
        """Return a copy for rows with other columns, to be merged."""
        if self.sees_dense_view:
            return self
        if not self.is_native:
            raise columns_differ(f"The expert {self.name!r}")
        expert = copy(self)
        if has_begun:
            expert.estimator = self.estimator._with_columns(placement)
        return expert

    @property
    def _classes(self):
        scale = self.mixing_scale
        if scale.n_classes is None:
            return {}
        return {"classes": np.arange(max(scale.n_classes, scale.n_outputs))}

    def _predict_and_learn(self, X, labels, sample_weight):
        """Predict, then learn rows, by a pipeline or an estimator from elsewhere."""
        keywords = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not self.has_learned:
            keywords |= self._classes
        try:
            if hasattr(self.estimator, "partial_fit_predict"):
                answer = self.estimator.partial_fit_predict(
                    X, labels, method=self.method, **keywords
                )
                predictions = self._read(answer)
            else:
                predictions = self.predict(X)
                self.estimator.partial_fit(X, labels, **keywords)
        except TypeError as error:
            if "unexpected keyword argument 'sample_weight'" not in str(error):
                raise
            raise TypeError(
                f"Underlying estimator {type(self.estimator).__name__} does not "
                "support sample weights."
            ) from error
        self.has_learned = True
        return predictions

    def _read(self, answer):
        answer = np.asarray(answer, dtype=np.float64)
        return self._checked(self.mixing_scale.read(answer, self.method))

    def _checked(self, predictions):
        if not np.isfinite(predictions).all():
            self._raise_not_finite()
        return predictions

    def _raise_not_finite(self):
        raise ValueError(
            f"The predictions of the estimator {self.name!r} contain NaN or infinity."
        )


# Functions of several experts, to be called perhaps in another thread. Those that learn
# return predictions of each expert, and their losses.


def learn_block(experts, block, served, are_new):
    """Learn a block of transformed rows, with models that share a memory, or one."""
    found = of_block(current_engine(), experts, block, served, are_new)
    for expert, (predictions, mixed, _) in zip(experts, found, strict=True):
        if not (predictions.all_finite and np.isfinite(mixed).all()):
            expert._raise_not_finite()
    return [mixed_and_losses for _, *mixed_and_losses in found]


def of_block(engine, experts, block, served=None, are_new=True):
    """Let models learn a block; return what each predicted, and for the mixture."""
    models = [expert.model for expert in experts]
    of_experts = learn_served(engine, models, block, served, are_new)
    return [
        (predictions, *expert.mixture_predictions(engine, predictions, block))
        for expert, predictions in zip(experts, of_experts, strict=True)
    ]


def learn_chunk(experts, chunk, labels):
    """Learn untransformed rows."""
    return [expert.learn_chunk(chunk, labels) for expert in experts]


def predict_transformed(experts, Z):
    """Predict transformed rows."""
    models = [expert.model for expert in experts]
    decisions = models[0].decisions_of_transformed(models, Z)
    return [
        each._checked(each.mixing_scale.from_decision(decision, each.model.loss))
        for each, decision in zip(experts, decisions, strict=True)
    ]


def predict(experts, X):
    """Predict untransformed rows."""
    return [expert.predict(X) for expert in experts]


def _in_double(X):
    """Convert rows to the precision that all experts take, chunk after chunk.

    scikit-learn's linear models keep to that of their first rows, and fail with others.
    """
    return X.astype(np.float64, copy=False)

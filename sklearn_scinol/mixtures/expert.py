"""Estimators in a mixture, and how each kind of them is asked and learns."""

from copy import deepcopy

import numpy as np

from ..blocks import Block, RowWeights
from ..config import current_engine
from ..engines import get_engine
from ..losses import as_targets
from ..models.base import ordered_blocks, snapshot
from ..models.linear import LinearModel

__all__ = [
    "CHUNK_ROWS",
    "Expert",
    "answer",
    "answer_transformed",
    "learn_block",
    "learn_rows",
]

# An expert that cannot predict row by row predicts so many at once, then learns them.
CHUNK_ROWS = 256


class Expert:
    """An estimator in a mixture.

    Parameters
    ----------
    name : str
    estimator : object
        Has `partial_fit`. One of this package, or a pipeline that ends in one, predicts
        each row from the model that has learned all rows before; any other some rows at
        a time.
    mixing_scale : MixingScale
        What is asked.
    """

    def __init__(self, name, estimator, mixing_scale):
        self.name = name
        self.estimator = estimator
        self.mixing_scale = mixing_scale
        self.is_native = hasattr(estimator, "_learn_validated")
        self.has_learned = False

    def begin(self, X, labels):
        """Get ready for the first rows, without learning them."""
        if self.is_native:
            self.method  # noqa: B018 - says what is missing
            self.estimator._prepare(X, labels, None, **self._classes)

    def check_takes_classes(self):
        """Refuse an estimator that cannot take classes that come later."""
        if not self.is_native:
            raise ValueError(
                "new_classes='add' needs estimators of this package, which "
                f"{self.name!r} is not."
            )
        self.estimator._check_takes_classes()

    @property
    def model(self):
        """The model of an estimator of this package; else None."""
        return getattr(self.estimator, "_model", None) if self.is_native else None

    @property
    def shared_model(self):
        """The model, if it takes blocks that other models take as well; else None."""
        model = self.model
        return model if self.takes_targets and model.shares_rows else None

    @property
    def takes_targets(self):
        """Whether its model is linear, and weighs rows as the mixture does."""
        weighs_classes = getattr(self.estimator, "_weighs_classes", False)
        return isinstance(self.model, LinearModel) and not weighs_classes

    def record_block(self, answers, block):
        """What it said of a block that it learned, and losses of the mixture's kind."""
        if not answers.all_finite:
            self._refuse()
        return self.mixture_predictions(answers, block)

    def shares_mixture_loss(self, answers):
        """Whether it says what it was charged for, by the loss of the mixture."""
        return answers.averaged is None and self.mixing_scale.has(self.model.loss)

    def mixture_predictions(self, answers, block):
        """What it said of a block that it learned, and losses of the mixture's kind."""
        model, said = self.estimator._model, answers.reported
        if self.shares_mixture_loss(answers):
            return said, answers.losses
        answer = self._checked(self.mixing_scale.of_decision(said, model.loss))
        y = block.targets
        if model.loss.joint != self.mixing_scale.loss.joint:
            y = as_targets(
                _codes(y), self.mixing_scale.loss, self.mixing_scale.n_outputs
            )
        return answer, self._losses(answer, block._replace(targets=y))

    def checkpoint(self, X):
        """How to undo what learning the rows `X` will do."""
        parts = [snapshot(self)]
        if self.is_native:
            model = self.estimator._model.checkpoint(X)
            before = vars(self.estimator).copy()
            parts += [lambda: vars(self.estimator).update(before), model]
        else:
            before = deepcopy(self.estimator)
            parts.append(lambda: setattr(self, "estimator", before))

        def restore():
            for part in parts:
                part()

        return restore

    def predict_and_learn(self, X, labels, sample_weight):
        """What it says of rows as they are, before it learns them; its losses.

        And the weights that rows have for an estimator of this package.
        """
        weights = None
        if self.is_native:
            answer, weights = self.estimator._learn_validated(
                X, labels, sample_weight, self.method
            )
            answer = self._read(answer)
            self.has_learned = True
        else:
            X, answers = _in_double(X), []
            for rows in ordered_blocks(X.shape[0], CHUNK_ROWS):
                c = None if sample_weight is None else sample_weight[rows]
                answers.append(self._answer_and_learn(X[rows], labels[rows], c))
            answer = np.concatenate(answers)
        y = labels.reshape(len(labels), -1) if labels.dtype.kind == "f" else labels
        y = as_targets(y, self.mixing_scale.loss, self.mixing_scale.n_outputs)
        ones = np.ones(len(y))
        block = Block((), None, y, RowWeights(ones, ones, ones[:0]), None)
        return answer, self._losses(answer, block), weights

    def read_decision(self, decision, block):
        """What it said of rows for itself, where its model predicted that; its losses.

        Of an estimator of this package.
        """
        answer = self._read(self.estimator._respond(decision, self.method))
        return answer, self._losses(answer, block)

    def answer_transformed(self, Z):
        """What it says of rows that are transformed."""
        model = self.estimator._model
        return self._checked(
            self.mixing_scale.of_decision(model.decision_of_transformed(Z), model.loss)
        )

    def answer(self, X):
        """What it says of rows."""
        if self.is_native:
            return self._read(self.estimator._answer_validated(X, self.method))
        if not self.has_learned:
            return self.mixing_scale.prior_prediction(X.shape[0])
        return self._read(getattr(self.estimator, self.method)(_in_double(X)))

    @property
    def method(self):
        """The method of the estimator that is asked."""
        methods = self.mixing_scale.methods(self.is_native)
        for method in methods:
            if hasattr(self.estimator, method):
                return method
        raise ValueError(
            f"The estimator {self.name!r} should have {' or '.join(methods)}."
        )

    @property
    def _classes(self):
        n_classes = self.mixing_scale.n_classes
        return {"classes": np.arange(n_classes)} if n_classes else {}

    def _answer_and_learn(self, X, labels, sample_weight):
        """What an estimator from elsewhere, or a pipeline, says before it learns."""
        keywords = {} if sample_weight is None else {"sample_weight": sample_weight}
        if not self.has_learned:
            keywords |= self._classes
        try:
            if hasattr(self.estimator, "partial_fit_predict"):
                answer = self.estimator.partial_fit_predict(
                    X, labels, method=self.method, **keywords
                )
                answer = self._read(answer)
            else:
                answer = self.answer(X)
                self.estimator.partial_fit(X, labels, **keywords)
        except TypeError as error:
            if "unexpected keyword argument 'sample_weight'" not in str(error):
                raise
            raise TypeError(
                f"Underlying estimator {type(self.estimator).__name__} does not "
                "support sample weights."
            ) from error
        self.has_learned = True
        return answer

    def _losses(self, answer, block):
        engine = get_engine(current_engine())
        return engine.charge(self.mixing_scale.loss, block, answer, 0.0)[0]

    def _read(self, answer):
        answer = np.asarray(answer, dtype=np.float64)
        return self._checked(self.mixing_scale.read(answer, self.method))

    def _checked(self, answer):
        if not np.isfinite(answer).all():
            self._refuse()
        return answer

    def _refuse(self):
        raise ValueError(
            f"The predictions of the estimator {self.name!r} contain NaN or infinity."
        )


# What a mixture asks of some experts at once, perhaps in another thread or process.
# Those that learn give back themselves, who may be copies then.


def learn_block(experts, block):
    """Learn a block of transformed rows with experts that make a team."""
    engine = get_engine(current_engine())
    models = [expert.estimator._model for expert in experts]
    of_experts = LinearModel.learn_stacked(engine, models, block)
    return [
        (expert, *expert.record_block(answers, block), block.weights.given)
        for expert, answers in zip(experts, of_experts, strict=True)
    ]


def learn_rows(experts, X, labels, sample_weight):
    """Learn rows as they are."""
    return [
        (expert, *expert.predict_and_learn(X, labels, sample_weight))
        for expert in experts
    ]


def answer_transformed(experts, Z):
    """What experts say of transformed rows."""
    return [expert.answer_transformed(Z) for expert in experts]


def answer(experts, X):
    """What experts say of rows as they are."""
    return [expert.answer(X) for expert in experts]


def _in_double(X):
    """Rows in the precision that all experts take, chunk after chunk.

    scikit-learn's linear models keep to that of their first rows, and fail with others.
    """
    return X.astype(np.float64, copy=False)


def _codes(y):
    """Indices of classes, from targets of one against the rest, or from themselves."""
    return y if y.ndim == 1 else y.argmax(axis=1)

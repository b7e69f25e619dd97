"""A mixture of experts, which are estimators: what they say, weighted by AdaHedge."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy, deepcopy
from functools import partial

import numpy as np
import sklearn
from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import ThreadingBackend, get_active_backend
from scipy.special import log_softmax

from ._config import config_context, get_config
from ._curves import point_after
from ._model import Model, ordered_blocks, weights_of
from .experts import AdaHedge

__all__ = ["MixtureModel"]

# Experts learn rows of so many entries in what they say before they meet: enough to
# forget what a meeting costs, few enough for what they say to stay in caches (2 MB).
BLOCK_ENTRIES = 2**18

# An expert that cannot predict row by row predicts so many at once, then learns them.
CHUNK_ROWS = 256

# What an expert from elsewhere holds to be impossible may happen all the same.
SMALLEST_LOG_PROBABILITY = np.log(np.finfo(np.float64).eps)

# Smaller probabilities are mixed as if they were this, which has a logarithm.
SMALLEST_PROBABILITY = 1e-300


class MeanOfPredictions:
    """Mixes predictions, each output by itself; with classes all by the same weights.

    A convex loss charges the mean no more than the mean of what it charges the experts.
    """

    def __init__(self, loss, n_outputs, n_classes):
        self.loss = loss
        self.n_outputs = n_outputs
        self.n_classes = n_classes

    def ignorance(self, n):
        """Answer of an expert that has learned nothing."""
        return np.zeros((n, self.n_outputs))

    def methods(self, is_ours):
        """Methods of estimators to ask, in this order."""
        return ("decision_function",) if self.n_classes else ("predict",)

    def read(self, answer, method):
        """Answer of a method of an estimator, as one of shape (n, n_outputs)."""
        return answer.reshape(len(answer), -1)

    def losses(self, answer, y):
        """Losses of shape (n_hedges, n)."""
        losses = self.loss.value(y, answer).T
        return losses.sum(axis=0, keepdims=True) if self.n_classes else losses

    def part(self, answer):
        """What the weighted mean is taken of."""
        return answer

    def decision(self, mean):
        """Prediction, as the loss takes it."""
        return mean


class MeanOfProbabilities:
    """Mixes probabilities. Answers are log odds, or logarithms of probabilities.

    The loss is convex in them, and more than that: the mixture is charged the mix loss
    for the learning rate 1, which is never more than the mean of the experts' losses
    and far less where these differ much.
    """

    def __init__(self, loss, n_outputs, n_classes):
        self.loss = loss
        self.n_outputs = n_outputs
        self.n_classes = n_classes

    def ignorance(self, n):
        """Answer of an expert that has learned nothing: all classes are the same."""
        if self.n_outputs == 1:
            return np.zeros((n, 1))
        return np.full((n, self.n_outputs), -np.log(self.n_classes))

    def methods(self, is_ours):
        """Methods of estimators to ask, in this order."""
        if not is_ours:
            return "predict_proba", "decision_function"
        if self.n_outputs == 1:
            return ("decision_function",)  # which is log odds
        return "predict_log_proba", "decision_function"

    def read(self, answer, method):
        """Answer of a method of an estimator, as one of shape (n, n_outputs)."""
        if method == "decision_function":
            answer = answer.reshape(len(answer), -1)
            return answer if self.n_outputs == 1 else log_softmax(answer, axis=1)
        if method == "predict_proba":
            with np.errstate(divide="ignore"):
                answer = np.maximum(np.log(answer), SMALLEST_LOG_PROBABILITY)
        return answer[:, 1:] - answer[:, :1] if self.n_outputs == 1 else answer

    def losses(self, answer, y):
        """Losses of shape (1, n)."""
        if self.n_outputs > 1:
            return -np.take_along_axis(answer, y[:, np.newaxis], axis=1).T
        return self.loss.value(y, answer).T

    def part(self, answer):
        """What the weighted mean is taken of: probabilities of all classes."""
        if self.n_outputs > 1:
            return np.maximum(np.exp(answer), SMALLEST_PROBABILITY)
        # Of the less likely class from its odds: one minus the other would be 0 soon.
        odds = np.exp(-np.abs(answer))
        probabilities = np.where(np.hstack([answer > 0.0, answer <= 0.0]), odds, 1.0)
        probabilities /= 1.0 + odds
        return np.maximum(probabilities, SMALLEST_PROBABILITY, out=probabilities)

    def decision(self, mean):
        """Prediction, as the loss takes it."""
        logarithms = np.log(mean)
        if self.n_outputs > 1:
            return logarithms
        return logarithms[:, 1:] - logarithms[:, :1]


class Expert:
    """An estimator in a mixture, and how it is asked.

    Parameters
    ----------
    name : str
    estimator : object
        Has `partial_fit`. One of this package predicts each row from the model that has
        learned all rows before; any other some rows at a time.
    mean : MeanOfPredictions or MeanOfProbabilities
    """

    def __init__(self, name, estimator, mean):
        self.name = name
        self.estimator = estimator
        self.mean = mean
        self.is_ours = hasattr(estimator, "_learn_validated")
        self.has_learned = False

    def checkpoint(self):
        """Copy that goes on from here, whatever the expert learns from now on."""
        other = copy(self)
        if self.is_ours:
            other.estimator = copy(self.estimator)
            other.estimator._model = self.estimator._model.checkpoint()
            other.estimator.loss_curve_ = self.estimator.loss_curve_.copy()
        else:
            other.estimator = deepcopy(self.estimator)
        return other

    def is_small_beside(self, X):
        """Whether a checkpoint costs little beside learning from the rows."""
        return not self.is_ours or self.estimator._model.is_small_beside(X)

    def predict_and_learn(self, X, y, labels, sample_weight):
        """Predict rows, then learn them, as chunks if need be.

        Returns
        -------
        expert : Expert
            The expert, which has learned: itself, unless another process did this.
        part : ndarray of shape (n, n_outputs or n_classes)
            What it said of the rows, as it is mixed.
        losses : ndarray of shape (n_hedges, n)
        """
        if self.is_ours:
            answer = self._answer_and_learn(X, labels, sample_weight)
        else:
            answers = []
            for rows in ordered_blocks(X.shape[0], CHUNK_ROWS):
                c = None if sample_weight is None else sample_weight[rows]
                answers.append(self._answer(X[rows]))
                self._learn(X[rows], labels[rows], c)
            answer = np.concatenate(answers)
        return self, self.mean.part(answer), self.mean.losses(answer, y)

    def predict(self, X):
        """What it says of rows, as it is mixed."""
        return self.mean.part(self._answer(X))

    def _answer_and_learn(self, X, labels, sample_weight):
        if self.has_learned:
            answer = self.estimator._learn_validated(
                X, labels, sample_weight, self._method
            )
        else:
            answer = self.estimator.partial_fit_predict(
                X, labels, method=self._method, **self._keywords(sample_weight)
            )
        self.has_learned = True
        return self._read(answer)

    def _learn(self, X, labels, sample_weight):
        try:
            self.estimator.partial_fit(X, labels, **self._keywords(sample_weight))
        except TypeError as error:
            if "unexpected keyword argument 'sample_weight'" not in str(error):
                raise
            raise TypeError(
                f"Underlying estimator {type(self.estimator).__name__} does not "
                "support sample weights."
            ) from error
        self.has_learned = True

    def _keywords(self, sample_weight):
        keywords = {} if sample_weight is None else {"sample_weight": sample_weight}
        if self.mean.n_classes and not self.has_learned:
            keywords["classes"] = np.arange(self.mean.n_classes)
        return keywords

    def _answer(self, X):
        if not self.has_learned:
            return self.mean.ignorance(X.shape[0])
        if self.is_ours:
            return self._read(self.estimator._answer_validated(X, self._method))
        return self._read(getattr(self.estimator, self._method)(X))

    @property
    def _method(self):
        methods = self.mean.methods(self.is_ours)
        for method in methods:
            if hasattr(self.estimator, method):
                return method
        raise ValueError(
            f"The estimator {self.name!r} should have {' or '.join(methods)}."
        )

    def _read(self, answer):
        answer = self.mean.read(np.asarray(answer, dtype=np.float64), self._method)
        if not np.isfinite(answer).all():
            raise ValueError(
                f"The predictions of the estimator {self.name!r} contain NaN or "
                "infinity."
            )
        return answer


class MixtureModel(Model):
    """Experts with their weights.

    With a loss that has a link the mean of the experts' probabilities is taken, with
    any other that of their predictions.

    Parameters
    ----------
    estimators : list of (str, estimator)
        The experts.
    loss : Loss
        The loss, with its parameters.
    n_outputs : int
        Number of outputs.
    n_classes : int or None
        None in regression, where each output has weights of its own.

    Attributes
    ----------
    n_jobs : int or None
        How many experts learn or predict at once.
    experts : list of Expert
    hedges : list of AdaHedge
        One for each set of weights.
    points : list of int
        Numbers of rows after which the weights were recorded.
    curve : list of ndarray of shape (n_hedges, n_experts)
        Those weights.
    """

    def __init__(self, estimators, loss, n_outputs, n_classes):
        super().__init__(loss, n_outputs)
        mean = MeanOfPredictions
        if hasattr(loss, "log_probabilities"):
            mean = MeanOfProbabilities
        self.mean = mean(loss, n_outputs, n_classes)
        self.n_jobs = None
        self.experts = [Expert(*named, self.mean) for named in estimators]
        n_hedges = 1 if n_classes else n_outputs
        self.hedges = [AdaHedge(len(estimators)) for _ in range(n_hedges)]
        self.points = []
        self.curve = []

    def learn(self, X, targets, sample_weight=None, order=None, again=False):
        with self._workers() as of_each:
            for rows in self._blocks(X, order):
                y = targets(rows)
                c = None
                if sample_weight is not None:
                    c = weights_of(rows, len(y), sample_weight)
                results = of_each("predict_and_learn", X[rows], y, self._labels(y), c)
                self.experts, parts, losses = map(list, zip(*results, strict=True))
                weights = self._learn_weights(np.stack(losses), c)
                predictions = self._mix(parts, weights)
                self._suffer(y, np.ones(len(y)) if c is None else c, predictions)
                yield rows, predictions

    def decision(self, X):
        p = np.empty((X.shape[0], self.n_outputs))
        weights = self.weights[:, np.newaxis]
        with self._workers() as of_each:
            for rows in self._blocks(X):
                p[rows] = self._mix(of_each("predict", X[rows]), weights)
        return p

    def checkpoint(self):
        other = copy(self)
        other.experts = [expert.checkpoint() for expert in self.experts]
        other.hedges = deepcopy(self.hedges)
        other.points, other.curve = self.points.copy(), self.curve.copy()
        return other

    def is_small_beside(self, X):
        return all(expert.is_small_beside(X) for expert in self.experts)

    @property
    def weights(self):
        """Weights of the next row, of shape (n_hedges, n_experts)."""
        return np.stack([hedge.weights_ for hedge in self.hedges])

    def _blocks(self, X, order=None):
        size = BLOCK_ENTRIES // (1 + (self.mean.n_classes or self.n_outputs))
        return ordered_blocks(X.shape[0], max(size, 1), order)

    @contextmanager
    def _workers(self):
        """Give a function that calls a method of all experts, some at a time."""
        n_jobs = effective_n_jobs(self.n_jobs)
        backend, _ = get_active_backend(prefer="threads")
        call = partial(_call, get_config(), sklearn.get_config())
        if n_jobs == 1:
            yield lambda method, *arguments: [
                getattr(expert, method)(*arguments) for expert in self.experts
            ]
        elif type(backend) is ThreadingBackend:
            # Where joblib would look for results every 10 ms only.
            with ThreadPoolExecutor(n_jobs) as pool:
                yield lambda method, *arguments: list(
                    pool.map(
                        lambda expert: call(expert, method, *arguments), self.experts
                    )
                )
        else:
            with Parallel(n_jobs=self.n_jobs) as parallel:
                yield lambda method, *arguments: parallel(
                    delayed(call)(expert, method, *arguments) for expert in self.experts
                )

    def _labels(self, y):
        """Targets of the loss as classes 0, 1, ..., or as targets in regression."""
        if self.loss.joint:
            return y
        if self.mean.n_classes:
            return y.argmax(axis=1) if y.shape[1] > 1 else (y[:, 0] > 0).astype(np.intp)
        return y if y.shape[1] > 1 else y[:, 0]

    def _learn_weights(self, losses, c):
        """Learn from losses (n_experts, n_hedges, n); return the weights of each row.

        These are of shape (n_hedges, n, n_experts), before the row was learned.
        """
        n = n_learned = losses.shape[2]
        if c is not None:
            learned = c > 0.0
            n_learned = np.count_nonzero(learned)
            losses = losses[:, :, learned] * c[learned]
        weights = np.empty((len(self.hedges), n_learned + 1, len(self.experts)))
        for k, hedge in enumerate(self.hedges):
            if n_learned:
                weights[k, :-1] = hedge.update(losses[:, k].T)
            weights[k, -1] = hedge.weights_
        while self._next_point < self.t + n_learned:
            point = self._next_point
            self.points.append(point)
            self.curve.append(weights[:, point - self.t].copy())
        self.t += n_learned
        if n_learned == n:
            return weights[:, :-1]
        return weights[:, np.cumsum(learned) - learned]

    @property
    def _next_point(self):
        return point_after(self.points[-1]) if self.points else 0

    def _mix(self, parts, weights):
        """Predictions of the mean, with weights of shape (n_hedges, n, n_experts)."""
        # Elementwise, so that a row's mean does not depend on the rows beside it.
        mean = np.zeros_like(parts[0])
        for k, part in enumerate(parts):
            mean += part * weights[:, :, k].T
        return self.mean.decision(mean)


def _call(config, sklearn_config, expert, method, *arguments):
    """Call a method of an expert in a thread or process that has no configuration."""
    with config_context(**config), sklearn.config_context(**sklearn_config):
        return getattr(expert, method)(*arguments)

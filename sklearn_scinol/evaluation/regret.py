"""Regret along a stream, beside the bound that is proved of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import column_or_1d

from .._curves import point_after
from .._typing import Labels
from .comparator import Comparator, best_on_targets, row_losses
from .progressive import _progress_bar, _unpack

__all__ = ["RegretCurveResult", "regret_curve"]


@dataclass(frozen=True, eq=False)
class RegretCurveResult:
    """What :func:`regret_curve` returns.

    Parameters
    ----------
    estimator : object
        The clone that has learned the stream.
    comparator : Comparator
        The model compared with, and its loss on the whole stream.
    n_samples : ndarray of shape (n_points,)
        Number of rows learned up to each point: every row up to the twentieth, then
        10 % apart, and the last one.
    cumulative_loss : ndarray of shape (n_points,)
        Total loss of the estimator's predictions up to there, each made before its row
        was learned.
    comparator_loss : ndarray of shape (n_points,)
        That of the comparator on the same rows.
    bound : ndarray of shape (n_points,)
        What the regret cannot be above, from `regret_bound` of the estimator.
    """

    estimator: object
    comparator: Comparator
    n_samples: np.ndarray = field(repr=False)
    cumulative_loss: np.ndarray = field(repr=False)
    comparator_loss: np.ndarray = field(repr=False)
    bound: np.ndarray = field(repr=False)

    @property
    def regret(self) -> NDArray[np.float64]:
        """By how much more the estimator lost than the comparator, at each point."""
        return self.cumulative_loss - self.comparator_loss


def regret_curve(
    estimator: Any,
    stream: Iterable[Any],
    *,
    comparator: Comparator | tuple[ArrayLike, ArrayLike] | None = None,
    classes: Labels | None = None,
    target: str | None = None,
    progress: bool = True,
) -> RegretCurveResult:
    """Follow the regret of an estimator along a stream, and its bound.

    A clone of the estimator learns the stream, in its order. The regret is how much
    more its predictions cost, each made before its row was learned, than those of a
    linear model that stays the same: by default of the best one in hindsight of the
    whole stream. How the stream is cut into chunks changes nothing.

    Parameters
    ----------
    estimator : object
        Estimator of this package with `regret_bound`, of a linear model.
    stream : iterable
        Chunks of rows, each `(X, y)` or `(X, y, sample_weight)`, or, with `target`,
        frames. Without a `comparator` all of them are kept in memory.
    comparator : Comparator or tuple (coef, intercept), default=None
        The model to compare with; see :func:`best_comparator` for the shapes. None
        stands for the best in hindsight, in the ball where the estimator has a
        `radius`.
    classes : array-like of shape (n_classes,), default=None
        All classes of the stream. Needed for a classifier.
    target : str, default=None
        Name of the column to predict, if the stream consists of frames.
    progress : bool, default=True
        Whether to show a progress bar where the stream takes longer than a second.
        Needs tqdm; without it there is no bar.

    Returns
    -------
    result : RegretCurveResult
        Losses of both, and the bound, at some hundred points for any stream.

    Raises
    ------
    AttributeError
        If the estimator has no `regret_bound`, as where features are centred or scaled,
        or no `coef_`, as with kernels; or if it is a mixture.
    ValueError
        If the stream is empty, or classes are missing; if the estimator has
        ``new_classes="add"`` or ``class_weight="balanced"``. What the estimator does
        not accept raises its own errors.

    See Also
    --------
    RegretCurveDisplay : Plot of the result.
    best_comparator : The best model in hindsight.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.evaluation import regret_curve
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> zero = [0.0] * 30, 0.0
    >>> result = regret_curve(
    ...     ScInOLClassifier(center=False), [(X, y)], comparator=zero, classes=[0, 1]
    ... )
    >>> bool((result.regret <= result.bound).all())
    True
    >>> round(result.regret[-1]), round(result.bound[-1])
    (-176, 31)
    """
    if comparator is None:
        stream = list(stream)
    race = _Race(clone(estimator), classes)
    with _progress_bar(progress) as bar:
        for chunk in stream:
            X, y, sample_weight = _unpack(chunk, target)
            for rows in race.until_points(len(y)):
                weight = None if sample_weight is None else sample_weight[rows]
                race.learn(_safe_indexing(X, rows), y[rows], weight)
                if race.n == 1:
                    if comparator is None:
                        chunks = [_unpack(chunk, target) for chunk in stream]
                        comparator = race.best(chunks)
                    race.start(*_coefficients(comparator))
                race.compare(_safe_indexing(X, rows), y[rows], weight)
            if bar is not None:
                bar.update(len(y))
    if race.n == 0:
        raise ValueError("The stream is empty.")
    race.finish()
    total = race.comparator_loss
    if not isinstance(comparator, Comparator):
        comparator = Comparator(race.coef, race.intercept, total, total)
    return RegretCurveResult(
        race.learner, comparator, *map(np.array, zip(*race.points, strict=True))
    )


def _coefficients(comparator):
    if isinstance(comparator, Comparator):
        return comparator.coef, comparator.intercept
    try:
        coef, intercept = comparator
    except (TypeError, ValueError):
        raise ValueError(
            "comparator must be what best_comparator returns or a tuple (coef, "
            f"intercept); got {comparator!r}."
        ) from None
    return coef, intercept


class _Race:
    """A learner, and a fixed model on the same rows."""

    def __init__(self, learner, classes):
        if hasattr(type(learner), "estimators_"):
            raise AttributeError(
                "regret_curve is about linear models; the regret of "
                f"{type(learner).__name__} is that against its experts."
            )
        learner.regret_bound  # noqa: B018  (its error says what is in the way)
        for name, value in {"new_classes": "add", "class_weight": "balanced"}.items():
            if learner.get_params().get(name) == value:
                raise ValueError(f"regret_curve does not take {name}={value!r}.")
        self.learner = learner
        self.first_call = {}
        if is_classifier(learner):
            if classes is None:
                raise ValueError(
                    "classes must be passed for a classifier: the first rows need not "
                    "hold all of them."
                )
            self.first_call = {"classes": np.unique(classes)}
        self.n, self.comparator_loss, self.points = 0, 0.0, []

    def until_points(self, n):
        """Cut `n` rows where the curves have points, as slices."""
        start = 0
        while start < n:
            at_last_point = self.points[-1][0] if self.points else 0
            stop = min(n, start + point_after(at_last_point) - self.n)
            yield slice(start, stop)
            start = stop

    def learn(self, X, y, sample_weight):
        self.learner.partial_fit(X, y, sample_weight=sample_weight, **self.first_call)
        self.first_call = {}
        self.n += len(y)

    def best(self, chunks):
        """The best comparator of all rows."""
        loss = self.learner._model.loss
        if not hasattr(loss, "conjugate"):
            raise ValueError(
                f"comparator must be given with loss={loss!r}, which has no conjugate."
            )
        blocks = [*zip(*(self._checked(*chunk) for chunk in chunks), strict=True)]
        is_sparse = any(map(sparse.issparse, blocks[0]))
        stack = sparse.vstack if is_sparse else np.vstack
        return best_on_targets(
            sparse.csr_array(stack(blocks[0])) if is_sparse else stack(blocks[0]),
            *map(np.concatenate, blocks[1:]),
            loss,
            self.learner._model.n_outputs,
            fit_intercept=self.learner.fit_intercept,
            radius=self.learner.get_params().get("radius"),
        )

    def start(self, coef, intercept):
        """Race against this model."""
        self.learner.regret_bound(coef, intercept)  # checks the shapes
        shape = self.learner._model.n_outputs, self.learner.n_features_in_
        self.coef = np.array(coef, dtype=np.float64).reshape(shape)
        self.intercept = np.broadcast_to(np.float64(intercept), shape[:1])

    def compare(self, X, y, sample_weight):
        """Add what the model lost on rows that were learned, and a point if due."""
        X, y, sample_weight = self._checked(X, y, sample_weight)
        losses = row_losses(X, y, self.learner._model.loss, self.coef, self.intercept)
        self.comparator_loss += float(sample_weight @ losses)
        if self.n == point_after(self.points[-1][0] if self.points else 0):
            self._add_point()

    def finish(self):
        if self.points[-1][0] != self.n:
            self._add_point()

    def _add_point(self):
        bound = self.learner.regret_bound(self.coef, self.intercept)
        loss = self.learner.cumulative_loss_
        self.points.append((self.n, loss, self.comparator_loss, bound))

    def _checked(self, X, y, sample_weight):
        """Rows, targets and weights as the learner has taken them."""
        X = check_array(X, accept_sparse="csr", dtype=np.float64)
        if is_classifier(self.learner):
            y = column_or_1d(y)
        y, sample_weight = self.learner._validate_target(y, sample_weight)[:2]
        return X, y, np.ones(len(y)) if sample_weight is None else sample_weight

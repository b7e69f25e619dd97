"""Regret along a stream, with its proved bound."""

from __future__ import annotations

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
from .._docstrings import described_as
from .._typing import Labels
from ..estimators.regressor import with_quantiles
from ..losses import JOINT
from .comparator import Comparator, best_on_targets, row_losses
from .progressive import _progress_bar, _unpack, progressive_validation


@dataclass(frozen=True, eq=False)
class RegretCurveResult:
    r"""Result of :func:`~sklearn_scinol.evaluation.regret_curve`.

    Parameters
    ----------
    estimator : object
        The clone that has learned the stream.
    comparator : Comparator
        The comparator, with its loss on the whole stream.
    n_samples : ndarray of shape (n_points,)
        Number of rows learned up to each point: every row up to the twentieth, then
        10 % apart, and the last one.
    cumulative_loss : ndarray of shape (n_points,)
        Total loss of the estimator up to each point, each row predicted before it was
        learned.
    comparator_loss : ndarray of shape (n_points,)
        Total loss of the comparator on the same rows.
    bound : ndarray of shape (n_points,)
        Upper bound on the regret, from `regret_bound` of the estimator.
    tuned_bound : ndarray of shape (n_points,)
        Bound on the regret of gradient descent with the best learning rate for each
        feature in hindsight [1]_, :math:`\sum_i |u_i| S_i`, from the weights of the
        comparator and the roots of the sums of squared gradients. The gradients are
        those of the estimator, which must be ScInOL; else NaN. The quotient of `bound`
        and this is the price of not tuning.

    References
    ----------
    .. [1] M. Kempka, W. Kotłowski, M. K. Warmuth. "Adaptive scale-invariant online
       algorithms for learning linear models." ICML, 2019. Equation 4.
    """

    estimator: object
    comparator: Comparator
    n_samples: np.ndarray = field(repr=False)
    cumulative_loss: np.ndarray = field(repr=False)
    comparator_loss: np.ndarray = field(repr=False)
    bound: np.ndarray = field(repr=False)
    tuned_bound: np.ndarray = field(repr=False)

    @property
    def regret(self) -> NDArray[np.float64]:
        """Loss of the estimator less loss of the comparator, at each point."""
        return self.cumulative_loss - self.comparator_loss


@described_as(progressive_validation)
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

    A clone of the estimator learns the stream, in its order. The regret is its total
    loss, each row predicted before it is learned, less the loss of a fixed linear
    model: by default the best one in hindsight. The size of the chunks changes nothing.

    Parameters
    ----------
    estimator : object
        Estimator of this package with `regret_bound`, of a linear model.
    stream : iterable
        Chunks of rows, see :func:`progressive_validation`. Without a `comparator` all
        are kept in memory.
    comparator : Comparator or tuple (coef, intercept), default=None
        Model to compare with; see :func:`best_comparator` for the shapes. None stands
        for the best in hindsight, within the `radius` of the estimator if it has one.
    classes : array-like of shape (n_classes,), default=None
        All classes of the stream. Needed for a classifier.

    Returns
    -------
    result : RegretCurveResult
        Losses of both, and the bound, at some hundred points.

    Raises
    ------
    AttributeError
        If the estimator has no `regret_bound`, as with centred or scaled features, or
        no `coef_`, as with kernels, or if it is a mixture.
    ValueError
        If the stream is empty, classes are missing, or the estimator has
        ``new_classes="add"``, ``class_weight="balanced"`` or a list of quantiles. The
        estimator raises its own errors.

    See Also
    --------
    RegretCurveDisplay : Plot of the result.
    best_comparator : The best model in hindsight.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.evaluation import best_comparator, regret_curve
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> zero = [0.0] * 30, 0.0
    >>> result = regret_curve(
    ...     ScInOLClassifier(center=False), [(X, y)], comparator=zero, classes=[0, 1]
    ... )
    >>> bool((result.regret <= result.bound).all())
    True
    >>> round(result.regret[-1]), round(result.bound[-1])
    (-176, -81)

    The best model of bounded weights, and the price of not tuning:

    >>> X = X / X.std(axis=0)
    >>> best = best_comparator(X, y, loss="log_loss", radius=1.0)
    >>> result = regret_curve(
    ...     ScInOLClassifier(center=False), [(X, y)], comparator=best, classes=[0, 1]
    ... )
    >>> round(result.regret[-1]), round(result.tuned_bound[-1]), round(result.bound[-1])
    (98, 112, 202)
    """
    if comparator is None:
        stream = list(stream)
    learner: Any = clone(estimator)
    first_call = _first_call(learner, classes)
    n, next_point, loss, points = 0, point_after(0), 0.0, list[Any]()

    def add_point():
        bound = learner.regret_bound(coef, intercept)
        tuned = learner._model.tuned_bound(coef, intercept)
        points.append((n, learner.cumulative_loss_, loss, bound, tuned))

    with _progress_bar(progress) as bar:
        for chunk in stream:
            X, y, sample_weight = _unpack(chunk, target)
            start = 0
            while start < len(y):
                rows = slice(start, min(len(y), start + next_point - n))
                c = None if sample_weight is None else sample_weight[rows]
                part = _safe_indexing(X, rows), y[rows]
                learner.partial_fit(*part, sample_weight=c, **first_call)
                if n == 0:
                    first_call = {}
                    if comparator is None:
                        chunks = [_unpack(chunk, target) for chunk in stream]
                        comparator = _best_in_hindsight(learner, chunks)
                    coef, intercept = _coefficients(learner, comparator)
                n, start = n + len(part[1]), rows.stop
                Z, targets, weights = _checked(learner, *part, c)
                losses = row_losses(Z, targets, learner._model.loss, coef, intercept)
                loss += float(weights @ losses)
                if n == next_point:
                    add_point()
                    next_point = point_after(n)
            if bar is not None:
                bar.update(len(y))
    if n == 0:
        raise ValueError("The stream is empty.")
    if points[-1][0] != n:
        add_point()
    if not isinstance(comparator, Comparator):
        comparator = Comparator(coef, intercept, loss, loss)
    return RegretCurveResult(
        learner, comparator, *map(np.array, zip(*points, strict=True))
    )


def _first_call(learner, classes):
    """Check that a learner is of linear models; return keywords of its first call."""
    if hasattr(type(learner), "estimators_"):
        raise AttributeError(
            "regret_curve is for linear models; the regret of "
            f"{type(learner).__name__} is relative to its experts."
        )
    learner.regret_bound  # noqa: B018  (raises the reason if there is none)
    for name, value in {"new_classes": "add", "class_weight": "balanced"}.items():
        if learner.get_params().get(name) == value:
            raise ValueError(f"regret_curve does not take {name}={value!r}.")
    if with_quantiles(learner) is not None:
        raise ValueError(
            f"regret_curve does not take quantile={learner.quantile!r}: follow the "
            "regret of one quantile at a time."
        )
    if not is_classifier(learner):
        return {}
    if classes is None:
        raise ValueError(
            "classes must be passed for a classifier: the first rows need not hold "
            "all of them."
        )
    return {"classes": np.unique(classes)}


def _best_in_hindsight(learner, chunks):
    """Return the best comparator for all rows of a learner that has begun."""
    loss = learner._model.loss
    if loss.joint and type(loss) not in JOINT.values():
        raise ValueError(f"comparator must be given with loss={loss!r}.")
    blocks = [*zip(*(_checked(learner, *chunk) for chunk in chunks), strict=True)]
    is_sparse = any(map(sparse.issparse, blocks[0]))
    stack = sparse.vstack if is_sparse else np.vstack
    return best_on_targets(
        sparse.csr_array(stack(blocks[0])) if is_sparse else stack(blocks[0]),
        *map(np.concatenate, blocks[1:]),
        loss,
        learner._model.n_outputs,
        fit_intercept=learner.fit_intercept,
        radius=learner.get_params().get("radius"),
    )


def _coefficients(learner, comparator):
    """Return coefficients and intercepts of the model to compare with."""
    if isinstance(comparator, Comparator):
        comparator = comparator.coef, comparator.intercept
    try:
        coef, intercept = comparator
    except (TypeError, ValueError):
        raise ValueError(
            "comparator must be what best_comparator returns or a tuple (coef, "
            f"intercept); got {comparator!r}."
        ) from None
    learner.regret_bound(coef, intercept)  # checks the shapes
    shape = learner._model.n_outputs, learner.n_features_in_
    coef = np.array(coef, dtype=np.float64).reshape(shape)
    return coef, np.broadcast_to(np.float64(intercept), shape[:1])


def _checked(learner, X, y, sample_weight):
    """Validate rows, targets and weights as the learner does."""
    X = check_array(X, accept_sparse="csr", dtype=np.float64)
    if is_classifier(learner):
        y = column_or_1d(y)
    y, sample_weight = learner._validate_target(y, sample_weight)[:2]
    return X, y, np.ones(len(y)) if sample_weight is None else sample_weight

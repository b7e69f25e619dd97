"""The best linear model in hindsight."""

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal
from warnings import warn

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_X_y
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight

from .._typing import (
    ClassificationLoss,
    Labels,
    MatrixLike,
    RegressionLoss,
    SampleWeight,
    validate_params,
)
from ..losses import CLASSIFICATION, JOINT, REGRESSION, as_targets
from .minimum import least_loss

__all__ = ["Comparator", "best_comparator", "best_on_targets", "row_losses"]


@dataclass(frozen=True, eq=False)
class Comparator:
    """What :func:`best_comparator` returns.

    Parameters
    ----------
    coef : ndarray of shape (n_outputs, n_features)
        Weights in the units of the features; two classes have one output.
    intercept : ndarray of shape (n_outputs,)
        Intercepts.
    total_loss : float
        Weighted sum of the model's losses over all rows.
    gap : float
        No model has a total loss below `total_loss` by more than this, but for
        rounding.
    """

    coef: np.ndarray = field(repr=False)
    intercept: np.ndarray = field(repr=False)
    total_loss: float
    gap: float


@validate_params(
    {
        "X": ["array-like", "sparse matrix"],
        "y": ["array-like"],
        "loss": [StrOptions({*CLASSIFICATION, *REGRESSION})],
        "sample_weight": ["array-like", None],
        "classes": ["array-like", None],
        "multi_class": [StrOptions({"multinomial", "ovr"})],
        "epsilon": [Interval(Real, 0, None, closed="left")],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "fit_intercept": ["boolean"],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
        "tol": [Interval(Real, 0, None, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def best_comparator(
    X: MatrixLike,
    y: ArrayLike,
    *,
    loss: ClassificationLoss | RegressionLoss,
    sample_weight: SampleWeight = None,
    classes: Labels | None = None,
    multi_class: Literal["multinomial", "ovr"] = "multinomial",
    epsilon: float = 0.1,
    quantile: float = 0.5,
    fit_intercept: bool = True,
    radius: float | None = None,
    tol: float = 1e-6,
) -> Comparator:
    r"""Find the linear model with the least total loss: the best in hindsight.

    That is what the regret of online learners is measured against. All rows are known
    to it, and nothing is regularised. `gap` says how far from the least the loss found
    can be at most.

    Some minima are not attained. Where a hyperplane separates two classes, the log loss
    falls as long as the weights grow. What is returned then is a model whose loss is
    next to the infimum, with weights that are large: any others with a `gap` within the
    tolerance would do. To have a model of limited weights, give a `radius`.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, in any units.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or targets; several outputs in regression only.
    loss : str
        Name of the loss, as the estimators have it: "log_loss", "hinge" or
        "squared_hinge" of classes, "absolute_error", "squared_error", "huber",
        "epsilon_insensitive" or "quantile" of numbers.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the rows' losses. None stands for ones.
    classes : array-like of shape (n_classes,), default=None
        All classes; None stands for those in `y`.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        What the log loss of more than two classes is: multinomial cross-entropy, or the
        sum of the log losses of each class against the rest, as
        :class:`~sklearn_scinol.AdaImplicitClassifier` has it. Other losses are always
        those of each class against the rest.
    epsilon : float, default=0.1
        Parameter of the losses "huber" and "epsilon_insensitive".
    quantile : float, default=0.5
        Parameter of the loss "quantile".
    fit_intercept : bool, default=True
        Whether the model has intercepts.
    radius : float, default=None
        Largest norm of the weights of each output with its intercept, in the units of
        `X`. None stands for no limit.
    tol : float, default=1e-6
        Largest `gap` aimed at, as a share of the total loss of always predicting 0.

    Returns
    -------
    comparator : Comparator
        The model, its total loss, and how far that can be from the least.

    Raises
    ------
    ValueError
        If the data, the weights or the classes are not usable.

    Warns
    -----
    ConvergenceWarning
        If the gap is larger than aimed at.

    See Also
    --------
    regret_curve : Regret of an estimator beside its bound, all along a stream.

    Notes
    -----
    The loss is minimised by L-BFGS and then by Newton's method in a trust region.
    Losses with kinks are those of a linear program, or, where that is large, smoothed
    less and less; a ball repels what is inside of it less and less. The gap is that of
    Fenchel's dual problem.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol.evaluation import best_comparator
    >>> X, y = load_diabetes(return_X_y=True)
    >>> best = best_comparator(X, y, loss="absolute_error")
    >>> round(best.total_loss)
    19024
    >>> bool(best.gap < 1e-3)
    True
    >>> ball = best_comparator(X, y, loss="absolute_error", radius=500)
    >>> bool(ball.total_loss > best.total_loss)
    True
    """
    loss_type: Any
    regression = loss in REGRESSION
    rows, targets = check_X_y(
        X,
        y,
        accept_sparse="csr",
        dtype=np.float64,
        multi_output=regression,
        y_numeric=regression,
    )
    weights = _check_sample_weight(
        sample_weight, rows, dtype=np.float64, ensure_non_negative=True
    )
    if regression:
        targets = targets.reshape(len(targets), -1)
        n_outputs, loss_type = targets.shape[1], REGRESSION[loss]
    else:
        encoder = LabelEncoder().fit(targets if classes is None else classes)
        targets, n_classes = encoder.transform(targets), len(encoder.classes_)
        if n_classes < 2:
            raise ValueError(
                "The number of classes has to be greater than one; got "
                f"{n_classes} class"
            )
        n_outputs = 1 if n_classes == 2 else n_classes
        is_joint = n_classes > 2 and multi_class == "multinomial" and loss in JOINT
        loss_type = (JOINT if is_joint else CLASSIFICATION)[loss]
    parameters = {"epsilon": float(epsilon), "quantile": float(quantile)}
    return best_on_targets(
        rows,
        targets,
        weights,
        loss_type(*(parameters[name] for name in loss_type._fields)),
        n_outputs,
        fit_intercept=fit_intercept,
        radius=radius,
        tol=tol,
    )


def best_on_targets(
    X, y, sample_weight, loss, n_outputs, *, fit_intercept, radius, tol=1e-6
):
    """What :func:`best_comparator` does with data that need no check any more."""
    counts = sample_weight > 0
    if not counts.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    X, y, sample_weight = X[counts], y[counts], sample_weight[counts]
    coef, intercept, bound = least_loss(
        X,
        as_targets(y, loss, n_outputs),
        sample_weight,
        loss,
        n_outputs,
        fit_intercept=fit_intercept,
        radius=np.inf if radius is None else float(radius),
        tol=tol,
    )
    total = float(sample_weight @ row_losses(X, y, loss, coef, intercept))
    gap = max(total - float(bound), 0.0)
    of_zero = sample_weight @ row_losses(X, y, loss, 0.0 * coef, 0.0 * intercept)
    if not gap <= 2 * tol * of_zero:
        warn(
            f"The best comparator did not converge: the duality gap is {gap:.3g}, with "
            f"a total loss of {total:.6g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Comparator(coef, intercept, total, gap)


def row_losses(X, y, loss, coef, intercept):
    """Losses of a model at each row, of all outputs together."""
    with np.errstate(all="ignore"):
        P = X @ coef.T + intercept
        losses = loss.value(as_targets(y, loss, len(coef)), P)
    return losses.reshape(len(y), -1).sum(axis=1)

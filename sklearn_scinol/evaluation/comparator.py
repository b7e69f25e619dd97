"""Best linear model in hindsight."""

from __future__ import annotations

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
from ..estimators.labels import check_discrete
from ..losses import CLASSIFICATION, JOINT, REGRESSION, as_targets
from .minimum import minimise_loss


@dataclass(frozen=True, eq=False)
class Comparator:
    """Result of :func:`~sklearn_scinol.evaluation.best_comparator`.

    Parameters
    ----------
    coef : ndarray of shape (n_outputs, n_features)
        Weights in the units of `X`; two classes have one output.
    intercept : ndarray of shape (n_outputs,)
        Intercepts.
    total_loss : float
        Weighted sum of the model's losses over all rows.
    gap : float
        Upper bound on `total_loss` less the least total loss of models within the
        `radius` whose predictions are in the quadratic mean at most ten times as large,
        but for rounding.
    """

    coef: np.ndarray = field(repr=False)
    intercept: np.ndarray = field(repr=False)
    total_loss: float
    gap: float


# Constraints of parameters that tell what the losses of models on a stream are.
OF_LOSSES = {
    "X": ["array-like", "sparse matrix"],
    "y": ["array-like"],
    "loss": [StrOptions({*CLASSIFICATION, *REGRESSION})],
    "sample_weight": ["array-like", None],
    "classes": ["array-like", None],
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "quantile": [Interval(Real, 0, 1, closed="neither")],
    "fit_intercept": ["boolean"],
}
POSITIVE = Interval(Real, 0, None, closed="neither")


@validate_params(
    OF_LOSSES
    | {
        "multi_class": [StrOptions({"multinomial", "ovr"})],
        "radius": [POSITIVE, None],
        "tol": [POSITIVE],
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

    The regret of online learners is measured against it. It sees all rows at once,
    without regularisation. `gap` bounds how far its loss is from the minimum.

    Some minima are not attained: where a hyperplane separates two classes, the log loss
    falls as the weights grow. The result then has large weights, and a loss next to the
    infimum. Pass a `radius` to limit the weights.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, in any units.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Labels, or targets; several outputs in regression only.
    loss : str
        "log_loss", "hinge" or "squared_hinge" in classification; "absolute_error",
        "squared_error", "huber", "epsilon_insensitive" or "quantile" in regression.
    sample_weight : array-like of shape (n_samples,), default=None
        Non-negative weights of the rows. None stands for ones.
    classes : array-like of shape (n_classes,), default=None
        All classes; None stands for the classes in `y`.
    multi_class : {"multinomial", "ovr"}, default="multinomial"
        Log loss of more than two classes: multinomial, or one versus rest as in
        :class:`~sklearn_scinol.AdaImplicitClassifier`. Other losses are always one
        versus rest.
    epsilon : float, default=0.1
        Parameter of the losses "huber" and "epsilon_insensitive".
    quantile : float, default=0.5
        Parameter of the loss "quantile".
    fit_intercept : bool, default=True
        Whether the model has intercepts.
    radius : float, default=None
        Largest norm of each output's weights with the intercept, in the units of `X`.
        None stands for no limit.
    tol : float, default=1e-6
        Target for `gap`, as a share of the total loss of always predicting 0.

    Returns
    -------
    comparator : Comparator
        The model, its total loss, and the bound on the distance from the minimum.

    Raises
    ------
    ValueError
        If the data, the weights or the classes are not usable.

    Warns
    -----
    ConvergenceWarning
        If `gap` is more than twice the target.

    See Also
    --------
    regret_curve : Regret of an estimator along a stream, with its bound.

    Notes
    -----
    Newton steps in a trust region minimise smooth losses, in orthogonal combinations of
    the features if there are at most 20 million values, with a logarithmic barrier in
    place of a ball. Losses with kinks become a linear program, which HiGHS solves, with
    a polyhedron in place of a ball. The gap is the duality gap of Fenchel's dual
    problem.

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
    data = check_data(
        X, y, loss, sample_weight, classes, multi_class, epsilon, quantile
    )
    return best_on_targets(*data, fit_intercept=fit_intercept, radius=radius, tol=tol)


def check_data(X, y, loss, sample_weight, classes, multi_class, epsilon, quantile):
    """Return validated rows, targets and weights, the loss, and its outputs."""
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
        check_discrete(targets)
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
    made = loss_type(*(parameters[name] for name in loss_type._fields))
    return rows, targets, weights, made, n_outputs


def best_on_targets(
    X, y, sample_weight, loss, n_outputs, *, fit_intercept, radius, tol=1e-6
):
    """Find the best comparator for validated data; see :func:`best_comparator`."""
    is_positive = sample_weight > 0
    if not is_positive.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    X, y, sample_weight = X[is_positive], y[is_positive], sample_weight[is_positive]
    coef, intercept, bound = minimise_loss(
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
    loss_of_zero = sample_weight @ row_losses(X, y, loss, 0.0 * coef, 0.0 * intercept)
    if not gap <= 2 * tol * loss_of_zero:
        warn(
            f"The best comparator did not converge: the duality gap is {gap:.3g}, with "
            f"a total loss of {total:.6g}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return Comparator(coef, intercept, total, gap)


def row_losses(X, y, loss, coef, intercept):
    """Return the loss of a model at each row, summed over outputs."""
    with np.errstate(all="ignore"):
        P = X @ coef.T + intercept
        losses = loss.value(as_targets(y, loss, len(coef)), P)
    return losses.reshape(len(y), -1).sum(axis=1)

"""Temporal variability of the losses of a stream."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .._docstrings import described_as
from .._typing import (
    ClassificationLoss,
    Labels,
    MatrixLike,
    RegressionLoss,
    SampleWeight,
    validate_params,
)
from ..losses import as_targets
from .comparator import OF_LOSSES, POSITIVE, best_comparator, check_data

# Arcs of the circle, in each of which the best direction is looked for in rounds, and
# the shares of an arc, or of what is left of it, that are tried.
N_ARCS, N_ROUNDS, SHARES = 4, 10, np.linspace(-1.0, 1.0, 33)

# Share of a square that rounding leaves of nothing.
ROUNDING = 1e-14


@described_as(best_comparator)
@validate_params(OF_LOSSES | {"radius": [POSITIVE]}, prefer_skip_nested_validation=True)
def temporal_variability(
    X: MatrixLike,
    y: ArrayLike,
    *,
    loss: ClassificationLoss | RegressionLoss,
    radius: float,
    sample_weight: SampleWeight = None,
    classes: Labels | None = None,
    epsilon: float = 0.1,
    quantile: float = 0.5,
    fit_intercept: bool = True,
) -> float:
    r"""Compute how much the losses of linear models vary from row to row.

    With the loss :math:`\ell_t(w)` of the weights :math:`w` at row :math:`t`, it is
    [1]_

    .. math:: V_T = \sum_{t=2}^T \max_{\|w\| \le r} \ell_t(w) - \ell_{t-1}(w).

    If it is small, as with targets that drift slowly, so is the regret of implicit
    updates: that of :class:`~sklearn_scinol.AdaImplicitRegressor` with `radius` r and
    ``beta = sqrt(2) * r`` is at most :math:`2 (\ell_1(w_1) - \ell_T(w_{T+1}) + V_T)`.

    Parameters
    ----------
    radius : float
        Largest norm of each output's weights with the intercept, in the units of `X`.

    Returns
    -------
    variability : float
        In the units of the loss; several outputs add up.

    See Also
    --------
    regret_curve : Regret of an estimator along a stream, with its bound.

    Notes
    -----
    Rows are those of a stream, in their order, without rows of weight 0. More than two
    classes are one versus rest.

    References
    ----------
    .. [1] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 33, 2020. Equation 1 and Theorem 6.2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol.evaluation import temporal_variability
    >>> X, drifting = np.ones((1000, 1)), np.sin(np.linspace(0, 3, 1000))
    >>> noisy = np.random.default_rng(0).permutation(drifting)
    >>> for y in drifting, noisy:
    ...     v = temporal_variability(
    ...         X, y, loss="absolute_error", radius=2, fit_intercept=False
    ...     )
    ...     print(f"{v:.2f}")
    1.86
    323.72
    """
    data = check_data(X, y, loss, sample_weight, classes, "ovr", epsilon, quantile)
    rows, targets, c, loss_of, n_outputs = data
    targets, learned = as_targets(targets, loss_of, n_outputs), c > 0.0
    rows, targets, c = (each[learned] for each in (rows, targets, c))
    scale = max(abs(rows).max() if c.size else 0.0, float(fit_intercept)) or 1.0
    Z, one = rows / scale, fit_intercept / scale**2

    def products(A, B):
        product = A.multiply(B) if sparse.issparse(A) else A * B
        return np.asarray(product.sum(axis=1)).reshape(-1, 1) + one

    planes = products(Z, Z), products(Z[1:], Z[:-1])
    losses = loss_of, targets, c[:, np.newaxis]
    return float(_largest_rises(*losses, radius * scale, *planes).sum())


def _largest_rises(loss, y, c, radius, squares, inner):
    """Return the largest rises of the loss from each row to the next, by outputs.

    Of weights only the part in the plane of both rows matters. By convexity the maximum
    is on the border of the ball there, at an angle to the later row. The row before is
    `along` it and `across`.
    """
    length = np.sqrt(squares[1:])
    along = np.divide(inner, length, out=np.zeros_like(inner), where=length > 0.0)
    across = squares[:-1] - along**2
    across = np.sqrt(np.where(across > ROUNDING * squares[:-1], across, 0.0))
    length, along, across = radius * length, radius * along, radius * across

    def rise(angle):
        cos, sin = np.cos(angle), np.sin(angle)
        before = loss.value(y[:-1], along * cos + across * sin)
        return c[1:] * loss.value(y[1:], length * cos) - c[:-1] * before

    largest = np.full(y[1:].shape, -np.inf)
    for best in 2.0 * np.pi / N_ARCS * np.arange(N_ARCS):
        most, step = np.full(y[1:].shape, -np.inf), np.pi / N_ARCS
        for _ in range(N_ROUNDS):
            for angle in [best + step * share for share in SHARES]:
                found = rise(angle)
                best = np.where(found > most, angle, best)
                most = np.maximum(most, found)
            step *= 4.0 / SHARES.size
        largest = np.maximum(largest, most)
    return largest

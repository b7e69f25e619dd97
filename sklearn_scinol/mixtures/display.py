"""Plot of the weights of experts."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_scalar
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from .._plotting import axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ExpertWeightsDisplay"]

POOLS = ["pool", "pool, forgetting"]


class ExpertWeightsDisplay:
    """Plot of the experts' weights over the rows.

    The weights of experts in their mean are multiplied by the weight of the mean. Above
    them are those of the pools, if there are any.

    Make it with :meth:`from_estimator`, or the method `plot_weights` of an estimator.

    Parameters
    ----------
    n_samples : ndarray of shape (n_points,)
        Numbers of rows learned.

    weights : ndarray of shape (n_points, n_experts + n_pools)
        Weights of the next row then.

    names : list of str
        Names of the experts and pools.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the weights are plotted.

    figure_ : matplotlib Figure
        The figure of that.

    areas_ : list of matplotlib PolyCollection
        One for each expert and pool.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import HedgeClassifier
    >>> from sklearn_scinol.experts import ExpertWeightsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    >>> display = ExpertWeightsDisplay.from_estimator(model)
    >>> plt.show()
    """

    def __init__(
        self, *, n_samples: ArrayLike, weights: ArrayLike, names: list[str]
    ) -> None:
        self.n_samples = n_samples
        self.weights = weights
        self.names = names

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, output: int = 0, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Plot the weights of a fitted estimator.

        Parameters
        ----------
        estimator : HedgeClassifier or HedgeRegressor
            Has learned something.

        output : int, default=0
            Which output's weights, where each has its own.

        ax : matplotlib Axes, default=None
            Where to plot; None makes a new figure.

        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.stackplot`.

        Returns
        -------
        display : ExpertWeightsDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator has not learned anything.
        ValueError
            If there is no such output.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        n_samples, weights = estimator.weights_curve_
        weights = weights.reshape(len(n_samples), -1, weights.shape[-1])
        n_outputs = weights.shape[1]
        check_scalar(output, "output", Integral, min_val=0, max_val=n_outputs - 1)
        weights, names = weights[:, output], [*estimator.named_estimators_]
        if hasattr(estimator, "level_weights_curve_"):
            _, of_levels = estimator.level_weights_curve_
            of_levels = of_levels.reshape(len(n_samples), n_outputs, -1)[:, output]
            weights = np.hstack([weights * of_levels[:, :1], of_levels[:, 1:]])
            names += POOLS
        display = cls(n_samples=n_samples, weights=weights, names=names)
        return display.plot(ax, **kwargs)

    def plot(self, ax: Axes | None = None, **kwargs: Any) -> Self:
        """Plot the weights as areas on top of each other, which sum to 1.

        The axis of rows is logarithmic, since most is decided early.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot; None makes a new figure.

        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.stackplot`.

        Returns
        -------
        display : ExpertWeightsDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        ax = axes_for(self, ax)
        # Row n is predicted with the weights after n - 1 rows.
        rows = np.asarray(self.n_samples) + 1
        kwargs = {"labels": self.names, "step": "post"} | kwargs
        self.areas_ = ax.stackplot(rows, np.transpose(self.weights), **kwargs)
        ax.set(xscale="log", xlabel="row", ylabel="weight", ylim=(0, 1))
        ax.set_xlim(1, max(rows[-1], 2))
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)
        return self

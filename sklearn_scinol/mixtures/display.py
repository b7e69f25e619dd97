"""Plot of the weights of experts."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from .._docstrings import described_as
from .._optional import import_optional
from .._plotting import axes_for, draw_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Names of the pools of a regressor, and of a classifier.
POOLS = {
    False: ["pool", "pool, forgetting", "pool, forgetting fast"],
    True: ["pool", "pool, ScInOL2", "pool, forgetting fast"],
}

# Colour of the area of all that have none of their own.
GREY = "0.85"


@dataclass(kw_only=True, eq=False, repr=False)
class ExpertWeightsDisplay:
    """Plot of the experts' weights over the rows.

    The weights of experts in their mean are multiplied by the weight of the mean. Above
    them are those of the pools, if there are any. Experts and pools of small weight
    share a grey area at the bottom.

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
        The areas, from the bottom to the top.

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

    n_samples: ArrayLike
    weights: ArrayLike
    names: list[str]

    def plot(
        self, ax: Axes | None = None, *, n_largest: int | None = 9, **kwargs: Any
    ) -> Self:
        """Plot the weights as areas on top of each other, which sum to 1.

        ``display.ax_.set_xscale("log")`` shows the first rows in more detail.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot; None makes a new figure. The legend is beside the axes if the
            figure has a layout engine, which makes room for it, and above the areas
            otherwise.
        n_largest : int, default=9
            Number of experts and pools with an area of their own: those of the largest
            mean weight over the rows. All others share one, if they are more than one.
            None gives each its own; pass `colors` then, since those of Matplotlib recur
            after ten.
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
        ValueError
            If `n_largest` is below 1.
        """
        if n_largest is not None:
            check_scalar(n_largest, "n_largest", Integral, min_val=1)
        ax = axes_for(self, ax)
        # Row n is predicted with the weights after n - 1 rows.
        rows = np.asarray(self.n_samples) + 1
        names, weights = self._largest(n_largest)
        colors = [f"C{i}" for i in range(len(names))]
        if len(names) < len(self.names):
            colors = [GREY, *colors]
        kwargs = {"labels": names, "step": "post", "colors": colors} | kwargs
        self.areas_ = ax.stackplot(rows, weights.T, **kwargs)
        ax.set(xlabel="Rows", ylabel="Weight")
        ax.set_ylim(0, 1, auto=None)
        ax.set_xlim(1, max(rows[-1], 2))
        draw_legend(ax, reverse=True)
        return self

    @classmethod
    @described_as(plot)
    def from_estimator(
        cls,
        estimator: Any,
        *,
        output: int = 0,
        n_largest: int | None = 9,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> Self:
        """Plot the weights of a fitted estimator.

        Parameters
        ----------
        estimator : HedgeClassifier or HedgeRegressor
            Has learned something.
        output : int, default=0
            Which output's weights, where each has its own.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator has not learned anything.
        ValueError
            If there is no such output, or `n_largest` is below 1.
        """
        import_optional("matplotlib", f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        n_samples, weights = estimator.weights_curve_
        weights = weights.reshape(len(n_samples), -1, weights.shape[-1])
        n_outputs = weights.shape[1]
        check_scalar(output, "output", Integral, min_val=0, max_val=n_outputs - 1)
        weights, names = weights[:, output], [*estimator.named_estimators_]
        if hasattr(estimator, "pool_weights_curve_"):
            _, of_levels = estimator.pool_weights_curve_
            of_levels = of_levels.reshape(len(n_samples), n_outputs, -1)[:, output]
            weights = np.hstack([weights * of_levels[:, :1], of_levels[:, 1:]])
            names += POOLS[is_classifier(estimator)]
        display = cls(n_samples=n_samples, weights=weights, names=names)
        return display.plot(ax, n_largest=n_largest, **kwargs)

    def _largest(self, n):
        """Return names and weights of the n largest, the sum of the others first."""
        weights = np.asarray(self.weights)
        if n is None or len(self.names) <= n + 1:
            return self.names, weights
        # Weights hold until the next point.
        n_rows = np.diff(self.n_samples, append=self.n_samples[-1] + 1)
        order = np.argsort(-(n_rows @ weights), kind="stable")
        largest, others = np.sort(order[:n]), order[n:]
        names = [f"{len(others)} others", *(self.names[i] for i in largest)]
        of_others = weights[:, others].sum(axis=1, keepdims=True)
        return names, np.hstack([of_others, weights[:, largest]])

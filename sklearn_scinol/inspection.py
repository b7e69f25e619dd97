"""Plots of what models have learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from numbers import Integral
from textwrap import fill
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["TermsDisplay"]

# Number of functions that are drawn by default, at most.
MAX_TERMS = 9

# Characters of a note in an inch of a figure.
NOTE_WIDTH = 14

# Points on the axis of a feature, without the points on both sides of each edge.
N_POINTS = 50


@dataclass(kw_only=True, eq=False, repr=False)
class TermsDisplay:
    """Plot of the functions of features, and of pairs, that make up an additive model.

    Create it with :meth:`from_estimator`, or the method `plot_terms` of an estimator.
    Functions of features are lines. Functions of pairs are maps, and are added to the
    functions of both features.

    Only differences of a function have a meaning, as differences of the decision: of
    log odds or logits for the log loss. Its level has none.

    Functions of a mixture are the means of those of its linear and additive experts.
    Other experts, such as those of random features and neighbours, have none. Nor have
    the pools of a classifier, which multiply probabilities. A note below the plots of a
    new figure names what is not shown.

    Parameters
    ----------
    features : list of tuple
        Indices of the features of each function, one or two.
    values : list of tuple of ndarray
        Points on each axis where the functions were evaluated.
    terms : list of ndarray
        Values of the functions, of shape (n_points,), or (n, m) for a pair.
    feature_names : ndarray of str
        Names of all features.
    not_shown : list of str, default=[]
        Parts of a mixture that have no such functions.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        Axes with the plots.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.inspection import TermsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScInOLClassifier(additive=True).partial_fit(X, y, classes=[0, 1])
    >>> display = TermsDisplay.from_estimator(model, [0, 7])
    >>> plt.show()
    """

    features: list[tuple[int, ...]]
    values: list[tuple[NDArray[np.float64], ...]]
    terms: list[NDArray[np.float64]]
    feature_names: NDArray[Any]
    not_shown: list[str] = field(default_factory=list)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        features: Sequence[int | str | tuple[int, int] | tuple[str, str]] | None = None,
        *,
        output: int = 0,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> Self:
        """Plot the functions of a fitted estimator.

        Parameters
        ----------
        estimator : object
            Additive estimator of this package, or a mixture with additive experts:
            functions of its linear and additive experts, averaged by their weights.
        features : list of {int, str, pair of int, pair of str}, default=None
            Features or pairs of features, by index or name. None stands for the
            functions that vary most, up to nine.
        output : int, default=0
            Index of the output: of a class, or of a target.
        axes : array-like of matplotlib Axes, default=None
            Axes to draw on, one for each function. None stands for a new figure.

        Returns
        -------
        display : TermsDisplay
            The display, drawn.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator has not learned anything.
        ValueError
            If the estimator is not additive, a feature or the output does not exist, or
            the edges of bins are not known yet.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        if not getattr(estimator, "_is_additive", False):
            raise ValueError(
                f"The estimator {type(estimator).__name__} should be an additive one."
            )
        model = estimator._additive_model
        n_outputs = estimator._model.n_outputs
        check_scalar(output, "output", Integral, min_val=0, max_val=n_outputs - 1)
        bins = model.bins
        if not bins.is_fixed:
            raise ValueError(
                "There are no functions yet: they are learned from row "
                f"{bins.n_samples + 1} on."
            )
        names = _check_feature_names_in(estimator)
        with_bins = np.flatnonzero(bins.has_edges).tolist()
        if features is not None:
            terms = [_indices(each, names) for each in features]
            if not model.pairs and any(len(term) > 1 for term in terms):
                raise ValueError("The model has no functions of pairs.")
            for j in {j for term in terms for j in term} - {*with_bins}:
                raise ValueError(
                    f"Feature {names[j]!r} has no function: it had fewer than three "
                    "values in the first rows."
                )
        else:
            terms = [*combinations(with_bins, 1)]
            terms += combinations(with_bins, 2) if model.pairs else []
        points = [tuple(_points(bins.edges[j]) for j in term) for term in terms]
        values = [
            _on_grid(estimator, *each)[..., output]
            for each in zip(terms, points, strict=True)
        ]
        if features is None:
            variation = [-np.ptp(each) for each in values]
            most = np.argsort(variation, kind="stable")[:MAX_TERMS]
            terms, points, values = (
                [of_all[i] for i in most] for of_all in (terms, points, values)
            )
        display = cls(
            features=terms,
            values=points,
            terms=values,
            feature_names=names,
            not_shown=getattr(estimator, "_not_in_terms", []),
        )
        return display.plot(axes)

    def plot(self, axes: Sequence[Axes] | NDArray[Any] | None = None) -> Self:
        """Plot the functions.

        Parameters
        ----------
        axes : array-like of matplotlib Axes, default=None
            Axes to draw on, one for each function. None stands for a new figure.

        Returns
        -------
        display : TermsDisplay
            The display itself.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        ValueError
            If there are not as many axes as functions.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        n = len(self.terms)
        if axes is None:
            import matplotlib.pyplot as plt

            n_columns = min(n, 3)
            n_rows = -(-n // max(n_columns, 1))
            size = 4 * max(n_columns, 1), 3 * max(n_rows, 1)
            figure = plt.figure(figsize=size, layout="constrained")
            axes = [figure.add_subplot(n_rows, n_columns, i + 1) for i in range(n)]
            if self.not_shown:
                note = f"not shown: {', '.join(self.not_shown)}"
                width = NOTE_WIDTH * size[0]
                figure.supxlabel(fill(note, width), fontsize="small")
        axes = [*np.ravel(axes)]
        if len(axes) != n:
            raise ValueError(f"Expected {n} axes, got {len(axes)}.")
        self.axes_ = axes
        self.figure_ = axes[0].figure if axes else None
        for ax, features, values, term in zip(
            axes, self.features, self.values, self.terms, strict=True
        ):
            names = [str(self.feature_names[j]) for j in features]
            if len(features) == 1:
                ax.plot(values[0], term)
                ax.set(xlabel=names[0], ylabel="term")
            else:
                largest = np.abs(term).max() or 1.0
                mesh = ax.pcolormesh(
                    *values,
                    term.T,
                    shading="nearest",
                    cmap="RdBu_r",
                    vmin=-largest,
                    vmax=largest,
                )
                ax.figure.colorbar(mesh, ax=ax)
                ax.set(xlabel=names[0], ylabel=names[1])
        return self


def _indices(feature, names):
    """Return indices of a feature or of a pair, given by index or by name."""
    given = feature if isinstance(feature, tuple | list) else (feature,)
    if len(given) not in (1, 2) or len({*given}) < len(given):
        raise ValueError(f"{feature!r} is neither a feature nor a pair of features.")
    return tuple(sorted(_index(one, names) for one in given))


def _index(feature, names):
    if isinstance(feature, str):
        if feature not in names:
            raise ValueError(f"Feature {feature!r} not in feature_names")
        return int(np.flatnonzero(names == feature)[0])
    check_scalar(feature, "feature", Integral, min_val=0, max_val=len(names) - 1)
    return int(feature)


def _points(edges):
    """Return points on the axis of a feature: evenly spaced, and beside each edge."""
    edges = edges[~np.isnan(edges)]
    margin = 0.1 * (edges[-1] - edges[0]) or max(abs(edges[0]), 1.0)
    points = np.linspace(edges[0] - margin, edges[-1] + margin, N_POINTS)
    # An edge belongs to the bin below it.
    return np.unique(np.concatenate([points, edges, np.nextafter(edges, np.inf)]))


def _on_grid(estimator, features, values):
    """Return values of a term, of shape (n, n_outputs) or (n, m, n_outputs)."""
    grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1)
    p = estimator._term(features, grid.reshape(-1, len(features)))
    return p.reshape(*grid.shape[:-1], -1)

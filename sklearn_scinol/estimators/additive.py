"""Additive models in estimators: their parameters, and the plot of their functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from .._typing import available_if
from ..inspection import TermsDisplay
from ..models.additive import AdditiveModel, new_bins

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Maximum numbers of features. Rows are made dense, and each feature, or each pair, has
# a weight for each of its bins.
MAX_FEATURES = 2**14
MAX_PAIRED_FEATURES = 2**9


def _has_terms(estimator):
    if estimator._is_additive:
        return True
    raise AttributeError(
        f"This {type(estimator).__name__!r} has no attribute 'plot_terms', which needs "
        "`additive` or `interactions`."
    )


class Additive:
    """Mixin for linear estimators that can learn functions of features.

    Parameters
    ----------
    additive : bool, default=False
        Whether to learn a function of each feature: a multiple of the value, and a step
        function of it. See :doc:`/user_guide/additive`.
    interactions : {True, False, "fine"}, default=False
        Whether to learn functions of pairs of features as well; implies `additive`.
        "fine" has bins by 16 quantiles of the first 1,000 rows, not by 8 of 100.
    """

    _additive_constraints = {
        "additive": ["boolean"],
        "interactions": ["boolean", StrOptions({"fine"})],
    }

    @property
    def _learns_functions(self):
        return bool(self.additive or self.interactions)

    def _new_bins(self, n_features):
        return new_bins(n_features, is_fine=self.interactions == "fine")

    def _new_model(self, X, loss):
        name = "interactions" if self.interactions else "additive"
        most = MAX_PAIRED_FEATURES if self.interactions else MAX_FEATURES
        if self._learns_functions and X.shape[1] > most:
            raise ValueError(
                f"{name}={getattr(self, name)!r} is for up to {most:,} features, and X "
                f"has {X.shape[1]:,}."
            )
        return super()._new_model(X, loss)

    @property
    def _is_additive(self):
        if self.__sklearn_is_fitted__():
            return isinstance(self._model, AdditiveModel)
        return self._learns_functions

    @property
    def _additive_model(self):
        """Return a model that has the bins."""
        return self._fitted_model()

    def _term(self, features, values):
        """Compute a function of features, see :meth:`LinearModel.term`."""
        return self._fitted_model().term(features, values)

    @available_if(_has_terms)
    def plot_terms(
        self,
        features: Sequence[int | str | tuple[int, int] | tuple[str, str]] | None = None,
        *,
        output: int = 0,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> TermsDisplay:
        """Plot the functions of features that an additive model has learned.

        Parameters
        ----------
        features : list of {int, str, pair of int, pair of str}, default=None
            Which features, or pairs of features, by number or name. None stands for
            the features whose functions vary most, up to nine.
        output : int, default=0
            Which output's functions: that of a class, or of a target.
        axes : array-like of matplotlib Axes, default=None
            Where to plot, one for each; None makes a new figure.

        Returns
        -------
        display : sklearn_scinol.inspection.TermsDisplay
            The display, drawn.

        Raises
        ------
        AttributeError
            If the model is not additive.
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If nothing was learned yet.
        ValueError
            If a feature or the output does not exist, or the edges of bins are not
            known yet.
        """
        return TermsDisplay.from_estimator(self, features, output=output, axes=axes)

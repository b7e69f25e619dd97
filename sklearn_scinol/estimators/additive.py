"""Additive models in estimators: their parameters, and the plot of their functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .._docstrings import described_as
from .._typing import available_if
from ..inspection import TermsDisplay
from ..models.additive import AdditiveModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Maximum number of features. Rows are made dense, and each bin has a weight.
MAX_FEATURES = 2**14


def _has_terms(estimator):
    if estimator._is_additive:
        return True
    raise AttributeError(
        f"This {type(estimator).__name__!r} has no attribute 'plot_terms', which needs "
        "`additive`."
    )


class Additive:
    """Mixin for linear estimators that can learn functions of features.

    Parameters
    ----------
    additive : bool, default=False
        Whether to learn a function of each feature: a multiple of the value, and a step
        function of it. See :doc:`/user_guide/additive`.
    """

    _own_constraints: dict = {"additive": ["boolean"]}

    def _new_model(self, X, loss):
        if self.additive and X.shape[1] > MAX_FEATURES:
            raise ValueError(
                f"additive=True is for up to {MAX_FEATURES:,} features, and X has "
                f"{X.shape[1]:,}."
            )
        return super()._new_model(X, loss)

    @property
    def _is_additive(self):
        if self.__sklearn_is_fitted__():
            return isinstance(self._model, AdditiveModel)
        return self.additive

    @property
    def _additive_model(self):
        """Return a model that has the bins."""
        return self._fitted_model()

    def _term(self, feature, values):
        """Compute the function of a feature, see :meth:`LinearModel.term`."""
        return self._fitted_model().term(feature, values)

    @available_if(_has_terms)
    @described_as(TermsDisplay.from_estimator)
    def plot_terms(
        self,
        features: Sequence[int | str] | None = None,
        *,
        output: int = 0,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> TermsDisplay:
        """Plot the functions of features that an additive model has learned.

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

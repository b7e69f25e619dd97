"""Mixtures for several quantiles of one target, one for each."""

from copy import copy

import numpy as np

from ..models.quantiles import QuantileModels


class QuantileMixtures(QuantileModels):
    """One mixture for each quantile of a list: its experts, and weights of its own.

    It has what a :class:`MixtureModel` of several outputs has. Arrays of weights have a
    row for each quantile.
    """

    def decision(self, X, deviations=None):
        """Return predictions, see :meth:`MixtureModel.decision`."""
        of_singles = [None] * len(self.singles)
        if deviations is not None:
            of_singles = np.split(deviations, len(self.singles), axis=1)  # views
        pairs = zip(self.singles, of_singles, strict=True)
        return np.hstack([single.decision(X, each) for single, each in pairs])

    @property
    def experts(self):
        """Experts with the models of all quantiles."""
        by_expert = zip(*(single.experts for single in self.singles), strict=True)
        return [self._joined(experts) for experts in by_expert]

    def _joined(self, experts):
        """Return an expert with the models of all quantiles, from those of each.

        Of estimators from elsewhere it has a list.
        """
        expert, estimators = copy(experts[0]), [each.estimator for each in experts]
        if not expert.is_native:
            expert.estimator = estimators
            return expert
        joined = expert.estimator = copy(estimators[0])
        if joined.loss == "quantile" and self.n_outputs > 1:
            levels = [each.quantile for each in estimators]
            joined.quantile = levels if len({*levels}) > 1 else levels[0]
        if expert.model is not None:
            models = [each.model for each in experts]
            joined._model = joined._quantile_models(self.quantiles, models)
            curves = [each.loss_curve_ for each in estimators]
            joined.loss_curve_ = np.sum(curves, axis=0).tolist()
        return expert

    @property
    def hedges(self):
        """The weights of all quantiles."""
        return [hedge for single in self.singles for hedge in single.hedges]

    @property
    def levels(self):
        """The second levels of all quantiles, or none."""
        return [level for single in self.singles for level in single.levels]

    @property
    def clipping(self):
        """Sums of what clipping has cost experts, see :class:`MixtureModel`."""
        return np.vstack([single.clipping for single in self.singles])

    @property
    def expert_losses(self):
        """Sums of the losses of experts, of shape (n_quantiles, n_experts)."""
        return np.vstack([single.expert_losses for single in self.singles])

    @property
    def weights(self):
        """Weights of the next row, of shape (n_quantiles, n_experts)."""
        return np.vstack([single.weights for single in self.singles])

    @property
    def weights_in_mean(self):
        """Weights of experts in means, see :class:`MixtureModel`."""
        return np.vstack([single.weights_in_mean for single in self.singles])

    @property
    def level_weights(self):
        """Weights of the levels: shape (n_quantiles, 1 + n_pools)."""
        return np.vstack([single.level_weights for single in self.singles])

    @property
    def pool_coefficients(self):
        """Weights in pools: shape (n_quantiles, n_pools, 1 + n_experts)."""
        return np.concatenate([single.pool_coefficients for single in self.singles])

    @property
    def points(self):
        """Numbers of rows after which the weights were recorded."""
        return self.singles[0].points

    @property
    def n_rounds(self):
        """Number of rows that the weights have learned."""
        return self.singles[0].n_rounds

    @property
    def curve(self):
        """The weights at these points, each of shape (n_quantiles, n_experts)."""
        return self._stacked("curve")

    @property
    def level_curve(self):
        """The weights of the levels then, each of shape (n_quantiles, 1 + n_pools)."""
        return self._stacked("level_curve")

    def _stacked(self, curve):
        curves = [getattr(single, curve) for single in self.singles]
        return [np.vstack(at_point) for at_point in zip(*curves, strict=True)]

    @property
    def has_dense_view(self):
        """Whether some experts see the dense view of :class:`TableRows`."""
        return self.singles[0].has_dense_view

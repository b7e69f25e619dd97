"""Linear models of what experts predict."""

import numpy as np

from ..blocks import DenseRows
from ..learners.online_newton import OnlineNewton
from ..transforms.features import FeatureTransform
from .newton import NewtonModel

#: Smaller probabilities of experts count as this one.
MIN_PROBABILITY = 1e-6

#: Limits of features.
MAX_LOG_ODDS = float(np.log(1.0 / MIN_PROBABILITY - 1.0))
MAX_DIFFERENCE = 1e6


class PoolModel(NewtonModel):
    """Newton steps on the weights of experts in a pool, an :class:`OnlineNewton`.

    The experts' predictions are its features: log odds, or differences from a
    prediction in units of its error. Features of a pool have moments 0 and 1 that stand
    still. With classes, the first feature begins with weight 1, and the others with 0.
    Three and more classes share the weights.

    Parameters
    ----------
    loss : Loss
        With any number of classes, the logistic loss of two.
    n_features : int
        Number of features.
    prior_scale, forgetting : float
        See :class:`OnlineNewton`.
    """

    def __init__(self, loss, n_features, prior_scale, forgetting):
        limit = MAX_LOG_ODDS if loss.is_classification else MAX_DIFFERENCE
        super().__init__(
            OnlineNewton(prior_scale, forgetting, limit=limit, fit_intercept=False),
            loss,
            n_features,
            1,
            features=FeatureTransform(n_features, center=True, scale=True),
            fit_intercept=False,
            average=0,
        )
        self.deviation[:] = 1.0
        self.next_change = np.inf
        if loss.is_classification:
            self.state().w[0, 0] = 1.0

    def fresh(self):
        scale, forgetting = self.learner.prior_scale, self.learner.forgetting
        return PoolModel(self.loss, self.n_features, scale, forgetting)

    @property
    def lipschitz(self):
        return float(self.loss.lipschitz) if np.isfinite(self.loss.lipschitz) else 1.0

    def _update_moments(self):
        """Keep the moments as they are."""

    def learn_scores(self, engine, F, block, target_scale=None):
        """Learn rows `F` of one output; return :class:`Predictions` before each."""
        standard = np.stack([self.mean, self.deviation])
        return self.learn_block(
            engine,
            block._replace(
                rows=DenseRows(F),
                moments=self.features.state(),
                standard=standard,
                target_scale=target_scale,
            ),
        )

    def learn_classes(self, engine, loss, F, block):
        """Learn rows of three or more classes; see :meth:`Engine.learn_pool`."""
        engine.run(self.count_learned, block.weights)
        return engine.learn_pool(self.learner, loss, self.state(), F, block)

    @property
    def weights(self):
        """Weights of the features: shape (n_features,)."""
        return self.state().w[0, : self.n_features]

"""Linear models of what experts predict."""

import numpy as np

from ..blocks import DenseRows, TargetScale
from ..learners import log_linear_pool
from ..learners.online_newton import OnlineNewton
from ..learners.scinol2 import ScInOL2
from ..losses.classification import Logistic
from ..transforms.features import FeatureTransform
from .linear import LinearModel
from .newton import NewtonModel

#: Smaller probabilities of experts count as this one.
MIN_PROBABILITY = 1e-6

#: Limits of features.
MAX_LOG_ODDS = float(np.log(1.0 / MIN_PROBABILITY - 1.0))
MAX_DIFFERENCE = 1e6


class SharedWeights:
    """Mixin of pools: three and more classes share the weights."""

    _by_output: tuple[str, ...] = ()

    def learn_classes(self, engine, loss, F, block):
        """Learn rows of three or more classes; return their scores before each.

        `F` has log probabilities, of shape (n, n_classes, n_inputs), padded like
        vectors of the state of the learner.
        """
        self._set_prior(block.weights.prior)
        engine.run(self.count_learned, block.weights)
        n, n_classes, n_inputs = F.shape
        scores = np.empty((n, n_classes))
        room = np.empty(n_classes), np.empty(n_classes), np.empty(n_inputs)
        rows = F, block.targets, block.weights, scores, room
        engine.run_loop(self.learn_rows, self.learner, loss, self.state(), *rows)
        return scores


class PoolModel(SharedWeights, NewtonModel):
    """Newton steps on the weights of experts in a pool, an :class:`OnlineNewton`.

    The experts' predictions are its features: log odds, or differences from a
    prediction in units of its error. Features of a pool have moments 0 and 1 that stand
    still. With classes, the first feature begins with weight 1, and the others with 0.
    Three and more classes share the weights.

    With any number of classes, the loss is the logistic loss of two.
    """

    learn_rows = staticmethod(log_linear_pool.take_steps)

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

    def predict_scores(self, F):
        """Predict rows of features, or of log probabilities for each class."""
        # Not a product of BLAS, which depends on the number of rows.
        return np.add.reduce(F * self.state().w[0, : F.shape[-1]], axis=-1)

    @property
    def weights(self):
        """Weights of the features: shape (n_features,)."""
        return self.state().w[0, : self.n_features]


class BettingPool(SharedWeights, LinearModel):
    """Pool of classifiers whose weights :class:`ScInOL2` learns.

    The loss has a bound against each fixed pool. Methods are as in :class:`PoolModel`.
    Weights of the model are those of the pool, less 1 for the first feature, so that
    all are 0 at first.
    """

    learn_rows = staticmethod(log_linear_pool.place_bets)

    @classmethod
    def of(cls, n_features):
        """Return a pool that has learned nothing."""
        options = {"fit_intercept": False, "average": 0}
        return cls(ScInOL2(), Logistic(), n_features, 1, **options)

    def learn_scores(self, engine, F, block, target_scale=None):
        offset, ones = np.empty((len(F), 1)), np.ones((len(F), 1))
        engine.run(np.copyto, offset, F[:, :1])
        scale = TargetScale(offset, ones, ones)
        block = block._replace(rows=DenseRows(F), target_scale=scale)
        return self.learn_block(engine, block)

    def predict_scores(self, F):
        F = F[..., : self.n_features]
        sizes = np.abs(F) if F.ndim == 2 else F.max(axis=1) - F.min(axis=1)
        sizes *= self.scale_of_predicted
        w = self.learner.weight(self.state(), 0, sizes, self.t + 1)
        if F.ndim == 3:
            w = w[:, np.newaxis]
        return F[..., 0] + np.add.reduce(F * w, axis=-1)

    @property
    def weights(self):
        return self._latest_weights()[0][0] + self._first_weights

    @property
    def _first_weights(self):
        """Weights before the first row."""
        return (np.arange(self.n_features) == 0).astype(float)

    def bound_against(self, weights):
        """Bound the regret against a pool of fixed weights of the features."""
        own = weights - self._first_weights
        regret = self.learner.linear_regret(self.state(), own, self.t).sum()
        return float(regret) * (self.weight_scale.unit or 1.0)

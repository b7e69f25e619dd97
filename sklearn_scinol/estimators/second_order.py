"""Parameters and models that estimators of second order share."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ..models.newton import NewtonModel
from ..models.random_features import RandomFeaturesModel
from ..transforms.clipping import MAX_DEVIATIONS
from ..transforms.features import FeatureTransform
from ..transforms.fourier import FourierFeatures
from .parameters import FORGETTING, GAMMA
from .validation import too_wide_error

#: Maximum number of covariances, of all outputs (512 MB).
MAX_COVARIANCES = 2**26

# With a larger variance, a row's update would be lost in rounding.
VARIANCES = Interval(Real, 1e-6, 1e6, closed="both")

# Maximum distance of a feature from its mean, in deviations: beyond it, all earlier
# rows would be lost in rounding.
MAX_DISTANCE = 1e6


class SecondOrder:
    r"""Parameters and learner of the classifier and the regressor.

    Parameters
    ----------
    center : {"auto", True, False}, default=True
        Whether to subtract each feature's running mean; "auto": where rows are dense.
        Sparse rows are made dense in any case.
    scale : bool, default=True
        Whether to divide each feature by its running standard deviation. If False,
        `prior_scale` is in units of the features.
    fit_intercept : bool, default=True
        Whether there is an intercept, of variance at least 1 before the first row.
    max_iter : int, default=1
        Maximum number of epochs of :meth:`fit`. In each after the first the rows count
        once more, and weights look more certain than they are.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling, the choice of held-out rows and the random features.
    gamma : float or "scale", default="scale"
        Parameter of the Gaussian kernel that random features approximate, of features
        in standard deviations. "scale": ``1 / n_features``.
    random_features : int, default=None
        Number of random features that take the place of the features, as by
        :class:`~sklearn_scinol.preprocessing.RandomFourierFeatures`. `center`, `scale`
        and `clip_deviations` are then of these, `clip_deviations` with ``scale=False``
        of the features. None: the features themselves.
    prior_scale : float, default=0.3
        Variance of each weight before the first row. Larger values suit many rows,
        smaller ones many features: see :doc:`/user_guide/newton`.
    forgetting : float, default=0.0
        Share of its weight that a row loses with each later row: about
        ``1 / forgetting`` rows count.
    clip_deviations : float, default=3.0
        Clip values at this many standard deviations from the mean, where features are
        centred and scaled. None means at a million.

    Attributes
    ----------
    coef_covariance_

    Description
    -----------
    Each row is learned by a Newton step, in the metric of the covariance of all weights
    given the rows so far. Correlated features, which learners with one step size a
    feature learn slowly, are no obstacle: one pass comes close to the best linear
    model. The step is implicit: it goes to the minimum of the row's loss itself plus a
    penalty on the way there, so that it never overshoots. Features are standardised by
    the rows so far, and neither their units nor their zeros matter.

    That takes memory and time in the square of the number of features: for each row
    about :math:`1.5 d^2` multiplications, and :math:`4 d^2` bytes in all, for each
    output. More than 2^26 covariances, of 11,583 features with one output, are refused.

    With `random_features` [1]_ [2]_ it learns what no linear model can, such as a
    distance or a chessboard. With D of them a row takes :math:`D d / 2 + 1.5 D^2`
    multiplications and D cosines.
    """

    _own_constraints: dict = {
        "prior_scale": [VARIANCES],
        "forgetting": [FORGETTING],
        "random_features": [Interval(Integral, 1, None, closed="left"), None],
        "gamma": GAMMA,
        "clip_deviations": [Interval(Real, 1, None, closed="left"), None],
    }
    _makes_dense = True
    _model_types = NewtonModel, RandomFeaturesModel

    @property
    def _model_type(self):
        return NewtonModel if self.random_features is None else RandomFeaturesModel

    #: Whether all outputs share one covariance matrix.
    _shares_covariance = False

    def _newton(self, learner, **options):
        """Create a learner with the parameters that both estimators have."""
        return learner(
            float(self.prior_scale),
            float(self.forgetting),
            fit_intercept=bool(self.fit_intercept),
            **options,
        )

    def _make_model(self, X, learner, loss, n_features, n_outputs, **keywords):
        if self.random_features is not None:
            limit = MAX_DEVIATIONS  # of features of which random ones are made
            if not (self.scale or self.clip_deviations is None):
                limit = float(self.clip_deviations)
            keywords["fourier"] = FourierFeatures(
                n_features,
                self.random_features,
                self.gamma,
                check_random_state(self.random_state),
                clip_ratio=self.clip_ratio,
                limit=limit,
            )
            n_features = self.random_features
            keywords["features"] = FeatureTransform(
                n_features, center=self._centers(X), scale=bool(self.scale)
            )
        model = super()._make_model(X, learner, loss, n_features, n_outputs, **keywords)
        limit = np.inf
        if model.features.scale:
            limit = MAX_DISTANCE
            if model.features.center and self.clip_deviations is not None:
                limit = min(limit, float(self.clip_deviations))
        model.learner = model.learner._replace(limit=limit)
        return model

    def _new_model(self, X, loss):
        n_columns, n_outputs = X.shape[1], self._n_outputs(loss)
        what = f"{n_columns} features"
        if self.random_features is not None:
            if n_columns * self.random_features > MAX_COVARIANCES:
                raise ValueError(
                    f"random_features == {self.random_features} for {what} are too "
                    f"many: their directions would be more than {MAX_COVARIANCES} "
                    "numbers."
                )
            n_columns = self.random_features
            what = f"{n_columns} random features"
        n = n_columns + self.fit_intercept
        n_matrices = 1 if self._shares_covariance else n_outputs
        if n_matrices * (n * (n + 1) // 2) > MAX_COVARIANCES:
            outputs = f" with {n_outputs} outputs" if n_outputs > 1 else ""
            part = "the covariances of their weights"
            raise too_wide_error(self, what + outputs, part, MAX_COVARIANCES)
        return super()._new_model(X, loss)

    def _coefficients(self, attribute):
        self._check_learns_features(attribute)
        return super()._coefficients(attribute)

    def _coef_covariance(self, **keywords):
        self._check_learns_features("coef_covariance_")
        return self._fitted_model().coef_covariance(**keywords)

    def _check_learns_features(self, attribute):
        """Raise AttributeError if the model has weights of random features."""
        model = self._fitted_model()
        if isinstance(model, RandomFeaturesModel) and model.n_features:
            raise AttributeError(
                f"This {type(self).__name__!r} has no attribute {attribute!r}, since "
                "its weights are of random features: fit with `random_features=None`."
            )

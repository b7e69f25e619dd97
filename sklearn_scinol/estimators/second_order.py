"""Parameters and models that estimators of second order share."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval

from ..models.newton import NewtonModel
from .parameters import FORGETTING

__all__ = ["MAX_COVARIANCES", "SecondOrder", "second_order_constraints"]

#: Maximum number of covariances, of all outputs (512 MB).
MAX_COVARIANCES = 2**26

# With a larger variance, a row's update would be lost in rounding.
VARIANCES = Interval(Real, 1e-6, 1e6, closed="both")

# Maximum distance of a feature from its mean, in deviations: beyond it, all earlier
# rows would be lost in rounding.
MAX_DISTANCE = 1e6


class SecondOrder:
    """Parameters and learner of the classifier and the regressor."""

    _own_constraints = {
        "prior_scale": [VARIANCES],
        "forgetting": [FORGETTING],
        "clip_deviations": [Interval(Real, 1, None, closed="left"), None],
    }
    _makes_dense = True
    _model_type = NewtonModel

    def _newton(self, learner, moderate=False):
        """Create a learner with the parameters that both estimators have."""
        return learner(
            float(self.prior_scale),
            float(self.forgetting),
            moderate=bool(moderate),
            fit_intercept=bool(self.fit_intercept),
        )

    def _make_model(self, *arguments, **keywords):
        model = super()._make_model(*arguments, **keywords)
        limit = np.inf
        if model.features.scale:
            limit = MAX_DISTANCE
            if model.features.center and self.clip_deviations is not None:
                limit = min(limit, float(self.clip_deviations))
        model.learner = model.learner._replace(limit=limit)
        return model

    def _start(self, X):
        n, n_outputs = X.shape[1] + self.fit_intercept, self._n_outputs()
        if n_outputs * (n * (n + 1) // 2) > MAX_COVARIANCES:
            outputs = f" with {n_outputs} outputs" if n_outputs > 1 else ""
            raise ValueError(
                f"{X.shape[1]} features{outputs} are too many for "
                f"{type(self).__name__}: the covariances of their weights would be "
                f"more than {MAX_COVARIANCES} numbers; use {self._lighter} instead."
            )
        super()._start(X)


def second_order_constraints(linear):
    """Return the constraints of parameters; weights are not averaged."""
    constraints = linear._parameter_constraints | SecondOrder._own_constraints
    return {name: allowed for name, allowed in constraints.items() if name != "average"}

"""Ranges and defaults of parameters that several estimators have."""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

# Range of parameters: squares of their products with each other and with values of
# features do not overflow.
MIN_PARAMETER, MAX_PARAMETER = 1e-20, 1e20
UNITS: Interval = Interval(Real, MIN_PARAMETER, MAX_PARAMETER, closed="both")
POSITIVE: Interval = Interval(Real, 0, MAX_PARAMETER, closed="right")

# Share of its weight that a row may lose with each later one.
FORGETTING: Interval = Interval(Real, 0, 1, closed="left")

# Parameter of a Gaussian kernel of standardised features.
GAMMA: list = [StrOptions({"scale"}), Interval(Real, 0, None, closed="left")]


class IncreasingFloats(Interval):
    """Constraint of an array-like of numbers in an interval, each above the last.

    It comes after the interval itself in a list of constraints.
    """

    def is_satisfied_by(self, val):
        try:
            values = np.asarray(val)
        except ValueError:  # rows of different lengths
            return False
        is_list = values.ndim == 1 and values.size > 0 and values.dtype.kind in "fiu"
        if not is_list or isinstance(val, Real):
            return False
        return all(map(super().is_satisfied_by, values)) and (np.diff(values) > 0).all()

    def __str__(self):
        return "an array-like of strictly increasing numbers in that range"


#: A probability, or several.
PROBABILITIES: list = [
    Interval(Real, 0, 1, closed="neither"),
    IncreasingFloats(Real, 0, 1, closed="neither"),
]

# Measured by examples/benchmarks/epochs.py on 27 real data sets, with five epochs of
# patience. With this tolerance `fit` stopped after 24 epochs (median; the most was
# 100), and the loss of new rows was 3 % above the lowest of all epochs (median). A
# tenfold tolerance stopped after 8 epochs at 2 %, but at 3.7 times the lowest on wine
# and 16 times on mushrooms, which are separable; a tenth of the tolerance after 58 at
# 2 % and, on noise, deep in overfitting.
DEFAULT_TOL = 1e-3
# As in SGDClassifier: large enough for the tolerance to decide.
DEFAULT_MAX_ITER = 1000

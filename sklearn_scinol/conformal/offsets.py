"""Offsets of the ends of intervals from predictions, learned from their errors."""

import numpy as np

from .._shards import merge
from ..estimators.scinol import ScInOLRegressor
from ..learners.interval_ends import RATES, UNIT, learn_sizes
from .levels import Levels

#: Step of corrections, in units of errors. The scores of intervals depend little on it;
#: a smaller one lets the coverage of few rows wander.
STEP = 0.05

# Indices of the other running means of absolute errors.
OTHERS = [k for k in range(len(RATES)) if k != UNIT]

# Limit of features that are quotients of sizes of errors.
MAX_RATIO = 10.0

# Limit of errors in units, far beyond what the ends of intervals can reach.
MAX_ERROR = 1e50


class Offsets(Levels):
    """Offsets of interval ends for one output.

    The unit of errors is a running mean of their absolute values. `quantiles` of the
    errors in units are predicted by an additive model, from features that tell how
    difficult a row is. :mod:`~sklearn_scinol.learners.interval_ends` corrects them.

    Ends are lower ones, then upper ones, by ascending level; sizes in `sums` are widths
    of intervals. The two thirds, if any, are of widths and of predictions.
    """

    _step = STEP

    _replaced = ("quantiles",)  # which learns under rollbacks of its own

    def __init__(self, levels, n_thirds=0):
        of_ends = np.concatenate([0.5 - levels[::-1] / 2, 0.5 + levels / 2])
        super().__init__(of_ends, len(levels), RATES, 0.0, 0.0, n_thirds)
        self.quantiles = ScInOLRegressor(
            loss="quantile", quantile=of_ends.tolist(), additive=True, center=False
        )

    @property
    def levels(self):
        return 2.0 * self.ends.level[self.n_levels :] - 1.0

    def learn(
        self, engine, groups, errors, weights, features, deviations, learn, served=None
    ):
        """Learn the errors of rows; return the offsets before each.

        These are lower and upper ones, each of shape (n, n_levels), and infinite before
        the first error.

        Parameters
        ----------
        engine : Engine
        groups : ndarray of intp of shape (n,)
            Groups of the rows, if they are given.
        errors, weights : ndarray of shape (n,)
            Targets less predictions; rows of weight 0 are not learned.
        features : ndarray of shape (n, n_features)
            What the quantiles are predicted from; first the prediction.
        deviations : ndarray of shape (n, 1) or (n, 0)
            Standard deviations of the targets, if the estimator has them.
        learn : callable
            Learns features, errors in units and their `sample_weight`; returns the
            quantiles before.
        served : ServedRows, default=None
            What late rows were served: the second value of :meth:`predict`.
        """
        is_learned = weights > 0.0
        has_errors = np.cumsum(is_learned) > is_learned
        has_errors |= self.sizes.weights[UNIT] > 0.0
        sizes = np.empty((len(errors), len(RATES)))
        arguments = self.sizes, np.abs(errors), weights, sizes
        engine.run_loop(learn_sizes, *arguments)
        unit, F = sizes[:, UNIT], self._features(sizes, features, deviations)
        of_groups = of_ends = None
        if served is not None:
            sizes = 1, 1, F.shape[1], 2 * self.n_levels, bool(self.n_thirds)
            of_unit, of_errors, of_F, of_ends, of_groups = served.split(*sizes)
            unit = of_unit.swap(unit[:, np.newaxis])[:, 0]
            has_errors = of_errors.swap(has_errors[:, np.newaxis])[:, 0] > 0.0
            F = of_F.swap(F)
        weights, inverse = np.where(unit > 0.0, weights, 0.0), _inverse(unit)
        with np.errstate(over="ignore"):
            errors = np.clip(errors * inverse, -MAX_ERROR, MAX_ERROR)
        quantiles = np.ascontiguousarray(learn(F, errors, sample_weight=weights))
        values = self._values(quantiles, features)
        groups = self._learn_groups(engine, groups, values, weights, of_groups)
        ends = self._correct(engine, groups, errors, quantiles, weights, of_ends)
        lower, upper = self._by_level(ends)
        errors, unit = errors[:, np.newaxis], unit[:, np.newaxis]
        of_rows = (lower <= errors) & (errors <= upper), unit * (upper - lower)
        self._add_to_sums(groups, of_rows, weights)
        return _offsets(unit, lower, upper, has_errors[:, np.newaxis])

    def n_served(self, n_features, has_deviations):
        """Number of columns of the second value of :meth:`predict`."""
        n_ratios = len(OTHERS) + bool(has_deviations)
        return 2 + n_ratios + n_features + 2 * self.n_levels + bool(self.n_thirds)

    def predict(self, groups, features, deviations, *, exactly=False):
        """Return the offsets of rows, and what they are made of.

        For the parameters see :meth:`learn`. The second value has the unit of errors,
        whether there were any, the features of the quantiles, and the ends in units, of
        each row. If `exactly`, they are those before the row, to the last bit.
        """
        sizes = np.tile(self.sizes.means, (len(features), 1))
        unit, F = sizes[:, UNIT], self._features(sizes, features, deviations)
        quantiles = np.zeros((len(features), 2 * self.n_levels))
        model = self.quantiles
        if model.__sklearn_is_fitted__():
            quantiles = model._serve(F)[0] if exactly else model.predict(F)
        values = self._values(quantiles, features)
        groups, ends = self._ends_of(groups, values, quantiles)
        has_errors = self.sizes.weights[UNIT] > 0.0
        offsets = _offsets(unit[:, np.newaxis], *self._by_level(ends), has_errors)
        are_known = np.full(len(features), float(has_errors))
        served = [unit, are_known, F, ends, *[groups] * bool(self.n_thirds)]
        return offsets, np.column_stack(served)

    def _values(self, quantiles, features):
        """Return widths and predictions of rows, whose thirds are the groups."""
        widths = np.clip(quantiles[:, -1] - quantiles[:, 0], 0.0, MAX_ERROR)
        values = np.column_stack([np.log1p(widths), features[:, 0]])
        return values[:, : self.n_thirds]

    def _features(self, sizes, features, deviations):
        """Return the features of the quantiles, which have no unit of the target."""
        ratios = np.hstack([sizes[:, OTHERS], deviations])
        with np.errstate(over="ignore"):
            ratios *= _inverse(sizes[:, UNIT])[:, np.newaxis]
        features = np.hstack([np.fmin(ratios, MAX_RATIO), features])
        # Values that are equal but for rounding must be in one bin.
        return features.astype(np.float32).astype(np.float64)

    def _by_level(self, ends):
        """Return lower and upper ends by ascending coverage."""
        return ends[:, self.n_levels - 1 :: -1], ends[:, self.n_levels :]

    def _of_levels(self, of_ends):
        lower, upper = self._by_level(of_ends)
        return lower + upper

    def _merge(self, members, start):
        super()._merge(members, start)
        fitted = [m.quantiles for m in members if m.quantiles.__sklearn_is_fitted__()]
        if fitted:
            has_begun = start.quantiles.__sklearn_is_fitted__()
            self.quantiles = merge(fitted, start.quantiles if has_begun else None)

    def invariants(self):
        yield from super().invariants()
        yield "means of sizes >= 0", self.sizes.means >= 0.0


def _inverse(unit):
    """Return 1 over units of errors; 0 where there is none."""
    with np.errstate(all="ignore"):
        inverse = np.where(unit > 0.0, 1.0 / unit, 0.0)
    return np.fmin(inverse, np.finfo(float).max)


def _offsets(unit, lower, upper, has_errors):
    """Return ends in the units of targets, infinite where no error was known."""
    lower = np.where(has_errors, unit * lower, -np.inf)
    return lower, np.where(has_errors, unit * upper, np.inf)

"""Scale of sample weights, which makes their unit irrelevant."""

import numpy as np

from .._invariants import floats
from .._state import Part, number_at
from ..blocks import RowWeights

#: Range of positive weights: quotients of two are at most 1e100.
MIN_WEIGHT, MAX_WEIGHT = 1e-50, 1e50

# Smallest quotient of two weights, with room for rounding.
MIN_RELATIVE_WEIGHT = 0.999 * MIN_WEIGHT / MAX_WEIGHT

# The prior follows weights up to this times the mean of those before.
MAX_RATIO = 4.0


def is_in_range(weight):
    """Whether a weight is 0 or in the range of positive weights."""
    return weight == 0.0 or MIN_WEIGHT <= weight <= MAX_WEIGHT


def check_range(weights):
    """Raise an error if positive weights are out of range."""
    if weights.size == 0:
        return
    if weights.min() < MIN_WEIGHT or weights.max() > MAX_WEIGHT:
        raise ValueError(
            f"Sample weights must be 0 or between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}."
        )


def check_not_all_zero(weights):
    """Raise an error if no weight is positive."""
    if not np.asarray(weights).any():
        raise ValueError("Sample weights must contain at least one non-zero number.")


class WeightScale(Part):
    """Units of a stream's weights, so that a factor of all weights does not matter.

    Relative to the first positive weight, sums over rows keep the weights' quotients:
    moments count rows like this, and learners whose regret is bounded. Others have
    constants that count as some rows: they see weights relative to the mean of all
    weights up to the row, whatever the first one was. Both are 1 if weights are equal.

    A row that is only predicted has the smallest weight so far: learners then see no
    larger values than before.

    An initial wealth is in units of a weight, too, which never falls: the smallest
    power of two that is at least each weight so far, where a weight counts as at most 4
    times the mean of those before it. The first counts as 0, since nothing was learned
    before it that could be wrong.

    Attributes
    ----------
    numbers : ndarray of shape (7,)
        The first positive weight, or 0. Relative to it: the smallest weight and the sum
        of the weights; then their number, the smallest weight relative to the mean up
        to its row, and the first unit of the wealth, or 0, and its present one.
    """

    unit, smallest, smallest_to_mean = map(number_at, (0, 1, 4))

    def __init__(self):
        self.numbers = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0])

    @property
    def mean(self):
        """The mean of the positive weights so far, relative to `unit`."""
        total, count = self.numbers[2:4]
        return float(total / count) if count else 1.0

    @property
    def priors(self):
        """The first unit of the wealth, and its present one, relative to `unit`."""
        start, prior = self.numbers[5:].tolist()
        return start or prior, prior

    def _stay_equal(self, given):
        """Whether all weights are equal, the next ones included."""
        unit, smallest, total, count, *_ = self.numbers
        if smallest < 1.0 or total > count:
            return False
        if isinstance(given, int):
            return unit in (0.0, 1.0)
        return given.size and given[0] > 0.0 and (given == (unit or given[0])).all()

    def relative(self, given):
        """Return :class:`RowWeights` of the next rows, without learning them.

        `given` are their non-negative weights, or a number of rows of weight 1. A
        weight out of range is an error.
        """
        unit, smallest, _, count, least, start, _ = self.numbers
        if self._stay_equal(given):
            given = np.ones(given) if isinstance(given, int) else given
            ones = given if given[0] == 1.0 else np.ones(given.size)
            check_range(given[:1])
            count += given.size
            after = unit or given[0], 1.0, count, count, 1.0, float(count > 1.0), 1.0
            return RowWeights(given, ones, ones, np.array(after))
        given = np.ones(given) if isinstance(given, int) else given
        is_learned = given > 0.0
        positive = given[is_learned]
        if positive.size == 0:
            relative, to_mean = (np.full_like(given, c) for c in (smallest, least))
            return RowWeights(given, relative, to_mean, self.numbers.copy())
        check_range(positive)
        unit = unit or positive[0]
        positive = positive / unit
        totals, counts, priors = self._running(positive)
        if start == 0.0 and counts[-1] > 1.0:
            start = priors[np.argmax(counts > 1.0)]
        relative, smallest = _fill(is_learned, positive, smallest)
        to_mean, least = _fill(is_learned, positive / (totals / counts), least)
        after = unit, smallest, totals[-1], counts[-1], least, start, priors[-1]
        return RowWeights(given, relative, to_mean, np.array(after))

    def _running(self, relative):
        """Return sums and numbers of weights, and units of the wealth, at each row."""
        _, _, total, count, _, start, prior = self.numbers
        totals = np.add.accumulate(np.append(total, relative))
        counts = count + np.arange(totals.size)
        means = totals / np.maximum(counts, 1.0)
        powers = _power_above(np.minimum(relative, MAX_RATIO * means[:-1]))
        powers[0] = max(powers[0], prior if start else 0.0)
        priors = np.maximum.accumulate(powers)
        return totals[1:], counts[1:], np.where(priors > 0.0, priors, prior)

    def count_of_one_prior(self, given):
        """Count the next rows that are learned with one unit of the wealth."""
        if self._stay_equal(given):
            return given if isinstance(given, int) else given.size
        given = np.ones(given) if isinstance(given, int) else given
        learned = np.flatnonzero(given > 0.0)
        if learned.size == 0:
            return given.size
        positive = given[learned]
        check_range(positive)
        *_, priors = self._running(positive / (self.unit or positive[0]))
        # Rows of weight 0 that come first are predicted with the present unit.
        present = self.numbers[-1] if learned[0] > 0 else priors[0]
        return int([*learned[priors != present], given.size][0])

    def relative_of_one(self, c):
        """Return what :meth:`relative` does for one row, as a list of numbers."""
        numbers = self.numbers.tolist()
        unit, smallest, total, count, least, start, prior = numbers
        if c == 0.0:
            return [c, smallest, least, *numbers]
        unit = unit or c
        relative = c / unit
        target = min(relative, MAX_RATIO * (total / count)) if count else 0.0
        if target > (prior if start else 0.0):
            prior = float(_power_above(target))
            start = start or prior
        total, count = total + relative, count + 1.0
        to_mean = relative / (total / count)
        smallest, least = min(smallest, relative), min(least, to_mean)
        after = unit, smallest, total, count, least, start, prior
        return [c, relative, to_mean, *after]

    @classmethod
    def merged(cls, shards):
        """Merge the scales of streams; return factors of the weights of each."""
        own = shards.start.unit or max(scale.unit for scale in shards.members)
        merged = cls()
        if not own:
            return merged, [1.0] * len(shards)
        factors = [(scale.unit or own) / own for scale in shards.members]
        numbers = shards.numbers
        pairs = zip(factors, numbers, strict=True)
        scaled = np.transpose([factor * of_member for factor, of_member in pairs])
        smallest, least = min(1.0, *scaled[1]), min(each[4] for each in numbers)
        total = numbers.map(lambda each: each[2]).in_units(factors).sum(1)
        count, (start, prior) = numbers.sum()[3], scaled[5:].max(axis=1)
        if count > 1.0:
            start = start or prior  # the next row is not the second one
        merged.numbers[:] = own, smallest, total, count, least, start, prior
        return merged, factors

    def invariants(self):
        """Yield what holds between two calls."""
        yield from floats("weight scale", self.numbers, (7,))
        unit, smallest, total, count, least, start, prior = self.numbers
        yield "unit of weights is in the range of weights", is_in_range(unit)
        yield "smallest weight is in its range", MIN_RELATIVE_WEIGHT <= smallest <= 1.0
        yield "weights have a mean", total >= 0.0 and (total > 0.0) == (count >= 1.0)
        yield "smallest weight to a mean is in its range", 0.0 < least <= 1.0
        largest = 2.0 / MIN_RELATIVE_WEIGHT
        yield "the wealth has a unit", 0.0 <= start <= prior <= largest

    def learned(self, weights):
        """Update the scale for rows that were learned."""
        self.numbers[:] = weights.after


def _fill(is_learned, positive, smallest):
    """Return weights of all rows, and the smallest, which unlearned rows have."""
    weights = np.full(is_learned.size, np.inf)
    weights[is_learned] = positive
    smallest = np.minimum.accumulate(np.append(smallest, weights))
    return np.where(is_learned, weights, smallest[1:]), smallest[-1]


def _power_above(values):
    """Return the smallest powers of two that are not below values; 0 for 0."""
    mantissa, exponent = np.frexp(values)
    return np.where(values == 0.0, 0.0, np.ldexp(1.0, exponent - (mantissa == 0.5)))

"""Units of features whose squares would be out of range."""

from copy import copy

import numpy as np

from .._state import Part
from ..blocks import DenseRows, repeat_to_entries
from .ranges import OutOfRange, too_large

#: A feature outgrows its unit by a value, times the weight of its row, above this.
MAX_IN_UNITS = 2.0**400

#: Where the first value is between 2^-200 and 2^200, the unit is 1.
ORDINARY_EXPONENT = 200


class FeatureUnits(Part):
    """A power of two for each feature, in which learners see its values.

    The first value other than 0 fixes it. Scale-free learners thus work for all units,
    from the smallest to the largest number there is.

    Attributes
    ----------
    seen : ndarray of bool of shape (n_features,)
        Whether there was a value other than 0.
    exponents : ndarray of int16 of shape (n_features,)
        Exponents of the powers of two; 0 for ordinary values.
    are_one : bool
        Whether all units are 1.
    some_outgrown : bool
        Whether a feature has outgrown its unit.
    """

    _by_feature = "seen", "exponents"

    def __init__(self, n_features):
        self.seen = np.zeros(n_features, dtype=bool)
        self.exponents = np.zeros(n_features, dtype=np.int16)
        self.are_one = True
        self.some_outgrown = False

    def learn_and_convert(self, engine, rows, weights, checks=True):
        """Fix the units of new features; return rows in units, and outgrown features.

        These have a larger unit from now on, and their values before count as 0. If
        all units are 1, features are only examined if `checks`. A value that is not
        finite raises :exc:`OutOfRange`.
        """
        is_learned = weights.given > 0.0
        if isinstance(rows, DenseRows):
            new = _first_dense(rows, self.seen, is_learned)
        else:
            new = engine.first_values(self.seen, rows, weights)
        self._fix(*new, ORDINARY_EXPONENT)
        outgrown = [np.empty(0, np.intp)]
        while True:
            in_units = self._rows_in_units(rows)
            if not checks and self.are_one:
                break
            mask = too_large(engine, in_units, weights, MAX_IN_UNITS)
            if mask is None:
                break
            if not np.isfinite(rows[0][mask]).all():
                raise OutOfRange("Input X contains NaN or infinity.")
            features, values = _first(rows, mask & repeat_to_entries(rows, is_learned))
            if features.size == 0:
                break
            self._fix(features, values)
            self.some_outgrown = True
            outgrown.append(features)
        return in_units, np.concatenate(outgrown)

    def in_units(self, values, features=...):
        """Convert values of features to their units."""
        with np.errstate(over="ignore"):  # of rows that are not learned
            return np.ldexp(values, -self.exponents[features])

    def from_raw(self, u):
        """Convert weights of raw values to weights of values in units."""
        with np.errstate(over="ignore"):
            return u if self.are_one else np.ldexp(u, self.exponents)

    def to_raw(self, w):
        """Convert weights of values in units to weights of raw values."""
        return w if self.are_one else np.ldexp(w, -self.exponents)

    def with_columns(self, placement):
        """Return the units of rows with other columns; see :class:`Placement`."""
        placed = copy(self)
        placed.seen = placement.apply(self.seen, self.seen, False)
        placed.exponents = placement.apply(self.exponents, self.seen, 0)
        placed.are_one = not placed.exponents.any()
        return placed

    def copy_from(self, other, places):
        """Copy the features of another one to these places, before the first row."""
        self.seen[places], self.exponents[places] = other.seen, other.exponents
        self.are_one, self.some_outgrown = other.are_one, other.some_outgrown

    @classmethod
    def merged(cls, shards):
        """Merge units to the largest; also return the :meth:`scales_of` each."""
        merged = cls(len(shards.start.seen))
        merged.seen = shards.seen.max()
        lowest = np.iinfo(np.int16).min
        exponents = shards.map(lambda u: np.where(u.seen, u.exponents, lowest)).max()
        merged.exponents = np.where(merged.seen, exponents, 0).astype(np.int16)
        merged.are_one = not merged.exponents.any()
        merged.some_outgrown = any(shards.some_outgrown.members)
        return merged, [*map(merged.scales_of, shards.members)]

    def scales_of(self, other):
        """Return factors from other units to these."""
        change = other.exponents.astype(np.intc) - self.exponents
        return np.where(other.seen, np.ldexp(1.0, change), 1.0)

    def forget(self, features):
        """Forget that features were seen."""
        self.seen[features] = False
        self.exponents[features] = 0
        self.are_one = not self.exponents.any()

    def _rows_in_units(self, rows):
        if self.are_one:
            return rows
        if isinstance(rows, DenseRows):
            return DenseRows(self.in_units(rows.X))
        return rows._replace(data=self.in_units(rows.data, rows.indices))

    def _fix(self, features, values, ordinary=0):
        """Make the power of two next to each value the unit, or 1 if it is ordinary."""
        if features.size == 0:
            return
        self.seen[features] = True
        exponents = np.frexp(values)[1]
        exponents[(np.abs(exponents) <= ordinary) | ~np.isfinite(values)] = 0
        # Assigned in any case: sessions then look at `seen`, which changes in place.
        self.are_one = self.are_one and not exponents.any()
        if not self.are_one:
            self.exponents[features] = exponents
            self.are_one = not self.exponents.any()

    def invariants(self):
        """Yield what holds between two calls."""
        yield "an unseen feature has unit 1", self.seen | (self.exponents == 0)
        yield "are_one is true if all units are 1", self.are_one != self.exponents.any()


def _first_dense(rows, seen, is_learned):
    """Find the first learned values other than 0 of features not seen yet."""
    new = np.flatnonzero(~seen)
    if new.size == 0:
        return new, new
    columns = DenseRows(rows.X[:, new])
    features, values = _first(columns, (columns.X != 0.0) & is_learned[:, np.newaxis])
    return new[features], values


def _first(rows, mask):
    """Find the first value of each feature in a mask: features, and values."""
    if isinstance(rows, DenseRows):
        features = np.flatnonzero(mask.any(axis=0))
        return features, rows.X[mask[:, features].argmax(axis=0), features]
    places = np.flatnonzero(mask)
    features, first = np.unique(rows.indices[places], return_index=True)
    return features, rows.data[places[first]]

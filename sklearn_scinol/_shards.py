"""What several have that learned different parts of a stream, as one has it."""

import numpy as np

__all__ = ["Shards"]


class Shards:
    """Models that learned different parts of a stream, or the same thing of each.

    An attribute that is not one of these is that attribute of each of the models.

    Parameters
    ----------
    members : list
        What each of the models has.
    start : object
        What they all began with. It is part of each of them, and counts once.
    shares : ndarray of shape (n_members,)
        What part of all rows each has learned, of sum 1.
    units : sequence, default=None
        What the rows that each has seen are to be multiplied by; None for 1.
    """

    def __init__(self, members, start, shares, units=None):
        self.members, self.start, self.shares = members, start, shares
        self.units = [1.0] * len(members) if units is None else units

    def __getattr__(self, name):
        if name.startswith("__"):  # which copies ask for
            raise AttributeError(name)
        return self.of(lambda member: getattr(member, name))

    def __iter__(self):
        return iter(self.members)

    def __len__(self):
        return len(self.members)

    def of(self, get):
        """What a function gives of each."""
        return Shards(
            [*map(get, self.members)], get(self.start), self.shares, self.units
        )

    def in_units(self, units):
        """The same, with other units of rows."""
        return Shards(self.members, self.start, self.shares, units)

    def sum(self, power=0):
        """Of arrays or numbers that sum over rows.

        Parameters
        ----------
        power : int
            Of the unit of the rows that they are in.
        """
        more = [
            unit**power * (value - self.start)
            for value, unit in zip(self.members, self.units, strict=True)
        ]
        return self.start + sum(more)

    def mean(self, power=0):
        """Of arrays or numbers, each counting by its share of the rows."""
        parts = zip(self.shares, self.units, self.members, strict=True)
        return sum(share * unit**power * value for share, unit, value in parts)

    def most(self, power=0):
        """The largest of them, entry by entry."""
        values = self.members
        if power:
            pairs = zip(values, self.units, strict=True)
            values = [unit**power * value for value, unit in pairs]
        return np.maximum.reduce(values)

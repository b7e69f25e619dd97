"""What several have that learned different parts of a stream, as one has it."""

from pickle import PicklingError

import numpy as np
from joblib import hash as hash_of

__all__ = [
    "LATER_START",
    "Shards",
    "are_same",
    "check_alike",
    "check_can_be_merged",
    "columns_differ",
    "merge",
]

LATER_START = "start has learned more rows than a model that began so."

# Parameters that change nothing about what was learned.
IRRELEVANT = {"memory", "n_jobs", "random_state", "verbose"}

# Attributes that models must have in common; some classes have others.
SAME_IN_ALL = "n_features_in_", "feature_names_in_", "_output_shape"


def merge(members, start=None):
    """One estimator of several, which stay as they are.

    Parameters
    ----------
    members : list of estimators
        All fitted.
    start : estimator, default=None
        What they began as; None if that had learned nothing.

    Raises
    ------
    TypeError, ValueError
        If they cannot be merged.
    """
    first, *others = members
    check_alike(members if start is None else [*members, start])
    return first._merged(others, start)


def check_can_be_merged(estimator):
    """Refuse an estimator from elsewhere."""
    if not hasattr(estimator, "_merged"):
        raise TypeError(
            f"{type(estimator).__name__} cannot be merged: only estimators, "
            "transformers and pipelines of this package can."
        )


def columns_differ(what):
    """The error for what cannot be merged where its columns are not the same."""
    return ValueError(
        f"{what} cannot be merged, since the columns before it differ between the "
        "models: let all begin as copies of one that has seen the same values."
    )


def check_alike(estimators):
    """Check that several are alike but for what they have learned."""
    first = estimators[0]
    for estimator in estimators:
        check_can_be_merged(estimator)
        if type(estimator) is not type(first):
            raise ValueError(
                f"{type(estimator).__name__} cannot be merged with "
                f"{type(first).__name__}."
            )
        own, others = map(_parameters, (estimator, first))
        for name in sorted({*own, *others}):
            if name not in own or name not in others:
                is_same = False
            else:
                is_same = are_same(own[name], others[name])
            if not is_same:
                raise ValueError(
                    "Only models with the same parameters can be merged: "
                    f"{name} differs."
                )
        for name in getattr(first, "_same_in_all", SAME_IN_ALL):
            mine, theirs = getattr(estimator, name, None), getattr(first, name, None)
            if not are_same(mine, theirs):
                raise ValueError(
                    "Only models of the same features and targets can be merged: one "
                    f"has {name.strip('_')}={theirs}, another {mine}."
                )


def _parameters(estimator):
    """Those that matter; of steps only their names, since each is merged by itself."""
    parameters = estimator.get_params(deep=not hasattr(estimator, "steps"))
    if hasattr(estimator, "steps"):
        parameters["steps"] = [name for name, _ in estimator.steps]
    return {
        name: value
        for name, value in parameters.items()
        if name.rpartition("__")[2] not in IRRELEVANT
    }


def are_same(a, b):
    """Whether two objects have equal values."""
    if a is b:
        return True
    try:
        return hash_of(a) == hash_of(b)
    except (PicklingError, AttributeError):  # a function without a name
        return bool(a == b)


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

    def parts(self, power=0):
        """What each has of the mean of arrays or numbers, by its share of the rows."""
        parts = zip(self.shares, self.units, self.members, strict=True)
        return [share * unit**power * value for share, unit, value in parts]

    def mean(self, power=0):
        """Of arrays or numbers, each counting by its share of the rows."""
        return sum(self.parts(power))

    def most(self, power=0):
        """The largest of them, entry by entry."""
        values = self.members
        if power:
            pairs = zip(values, self.units, strict=True)
            values = [unit**power * value for value, unit in pairs]
        return np.maximum.reduce(values)

"""Several models trained on disjoint data, and how to check and merge them."""

from itertools import chain
from pickle import PicklingError

import numpy as np
from joblib import hash as hash_of

START_DIFFERS = (
    "A model is not a copy of `start` as it is now: pass the model that all of them "
    "are copies of, as it was when it was copied, or no `start` if they began on their "
    "own."
)

# Parameters that do not change what is learned.
IGNORED_PARAMETERS = {"memory", "n_jobs", "random_state", "verbose"}

# Attributes that must be equal, unless a class has `_equal_attributes`.
EQUAL_ATTRIBUTES = "n_features_in_", "feature_names_in_", "_output_shape"


class Origins(frozenset):
    """Random names of where a model began to learn, which its copies share."""

    def __reduce__(self):
        return Origins, (sorted(self),)

    def __reduce_ex__(self, protocol):
        # joblib hashes pickles of protocol 3: models that learned the same are equal.
        return self.__reduce__() if protocol != 3 else (Origins, ())


def _origins_of_steps(model):
    """Yield where a model began, or each of its steps, the last one first."""
    own = getattr(model, "__dict__", {})
    if "_origins" in own:
        yield own["_origins"]
        return
    steps = [own["estimator_"]] if "estimator_" in own else []
    if hasattr(type(model), "named_steps"):
        steps = [step for _, step in reversed(model.steps)]
    yield from chain.from_iterable(map(_origins_of_steps, steps))


def origins_of(model):
    """Return where a model, or its last step that has learned rows, began."""
    return next(filter(None, _origins_of_steps(model)), Origins())


def merge(members, start=None):
    """Merge fitted estimators, given the fitted one that they are copies of, if any."""
    first, *others = members
    check_alike(members if start is None else [*members, start])
    merged = first._merged(others, start)  # what else is wrong comes first
    for member in members:
        known = set().union(*_origins_of_steps(member))
        if known and not origins_of(start) <= known:
            raise ValueError(START_DIFFERS)
    origins = [origins_of(member) - origins_of(start) for member in members]
    if len(set().union(*origins)) < sum(map(len, origins)):
        raise ValueError(
            "Some models are copies of one model, whose rows would count more than "
            "once: pass it, as it was when it was copied, as `start`."
        )
    return merged


def check_can_be_merged(estimator):
    """Refuse an estimator from elsewhere."""
    if not hasattr(estimator, "_merged"):
        raise TypeError(
            f"{type(estimator).__name__} cannot be merged: only estimators, "
            "transformers and pipelines of this package can."
        )


def columns_differ(what):
    """Return the error for steps behind columns that differ between the models."""
    return ValueError(
        f"{what} cannot be merged, since the columns before it differ between the "
        "models: let all begin as copies of one that has seen the same values."
    )


def check_alike(estimators):
    """Check that estimators have the same class, parameters and features."""
    first = estimators[0]
    for estimator in estimators:
        check_can_be_merged(estimator)
        if type(estimator) is not type(first):
            raise ValueError(
                f"{type(estimator).__name__} cannot be merged with "
                f"{type(first).__name__}."
            )
        if getattr(estimator, "_learned_with", None):
            estimator._settle_parameters(begins=False)  # raises ValueError
        own, others = map(_parameters, (estimator, first))
        for name in sorted({*own, *others}):
            is_in_both = name in own and name in others
            if not (is_in_both and are_same(own[name], others[name])):
                raise ValueError(
                    "Only models with the same parameters can be merged: "
                    f"{name} differs."
                )
        for name in getattr(first, "_equal_attributes", EQUAL_ATTRIBUTES):
            mine, theirs = getattr(estimator, name, None), getattr(first, name, None)
            if not are_same(mine, theirs):
                raise ValueError(
                    "Only models of the same features and targets can be merged: one "
                    f"has {name.strip('_')}={theirs}, another {mine}."
                )


def _parameters(estimator):
    """Return the parameters that matter; of steps, merged one by one, the names."""
    parameters = estimator.get_params(deep=not hasattr(estimator, "steps"))
    if hasattr(estimator, "steps"):
        parameters["steps"] = [name for name, _ in estimator.steps]
    return {
        name: value
        for name, value in parameters.items()
        if name.rpartition("__")[2] not in IGNORED_PARAMETERS
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
    """Models trained on disjoint data, or the same part of each.

    Any other attribute gives that attribute of each member, as shards.

    Parameters
    ----------
    members : list
    start : object
        The common start of the members, which counts once.
    shares : ndarray of shape (n_members,)
        Each member's share of all rows; they sum to 1.
    units : sequence, default=None
        Factors of the rows that each member has seen; None for 1.
    """

    def __init__(self, members, start, shares, units=None):
        self.members, self.start, self.shares = members, start, shares
        self.units = [1.0] * len(members) if units is None else units

    def __getattr__(self, name):
        if name.startswith("__"):  # which copies ask for
            raise AttributeError(name)
        return self.map(lambda member: getattr(member, name))

    def __iter__(self):
        return iter(self.members)

    def __len__(self):
        return len(self.members)

    def map(self, function):
        """Apply a function to each member, and to the start."""
        members = [*map(function, self.members)]
        return Shards(members, function(self.start), self.shares, self.units)

    def in_units(self, units):
        """Return the shards with other units of rows."""
        return Shards(self.members, self.start, self.shares, units)

    def sum(self, power=0):
        """Add up sums over rows, in a power of the unit of rows."""
        more = [
            unit**power * (value - self.start)
            for value, unit in zip(self.members, self.units, strict=True)
        ]
        return self.start + sum(more)

    def parts(self, power=0):
        """Return the terms of :meth:`mean`."""
        parts = zip(self.shares, self.units, self.members, strict=True)
        return [share * unit**power * value for share, unit, value in parts]

    def mean(self, power=0):
        """Return the mean, weighted by the shares of rows."""
        return sum(self.parts(power))

    def max(self, power=0):
        """Return the maximum, entry by entry."""
        values = self.members
        if power:
            pairs = zip(values, self.units, strict=True)
            values = [unit**power * value for value, unit in pairs]
        return np.maximum.reduce(values)

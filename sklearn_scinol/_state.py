"""State that learning changes, and how what it was before is restored."""

from functools import partial
from itertools import count
from operator import is_
from weakref import ref

import numpy as np

ARRAYS = np.ndarray, np.memmap

# Types of values that never change in place.
NUMBERS = frozenset([float, int, bool, str, type(None)])


class assignments:
    """Counter of assignments to attributes of parts.

    Calls that are bound to arrays look at them again once `n` has changed.
    """

    n, _numbers = 0, count(1)

    @classmethod
    def add(cls):
        """Count one, with a number that no thread has had."""
        cls.n = next(cls._numbers)


def number_at(place):
    """Return a property: the number at a place of the array `numbers`."""
    return property(lambda self: self.numbers.item(place))


class Part:
    """Object whose state learning changes; see :func:`checkpoint`.

    The state is in attributes: arrays and tuples of arrays, numbers, lists, and other
    parts, perhaps in lists. Learning changes arrays and lists in place, or replaces
    attributes. :class:`assignments` counts what is replaced.
    """

    #: Names of all attributes that learning changes in place; empty if any may be.
    _changed: tuple[str, ...] = ()

    #: Names of attributes that learning replaces, if it changes them at all.
    _replaced: tuple[str, ...] = ()

    #: Names of arrays that learning changes in place, and :meth:`_undo` restores.
    _undone: tuple[str, ...] = ()

    #: Names of arrays whose last axis is of features, perhaps with the intercept after
    #: them. Of these sparse rows change their own features only.
    _by_feature: tuple[str, ...] = ()

    #: Names of large arrays, or tuples of arrays, that `add_classes` replaces.
    _by_output: tuple[str, ...] = ()

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        assignments.add()

    def _seen(self, X, features):
        """Return what this part and its parts see of rows, and of features.

        The features are those that learning the rows changes; None stands for all.
        """
        return X, features

    def _undo(self, X):
        """Return a function that undoes what learning rows changes in `_undone`.

        It is called after attributes are restored. None if there is nothing to undo.
        """
        return None


def parts_of(part):
    """Return a part and all parts within it, each once."""
    return [each for each, *_ in _within(part)]


def attributes_of(part):
    """Return names and values of attributes that learning may change in place."""
    names = part._changed or vars(part)
    return [(n, vars(part).get(n)) for n in names if n not in part._replaced]


def restore_attributes(part, before):
    """Restore the attributes of an object."""
    vars(part).clear()
    vars(part).update(before)
    assignments.add()


def make_writable(part):
    """Make all arrays of a state writable: joblib maps those of a file read-only."""
    for each in parts_of(part):
        for name, value in attributes_of(each):
            _made_writable(each, name, value)


def _made_writable(part, name, value):
    """Replace an attribute by one whose arrays are writable, and return it.

    As it is stored: the setter of a property may make another copy.
    """
    if (writable := _writable(value)) is not value:
        vars(part)[name] = writable
        assignments.add()
    return writable


def checkpoint(part, X=None, features=None):
    """Return a function that undoes learning rows `X`, in a part and all within it.

    If `features` is given, learning changes these features only; see Part._seen.

    It may be called more than once, and restores arrays in place. All are writable
    from now on.
    """
    saved, arrays, lists, undo = [], [], [], []
    for each, seen, changed, found in _within(part, X, features):
        kind, attributes = type(each), vars(each)
        for name, value in found:
            if isinstance(value, np.ndarray):
                if type(value) is not np.ndarray or not value.flags.writeable:
                    value = _made_writable(each, name, value)
                if name in kind._undone:
                    continue
                if changed is None or name not in kind._by_feature:
                    arrays.append((value, ..., value.copy(order="K")))
                elif value.size:  # taking nothing of many columns is slow
                    arrays.append(_records(value, changed, seen.shape[1]))
            elif type(value) is list:
                lists.append((value, value.copy()))
            elif isinstance(value, tuple) and value and type(value[0]) in ARRAYS:
                value = _made_writable(each, name, value)
                if name not in kind._undone:
                    of_tuple = [each for each in value if isinstance(each, np.ndarray)]
                    arrays += [(a, ..., a.copy(order="K")) for a in of_tuple]
        if kind._undo is not Part._undo:
            undo.append(each._undo(seen))
        saved.append((each, attributes.copy()))

    return partial(_restore, saved, arrays, lists, undo)


def _restore(attributes, arrays, lists, undo):
    """Restore what :func:`checkpoint` has saved."""
    for part, before in attributes:
        restore_attributes(part, before)
    for array, places, values in arrays:
        array[places] = values
    for values, before in lists:
        values[:] = before
    for function in reversed(undo):  # parts before those that hold them
        if function is not None:
            function()


def _records(array, features, n_features):
    """Return an array by features, what may change in it, and what that was.

    A record of a coordinate is as in memory.
    """
    places = np.append(features, np.arange(n_features, array.shape[-1]))
    return array.T, places, array.T.take(places, axis=0)


def _within(part, X=None, features=None):
    """Return all parts within a part, with what each sees of rows; see Part._seen.

    Also names and values of its attributes that may change in place, but for parts.
    """
    found, to_visit = {}, [(part, X, features)]
    while to_visit:
        part, X, features = to_visit.pop()
        if id(part) in found:
            continue
        if X is not None and type(part)._seen is not Part._seen:
            X, features = part._seen(X, features)
        attributes, changing = vars(part), []
        found[id(part)] = part, X, features, changing
        for name in part._changed or attributes:
            value = attributes.get(name)
            if type(value) in NUMBERS or name in part._replaced:
                continue
            if isinstance(value, Part):
                to_visit.append((value, X, features))
                continue
            if type(value) is list and value and isinstance(value[0], Part):
                to_visit += [(each, X, features) for each in value]
            changing.append((name, value))
    return found.values()


def _writable(value):
    """Return an attribute whose arrays, if it has any, are writable."""
    if isinstance(value, np.ndarray):
        return as_writable(value)
    if isinstance(value, tuple) and value and type(value[0]) in ARRAYS:
        changed = [
            as_writable(each) if isinstance(each, np.ndarray) else each
            for each in value
        ]
        if not all(map(is_, changed, value)):
            return getattr(value, "_make", tuple)(changed)
    return value


def as_writable(array, order=None):
    """Return an array that engines can change, a copy where it is mapped from disk.

    In C or Fortran order, if `order` is given.
    """
    flags = array.flags
    is_ordered = {"C": flags.c_contiguous, "F": flags.f_contiguous, None: True}[order]
    if type(array) is np.ndarray and is_ordered and flags.writeable and flags.aligned:
        return array
    return np.require(array, requirements=[*(order or ""), "A", "W", "E"])


class NeedsRoom(Exception):
    """Rows need more room than the arrays of a state have."""


class UndoLog(list):
    """Record of what a state was before each change."""

    pending = None  # what an engine saves meanwhile, which is recorded after its call


class RecordsChanges(Part):
    """State that records its changes in a log, from which they can be undone.

    All that may be undone shares one log. The state has only a weak reference to it:
    nothing is recorded for calls that are over.
    """

    def __init__(self):
        self._log = []

    @property
    def _current_log(self):
        """The log that gets all changes from now on, or None."""
        return self._log[0]() if self._log else None

    def _begin_log(self):
        """Return the log that gets all changes from now on, and its length."""
        log = self._current_log
        if log is None:
            log = UndoLog()
            self._log[:] = [ref(log)]
        return log, len(log)

    def _record(self, before):
        """Add what a part of the state was before a change, if it may be undone."""
        log = self._current_log
        if log is not None:
            log.append(before)

    def __getstate__(self):
        return vars(self) | {"_log": []}

"""Locks of estimators: one thread learns at a time, and any number predict."""

import os
from collections.abc import Callable
from contextlib import contextmanager
from copy import deepcopy
from functools import partial, wraps
from threading import Lock, RLock, get_ident
from time import sleep
from typing import Any, TypeVar, cast
from weakref import WeakKeyDictionary

# Decorated methods keep their types.
Method = TypeVar("Method", bound=Callable[..., Any])


class Locks:
    """Locks of an estimator, a transformer or a pipeline.

    A thread that learns holds both, and releases `state` between two blocks of rows if
    others wait for it. Predictions of many rows hold it only to enter `readers`: they
    run side by side, and learning waits for them. Predictions of one row hold it until
    they are done. Locks are reentrant.

    Attributes
    ----------
    learning, state : RLock
        Taken in this order, by a ``with`` statement, which releases them whenever the
        thread is interrupted.
    readers : dict
        From threads that read to the lock that each of them holds.
    is_wanted : bool
        Whether a thread may wait for `state` to predict.
    """

    def __init__(self):
        self.learning, self.state = RLock(), RLock()
        self.readers = {}
        self.is_wanted = False

    def wait_for_readers(self):
        """Wait until no other thread reads; `state` is held, so that none begins."""
        for thread, lock in [*self.readers.items()]:
            if thread != get_ident():
                with lock:
                    pass

    def read(self, call):
        """Call a function that reads the state, between two rows."""
        thread = get_ident()
        if thread in self.readers:
            return call()
        lock = Lock()
        with lock:
            try:
                self.is_wanted = True
                with self.state:
                    self.readers[thread] = lock
                return call()
            finally:
                self.readers.pop(thread, None)

    @contextmanager
    def open_to_readers(self):
        """Release `state` in a block that learns nothing: others may predict."""
        # The lock comes back in any case: what it needs is kept before an interruption.
        held = []
        try:
            held.extend(map(type(self.state)._release_save, [self.state]))
            yield
        finally:
            if held:
                self.state._acquire_restore(*held)
            self.wait_for_readers()

    def give_way(self):
        """Release `state` until waiting threads have taken it."""
        self.is_wanted = False
        with self.open_to_readers():
            sleep(5e-4)


# Locks are not attributes of their owners, for they can be neither copied nor saved.
_LOCKS: WeakKeyDictionary[Any, Locks] = WeakKeyDictionary()


def locks_of(owner):
    """Return the locks of an estimator, a transformer or a pipeline."""
    locks = _LOCKS.get(owner)
    return _LOCKS.setdefault(owner, Locks()) if locks is None else locks


def _renew():
    """Free all locks: after a fork there are no other threads."""
    for locks in _LOCKS.values():
        locks.__init__()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)


def learns(method: Method) -> Method:
    """Decorate a method that changes the state: one thread at a time."""

    @wraps(method)
    def learn(self, *arguments, **keywords):
        locks = locks_of(self)
        with locks.learning, locks.state:
            locks.wait_for_readers()
            return method(self, *arguments, **keywords)

    return cast(Method, learn)


def reads(method: Method) -> Method:
    """Decorate a method that reads the state: many threads at once, between rows."""

    @wraps(method)
    def read(self, *arguments, **keywords):
        return locks_of(self).read(partial(method, self, *arguments, **keywords))

    return cast(Method, read)


class SharedByThreads:
    """Base of estimators that one thread may copy while another one learns."""

    @reads
    def __deepcopy__(self, memo):
        other = memo[id(self)] = type(self).__new__(type(self))
        other.__setstate__(deepcopy(self.__getstate__(), memo))
        return other

"""Parameters that `set_params` changes after the first rows."""

from collections import ChainMap
from contextlib import contextmanager
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from ._docstrings import described_as
from ._shards import are_same
from ._state import checkpoints

SEQUENCES = list, tuple, np.ndarray


class FixedParameters:
    """Base of estimators whose parameters count when they begin to learn.

    `set_params` or assignment may change them at any time, for the next `fit`. Until
    then, rows are predicted by the former values, and `partial_fit` raises an error.
    """

    #: Parameters that each call reads, or only `fit`: they may change at any time.
    _changeable: frozenset[str] = frozenset()

    #: Names of the others.
    _fixed: frozenset[str] = frozenset()

    #: Values that these had when the estimator began, if some have changed since.
    #: The first one has.
    _learned_with: dict[str, Any] | None = None

    #: Parameters that a class does not have, with what stands for them. A class need
    #: not repeat those of its bases.
    _lacking: dict[str, Any] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        of_classes = [vars(kind).get("_lacking", {}) for kind in cls.__mro__]
        cls._lacking = dict(ChainMap(*of_classes))
        names = cls._get_param_names()  # type: ignore[attr-defined]
        cls._fixed = frozenset(names) - cls._changeable

    def __getattr__(self, name: str) -> Any:
        if name in self._lacking:
            return self._lacking[name]
        return object.__getattribute__(self, name)  # raises AttributeError

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._fixed:  # as most that are set while rows are learned
            super().__setattr__(name, value)
            return
        with self._noting_changes([name]):
            super().__setattr__(name, value)

    @described_as(BaseEstimator.set_params)
    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        After the first rows most of them count at the next `fit` only: until then
        `partial_fit` raises an error, unless they are set back.
        """
        with self._noting_changes(params):
            return super().set_params(**params)  # type: ignore[misc]

    @contextmanager
    def _noting_changes(self, names):
        """Keep what parameters were before the block, which sets these, if they change.

        Parameters of estimators inside count as well: these are cloned when it begins.
        """
        if not self.__sklearn_is_fitted__():
            yield
            return
        before = self._learned_with or {
            name: value
            for name, value in self.get_params().items()
            if name not in self._changeable
        }
        try:
            yield
        finally:
            now = self.get_params()
            changed = [
                name
                for name in dict.fromkeys([*names, *before])
                if name in before
                and not (name in now and _are_equal(before[name], now[name]))
            ]
            vars(self).pop("_learned_with", None)
            if changed:
                self._learned_with = {name: before[name] for name in changed} | before
            checkpoints.add()  # sessions look whether they may go on

    def _settle_parameters(self, begins):
        """Take the parameters as they are, or raise ValueError if some have changed."""
        if not self._learned_with:
            return
        if begins:
            del self._learned_with
            return
        (name, value), *_ = self._learned_with.items()
        raise ValueError(
            f"`{name}` is not the same as on the first call, was: {value!r}. "
            f"{type(self).__name__} cannot change it while it learns: call `fit`, "
            "which begins anew, or `clone` the estimator first."
        )

    def _as_learned(self, name):
        """Return a parameter as it was when the estimator began to learn."""
        changed = self._learned_with or {}
        return changed[name] if name in changed else getattr(self, name)


def _are_equal(a, b):
    """Whether two parameters are equal.

    Those of estimators inside have names of their own, and are compared by these.
    """
    if hasattr(a, "get_params"):
        return type(a) is type(b)
    if type(a) in SEQUENCES and type(b) in SEQUENCES:
        return len(a) == len(b) and all(map(_are_equal, a, b))
    are_numbers = isinstance(a, Real) and isinstance(b, Real)
    return (are_numbers and a == b) or are_same(a, b)

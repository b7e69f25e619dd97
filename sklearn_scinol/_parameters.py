"""Parameters that `set_params` changes after the first rows."""

from collections import ChainMap
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from ._docstrings import described_as
from ._shards import are_same

SEQUENCES = list, tuple, np.ndarray


class FixedParameters:
    """Base of estimators whose parameters count when they begin to learn.

    `set_params` or assignment may change them at any time, for the next `fit`. Until
    then, rows are predicted by the former values, and `partial_fit` raises an error.
    """

    #: Parameters that each call reads, or only `fit`: they may change at any time.
    _changeable: frozenset[str] = frozenset()

    #: Values that parameters had when the estimator began, once some were set since.
    _learned_with: dict[str, Any] | None = None

    #: Parameters that a class does not have, with what stands for them. A class need
    #: not repeat those of its bases.
    _lacking: dict[str, Any] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        of_classes = [vars(kind).get("_lacking", {}) for kind in cls.__mro__]
        cls._lacking = dict(ChainMap(*of_classes))

    def __getattr__(self, name: str) -> Any:
        if name in self._lacking:
            return self._lacking[name]
        return object.__getattribute__(self, name)  # raises AttributeError

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name.startswith("_") or name.endswith("_")):  # set by learning
            self._keep_parameters([name])
        super().__setattr__(name, value)

    @described_as(BaseEstimator.set_params)
    def set_params(self, **params: Any) -> Self:
        """Set the parameters of this estimator.

        After the first rows most of them count at the next `fit` only: until then
        `partial_fit` raises an error, unless they are set back.
        """
        self._keep_parameters(params)
        return super().set_params(**params)  # type: ignore[misc]

    def _keep_parameters(self, names):
        """Keep what parameters are before these are set; they come first in errors.

        Parameters of estimators inside count as well: these are cloned when it begins.
        """
        names = [name for name in names if name not in self._changeable]
        if not names or self._learned_with or not self.__sklearn_is_fitted__():
            return
        before = self.get_params()
        for name in self._changeable & before.keys():
            del before[name]
        self._learned_with = {n: before[n] for n in names if n in before} | before

    def _settle_parameters(self, begins):
        """Take the parameters as they are, or raise ValueError if some have changed."""
        if not self._learned_with:
            return
        now = self.get_params()
        for name, value in () if begins else self._learned_with.items():
            if not (name in now and _are_equal(value, now[name])):
                raise ValueError(
                    f"`{name}` is not the same as on the first call, was: {value!r}. "
                    f"{type(self).__name__} cannot change it while it learns: call "
                    "`fit`, which begins anew, or `clone` the estimator first."
                )
        del self._learned_with

    def _as_learned(self, name):
        """Return a parameter as it was when the estimator began to learn."""
        changed = self._learned_with or {}
        return changed[name] if name in changed else getattr(self, name)

    def _invariants(self):
        """Yield what holds of parameters, see :mod:`sklearn_scinol._invariants`.

        Those of an unfitted estimator are validated when rows come.
        """
        names = self._get_param_names()
        yield "all parameters are set", all(hasattr(self, name) for name in names)
        if self.__sklearn_is_fitted__():
            former = self._learned_with
            yield "former parameters have names", former is None or type(former) is dict
            if former is None:  # otherwise those that changed are validated by `fit`
                self._validate_params()


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

"""Flat functions do what the functions do that they are made of."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("numba", reason="numba is not installed")

import numba
from numba.extending import register_jitable
from support import python_nodes
from support.python_nodes import ACCEPTED, REFUSED, ROWS

from sklearn_scinol import _portable, config_context
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.engines.numba_engine.compiling import STRICT, flat_function
from sklearn_scinol.engines.numba_engine.flattening import structure
from sklearn_scinol.engines.numba_engine.registers import (
    load,
    registers,
    store,
)
from sklearn_scinol.engines.numba_engine.substitutes import SUBSTITUTES

FACTOR = 3.0
TABLE = np.array([1.0, 5.0, 7.0])


class Rate(NamedTuple):
    rate: float = 2.0

    factor = 4.0

    @property
    def double(self):
        return 2.0 * self.rate

    def scaled(self, x):
        return self.rate * x

    def add_into(self, s, i, x):
        s.total[i] += self.scaled(x)
        s.count[i] += 1.0


class State(NamedTuple):
    total: np.ndarray
    count: np.ndarray


def named_tuples(rate, s, x):
    rate.add_into(s, (0, 1), x[0])
    rate.add_into(s, (1, 0), x[1])
    total, count = s
    return rate.double + rate.factor * total[0, 1] + count[1, 0] + FACTOR + TABLE[2]


def coordinates(rate, s, x):
    own, last = registers(s), 0.0
    for j in range(2):
        i = load(own, s, (0, j))
        before = own.total[i]
        rate.add_into(own, i, x[j])
        last += before + 10.0 * own.total[i]
        store(own, s, (0, j))
    return last


def order_of_operands(rate, s, x):
    own = registers(s)
    i = load(own, s, (0, 0))
    result = own.total[i] + added(rate, own, i, x[0]) * own.count[i]
    store(own, s, (0, 0))
    return result


def added(rate, s, i, x):
    rate.add_into(s, i, x)
    return s.total[i]


def value_that_a_call_changes(rate, s, x):
    own = registers(s)
    i = load(own, s, (0, 0))
    result = before_and_after(rate, own, i, own.total[i], x[0])
    store(own, s, (0, 0))
    return result


def before_and_after(rate, s, i, before, x):
    rate.add_into(s, i, x)
    return 10.0 * before + s.total[i]


X = np.array([0.5, 2.0, -5.0])


def flat(function, arguments, is_strict=False):
    """Return a flat function, and its source."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    values = [*map(structure, arguments, names)]
    made, _ = flat_function(function, values, is_strict, takes_all=True)
    return made, made.source


def state():
    return State(np.arange(4.0).reshape(2, 2), np.ones((2, 2)))


@pytest.mark.parametrize(
    "function",
    [named_tuples, coordinates, order_of_operands, value_that_a_call_changes],
    ids=lambda function: function.__name__,
)
def test_states(function):
    x, s, expected = X, state(), state()
    made, source = flat(function, (Rate(), s, x))
    assert made(Rate().rate, *s, x) == function(Rate(), expected, x)
    for array, of_function in zip(s, expected, strict=True):
        assert_array_equal(array, of_function)
    assert "add_into" not in source


def test_exact_functions_stay_apart(monkeypatch):
    monkeypatch.setattr(_portable, "EXACT", [*_portable.EXACT, python_nodes.scaled_sum])
    _, source = flat(python_nodes.names_clash, (X,))
    assert "scaled_sum(" in source
    _, source = flat(python_nodes.names_clash, (X,), is_strict=True)
    assert "scaled_sum(" not in source


def chooses(x):
    if x[0] > 0.0:  # noqa: SIM108 - which is another case
        function = python_nodes.signed
    else:
        function = abs
    return function(x[0])


def test_what_depends_on_the_branch_is_refused():
    with pytest.raises(TypeError, match="'function' stands for different things"):
        flat(chooses, (X,))


# Syntax: what is accepted means what it means to Python, the rest is refused.


def flat_rows(function):
    """Return a flat function that Python can call: not all substitutes can be."""
    made, _ = flat(function, (np.zeros(3),))
    replaced = {substitute: function for function, substitute in SUBSTITUTES.items()}
    for name, value in [*made.__globals__.items()]:
        if isinstance(value, Callable):
            made.__globals__[name] = replaced.get(value, value)
    return made


def results(function, x):
    with np.errstate(all="ignore"):
        return function(x), x.tolist()


def test_accepted_syntax():
    for function in ACCEPTED:
        made = flat_rows(function)
        for row in ROWS:
            expected = results(function, np.array(row))
            assert results(made, np.array(row)) == expected, function.__name__


@pytest.mark.thorough
def test_accepted_syntax_compiled():
    """All functions in one, since each call of the compiler takes long."""
    names = [f"f{k}" for k in range(len(ACCEPTED))]
    made = [register_jitable(**STRICT)(flat_rows(function)) for function in ACCEPTED]
    lines = [f"    if k == {k}: return 1.0 * f{k}(x)" for k in range(len(names))]
    source = "\n".join(["def chosen(k, x):", *lines, "    return 0.0"])
    namespace = dict(zip(names, made, strict=True))
    exec(source, namespace)
    compiled = numba.njit(namespace["chosen"], **STRICT)
    for k, function in enumerate(ACCEPTED):
        for row in ROWS:
            result, x = results(partial(compiled, k), np.array(row))
            expected, expected_x = results(function, np.array(row))
            assert_allclose(result, expected, 1e-12, err_msg=function.__name__)
            assert x == expected_x, function.__name__


@pytest.mark.cases(60)
@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_refused_syntax(function):
    with pytest.raises(TypeError, match=REFUSED[function]) as caught:
        flat_rows(function)
    place = re.search(
        r"in (\w+) \((.*), line (\d+)\): write it other", str(caught.value)
    )
    if place:  # of the function, or of one that it calls
        lines, first = inspect.getsourcelines(getattr(python_nodes, place[1]))
        assert place[2] == python_nodes.__file__
        assert first <= int(place[3]) < first + len(lines)
    else:  # what changes the whole function
        assert function.__name__ in str(caught.value)


class Doubled(NamedTuple):
    """A learner whose rate counts where it is not 0."""

    rate: float = 0.0

    State = State

    def initial_state(self):
        return State(0.0, 0.0)

    def weight(self, s, i, x, t):
        return s.total[i]

    def update(self, s, i, x, g, w, t):
        s.total[i] -= (self.rate or 0.5) * g * x


class Neighbor(Doubled):
    def update(self, s, i, x, g, w, t):
        s.total[i] -= 0.1 * g * s.total[0]


@pytest.mark.parametrize("rate", [0.0, 0.125])
def test_learners_of_users(rate):
    X, y = np.reshape(np.sin(np.arange(60.0)), (20, 3)), np.cos(np.arange(20.0))
    models = []
    for engine in "numpy", "numba":
        with config_context(engine=engine):
            model = BaselineRegressor(Doubled(rate), center=False)
            models.append(model.partial_fit(X, y).coef_)
    assert_allclose(*models, rtol=1e-12)


def test_learners_that_read_other_coordinates():
    i = (0, 1)

    def rows(rate, s, x):
        own = registers(s)
        place = load(own, s, i)
        rate.update(own, place, x[0], x[1], x[2], 1.0)
        store(own, s, place)

    with pytest.raises(TypeError, match=r"another coordinate, in Neighbor\.update"):
        flat(rows, (Neighbor(), state(), X))

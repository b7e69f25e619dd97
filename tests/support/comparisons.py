"""Assertions that arrays and models are equal: to the last bit, or nearly."""

import pickle
from copy import deepcopy

import numpy as np
from numpy.testing import assert_allclose

from sklearn_scinol._state import RecordsChanges, checkpoint
from sklearn_scinol.models.growing import GrowingArray


def learned(estimator):
    """All that was learned: not the parameters, not what counts calls and epochs."""
    left_out = {*estimator.get_params(), "n_iter_", "loss_curve_"}
    return {name: vars(estimator)[name] for name in vars(estimator).keys() - left_out}


def assert_identical(actual, expected):
    """Equal to the last bit, whatever the memory layout."""
    assert type(actual) is type(expected)
    if isinstance(expected, np.ndarray):
        assert actual.dtype == expected.dtype
        assert actual.shape == expected.shape
        if expected.dtype == object:
            assert_identical(actual.tolist(), expected.tolist())
        else:
            assert actual.tobytes() == expected.tobytes()
    elif isinstance(expected, dict):
        assert actual.keys() == expected.keys()
        for name in expected:
            assert_identical(actual[name], expected[name])
    elif isinstance(expected, (tuple, list)):
        for one, other in zip(actual, expected, strict=True):
            assert_identical(one, other)
    elif isinstance(expected, GrowingArray):  # which may have room for more
        assert_identical(actual.rows, expected.rows)
    elif isinstance(expected, RecordsChanges):  # without what may be undone
        assert_identical(actual.__getstate__(), expected.__getstate__())
    elif hasattr(expected, "__dict__"):
        assert_identical(vars(actual), vars(expected))
    elif actual != expected:  # as are NaN, and objects that cannot be compared
        assert pickle.dumps(actual) == pickle.dumps(expected)


def assert_checkpoints_nest(part, learn, n_rows):
    """Undo chunks to checkpoints that began within others; `learn` learns a slice."""
    rng, begun = np.random.default_rng(0), []
    for _ in range(60):
        what = rng.choice(["begin", "learn", "learn", "restore", "end"])
        if what == "begin":
            begun.append((deepcopy(part), checkpoint(part)))
        elif what == "learn":
            start = rng.integers(n_rows - 9)
            learn(slice(start, start + rng.choice([1, 9])))
        elif begun:
            before, restore = begun.pop()
            if what == "restore":
                restore()
                restore()
                assert_identical(part, before)


def assert_close(actual, expected, tolerance):
    """Equal relative to the largest of the numbers that are compared."""
    largest = np.abs(expected).max(initial=0.0)
    assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * largest)


def assert_close_models(actual, expected, tolerance):
    if hasattr(expected, "coef_"):
        assert_close(actual.coef_, expected.coef_, tolerance)
        assert_close(actual.intercept_, expected.intercept_, tolerance)
    assert_close(actual.cumulative_loss_, expected.cumulative_loss_, tolerance)
    assert hasattr(actual, "regret_bound") == hasattr(expected, "regret_bound")
    if hasattr(expected, "regret_bound"):
        coef = np.ones(expected.coef_.shape)
        assert_close(actual.regret_bound(coef), expected.regret_bound(coef), tolerance)
    assert actual.t_ == expected.t_

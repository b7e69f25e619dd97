"""Checks of steps: they pass correct ones, and no others."""

import numpy as np
import pytest
from sklearn.base import clone
from support.comparisons import assert_identical
from support.outside import MeansOfDays

from sklearn_scinol import ScInOLRegressor
from sklearn_scinol.checks import check_step
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineScaler,
)

N = 40


def numbers():
    return np.random.default_rng(0).normal(size=(N, 3)) * [1.0, 1e3, 1e-6]


def test_step_of_ones_own():
    check_step(MeansOfDays(), np.arange(N)[:, np.newaxis] % 7, np.arange(float(N)))


class Broken(MeansOfDays):
    """Means of days, but for what `how` breaks."""

    def __init__(self, how):
        self.how = how

    def partial_fit_transform(self, X, y, *, classes=None):
        if self.how == "own label":
            rows = []
            for x, z in zip(X, y, strict=True):
                rows.append(self.partial_fit([x], [z]).transform([x])[0])
            return np.array(rows)
        if self.how == "chunk":
            Z = self.observe_transform(X)
            self.learn_labels(X, y)
            return Z
        future = X[-1] if self.how == "future" else 0.0
        return super().partial_fit_transform(X, y) + future

    def transform(self, X):
        return super().transform(X) + (self.how == "transform")

    def observe(self, X):
        return self if self.how == "observe" else super().observe(X)

    def learn_labels(self, X, y, *, classes=None):
        # Of all labels but those of single rows that are arrays.
        is_broken = self.how == "labels" and isinstance(X, np.ndarray)
        return self if is_broken else super().learn_labels(X, y)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("own label", "no row sees its own label"),
        ("chunk", "chunks, and pickling, make no difference"),
        ("future", "make no difference"),
        ("transform", "`transform` gives what the next row"),
        ("observe", "`observe` learns what"),
        ("labels", "row by row, are `partial_fit_transform`"),
    ],
)
def test_broken_steps(how, words):
    X, y = np.arange(N)[:, np.newaxis] % 7, np.arange(float(N))
    with pytest.raises(AssertionError, match=words):
        check_step(Broken(how), X, y)


def test_few_rows():
    with pytest.raises(ValueError, match="at least 20 rows, got 3"):
        check_step(OnlineScaler(), numbers()[:3])


@pytest.mark.parametrize("size", [1, 15])
def test_steps_of_ones_own_in_pipelines(size):
    """They get the labels: at once, by keys, and late in any chunks."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(7, size=(N, 1)), rng.normal(size=N)
    pipeline = make_online_pipeline(MeansOfDays(), ScInOLRegressor())
    stream = [(X[i : i + size], y[i : i + size]) for i in range(0, N, size)]
    model, plain, late = (clone(pipeline) for _ in range(3))
    Z = MeansOfDays().partial_fit_transform(X, y)
    expected = ScInOLRegressor().partial_fit_predict(Z, y)
    found = [model.partial_fit_predict(*chunk) for chunk in stream]
    assert_identical(np.concatenate(found), expected)
    rows = plain.row_by_row().with_late_labels()
    for i in range(N):
        (rows.predict_one if i > 6 else rows.keep_one)(X[i], i)
        if i >= 6:
            rows.learn_one(i - 6, y[i - 6])
    for i in [*rows]:
        rows.learn_one(i, y[i])
    progressive_validation(late, stream, delay=6, progress=False)
    assert_identical(vars(late[0]), vars(plain[0]))
    assert_identical(late.predict(X), plain.predict(X))
    rows.rows.observe_one([3])
    assert plain[0].n_rows_[3] == late.observe([[3]])[0].n_rows_[3]

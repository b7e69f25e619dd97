"""Tests of what benchmark scripts compute by themselves, on small data."""

import re
from functools import partial
from math import ceil, inf

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.scripts import frames, write_data_sets

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)

pd = pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def folder(tmp_path):
    return write_data_sets(tmp_path / "data", 80, 90, n_wide=30)


def number(text):
    return float(text.strip("*()%").replace(",", ""))


@pytest.mark.parametrize("name", ["fraud", "demand", "sensors", "clicks"])
def test_columns_by_hand_know_no_label_before_it_comes(script, name):
    """Nor a later row: other labels and rows after a row leave it as it is."""
    stream = script("history").STREAMS[name](200, np.random.default_rng(0))
    frame, y = stream.frame, stream.y
    assert frame[stream.time].is_monotonic_increasing
    made = stream.by_hand(frame, y, stream.delay)
    for r in 50, 120, 180:
        late = frame[stream.time] + pd.Timedelta(seconds=stream.delay)
        other = np.where(late <= frame[stream.time][r], y, y[::-1])
        changed = frame.copy()
        for column in frame.select_dtypes("number"):
            changed.loc[r + 1 :, column] = 77
        again = stream.by_hand(changed, other, stream.delay)
        pd.testing.assert_frame_equal(again[: r + 1].tail(1), made[: r + 1].tail(1))


def test_adaptive_intervals(script):
    module = script("intervals")
    errors = np.random.default_rng(0).normal(size=3000)
    widths = module.adaptive(errors, 0.0)
    assert widths[-1] == pytest.approx(1.645, abs=0.1)
    assert widths[10] == sorted(np.abs(errors[:10]))[9]
    growing = errors * np.linspace(1.0, 30.0, 3000)
    assert np.mean(np.abs(growing) <= module.adaptive(growing, 0.05)) > 0.89


def test_adaptive_label_sets(script):
    """Compared with the definition: quantiles of all scores before."""
    module = script("label_sets", STEPS=(0.02, 0.3))
    scores = np.random.default_rng(0).normal(size=200).tolist()
    found = module.adaptive_conformal_inference(scores)
    for step, thresholds in zip(module.STEPS, found, strict=True):
        alpha = 1.0 - 0.9
        for t, score in enumerate(scores):
            place = ceil((1.0 - alpha) * (t + 1))
            expected = -inf if place <= 0 else inf
            if 0 < place <= t:
                expected = sorted(scores[:t])[place - 1]
            assert thresholds[t] == expected
            alpha += step * (1.0 - 0.9 - (score > expected))


def test_tightness(script, run, folder):
    """A line for each bound, with the quotient; one that is passed is counted."""
    algorithms = "scinol1", "scinol2"
    small = {
        mixture.__name__: partial(
            mixture, [(k, learner(algorithm=k)) for k in algorithms]
        )
        for mixture, learner in (
            (HedgeClassifier, ScInOLClassifier),
            (HedgeRegressor, ScInOLRegressor),
        )
    }
    module, options = (
        script("tightness", **small),
        ("--data-dir", folder, "--only", "a"),
    )
    out = run(module, *options)
    lines = re.findall(r"^(\w.{23}) +(\S+) +(\S+) +(\S+)$", out, re.M)
    assert len(lines) == 12
    for _, *cells, ratio in lines:
        value, bound = map(float, cells)
        assert 0.0 < bound > value
        expected = f"{bound / value:.1f}" if value > 0.0 else "below"
        assert ratio == expected or number(ratio) == pytest.approx(bound / value, 0.05)
    assert out.endswith("None of the bounds were passed.\n")
    module = script("tightness", bounds=lambda _: [("coverage", 2.0, 1.0)])
    assert run(module, *options).endswith("1 of the bounds were passed.\n")


# Loops that scripts compare times with learn the same.


def test_function_by_hand_is_the_learner(script):
    pytest.importorskip("numba", reason="numba is not installed")
    module, rng = script("first_call"), np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X.sum(axis=1) > 0.5, 1.0, -1.0)
    c = np.append(1.0, rng.choice([0.0, 1.0], 59))
    mean, totals, state = np.zeros(4), np.zeros(3), np.zeros((5, 5))
    state[2], state[3] = np.finfo(float).tiny, 1.0
    predictions, losses = np.zeros((2, 60))
    assert module.learn_rows(X, y, c, mean, *state, predictions, losses, totals)
    model = ScInOLClassifier().partial_fit(X, y, [-1, 1], c)
    assert totals[0] == (c > 0.0).sum()
    assert_allclose(totals[2], model.cumulative_loss_, rtol=1e-12)


def test_ways_learn_the_same(script):
    """Each learns every row that it is asked to, and predictions learn none."""
    module = script("one_row")
    X, y = module.data(30, 3)
    for way, learned in (
        (module.by_partial_fit, 10),
        (module.by_rows, 10),
        (module.predictions_by_rows, 0),
    ):
        estimator = module.ScInOLClassifier()
        learn = way(estimator, X, y)
        for i in range(10):
            learn(i)
        assert estimator.n_samples_seen_ == 30 + learned


@pytest.mark.parametrize("name", ["Vowpal Wabbit", "river"])
def test_competitors_learn(script, name):
    competitors = script("competitors").COMPETITORS
    if name not in competitors:
        pytest.skip(f"{name} is not installed")
    for frame in frames().values():
        y = (frame.pop("target").isin([">50K", "spam"])).to_numpy()
        p = competitors[name](frame.to_dict("records"), y)
        assert np.mean((p > 0.5)[60:] == y[60:]) > 0.55


def test_only_empty_cells_are_missing(script, tmp_path):
    for name, frame in frames().items():
        frame.to_csv(tmp_path / name, index=False)
    adult, _ = script("raw_table").find_tables(tmp_path)
    assert {*adult.frame["city"]} == {"Oslo", "Rome", "NA"}
    assert adult.frame["gain"].isna().sum() == 18

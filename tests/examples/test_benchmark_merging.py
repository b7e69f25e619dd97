"""The benchmark script about merging models."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.scripts import (
    assert_refuses,
    assert_says_that_nothing_is_there,
    caller,
)
from support.sums import linear

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor


@pytest.fixture
def script(load, monkeypatch):
    module = load("merging")
    learners = (ScInOLClassifier, ScInOLRegressor)
    monkeypatch.setattr(module, "LEARNERS", (learners,))
    return module


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    random = np.random.default_rng(0)
    X = random.normal(size=(480, 3))
    y = linear(X, [1.0, 2.0, 0.0])
    np.savez(folder / "amounts.npz", X=X, y=y)
    y = 1 * (y > 0)
    np.savez(folder / "signs_train.npz", X=X[:400], y=y[:400])
    np.savez(folder / "signs_test.npz", X=X[400:, :2], y=y[400:])
    np.savez(folder / "tiny.npz", X=X[:9], y=y[:9])
    return folder


@pytest.fixture
def run(script, capsys):
    return caller(script, capsys, "--n-jobs", 1)


def test_one_shard_is_one_machine(script):
    X = np.random.default_rng(0).normal(size=(100, 3))
    y = X.sum(1)
    merged = script.learn_shards(ScInOLRegressor(), X, y, 1)
    alone = ScInOLRegressor().partial_fit(X, y)
    assert_allclose(merged.coef_, alone.coef_, rtol=1e-12)


def test_ways(script):
    random = np.random.default_rng(0)
    X = random.normal(size=(400, 3))
    y = linear(X, [1.0, 2.0, 0.0])
    for way, n_seen in zip(script.WAYS.values(), [400, 400, 400, 800], strict=True):
        merged = script.learn_shards(ScInOLRegressor(), X, y, 4, *way)
        assert merged.n_samples_seen_ >= n_seen
        assert_allclose(merged.coef_, [1.0, 2.0, 0.0], atol=0.2)


def test_tables(run, folder):
    status, out, _ = run("--data-dir", folder, "--shards", 4, 1000)
    assert status == 0
    amounts, signs, tiny, _ = out.split("\n\n")
    assert amounts.startswith("amounts: 384 rows")
    assert amounts.splitlines()[0].endswith("96 to test on")
    assert signs.splitlines()[0].endswith("; 80 to test on")
    assert tiny == "Skipped tiny: 7 rows are too few."
    for table in amounts, signs:
        _, head, one, *ways = table.splitlines()
        assert head.split()[0] == "shards"
        assert one.split()[0] == "1"
        assert [line.split()[0] for line in ways] == ["4"] * 4
        loss = float(one.split()[1])
        for line in ways:
            merged, ratio = line.replace("second pass", "").split()[-2:]
            assert float(ratio.strip("()")) == pytest.approx(float(merged) / loss, 0.01)


def test_bad_options(run, folder, capsys, tmp_path):
    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")
    assert_refuses(run, ["--shards", "0"], capsys)

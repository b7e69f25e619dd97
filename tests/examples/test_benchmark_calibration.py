"""The benchmark script about the calibration of probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support.scripts import assert_says_that_nothing_is_there, write_data_sets

from sklearn_scinol import HedgeClassifier, config_context


@pytest.fixture
def script(load):
    """The script, with no wait for a compiler."""
    with config_context(engine="numpy"):
        yield load("calibration")


def test_error(script):
    """A bin has 5 rows; a forecaster that is sure of the wrong class errs by 1."""
    p = np.repeat(np.arange(20) / 19, 5)
    random = np.random.default_rng(0)
    order = random.permutation(100)
    assert_allclose(
        script.calibration_error(p[order], p[order] > 0.5),
        np.mean([min(each, 1.0 - each) for each in np.arange(20) / 19]),
    )
    P = np.eye(3)[random.integers(3, size=200)]
    y = P.argmax(axis=1)
    assert script.error_of(P, y) == 0.0
    assert script.error_of(P, (y + 1) % 3) == 1.0
    assert script.error_by_chance(P) == 0.0
    P = np.column_stack([1.0 - p, p])
    assert_allclose(script.error_of(P, np.zeros(100)), 0.5)


def test_error_by_chance(script):
    """Its mean is that of binomial shares around their probability."""
    P = np.full((2000, 2), 0.5)
    share = np.random.default_rng(1).binomial(100, 0.5, size=100_000) / 100
    expected = np.abs(share - 0.5).mean()
    assert_allclose(script.error_by_chance(P), expected, rtol=0.1)


@pytest.mark.thorough
def test_table(script, tmp_path, capsys):
    folder = write_data_sets(tmp_path / "data", n_amounts=40, n_three=90)
    options = ["--data-dir", str(folder), "--n-jobs", "1", "--min-rows", "80"]
    assert script.main(options) == 0
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[-2:] == ["temperature", "loss"]
    (line, of_median, of_mean) = (line.split() for line in lines)
    assert line[:3] == ["three", "90", "3"]
    assert of_median[1:] == of_mean[1:] == line[3:]
    chosen = script.chosen_readers(script.make_parser("\n\n").parse_args(options))
    (data_set,) = script.read_data_sets({"three": chosen["three"]}, None)
    P = HedgeClassifier(random_state=0).partial_fit_predict(
        data_set.X, data_set.y, classes=[0, 1, 2], method="predict_proba"
    )
    top = P.argmax(axis=1)
    bins = np.array_split(np.argsort(P.max(axis=1), kind="stable"), 20)
    errors = [
        abs(P.max(axis=1)[rows].sum() - (top == data_set.y)[rows].sum()) / len(rows)
        for rows in bins
    ]
    assert float(line[3]) == pytest.approx(np.mean(errors), abs=6e-5)


def test_nothing_is_there(script, tmp_path, capsys):
    folder = write_data_sets(tmp_path / "data", n_amounts=40, n_three=50)

    def run(*options):
        return script.main([*map(str, options)]), *capsys.readouterr()

    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")
    assert run("--data-dir", folder, "--n-jobs", 1)[0] == 2

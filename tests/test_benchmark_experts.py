"""The measurements of candidates for experts, against estimators run one by one."""

import csv

import numpy as np
import pytest
from scripts import (
    assert_refuses,
    assert_says_that_nothing_is_there,
    read_data_sets,
    row_losses,
    write_data_sets,
)

from sklearn_scinol import HedgeClassifier, HedgeRegressor, config_context


@pytest.fixture
def example(load):
    """The script, with no wait for a compiler."""
    with config_context(engine="numpy"):
        yield load("experts")


@pytest.fixture
def few(example, monkeypatch):
    """A set of some candidates of each kind, and another."""
    algorithms = {"scinol1", "scinol2", "coin", "cocob", "nag", "adaogd", "adagrad"}
    candidates = [
        candidate
        for candidate in example.CANDIDATES
        if candidate.algorithm in algorithms and candidate.rate in (None, 0.25, 0.5)
    ]
    sets = {
        "all candidates": candidates,
        "two": [example.Candidate("nag", 0.3, "raw"), example.SCINOL2],
    }
    monkeypatch.setattr(example, "SETS", sets)
    return sets


@pytest.fixture
def run(example, capsys):
    """Call it with some options; its status, stdout and stderr."""

    def run(*options):
        status = example.main(["--n-jobs", "1", *map(str, options)])
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def folder(tmp_path):
    return write_data_sets(tmp_path / "data", n_amounts=70, n_three=80)


def mean_loss(estimator, data_set):
    return row_losses(estimator, data_set).mean()


# What is measured.


def test_candidates(example):
    assert len(example.CANDIDATES) == 35
    for candidates in example.SETS.values():
        assert len({candidate.name for candidate in candidates}) == len(candidates)
    assert [len(candidates) for candidates in example.SETS.values()][4:] == [6, 11]
    candidate = example.Candidate("nag", 0.25, "standardised")
    assert candidate.name == "nag 0.25, standardised"
    for is_regression in (False, True):
        parameters = candidate.estimator(is_regression).get_params()
        expected = {
            "algorithm": "nag",
            "learning_rate": 0.25,
            "normalizer": "mean",
            "center": "auto",
            "scale": True,
        }
        if is_regression:
            expected["standardize_target"] = True
        assert expected.items() <= parameters.items()


def test_folder(example, few, run, folder, tmp_path):
    file = tmp_path / "new" / "losses.csv"
    status, _, err = run("--data-dir", folder, "--output", file)
    assert (status, err) == (0, "")
    losses = {}
    with file.open(encoding="utf-8") as rows:
        for row in csv.DictReader(rows):
            experts = losses.setdefault(row["data set"], {}).setdefault(
                row["experts"], {}
            )
            experts[row["expert"]] = float(row["loss"])

    for data_set in read_data_sets(example, folder).values():
        regression = data_set.n_classes is None
        by_set = losses[data_set.name]
        assert [*by_set] == [*("SGD*", "all candidates", "two", "default")]
        assert by_set["SGD*"] == {"": example.standardised(data_set)[0]}
        hedge = HedgeRegressor if regression else HedgeClassifier
        expected = mean_loss(hedge(), data_set)
        assert by_set["default"][""] == pytest.approx(expected, rel=1e-9)
        for title, candidates in few.items():
            experts = [(c.name, c.estimator(regression)) for c in candidates]
            expected = mean_loss(hedge(experts), data_set)
            assert by_set[title].pop("") == pytest.approx(expected, rel=1e-9)
            assert by_set[title] == {
                name: pytest.approx(mean_loss(expert, data_set), rel=1e-9)
                for name, expert in experts
            }
        default = by_set["default"]
        # What candidates and default experts are called differs.
        assert default["scinol2"] == by_set["two"]["scinol2, centred"]
        for ours, name in (
            ("adagrad-0.25", "adagrad 0.25, standardised"),
            ("adaogd-0.5", "adaogd 0.5, standardised"),
        ):
            assert default[ours] == by_set["all candidates"][name]


def test_tables(example):
    """Multiples, means, the worst and how often, of numbers made up."""
    mixture = example.Mixture
    results = [
        example.Result(
            "a",
            "a: few rows",
            2.0,
            [
                mixture("all", 1.5, {"x": 1.0, "y": 3.0}),
                mixture("some", 3.0, {"y": 3.0}),
            ],
        ),
        example.Result(
            "b",
            "b: more rows",
            1.0,
            [
                mixture("all", 4.0, {"x": 4.0, "y": 2.0}),
                mixture("some", 8.0, {"y": 2.0}),
            ],
        ),
    ]
    first, _, header, _, *lines = example.table(results[0]).splitlines()
    assert first == "a: few rows"
    assert header.split() == [
        *("experts", "loss", "/", "SGD*", "/", "best", "/", "member", "member")
    ]
    assert [line.split() for line in lines] == [
        ["all", "2", "1.5", "0.75", "1.5", "1.5", "x"],
        ["some", "1", "3", "1.5", "3", "1", "y"],
    ]
    *_, all_of_them, some = example.summary_of_sets(results).splitlines()
    # The roots of 0.75 * 4, 1.5 * 2, 1.5 * 8 and 3 * 4.
    assert all_of_them.split() == ["all", "2", "1.732", "1.732", "2", "1", "b"]
    assert some.split() == ["some", "1", "3.464", "3.464", "4", "0", "b"]
    *_, x, y = example.summary_of_candidates(results).splitlines()
    # The roots of 0.5 * 4, 1 * 2, 1.5 * 2 and 3 * 1.
    assert x.split() == ["x", "1.414", "1.414", "2", "1", "b"]
    assert y.split() == ["y", "1.732", "1.732", "3", "1", "a"]


def test_bundled_data(few, run):
    status, out, err = run("--only", "diabetes", "--max-rows", 100)
    assert (status, err) == (0, "")
    assert out.startswith("diabetes: 100 rows, 10 features, absolute error\n")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    starts = [line.partition("  ")[0] for line in lines]
    for title in [*few, "default"]:
        assert starts.count(title) == 2  # of the data set, and of all
    for candidate in few["all candidates"]:
        assert candidate.name in starts


# What may be wrong: one sentence, status 2.


def test_unusable_files(run, tmp_path):
    np.savez(tmp_path / "same.npz", X=np.ones((3, 2)), y=np.zeros(3))
    assert run("--data-dir", tmp_path) == (
        2,
        "Skipped same: its target is the same in all rows.\n",
        "No data set is left.\n",
    )


def test_nothing_to_do(run, folder, tmp_path):
    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")


def test_file_that_cannot_be_written(few, run, tmp_path):
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "losses.csv"
    status, out, err = run("--only", "wine", "--output", path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert str(tmp_path / "file") in err


@pytest.mark.parametrize("options", [["--max-rows", "0"], ["--n-jobs", "0"]])
def test_wrong_options(run, options, capsys):
    assert_refuses(run, options, capsys)

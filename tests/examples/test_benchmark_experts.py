"""The measurements of candidates for experts, against estimators run one by one."""

import csv

import numpy as np
import pytest
from scipy import sparse
from support.scripts import (
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


@pytest.fixture
def made_up(example):
    """Results of data sets of these names; what three experts say there is random."""

    def result(name, seed):
        random = np.random.default_rng(seed)
        answers = {expert: random.normal(size=20) for expert in "xyz"}
        answers = example.Predictions(answers, is_regression=True)
        mixtures = [answers.mix("all candidates", [*"xyz"])]
        return example.Result(name, name, 1.0, mixtures, answers)

    return lambda *names: [result(name, seed) for seed, name in enumerate(names)]


def mean_loss(estimator, data_set):
    return row_losses(estimator, data_set, clipped=True).mean()


# What is measured.


def test_candidates(example):
    assert len(example.CANDIDATES) == 81
    for candidates in example.SETS.values():
        assert len({candidate.name for candidate in candidates}) == len(candidates)
    assert [len(candidates) for candidates in example.SETS.values()][5:] == [6, 11]
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
    status, out, err = run("--data-dir", folder, "--members", 2, "--output", file)
    assert (status, err) == (0, "")
    for title in example.CHOSEN:
        assert out.count(f"\n{title}  ") == 3  # beside SGD*, best candidate and member
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
        titles = ["SGD*", "all candidates", "two", "default", *example.CHOSEN]
        assert [*by_set] == titles
        assert by_set["SGD*"] == {"": example.standardised(data_set)[0]}
        hedge = HedgeRegressor if regression else HedgeClassifier
        is_dense = not sparse.issparse(data_set.X)
        expected = mean_loss(hedge(pooling=False, neighbors=is_dense), data_set)
        assert by_set["default"][""] == pytest.approx(expected, rel=1e-9)
        by_name = {candidate.name: candidate for candidate in few["all candidates"]}
        chosen = {
            title: [by_name[name] for name in by_set[title] if name]
            for title in example.CHOSEN
        }
        for title, candidates in {**few, **chosen}.items():
            assert 1 <= len(candidates) <= (2 if title in chosen else len(by_name))
            there = [c for c in candidates if c.suits(data_set)]
            experts = [(c.name, c.estimator(regression)) for c in there]
            expected = mean_loss(hedge(experts, pooling=False), data_set)
            assert by_set[title].pop("") == pytest.approx(expected, rel=1e-9)
            assert by_set[title] == {
                name: pytest.approx(mean_loss(expert, data_set), rel=1e-9)
                for name, expert in experts
            }
        default = by_set["default"]
        # What candidates and default experts are called differs.
        names = {
            "scinol2": "scinol2, centred",
            "adaogd-0.5": "adaogd 0.5, standardised",
        }
        if "bins-scinol2" in default:
            names["bins-scinol2"] = "scinol2, bins"
        else:
            names["adagrad-0.25"] = "adagrad 0.25, standardised"
        for ours, name in names.items():
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
                mixture("chosen on all", 1.0, {"x": 1.0}),
            ],
            None,
        ),
        example.Result(
            "b",
            "b: more rows",
            1.0,
            [
                mixture("all", 4.0, {"x": 4.0, "y": 2.0}),
                mixture("some", 8.0, {"y": 2.0}),
                mixture("chosen on all", 4.0, {"x": 4.0}),
            ],
            None,
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
        ["chosen", "on", "all", "1", "1", "0.5", "1", "1", "x"],
    ]
    tables = example.summary_of_sets(results).split("\n\n")[1::2]
    lines = [line.split() for table in tables for line in table.splitlines()[2:]]
    # Half the sums and the roots of the products of
    assert lines == [
        # 0.75 and 4, 1.5 and 8, 0.5 and 4: beside SGD*
        ["all", "2", "2.375", "1.732", "4", "1", "b"],
        ["some", "1", "4.75", "3.464", "8", "0", "b"],
        ["chosen", "on", "all", "1", "2.25", "1.414", "4", "1", "b"],
        # 1.5 and 2, 3 and 4, 1 and 2: the best candidate
        ["all", "2", "1.75", "1.732", "2", "0", "b"],
        ["some", "1", "3.5", "3.464", "4", "0", "b"],
        ["chosen", "on", "all", "1", "1.5", "1.414", "2", "0", "b"],
        # 1.5 and 2, 1 and 4, 1 and 1: the best member
        ["all", "2", "1.75", "1.732", "2", "0", "b"],
        ["some", "1", "2.5", "2", "4", "0", "b"],
        ["chosen", "on", "all", "1", "1", "1", "1", "0", "a"],
    ]
    *_, chosen = example.summary_of_choices(results).splitlines()
    assert chosen.split() == ["x", "0", "0", "2"]
    *_, x, y = example.summary_of_candidates(results).splitlines()
    # The roots of 0.5 * 4, 1 * 2, 1.5 * 2 and 3 * 1.
    assert x.split() == ["x", "1.414", "1.414", "2", "1", "b"]
    assert y.split() == ["y", "1.732", "1.732", "3", "1", "a"]


def test_median(example, made_up):
    ratios = np.array([[9.0], [1.0], [2.0]])
    *_, line = example.table_of_sets("any", ratios, made_up(*"abc")).splitlines()
    # The third root of 18.
    assert line.split() == ["all", "candidates", "3", "2", "2.621", "9", "0", "a"]


def test_bundled_data(few, run):
    status, out, err = run("--only", "diabetes", "--max-rows", 100)
    assert (status, err) == (0, "")
    assert out.startswith("diabetes: 100 rows, 10 features, absolute error\n")
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    starts = [line.partition("  ")[0] for line in lines]
    for title in [*few, "default"]:
        assert starts.count(title) == 4  # of the data set, and of all in three tables
    assert "chosen" not in out  # on no other data set
    for candidate in few["all candidates"]:
        assert candidate.name in starts


# How sets of experts are chosen.


class Losses(dict):
    """Losses of mixtures, in place of the answers that they are computed from."""

    def loss(self, names):
        return self["".join(sorted(names))]


@pytest.mark.parametrize(
    ("losses", "expected"),
    [
        # By geometric means over the two data sets: 3, 2 and 4 at first.
        ({"a": (1, 9), "b": (2, 2), "c": (4, 4), "ab": (2, 2), "bc": (3, 1)}, "bca"),
        ({"a": (1, 9), "b": (2, 2), "c": (4, 4), "ab": (2, 2), "bc": (2, 2)}, "b"),
        ({"a": (2, 2), "b": (2, 2), "c": (4, 4), "ab": (1, 1), "ac": (1, 1)}, "ab"),
    ],
)
def test_rule(example, losses, expected):
    losses["abc"] = (1, 1)
    results = [
        example.Result(
            str(n),
            "",
            1.0,
            [example.Mixture("all", 1.0, dict.fromkeys("abc"))],
            Losses({names: float(values[n]) for names, values in losses.items()}),
        )
        for n in range(2)
    ]
    for n_members in (1, 2, 9):
        chosen = example.choose(results, n_members)
        assert "".join(chosen) == expected[:n_members]


def test_what_is_chosen_on_and_measured_on(example, made_up):
    results = made_up("d", "a_train", "b", "c", "a_test")
    names = [
        (
            title,
            "".join(r.name[0] for r in others),
            "".join(r.name[0] for r in measured),
        )
        for title, others, measured in example.folds(results)
    ]
    other_half, all_others, everything = example.CHOSEN
    assert names == [
        (other_half, "db", "aca"),
        (other_half, "aca", "db"),
        (all_others, "dbc", "aa"),
        (all_others, "daca", "b"),
        (all_others, "daba", "c"),
        (all_others, "abca", "d"),
        (everything, "dabca", "dabca"),
    ]


def test_data_sets_have_no_say_in_what_is_measured_on_them(example, made_up):
    names = [*"abcd"]
    before, after = made_up(*names), made_up(*names)
    # On the last data set nothing but x is any good now.
    good = {expert: np.full(20, 1e3) for expert in "xyz"} | {"x": np.full(20, 1e-3)}
    after[-1].answers = example.Predictions(good, is_regression=True)
    chosen = []
    for results in (before, after):
        example.add_chosen(results, 2)
        for result in results:
            titles = [mixture.title for mixture in result.mixtures]
            assert titles == ["all candidates", *example.CHOSEN]
        chosen.append([[[*m.losses] for m in r.mixtures[1:]] for r in results])
    assert chosen[0][-1][:2] == chosen[1][-1][:2]
    assert chosen[0][-1][2] != chosen[1][-1][2] == ["x"]


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


@pytest.mark.parametrize(
    "options", [["--max-rows", "0"], ["--n-jobs", "0"], ["--members", "0"]]
)
def test_wrong_options(run, options, capsys):
    assert_refuses(run, options, capsys)

"""Gains of experts of mixtures, compared with estimators run one by one."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from support.scripts import (
    assert_refuses,
    assert_says_that_nothing_is_there,
    caller,
    read_data_sets,
    row_losses,
    write_data_sets,
)

from sklearn_scinol import (
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    config_context,
)

# A mixture, its loss, and that divided by the smallest.
CELL = re.compile(r"(\S(?:\S| (?! ))*) +([\d.]+) +[\d.]+(?=  |$)")


@pytest.fixture
def example(load):
    """The script, with no wait for a compiler."""
    with config_context(engine="numpy"):
        yield load("experts")


@pytest.fixture
def run(example, capsys):
    return caller(example, capsys, "--n-jobs", 1)


@pytest.fixture
def few(example, monkeypatch):
    """Three of the candidates."""
    names = "scinol1", "fourier-0.5", "fourier-1-forgetting"
    candidates = {name: example.CANDIDATES[name] for name in names}
    monkeypatch.setattr(example, "CANDIDATES", candidates)


@pytest.fixture
def folder(tmp_path):
    return write_data_sets(tmp_path / "data", 15, 15, n_wide=20)


def losses_by_data_set(out):
    """The losses of all tables of data sets, by mixture."""
    found = {}
    for line in out.splitlines():
        if " features, " in line:
            losses = found.setdefault(line.partition(":")[0], {})
        elif line.startswith("What "):
            break
        else:
            losses |= {name: float(loss) for name, loss in CELL.findall(line)}
    return found


def made_up(example, name, is_regression=False, **losses):
    """A result with made-up losses; 1 by default."""
    X, y = np.zeros((2, 1)), np.zeros(2)
    data_set = example.DataSet(name, X, y, None if is_regression else 2)
    changes = dict.fromkeys(["- a", "- b", "+ c"])
    losses = {change: losses.get(change[2:], 1.0) for change in changes}
    mixtures = {"default": 1.0, "SGD*": 2.0}
    return example.Result(data_set, changes, mixtures | losses)


# What is measured.


@pytest.mark.thorough
def test_losses_are_those_of_estimators(example, few, run, folder):
    status, out, err = run("--data-dir", folder)
    assert (status, err) == (0, "")
    measured = losses_by_data_set(out)
    for name, data_set in read_data_sets(example, folder).items():
        losses = measured.pop(name)
        is_regression = data_set.n_classes is None
        hedge = HedgeRegressor if is_regression else HedgeClassifier
        default = hedge()
        expected = {"default": row_losses(default, data_set).mean()}
        experts = {e: clone(each) for e, each in default.named_estimators_.items()}
        candidates = {"scinol1": clone(experts["scinol2"])}
        candidates["scinol1"].set_params(algorithm="scinol1")
        if "fourier-1" in experts:
            narrow = clone(experts["fourier-1"])
            candidates["fourier-0.5"] = narrow.set_params(gamma=4 * narrow.gamma)
            forgets = clone(experts["fourier-1"])
            forgets.set_params(prior_scale=1.0, forgetting=0.01)
            if not is_regression:  # it is one of the default experts there
                candidates["fourier-1-forgetting"] = forgets
        mixtures = {"first level": hedge([*experts.items()], exclude=["pools"])}
        for left_out in experts:
            rest = [item for item in experts.items() if item[0] != left_out]
            mixtures[f"- {left_out}"] = hedge(rest)
        for added in candidates.items():
            mixtures[f"+ {added[0]}"] = hedge([*experts.items(), added])
        expected |= {
            mixture: row_losses(clone(model), data_set).mean()
            for mixture, model in mixtures.items()
        }
        expected["best expert"] = min(
            row_losses(clone(each), data_set).mean() for each in experts.values()
        )
        expected["SGD*"] = example.standardised(data_set)[0]
        assert losses == pytest.approx(expected, rel=1e-4)
        # A mixture of the default experts is the default mixture.
        same = row_losses(hedge([*experts.items()]), data_set).mean()
        assert same == pytest.approx(expected["default"], rel=1e-12)
    assert not measured


def test_mixtures_of_halves(example, folder):
    """Both halves are measured with what was chosen on each."""
    gains = {"amounts": (1.1, 1.0, 1.1), "three": (1.0, 1.1, 1.0), "wide": (1, 1, 1)}
    results = []
    for name, data_set in read_data_sets(example, folder).items():
        experts = [ScInOLClassifier(), AdaImplicitClassifier(), ScInOLClassifier()]
        if data_set.n_classes is None:
            experts = [ScInOLRegressor(), AdaImplicitRegressor(), ScInOLRegressor()]
        changes = dict(zip(["- a", "- b", "+ c"], experts, strict=True))
        a, b, c = gains[name]
        losses = {"default": 1.0, "- a": a, "- b": b, "+ c": 1 / c}
        results.append(example.Result(data_set, changes, losses))
    text = example.measure_chosen(results, example.Parallel(n_jobs=1))
    # The halves are amounts and wide, and three.
    assert text.splitlines()[1:] == [
        "classification, half 1: - a, - b",
        "regression, half 1: - b, + c",
        "classification, half 2: - a",
        "regression, half 2: nothing",
    ]
    chosen = {
        "amounts": {example.SAME_HALF: "ac", example.OTHER_HALF: "ab"},
        "three": {example.SAME_HALF: "b", example.OTHER_HALF: ""},
        "wide": {example.SAME_HALF: "", example.OTHER_HALF: "b"},
    }
    for result in results:
        data_set = result.data_set
        by_name = {change[2:]: each for change, each in result.changes.items()}
        hedge = HedgeClassifier if data_set.n_classes else HedgeRegressor
        for title, names in chosen[data_set.name].items():
            # A mixture with no expert left is the default one.
            model = hedge([(name, by_name[name]) for name in names] or None)
            loss = row_losses(model, data_set).mean()
            assert result.losses[title] == pytest.approx(loss)


def test_numbers_that_are_classes(example, run, tmp_path, monkeypatch):
    """More than twenty different numbers count as classes if that is asked for."""
    np.savez(tmp_path / "many.npz", X=np.ones((25, 1)), y=np.arange(25))
    seen = []

    def measure(data_set, parallel):
        seen.append(data_set.n_classes)
        return made_up(example, data_set.name)

    monkeypatch.setattr(example, "measure", measure)
    assert run("--data-dir", tmp_path)[0] == 0
    assert run("--data-dir", tmp_path, "--classes", "many")[0] == 0
    assert seen == [None, 25]


@pytest.mark.thorough
def test_bundled_data(few, run):
    status, out, err = run("--only", "diabetes", "--max-rows", 60)
    assert (status, err) == (0, "")
    assert out.startswith("diabetes: 60 rows, 10 features, absolute error\n")
    assert max(map(len, out.splitlines())) <= 105
    assert "half" not in out  # there is one data set only


# The rule.


@pytest.mark.parametrize(
    ("without", "with_it", "expected"),
    [
        # Experts stay for 0.2 % in the geometric mean, which 1.21 and 1 / 1.2 exceed.
        ((1.0021, 1.0021), (1.0, 1.0), ["- b"]),
        ((1.0019, 1.0019), (1.0, 1.0), ["- a", "- b"]),
        ((1.21, 1 / 1.2), (1.0, 1.0), ["- b"]),
        ((1.2, 1 / 1.21), (1.0, 1.0), ["- a", "- b"]),
        # Candidates are added for as much.
        ((2.0, 2.0), (1 / 1.0021, 1 / 1.0021), ["- b", "+ c"]),
        ((2.0, 2.0), (1 / 1.0019, 1 / 1.0019), ["- b"]),
        ((2.0, 2.0), (1.2, 1 / 1.21), ["- b", "+ c"]),
    ],
)
def test_rule(example, without, with_it, expected):
    results = [
        made_up(example, str(k), a=a, c=c)
        for k, (a, c) in enumerate(zip(without, with_it, strict=True))
    ]
    assert example.choose(results) == expected


def test_an_expert_counts_where_it_is_used(example):
    results = [made_up(example, "x", a=1.003), made_up(example, "y", a=1.003)]
    del results[1].changes["- a"], results[1].losses["- a"]
    assert example.gains(results)["- a"] == {"x": 1.003}
    assert "- a" not in example.choose(results)


def test_halves_keep_parts_of_data_sets_together(example):
    names = ["d", "a_train", "b", "c", "a_test"]
    first, second = example.halves([made_up(example, name) for name in names])
    assert [result.data_set.name for result in first] == ["a_train", "c", "a_test"]
    assert [result.data_set.name for result in second] == ["d", "b"]


# Printed tables.


def test_summaries(example):
    results = [
        made_up(example, "x", a=1.44, b=1.0, c=0.5),
        made_up(example, "y", a=1.0, b=0.81, c=1.0),
    ]
    results[1].losses |= {"default": 0.9, "SGD*": 0.8, "first level": 1.6}
    results[0].losses["first level"] = 1.0
    _, _, _, _, _, *lines = example.summary_of_changes("any", results).splitlines()
    assert [line.split() for line in lines] == [
        # The roots of 1.44 / 0.9, of 0.9, and of 2 * 0.9.
        ["-", "a", "2", "1.2649", "1.111", "y", "1.44", "x"],
        ["-", "b", "2", "0.9487", "0.9", "y", "1", "x"],
        ["+", "c", "2", "1.3416", "0.9", "y", "2", "x"],
    ]
    *_, default, first = example.summary_of_mixtures(results).splitlines()
    # Means of 1 / 2 and 9 / 8, of 1 / 2 and 2; the root of 16 / 9.
    assert default.split() == [
        *("default", "0.812", "1", "1.125", "y", "1.000", "1", "x")
    ]
    assert first.split() == [
        *("first", "level", "1.250", "1", "2", "y", "1.333", "1.778", "y")
    ]


# Errors: one sentence, and status 2.


def test_nothing_to_do(run, folder, tmp_path):
    assert_says_that_nothing_is_there(run, folder, tmp_path / "missing")


@pytest.mark.parametrize("options", [["--max-rows", "0"], ["--n-jobs", "0"]])
def test_wrong_options(run, options, capsys):
    assert_refuses(run, options, capsys)

"""Scripts that measure times run on small data, and compare what learns the same."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from support.scripts import caller

from sklearn_scinol import HedgeClassifier, MondrianForestClassifier, ScInOLClassifier

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


def numbers(text):
    return [float(word.strip("%").replace(",", "")) for word in text.split()]


@pytest.mark.thorough
def test_dask_partitions(load, monkeypatch, capsys):
    pytest.importorskip("distributed", reason="distributed is not installed")
    script = load("dask_partitions")
    monkeypatch.setattr(script, "WIDE", 1000)
    options = "--partitions", "2", "--rows", "1500", "--repeats", "1"
    script.main([*options, "--only", "scinol"])
    out, err = capsys.readouterr()
    assert err == ""
    _, rates, costs, task, _, outlook = map(str.splitlines, out.split("\n\n"))
    here, there, overhead, merged, ratio = numbers(rates[1].removeprefix("ScInOL"))
    # All times of a repetition are from the same seconds.
    assert overhead / 100 == pytest.approx(here / there - 1, abs=1e-3)
    assert ratio == pytest.approx(merged / there, abs=0.01)
    sizes = [numbers(row[24:])[0] for row in costs[1:]]
    assert 1000 < sizes[0] < sizes[1]
    assert float(task[0].removeprefix("task ")) > 0
    in_order, shards, _ = numbers(outlook[1].removeprefix("ScInOL"))
    assert in_order == pytest.approx(1e12 / here / 86400, rel=0.1)
    assert shards == pytest.approx(1e9 / here / 60, rel=0.1)


def test_first_call(load, monkeypatch, capsys):
    pytest.importorskip("numba", reason="numba is not installed")
    script = load("first_call")
    times = iter(range(1, 1 + 2 * len(script.CASES)))
    monkeypatch.setattr(script, "measure_apart", lambda _: (next(times), 3.0, 0.5, 0.6))
    assert script.main(["--n-repeats", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()[2:]
    assert len(lines) == len(script.CASES)
    assert lines[0].split()[-5:] == ["5.50", "s", "1.0", "3.00", "s"]


def test_function_by_hand_is_the_learner(load):
    """It is what ScInOL does, so that their times can be compared."""
    pytest.importorskip("numba", reason="numba is not installed")
    script, rng = load("first_call"), np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = np.where(X.sum(axis=1) > 0.5, 1.0, -1.0)
    c = np.append(1.0, rng.choice([0.0, 1.0], 59))
    mean, totals, state = np.zeros(4), np.zeros(3), np.zeros((5, 5))
    state[2], state[3] = np.finfo(float).tiny, 1.0
    predictions, losses = np.zeros((2, 60))
    assert script.learn_rows(X, y, c, mean, *state, predictions, losses, totals)
    model = ScInOLClassifier().partial_fit(X, y, [-1, 1], c)
    assert totals[0] == (c > 0.0).sum()
    assert_allclose(totals[2], model.cumulative_loss_, rtol=1e-12)


@pytest.mark.thorough
def test_forests(load, monkeypatch, tmp_path, capsys):
    pytest.importorskip("river", reason="river is not installed")
    script, rng = load("forests"), np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    monkeypatch.setattr(script, "mails", lambda: (X, y))
    monkeypatch.setattr(script, "streams", lambda names, folder: [])
    np.savez(tmp_path / "pendigits.npz", X=X, y=np.array(["a", "b"])[y])
    options = "--data-dir", tmp_path, "--seeds", 3
    status, out, _ = caller(script, capsys)(*options)
    assert status == 0
    *_, accuracy, _, _, ratios, _ = out.splitlines()
    assert accuracy.split()[:3] == ["mails", "60", "3"]
    shares = []
    for seed in range(3):
        model = MondrianForestClassifier(random_state=seed)
        said = model.partial_fit_predict(X, y, classes=[0, 1])
        shares.append((said == y).mean())
    *_, shown = re.findall(r"([\d.]+) ±", accuracy)
    assert float(shown) == pytest.approx(np.mean(shares), abs=1e-4)
    assert ratios.split()[:3] == ["times", "faster", "1"]


@pytest.mark.thorough
def test_one_row(load, monkeypatch, capsys):
    script = load("one_row")
    monkeypatch.setattr(script, "find_spec", lambda _: None)
    arguments = ["--features", "2", "3", "--rows", "5", "--repeats", "1"]
    assert script.main(arguments) == 0
    *tables, of_dicts, of_events = capsys.readouterr().out.strip().split("\n\n")
    titles = [table.split("  ")[0] for table in tables]
    assert titles[::2] == ["2 features", "3 features"]
    assert {*titles[1::2]} == {"in chunks of 5"}
    for k, table in enumerate(tables):
        lines = table.splitlines()[2:]
        assert len(lines) == (5 if k % 2 else 11)
        assert lines[0].startswith("SGDClassifier, partial_fit")
        assert float(lines[0].split()[-1]) == 1.0
        assert all(float(line.split()[-2]) >= 0.0 for line in lines)
    assert of_dicts.splitlines()[2].startswith("ScInOLClassifier, row_by_row")
    names = [line.split(",")[0] for line in of_events.splitlines()[2:]]
    of_history = ["history of 1", "22 columns", "history of 3", "56 columns"]
    assert names == ["no history", *of_history]


def test_ways_learn_the_same(load):
    """Each learns every row that it is asked to, and predictions learn none."""
    script = load("one_row")
    X, y = script.data(30, 3)
    for way, learned in (
        (script.by_partial_fit, 10),
        (script.by_rows, 10),
        (script.predictions_by_rows, 0),
    ):
        estimator = script.ScInOLClassifier()
        learn = way(estimator, X, y)
        for i in range(10):
            learn(i)
        assert estimator.n_samples_seen_ == 30 + learned


@pytest.mark.thorough
def test_killed_learning(load, capsys):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pytest.importorskip("skops", reason="skops is not installed")
    script = load("resume")
    options = "--rows", "4000", "--kills", "2", "--chunk-rows", "500"
    assert script.main([*options, "--save-every", "500"]) == 0
    *_, line, equal = capsys.readouterr().out.splitlines()
    assert equal == "The models are equal to the last bit."
    name, rows, whole, kills, killed, _, _, pause = line.split()
    assert (name, rows) == ("scinol", "4,000")
    assert 1 <= int(kills) <= 2
    assert float(killed) > float(whole) > 0.0
    assert float(pause) > 0.0
    assert script.main(["--rows", "0"]) == 2


@pytest.mark.thorough
def test_reading(load, capsys):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    load("reading").main(["--rows", "3000", "--repeats", "2"])
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["csv", "parquet", "feather"]
    for row in rows:
        assert all(float(ratio) > 0 for ratio in row.split()[-2:])


@pytest.mark.thorough
def test_scale_out(load, monkeypatch, tmp_path, capsys):
    """With a mixture of one expert, and a cluster of one thread in this process."""
    pytest.importorskip("dask", reason="dask is not installed")
    distributed = pytest.importorskip("distributed")
    script, cluster = load("scale_out"), distributed.LocalCluster
    hedge = lambda: HedgeClassifier([("one", ScInOLClassifier())])  # noqa: E731
    learners = {"Hedge": hedge, "ScInOL2": ScInOLClassifier}
    for name, value in (
        ("N_ROWS", 300),
        ("N_PARTITIONS", 6),
        ("SHARDS", (2, 6)),
        ("LEARNERS", learners),
    ):
        monkeypatch.setattr(script, name, value)
    in_process = lambda **given: cluster(processes=False, **given)  # noqa: E731
    monkeypatch.setattr(distributed, "LocalCluster", in_process)
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = 1 * (X[:, 0] + 0.3 * random.normal(size=120) > 0)
    np.savez(tmp_path / "two.npz", X=X, y=y)
    run = caller(script, capsys, "--n-jobs", 1, "--output-dir", tmp_path / "figures")
    for options in [], ["--data-dir", tmp_path, "--in-order", "two"]:
        status, out, err = run(*options)
        assert (status, err) == (0, "")
        lines = out.partition("\n---")[2].splitlines()[1:-1]
        lines = [line for line in lines if "ScInOL2" in line or line[:32].isspace()]
        found = [numbers(line[32:].replace("in order", "1")) for line in lines[-3:]]
        shards, losses, ratios, seconds = np.transpose(found)
        assert shards.tolist() == [1, 2, 6]
        assert_allclose(ratios, losses / losses[0], atol=1e-3)
        assert (seconds > 0).all()
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    model = ScInOLClassifier().partial_fit(X, y, classes=[0, 1])
    loss = log_loss(y_test, model.predict_proba(X_test))
    assert losses[0] == pytest.approx(loss, abs=6e-5)
    assert (tmp_path / "figures" / "scale_out.png").exists()


@pytest.mark.thorough
def test_second_order(load, monkeypatch, capsys):
    script = load("second_order")
    for name, value in ("N_ROWS", 3_000), ("N_FEATURES", 4), ("REPEATS", 1):
        monkeypatch.setattr(script, name, value)
    assert script.main(["--only", "wine", "--n-jobs", "1"]) == 0
    of_priors, of_solvers = capsys.readouterr().out.split("\n\n")
    _, wine, summary = of_priors.splitlines()
    *ratios, cost = map(float, wine.split()[1:])
    assert cost == pytest.approx(ratios[2] / min(ratios), abs=2e-3)
    assert f"median {cost:.3f}, largest {cost:.3f}" in summary
    for line in of_solvers.splitlines()[1:]:
        _, time, loss = line.split()
        assert float(time) > 0.0
        assert 0.99 < float(loss) < 1.05

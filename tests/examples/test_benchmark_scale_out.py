"""The example of partitions on a cluster, on its own data and on those of a folder."""

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from support.scripts import runner

from sklearn_scinol import HedgeClassifier, ScInOLClassifier

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
dask = pytest.importorskip("dask", reason="dask is not installed")
distributed = pytest.importorskip("distributed", reason="distributed is not installed")


@pytest.fixture
def example(load, monkeypatch):
    """With a mixture of one expert, and a cluster of one thread in this process."""
    module = load("scale_out")
    monkeypatch.setattr(module, "N_ROWS", 300)
    monkeypatch.setattr(module, "N_PARTITIONS", 6)
    monkeypatch.setattr(module, "SHARDS", (2, 6))
    hedge = lambda: HedgeClassifier([("one", ScInOLClassifier())])  # noqa: E731
    learners = {"Hedge": hedge, "ScInOL2": ScInOLClassifier}
    monkeypatch.setattr(module, "LEARNERS", learners)
    cluster = distributed.LocalCluster
    monkeypatch.setattr(
        distributed, "LocalCluster", lambda **given: cluster(processes=False, **given)
    )
    return module


@pytest.fixture
def run(example, tmp_path, capsys):
    return runner(example, tmp_path, capsys)


def rows(out):
    """Shards, log loss, its ratio and seconds of each line, by data and learner."""
    body = out.partition("\n---")[2].splitlines()[1:-1]
    found = {}
    for line in filter(None, body):
        numbers = line[32:].replace("in order", "1").split()
        key = line[:22].strip(), line[22:32].strip()
        found.setdefault(key, []).append([*map(float, numbers)])
    return found


@pytest.mark.thorough
def test_own_data(run, tmp_path):
    status, out, err = run()
    assert (status, err) == (0, "")
    found = rows(out)
    assert [*found] == [("two classes", "Hedge"), ("two classes", "ScInOL2")]
    for lines in found.values():
        shards, losses, ratios, seconds = np.transpose(lines)
        assert shards.tolist() == [1, 2, 6]
        np.testing.assert_allclose(ratios, losses / losses[0], atol=1e-3)
        assert (losses > 0.1).all()
        assert (losses < 0.7).all()
        assert (seconds > 0).all()
    path = tmp_path / "figures" / "scale_out.png"
    assert out.endswith(f"Wrote {path}\n")
    assert path.stat().st_size > 10_000


@pytest.mark.thorough
def test_folder(run, tmp_path):
    random = np.random.default_rng(0)
    X = random.normal(size=(120, 3))
    y = 1 * (X[:, 0] + 0.3 * random.normal(size=120) > 0)
    folder = tmp_path / "data"
    folder.mkdir()
    np.savez(folder / "amounts.npz", X=X, y=X[:, 1])
    np.savez(folder / "two.npz", X=X, y=y)
    status, out, err = run("--data-dir", folder, "--in-order", "two")
    assert (status, err) == (0, "")
    assert "Skipped amounts: it does not have two classes.\n" in out
    (first, *_) = rows(out)["two", "ScInOL2"]
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    model = ScInOLClassifier().partial_fit(X, y, classes=[0, 1])
    loss = log_loss(y_test, model.predict_proba(X_test))
    assert first[:3] == [1, pytest.approx(loss, abs=6e-5), 1]


def test_what_is_not_there(run, example, monkeypatch):
    monkeypatch.setattr(example, "find_spec", lambda name: None)
    said = "this needs Dask: `pip install sklearn-scinol[dask]` does it.\n"
    assert run() == (2, "", said)

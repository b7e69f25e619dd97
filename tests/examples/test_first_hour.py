"""Tasks of a first hour, as users run them: each is done better than by scaled SGD."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from sklearn_scinol import (
    HedgeClassifier,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    config_context,
)
from sklearn_scinol.evaluation import LossMonitor, progressive_validation
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder
from sklearn_scinol.streams import read_table

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")

#: Factors by which the units of features differ.
UNITS = 10.0 ** np.arange(-2, 3)


@pytest.fixture(autouse=True)
def as_users(as_users_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with config_context(engine="auto"):
        yield


def chunks(X, y, size=50):
    """Yield rows and labels, as they would come from a file."""
    for start in range(0, len(y), size):
        yield X[start : start + size], y[start : start + size]


def mean_loss(estimator, stream, **options):
    """The mean log loss of one pass, each chunk predicted before it is learned."""
    options = {"classes": [0, 1], "progress": False} | options
    return -progressive_validation(estimator, stream, **options).scores["neg_log_loss"]


def scaled(scaler=None):
    """SGD as users run it."""
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    return make_pipeline(StandardScaler() if scaler is None else scaler, sgd)


def test_in_place_of_sgd():
    """Sparse rows of how often each of 500 things occurred, some often."""
    random, k = np.random.default_rng(0), np.arange(500)
    y = random.integers(0, 2, 3000)
    rates = np.exp(0.8 * np.sin(np.outer([1, 2], k))) * 10.0 / (1.0 + k)
    X = sparse.csr_matrix(random.poisson(rates[y]).astype(float))
    theirs = mean_loss(scaled(MaxAbsScaler()), chunks(X, y))
    assert mean_loss(ScInOLClassifier(), chunks(X, y)) < theirs


def test_late_labels():
    given = {"n_informative": 8, "n_redundant": 0, "n_clusters_per_class": 1}
    X, y = make_classification(1000, 10, **given, random_state=0)
    X *= np.resize(UNITS, 10)
    theirs = mean_loss(scaled(), chunks(X, y), delay=100)
    assert mean_loss(HedgeClassifier(), chunks(X, y), delay=100) < theirs


def test_raw_csv():
    """A city, a size, a time and a label."""
    random, n = np.random.default_rng(0), 1500
    frame = pd.DataFrame({"city": random.choice([*"abcdefgh"], n)})
    frame["size"] = random.lognormal(3.0, 1.0, n)
    frame["day"] = pd.date_range("2026-01-01", periods=n, freq="h").astype(str)
    odds = (frame["city"] < "d") * 4.0 + np.log(frame["size"]) - 4.5
    y = (odds + random.logistic(size=n) > 0.0).to_numpy().astype(int)
    frame.assign(y=y).to_csv("raw.csv", index=False)
    model = make_online_pipeline(TableEncoder(), HedgeClassifier())
    X = pd.get_dummies(frame[["city", "size"]]).to_numpy(float)
    theirs = mean_loss(scaled(), chunks(X, y))
    assert mean_loss(model, read_table("raw.csv", target="y")) < theirs


def test_drift():
    """Labels are the others from the 2001st row on, which raises an alarm."""
    random, n = np.random.default_rng(0), 4000
    X = random.standard_normal((n, 5))
    sign = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    scores = sign * (2 * X[:, 0] - X[:, 1] + X[:, 2] + X[:, 4])
    y, X = (scores + 0.5 * random.standard_normal(n) > 0.0).astype(int), X * UNITS
    model, monitor = OnlineNewtonClassifier(forgetting=0.01), LossMonitor()
    ours = mean_loss(model, chunks(X, y), monitor=monitor)
    assert ours < mean_loss(scaled(), chunks(X, y))
    (rise,) = (each for each in monitor.alarms_ if each.direction == "rise")
    assert rise.change == pytest.approx(2001, abs=32)
    assert 2000 < rise.row < 2500

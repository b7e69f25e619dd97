"""Tasks of a first hour: each takes what the flowchart says, and beats SGD."""

import importlib.util

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from support import ROOT

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineConformalRegressor,
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


def measurements(n_rows, n_classes=2, n_features=10, n_informative=8):
    """Rows whose features have units of their own, and classes."""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=n_informative,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=0,
    )
    return X * np.resize(UNITS, n_features), y


def counts():
    """Sparse rows of how often each of 500 things occurred, some often, and labels."""
    random, k = np.random.default_rng(0), np.arange(500)
    y = random.integers(0, 2, 3000)
    rates = np.exp(0.8 * np.sin(np.outer([1, 2], k))) * 10.0 / (1.0 + k)
    return sparse.csr_matrix(random.poisson(rates[y]).astype(float)), y


def texts():
    """Hashed texts of twelve words on one of two topics."""
    random, k = np.random.default_rng(0), np.arange(400)
    words, y = np.array([f"w{each}" for each in k]), random.integers(0, 2, 2000)
    shares = [np.exp(0.8 * np.sin(k * topic)) / (1.0 + k**0.8) for topic in (1, 2)]
    shares = [each / each.sum() for each in shares]
    lines = [" ".join(random.choice(words, 12, p=shares[label])) for label in y]
    return HashingVectorizer(n_features=2**14).transform(lines), y


def rows_of_a_file():
    """A city, a size, a time and a label."""
    random, n = np.random.default_rng(0), 1500
    frame = pd.DataFrame({"city": random.choice([*"abcdefgh"], n)})
    frame["size"] = random.lognormal(3.0, 1.0, n)
    frame["day"] = pd.date_range("2026-01-01", periods=n, freq="h").astype(str)
    odds = (frame["city"] < "d") * 4.0 + np.log(frame["size"]) - 4.5
    return frame, (odds + random.logistic(size=n) > 0.0).to_numpy().astype(int)


def changing():
    """Rows whose labels are the others from the 2001st on."""
    random, n = np.random.default_rng(0), 4000
    X = random.standard_normal((n, 5))
    sign = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    scores = sign * (2 * X[:, 0] - X[:, 1] + X[:, 2] + X[:, 4])
    return X * UNITS, (scores + 0.5 * random.standard_normal(n) > 0.0).astype(int)


def few_experts():
    """A mixture that takes less time."""
    return HedgeClassifier(exclude=["random_features", "neighbors", "forest", "pools"])


#: Answers to the flowchart's questions, as far as they are asked, what it leads to,
#: and data.
TASKS = {
    "replace SGD": (["no", "no", "yes", "no"], ScInOLClassifier, counts),
    "text": (["no", "no", "yes", "no"], ScInOLClassifier, texts),
    "twenty classes": (
        ["no", "no", "no"],
        HedgeClassifier,
        lambda: measurements(1000, 20, n_informative=10),
    ),
    "embeddings": (
        ["no", "no", "no"],
        few_experts,
        lambda: measurements(1000, 5, 384, 60),
    ),
    "late labels": (["no", "no", "no"], HedgeClassifier, lambda: measurements(1500)),
    "drift": (
        ["no", "no", "yes", "yes"],
        lambda: OnlineNewtonClassifier(forgetting=0.01),
        changing,
    ),
    "raw CSV": (
        ["yes", "no", "no"],
        lambda: make_online_pipeline(TableEncoder(), HedgeClassifier()),
        rows_of_a_file,
    ),
    "intervals": (
        ["no", "yes", "no"],
        lambda: OnlineConformalRegressor(HedgeRegressor()),
        None,
    ),
}


@pytest.fixture(autouse=True)
def as_users(as_users_run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with config_context(engine="auto"):
        yield


def chunks(X, y, size=50):
    """Yield rows and labels, as they would come from a file."""
    for start in range(0, len(y), size):
        yield X[start : start + size], y[start : start + size]


def scaled(sgd=None, scaler=None):
    """SGD as users run it."""
    sgd = SGDClassifier(loss="log_loss", random_state=0) if sgd is None else sgd
    return make_pipeline(StandardScaler() if scaler is None else scaler, sgd)


def mean_loss(estimator, stream, **options):
    """The mean log loss of one pass, each chunk predicted before it is learned."""
    result = progressive_validation(estimator, stream, progress=False, **options)
    return -result.scores["neg_log_loss"]


@pytest.mark.parametrize("task", TASKS)
def test_choices_are_those_of_the_flowchart(task):
    spec = importlib.util.spec_from_file_location("diagram", ROOT / "doc/diagram.py")
    diagram = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(diagram)
    answers, model, _ = TASKS[task]
    taken, end = set(), diagram.OTHERWISE
    for answer, (_, towards, what, onwards) in zip(
        answers, diagram.QUESTIONS, strict=False
    ):
        if answer == towards:
            taken.add({"Start with": "TableEncoder"}.get(what, what))
            if onwards != "then":
                end = None
    taken |= {end} - {None}
    parts = [*getattr(model(), "named_steps", {"": model()}).values()]
    parts += [part.estimator for part in parts if hasattr(part, "estimator")]
    names = {type(part).__name__ for part in parts}
    kinds = {
        name.removesuffix("Classifier").removesuffix("Regressor") for name in names
    }
    assert kinds == taken


@pytest.mark.parametrize(
    "task", ["replace SGD", "text", "twenty classes", "embeddings"]
)
def test_chunks(task):
    """The peer of texts is SGD as it is, since hashed rows have the norm 1."""
    _, model, data = TASKS[task]
    X, y = data()
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    peers = {"replace SGD": scaled(sgd, MaxAbsScaler()), "text": sgd}
    theirs = mean_loss(peers.get(task, scaled()), chunks(X, y), classes=np.unique(y))
    assert mean_loss(model(), chunks(X, y), classes=np.unique(y)) < theirs


def test_late_labels():
    _, model, data = TASKS["late labels"]
    options = {"classes": [0, 1], "delay": 100}
    theirs = mean_loss(scaled(), chunks(*data()), **options)
    assert mean_loss(model(), chunks(*data()), **options) < theirs


def test_raw_csv():
    _, model, data = TASKS["raw CSV"]
    frame, y = data()
    frame.assign(y=y).to_csv("raw.csv", index=False)
    ours = mean_loss(model(), read_table("raw.csv", target="y"), classes=[0, 1])
    X = pd.get_dummies(frame[["city", "size"]]).to_numpy(float)
    assert ours < mean_loss(scaled(), chunks(X, y), classes=[0, 1])


def test_intervals():
    """The peer is adaptive conformal inference around SGD, with the best of 7 steps."""
    X, y = make_regression(1500, 10, noise=5.0, random_state=0)
    X, y = X * np.resize(UNITS, 10), y * (1.0 + np.abs(X[:, 0]))
    model, sgd = TASKS["intervals"][1](), scaled(SGDRegressor(random_state=0))
    intervals, predictions = [[[-np.inf, np.inf]] * 50], [np.zeros(50)]
    for k, (rows, targets) in enumerate(chunks(X, y)):
        if k:
            intervals.append(model.predict_interval(rows))
            predictions.append(sgd.predict(rows))
        model.partial_fit(rows, targets)
        sgd[-1].partial_fit(sgd[0].partial_fit(rows).transform(rows), targets)
    errors = np.abs(y - np.concatenate(predictions))
    theirs = min(score_of_adaptive(errors, 0.001 * 2.0**k) for k in range(7))
    low, high = np.concatenate(intervals)[100:].T
    assert np.mean(interval_score(low - y[100:], high - y[100:])) < theirs
    assert model.coverage_ == pytest.approx(0.9, abs=0.02)


def score_of_adaptive(errors, step):
    """Gibbs and Candès (2021), equation 2: a quantile of the errors so far."""
    share, widths = 0.1, []
    for t in range(100, len(errors)):
        width = np.quantile(errors[:t], np.clip(1.0 - share, 0.0, 1.0))
        share += step * (0.1 - (errors[t] > width))
        widths.append(width)
    widths, errors = np.array(widths), errors[100:]
    return np.mean(interval_score(-widths - errors, widths - errors))


def interval_score(low, high):
    """The interval score of ends less the target, for the level 0.9."""
    return high - low + 20.0 * (np.maximum(low, 0.0) + np.maximum(-high, 0.0))


def test_drift():
    """The peer is ADWIN; it needs numbers in [0, 1], hence errors, not losses."""
    _, model, data = TASKS["drift"]
    X, y = data()
    options = {"classes": [0, 1], "progress": False, "monitor": LossMonitor()}
    result = progressive_validation(model(), chunks(X, y), **options)
    theirs = mean_loss(scaled(), chunks(X, y), classes=[0, 1])
    assert -result.scores["neg_log_loss"] < theirs
    (rise,) = (each for each in result.alarms if each.direction == "rise")
    assert rise.change == pytest.approx(2001, abs=32)
    wrong = model().partial_fit_predict(X, y, classes=[0, 1]) != y
    assert adwin(np.repeat([0, 1], 500)) < 520
    assert 2000 < rise.row <= adwin(wrong)


def adwin(values, delta=0.002):
    """Bifet and Gavaldà (2007), section 3.1: the number of rows at the first cut."""
    sums = np.append(0.0, np.cumsum(values))
    for n in range(10, len(values) + 1):
        first = np.arange(1, n)
        difference = np.abs(sums[first] / first - (sums[n] - sums[first]) / (n - first))
        m, p = first * (n - first) / n, sums[n] / n
        logarithm = np.log(2.0 * np.log(n) / delta)
        threshold = np.sqrt(2.0 / m * p * (1.0 - p) * logarithm)
        if np.any(difference >= threshold + 2.0 / (3.0 * m) * logarithm):
            return n
    return np.inf

"""Ten tasks of a first hour, each with a smaller loss than the scaled SGD before."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import (
    OnlineConformalRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
)
from sklearn_scinol.evaluation import LossMonitor, progressive_validation
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

#: Factors by which the units of features differ.
UNITS = 10.0 ** np.arange(-2, 3)


def chunks(X, y, size=50):
    for start in range(0, len(y), size):
        yield X[start : start + size], y[start : start + size]


def scaled(sgd=None):
    sgd = SGDClassifier(loss="log_loss", random_state=0) if sgd is None else sgd
    return make_pipeline(StandardScaler(), sgd)


def loss(estimator, stream, **options):
    """Return the mean loss of one pass, each row predicted before it is learned."""
    result = progressive_validation(estimator, stream, progress=False, **options)
    return -next(iter(result.scores.values()))


def classification(n_samples=1500, n_classes=2, n_features=10, n_informative=8):
    X, y = make_classification(
        n_samples,
        n_features,
        n_informative=n_informative,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=0,
    )
    return X * np.resize(UNITS, n_features), y


def test_replace_sgd_in_an_out_of_core_loop():
    X, y = classification()
    losses = []
    for model in ScInOLClassifier(), SGDClassifier(loss="log_loss", random_state=0):
        scaler, of_chunks = StandardScaler(), []
        for rows, labels in chunks(X, y):
            if isinstance(model, SGDClassifier):
                rows = scaler.partial_fit(rows).transform(rows)
            if hasattr(model, "classes_"):
                p = model.predict_proba(rows)
                of_chunks.append(log_loss(labels, p, labels=[0, 1]))
            model.partial_fit(rows, labels, classes=[0, 1])
        losses.append(np.mean(of_chunks))
    assert losses[0] < losses[1]


def test_text():
    """The peer is SGD as it is, since hashed rows have the norm 1."""
    random, k = np.random.default_rng(0), np.arange(400)
    words, y = np.array([f"w{each}" for each in k]), random.integers(0, 2, 2000)
    shares = [np.exp(0.8 * np.sin(k * topic)) / (1.0 + k**0.8) for topic in (1, 2)]
    shares = [each / each.sum() for each in shares]
    texts = [" ".join(random.choice(words, 12, p=shares[label])) for label in y]
    X = HashingVectorizer(n_features=2**14).transform(texts)
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    ours, theirs = (
        loss(model, chunks(X, y), classes=[0, 1]) for model in (ScInOLClassifier(), sgd)
    )
    assert ours < theirs


def test_twenty_classes():
    X, y = classification(1000, n_classes=20, n_informative=10)
    ours, theirs = (
        loss(model, chunks(X, y), classes=range(20))
        for model in (OnlineNewtonClassifier(), scaled())
    )
    assert ours < theirs


def test_regression_with_intervals():
    """The peer is split conformal: SGD, and a quantile of its last errors."""
    X, y = make_regression(1500, 10, noise=5.0, random_state=0)
    y *= 1.0 + np.abs(X[:, 0])
    model, sgd = (
        OnlineConformalRegressor(OnlineNewtonRegressor()),
        scaled(SGDRegressor()),
    )
    scores, errors = {"ours": [], "peer": []}, np.zeros(0)
    for rows, targets in chunks(X, y):
        if errors.size:
            low, high = model.predict_interval(rows).T
            scores["ours"].append(interval_score(low, high, targets))
            middle, width = sgd.predict(rows), np.quantile(errors, 0.9)
            scores["peer"].append(
                interval_score(middle - width, middle + width, targets)
            )
        errors = np.append(
            errors, np.abs(targets - sgd.predict(rows)) if errors.size else [0.0]
        )
        model.partial_fit(rows, targets)
        scaler, regressor = (step for _, step in sgd.steps)
        regressor.partial_fit(scaler.partial_fit(rows).transform(rows), targets)
    assert np.mean(scores["ours"]) < np.mean(scores["peer"])
    assert model.coverage_ == pytest.approx(0.9, abs=0.02)


def interval_score(low, high, y, level=0.9):
    beyond = np.maximum(low - y, 0.0) + np.maximum(y - high, 0.0)
    return np.mean(high - low + 2.0 / (1.0 - level) * beyond)


def test_embeddings():
    X, y = classification(1000, n_classes=5, n_features=384, n_informative=60)
    ours, theirs = (
        loss(model, chunks(X, y), classes=range(5))
        for model in (ScInOLClassifier(), scaled())
    )
    assert ours < theirs


def test_a_raw_csv(tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    from sklearn_scinol.streams import read_table

    random, n = np.random.default_rng(0), 1500
    frame = pd.DataFrame({"city": random.choice([*"abcdefgh"], n)})
    frame["size"] = random.lognormal(3.0, 1.0, n)
    frame["day"] = pd.date_range("2026-01-01", periods=n, freq="h").astype(str)
    odds = (frame["city"] < "d") * 4.0 + np.log(frame["size"]) - 4.5
    frame["y"] = (odds + random.logistic(size=n) > 0.0).astype(int)
    frame.to_csv(tmp_path / "raw.csv", index=False)
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    ours = loss(model, read_table(tmp_path / "raw.csv", target="y"), classes=[0, 1])
    X = pd.get_dummies(frame[["city", "size"]]).to_numpy(float)
    assert ours < loss(scaled(), chunks(X, frame["y"].to_numpy()), classes=[0, 1])


def changing():
    """Rows whose weights change their signs at the 2001st."""
    random, n = np.random.default_rng(0), 4000
    X = random.standard_normal((n, 5))
    sign = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    scores = sign * (X @ [2.0, -1.0, 1.0, 0.0, 1.0])
    return X * UNITS, (scores + 0.5 * random.standard_normal(n) > 0.0).astype(int)


def test_drift_with_alarms():
    X, y = changing()
    model = OnlineNewtonClassifier(forgetting=0.01)
    monitor = LossMonitor()
    result = progressive_validation(
        model, chunks(X, y), classes=[0, 1], monitor=monitor, progress=False
    )
    (rise,) = (alarm for alarm in result.alarms if alarm.direction == "rise")
    assert 2000 < rise.row < 2500
    assert rise.change == pytest.approx(2001, abs=32)
    ours = -result.scores["neg_log_loss"]
    assert ours < loss(scaled(), chunks(X, y), classes=[0, 1])


def test_late_labels():
    X, y = classification()
    ours, theirs = (
        loss(model, chunks(X, y), classes=[0, 1], delay=100)
        for model in (ScInOLClassifier(), scaled())
    )
    assert ours < theirs


def test_row_by_row_in_a_service():
    X, y = classification(400)
    model = OnlineNewtonClassifier().partial_fit(X[:1], y[:1], classes=[0, 1])
    service, served = model.row_by_row().with_late_labels(), []
    for key in range(1, 400):
        served.append(service.predict_proba_one(X[key], key)[y[key]])
        service.learn_one(key, y[key])
    ours = -np.mean(np.log(served))
    assert ours < loss(scaled(), chunks(X, y, 1), classes=[0, 1])


def test_save_and_load_elsewhere(tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    from sklearn_scinol.persistence import load, save

    X, y = classification()
    model = ScInOLClassifier().partial_fit(X[:1000], y[:1000], classes=[0, 1])
    save(model, tmp_path / "model.skops")
    loaded, sgd = load(tmp_path / "model.skops"), scaled()
    loss(sgd, chunks(X[:1000], y[:1000]), classes=[0, 1])
    theirs = loss(sgd, chunks(X[1000:], y[1000:]))
    p = loaded.partial_fit_predict(X[1000:], y[1000:], method="predict_proba")
    assert log_loss(y[1000:], p) < theirs
    again = model.partial_fit_predict(X[1000:], y[1000:], method="predict_proba")
    np.testing.assert_array_equal(p, again)

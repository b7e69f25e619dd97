"""Ten scripts of a first hour: each takes what the flowchart says, and beats SGD."""

import importlib.util
import re
import runpy

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from support import ROOT

from sklearn_scinol import OnlineNewtonClassifier, config_context
from sklearn_scinol.evaluation import progressive_validation

SCRIPTS = ROOT / "tests" / "examples" / "first_hour"

#: Answers to the questions of the flowchart, in its order, as far as one is asked.
ANSWERS = {
    "replace_sgd": ["no", "no", "yes", "no"],  # sparse
    "text": ["no", "no", "yes", "no"],  # sparse: the text is hashed already
    "twenty_classes": ["no", "no", "no"],
    "intervals": ["no", "yes", "no"],
    "embeddings": ["no", "no", "no"],
    "raw_csv": ["yes", "no", "no"],
    "drift": ["no", "no", "yes", "yes"],
    "late_labels": ["no", "no", "no"],
    "row_by_row": ["no", "no", "yes", "yes"],
    "save_and_load": ["no", "no", "no"],
}


@pytest.fixture
def run(as_users_run, tmp_path, monkeypatch):
    """Run a script by its name in an empty folder; its variables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(SCRIPTS)
    with config_context(engine="auto"):
        yield lambda name: runpy.run_path(str(SCRIPTS / f"{name}.py"))


@pytest.fixture
def made(run):
    """The module of the data."""
    return importlib.import_module("made_data")


def scaled(sgd=None):
    """SGD as users run it."""
    sgd = SGDClassifier(loss="log_loss", random_state=0) if sgd is None else sgd
    return make_pipeline(StandardScaler(), sgd)


def loss_of_sgd(stream, estimator=None, **options):
    """The mean log loss of one pass, each chunk predicted before it is learned."""
    estimator = scaled() if estimator is None else estimator
    result = progressive_validation(estimator, stream, progress=False, **options)
    return -result.scores["neg_log_loss"]


@pytest.mark.parametrize("name", ANSWERS)
def test_choices_are_those_of_the_flowchart(name):
    spec = importlib.util.spec_from_file_location("diagram", ROOT / "doc/diagram.py")
    diagram = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(diagram)
    taken, end = set(), diagram.OTHERWISE
    for answer, (_, towards, what, onwards) in zip(
        ANSWERS[name], diagram.QUESTIONS, strict=False
    ):
        if answer == towards:
            taken.add({"Start with": "TableEncoder"}.get(what, what))
            if onwards != "then":
                end = None
    taken |= {end} - {None}
    source = (SCRIPTS / f"{name}.py").read_text(encoding="utf-8")
    kinds = "Hedge|OnlineNewton|ScInOL|OnlineConformal|TableEncoder"
    assert set(re.findall(rf"\b({kinds})(?:Classifier|Regressor|)\(", source)) == taken


def test_replace_sgd(run, made):
    X, y = made.counts()
    sgd = make_pipeline(MaxAbsScaler(), SGDClassifier(loss="log_loss", random_state=0))
    loss_of_sgd(made.chunks(X[:2000], y[:2000]), sgd, classes=[0, 1])
    theirs = log_loss(y[2000:], sgd.predict_proba(X[2000:]))
    assert run("replace_sgd")["loss"] < theirs


def test_text(run):
    """The peer is SGD as it is, since hashed rows have the norm 1."""
    ours = run("text")
    sgd = SGDClassifier(loss="log_loss", random_state=0)
    stream = ours["chunks"](ours["X"], ours["y"])
    assert ours["loss"] < loss_of_sgd(stream, sgd, classes=[0, 1])


@pytest.mark.parametrize(
    ("name", "n_classes"), [("twenty_classes", 20), ("embeddings", 5)]
)
def test_classes(run, name, n_classes):
    ours = run(name)
    stream = ours["chunks"](ours["X"], ours["y"])
    assert ours["loss"] < loss_of_sgd(stream, classes=range(n_classes))


def test_intervals(run, made):
    """The peer is adaptive conformal inference around SGD, with the best of 7 steps."""
    ours = run("intervals")
    X, y = made.targets()
    sgd, predictions = scaled(SGDRegressor(random_state=0)), []
    for rows, targets in made.chunks(X, y):
        fitted = hasattr(sgd[-1], "coef_")
        predictions.append(sgd.predict(rows) if fitted else np.zeros(len(rows)))
        sgd[-1].partial_fit(sgd[0].partial_fit(rows).transform(rows), targets)
    errors = np.abs(y - np.concatenate(predictions))
    theirs = min(score_of_adaptive(errors, 0.001 * 2.0**k) for k in range(7))
    low, high = np.concatenate(ours["intervals"])[100:].T
    assert np.mean(interval_score(low - y[100:], high - y[100:])) < theirs
    assert ours["model"].coverage_ == pytest.approx(0.9, abs=0.02)


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


def test_raw_csv(run, made):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    ours = run("raw_csv")["loss"]
    frame = made.write_table("raw.csv")
    X = pd.get_dummies(frame[["city", "size"]]).to_numpy(float)
    stream = made.chunks(X, frame["y"].to_numpy())
    assert ours < loss_of_sgd(stream, classes=[0, 1])


def test_drift(run, made):
    """The peer is ADWIN; it needs numbers in [0, 1], hence errors, not losses."""
    ours, (X, y) = run("drift"), made.changing()
    assert ours["loss"] < loss_of_sgd(made.chunks(X, y), classes=[0, 1])
    (rise,) = (each for each in ours["result"].alarms if each.direction == "rise")
    assert rise.change == pytest.approx(2001, abs=32)
    model = OnlineNewtonClassifier(forgetting=0.01)
    wrong = model.partial_fit_predict(X, y, classes=[0, 1]) != y
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


def test_late_labels(run, made):
    theirs = loss_of_sgd(
        made.chunks(*made.measurements(1500)), classes=[0, 1], delay=100
    )
    assert run("late_labels")["loss"] < theirs


def test_row_by_row(run, made):
    ours = run("row_by_row")
    X, y = ours["X"], ours["y"]
    theirs = loss_of_sgd(made.chunks(X, y, 1), classes=[0, 1])
    assert log_loss(y[1:], ours["served"]) < theirs


def test_save_and_load(run, made):
    pytest.importorskip("skops", reason="skops is not installed")
    ours = run("save_and_load")
    X, y, model = ours["X"], ours["y"], ours["model"]
    sgd = scaled()
    loss_of_sgd(made.chunks(X[:1000], y[:1000]), sgd, classes=[0, 1])
    assert ours["loss"] < loss_of_sgd(made.chunks(X[1000:], y[1000:]), sgd)
    for rows, labels in made.chunks(X[1000:], y[1000:]):
        model.partial_fit(rows, labels)
    again = ours["loaded"].predict_proba(X)
    np.testing.assert_array_equal(again, model.predict_proba(X))

"""Progressive validation: exact, on every kind of stream, for every kind of metric."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    get_scorer,
    hamming_loss,
    hinge_loss,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_pinball_loss,
    r2_score,
    roc_auc_score,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_scinol import OnlineConformalRegressor, ScInOLClassifier, ScInOLRegressor
from sklearn_scinol.cli.learn import _metrics as cli_metrics
from sklearn_scinol.cli.scores import NAMES
from sklearn_scinol.engines import clock
from sklearn_scinol.evaluation import (
    Alarm,
    ProgressiveValidationDisplay,
    progressive,
    progressive_validation,
)
from sklearn_scinol.evaluation.display import _score_label
from sklearn_scinol.pipeline import make_online_pipeline

SGD = SGDClassifier(loss="log_loss", random_state=0)


def classification(n_classes=2, n_samples=120):
    X, y = make_classification(
        n_samples,
        n_features=5,
        n_informative=4,
        n_redundant=0,
        n_classes=n_classes,
        flip_y=0.1,
        random_state=0,
    )
    return X * [1e-3, 1, 1e3, 1, 1] + [0, 5, 0, 0, 0], y


def regression(n_samples=120):
    return make_regression(n_samples, n_features=4, noise=5, random_state=0)


def chunks(*arrays, size=7):
    for start in range(0, arrays[0].shape[0], size):
        yield tuple(array[start : start + size] for array in arrays)


def by_hand(steps, stream, method, **classes):
    """Predict each chunk, then learn it; not the first, as nothing is learned before.

    All steps but the last learn a chunk before they transform it.
    """
    *transformers, last = steps
    answers = []
    for X, y in stream:
        for each in transformers:
            X = each.partial_fit(X).transform(X)
        if hasattr(last, "coef_") or hasattr(last, "class_count_"):
            answers.append(getattr(last, method)(X))
        last.partial_fit(X, y, **classes)
    return np.concatenate(answers)


def validate(estimator, stream, metrics=None, **keywords):
    return progressive_validation(
        estimator, stream, metrics=metrics, progress=False, **keywords
    )


@pytest.mark.cases(3)
@pytest.mark.parametrize("size", [1, 7, 1000])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_own_classifier_predicts_row_by_row(n_classes, size, engine):
    X, y = classification(n_classes)
    classes = np.arange(n_classes)
    model = ScInOLClassifier()
    # What it would have said of the first row, which it has not seen: all is as likely.
    before = np.full((1, n_classes), 1 / n_classes)
    stream = chunks(X, y, size=1)
    after = by_hand([model], stream, "predict_proba", classes=classes)
    probabilities = np.vstack([before, after])

    metrics = ["neg_log_loss", "accuracy"]
    result = validate(
        ScInOLClassifier(), chunks(X, y, size=size), metrics, classes=classes
    )
    assert result.scores["neg_log_loss"] == pytest.approx(-log_loss(y, probabilities))
    assert result.scores["accuracy"] == pytest.approx(
        accuracy_score(y, probabilities.argmax(axis=1))
    )
    assert result.n_samples[-1] == len(y)
    assert -result.scores["neg_log_loss"] * len(y) == pytest.approx(
        result.estimator.cumulative_loss_
    )
    np.testing.assert_array_equal(result.estimator.coef_, model.coef_)


@pytest.mark.parametrize(
    ("steps", "n_samples", "size"),
    [
        ([SGD], 120, 1),
        ([SGD], 200_000, 50_000),  # many rows between two points
        ([GaussianNB()], 120, 40),
        ([StandardScaler(), SGD], 120, 7),
    ],
    ids=str,
)
def test_other_estimators_predict_chunk_by_chunk(steps, n_samples, size):
    X, y = classification(n_samples=n_samples)
    classes = {"classes": [0, 1]}
    stream = [*chunks(X, y, size=size)]
    p = by_hand(map(clone, steps), stream, "predict_proba", **classes)
    *transformers, last = map(clone, steps)
    model = make_pipeline(*transformers, "passthrough", last) if transformers else last
    result = validate(model, stream, ["neg_log_loss", "accuracy"], **classes)
    y = y[size:]
    assert result.scores == {
        "neg_log_loss": pytest.approx(-log_loss(y, p)),
        "accuracy": pytest.approx(accuracy_score(y, p.argmax(axis=1))),
    }
    assert result.n_samples[-1] == len(y)


def test_pipeline_that_ends_in_an_own_estimator():
    X, y = classification()
    pipeline = make_pipeline(FunctionTransformer(np.cbrt), ScInOLClassifier())
    in_pipeline = validate(pipeline, chunks(X, y), "neg_log_loss", classes=[0, 1])
    stream = chunks(np.cbrt(X), y)
    alone = validate(ScInOLClassifier(), stream, "neg_log_loss", classes=[0, 1])
    assert in_pipeline.scores == alone.scores
    assert pipeline[-1].n_samples_seen_ == len(y)


def test_sparse_chunks_and_weights():
    X, y = classification()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    stream = chunks(sparse.csr_array(X), y, weight)
    result = validate(ScInOLClassifier(), stream, "neg_log_loss", classes=[0, 1])
    assert result.estimator.cumulative_loss_ == pytest.approx(
        -result.scores["neg_log_loss"] * weight.sum()
    )
    assert result.n_samples[-1] == (weight > 0).sum()


def tables(kind, size=7):
    """Chunks of a frame, an empty one among them."""
    library = kind if kind in ("pandas", "polars") else "pyarrow"
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    X, y = classification()
    labels = np.array(["no", "yes"])[y].tolist()
    columns = {"label": labels, **{f"x{i}": X[:, i] for i in range(5)}}
    if library != "pyarrow":
        frame = frames.DataFrame(columns)
    elif kind == "RecordBatch":
        frame = frames.RecordBatch.from_pydict(columns)
    else:
        frame = frames.table(columns)
    if kind == "dictionary":
        frame = frame.set_column(0, "label", frame["label"].dictionary_encode())
    return [frame[:0], *(frame[start : start + size] for start in range(0, 120, size))]


@pytest.mark.parametrize(
    "kind", ["pandas", "polars", "Table", "RecordBatch", "dictionary"]
)
def test_frames(kind):
    metrics = ["accuracy", "neg_log_loss"]
    result = validate(ScInOLClassifier(), tables(kind), metrics, target="label")
    assert list(result.estimator.classes_) == ["no", "yes"]
    if kind != "RecordBatch":  # of which scikit-learn knows no names
        names = [f"x{i}" for i in range(5)]
        assert list(result.estimator.feature_names_in_) == names
    from_arrays = validate(ScInOLClassifier(), chunks(*classification()), metrics)
    assert result.scores == from_arrays.scores
    np.testing.assert_array_equal(result.estimator.coef_, from_arrays.estimator.coef_)


def test_default_metrics():
    stream = list(chunks(*classification()))
    for model, metrics in (
        (ScInOLClassifier(), ["neg_log_loss", "accuracy"]),
        (make_pipeline(StandardScaler(), clone(SGD)), ["neg_log_loss", "accuracy"]),
        (ScInOLClassifier(loss="hinge"), ["accuracy"]),
        (ScInOLRegressor(), ["neg_mean_absolute_error"]),
    ):
        result = progressive_validation(model, stream, progress=False)
        assert list(result.scores) == metrics


@pytest.mark.cases(1)
@pytest.mark.parametrize("size", [1, 7, 50, 200])
@pytest.mark.parametrize("window", [None, 20])
def test_classes_that_come_later(size, window):
    """Scores are those of all rows at once, about all classes."""
    random = np.random.default_rng(0)
    y = np.repeat(["b", "a", "d", "c"], 50)
    y[20:] = np.where(random.random(180) < 0.3, random.permuted(y[20:]), y[20:])
    y[:20] = "b"
    X, model = random.normal(size=(200, 2)), ScInOLClassifier(new_classes="add")
    # Those that were not known have columns of zeros.
    answers = clone(model).partial_fit_predict(X, y, method="predict_proba")
    classes = np.unique(y)
    metrics = ["neg_log_loss", "accuracy", "f1_macro", "roc_auc_ovr"]
    result = validate(clone(model), chunks(X, y, size=size), metrics, window=window)
    predicted = classes[answers.argmax(axis=1)]
    assert result.scores == pytest.approx(
        {
            "neg_log_loss": -log_loss(y, answers, labels=classes),
            "accuracy": accuracy_score(y, predicted),
            "f1_macro": f1_score(y, predicted, average="macro"),
            "roc_auc_ovr": roc_auc_score(y, answers, multi_class="ovr", labels=classes),
        }
    )
    first = result.curves["neg_log_loss"][0]  # a class that was alone is certain
    assert first == pytest.approx(0.0, abs=1e-12)
    if window:
        latest = -log_loss(y[-20:], answers[-20:], labels=classes)
        assert result.window_curves["neg_log_loss"][-1] == pytest.approx(latest)


#: Metrics of classifiers that predict probabilities.
CLASSIFICATION = [
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "matthews_corrcoef",
    "neg_log_loss",
    "neg_brier_score",
    "roc_auc_ovr",
]


def score_of(metric, y, answers, **weights):
    """The score of all rows at once; of probabilities, where labels may be asked."""
    scorer = get_scorer(metric)
    if answers.ndim > 1 and metric in CLASSIFICATION:
        is_label = scorer._response_method == "predict"
        columns = slice(None) if answers.shape[1] > 2 else 1
        answers = answers.argmax(axis=1) if is_label else answers[:, columns]
    score = scorer._score_func(y, answers, **scorer._kwargs, **weights)
    return scorer._sign * score


@pytest.mark.cases(3)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("metric", CLASSIFICATION)
def test_classification_metric_is_that_of_all_rows_at_once(metric, n_classes, weighted):
    if metric == "neg_brier_score" and n_classes > 2:
        pytest.skip("not every scikit-learn has it")
    X, y = classification(n_classes)
    # The last class comes late: chunks do not hold all classes.
    order = np.argsort(y == n_classes - 1, kind="stable")
    order[60:] = np.random.default_rng(0).permutation(order[60:])
    X, y = X[order], y[order]
    weight = np.random.default_rng(0).uniform(size=len(y)) if weighted else None
    classes = np.arange(n_classes)
    probabilities = ScInOLClassifier().partial_fit_predict(
        X, y, classes=classes, sample_weight=weight, method="predict_proba"
    )
    stream = chunks(X, y, weight) if weighted else chunks(X, y)
    result = validate(ScInOLClassifier(), stream, metric, classes=classes)
    expected = score_of(metric, y, probabilities, sample_weight=weight)
    assert result.scores[metric] == pytest.approx(expected)


METRICS = [
    "explained_variance",
    "neg_max_error",
    "neg_mean_absolute_error",
    "neg_mean_squared_error",
    "neg_median_absolute_error",
    "neg_root_mean_squared_error",
    "r2",
]


@pytest.mark.parametrize(
    ("metric", "n_outputs", "weighted"),
    [
        *((metric, 1, False) for metric in METRICS),
        *(("neg_mean_absolute_error", 2, False), ("r2", 2, False), ("r2", 1, True)),
    ],
)
def test_regression_metric_is_that_of_all_rows_at_once(metric, n_outputs, weighted):
    X, y = regression()
    y += 1e6  # far from 0, where sums of squares would not do
    if n_outputs > 1:
        y = np.column_stack([y, X[:, 0]])
    c = np.random.default_rng(0).integers(0, 3, len(y)) if weighted else None
    predictions = ScInOLRegressor().partial_fit_predict(X, y, sample_weight=c)
    stream = chunks(X, y, c) if weighted else chunks(X, y)
    result = validate(ScInOLRegressor(), stream, metric)
    given = {"sample_weight": c} if weighted else {}
    expected = score_of(metric, y, predictions, **given)
    assert result.scores[metric] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("target", [0.0, 2.0])
def test_r2_of_a_constant_target(target):
    # A learner that has seen nothing but zeros says 0.
    X, y = np.zeros((30, 1)), np.full(30, target)
    model = ScInOLRegressor(fit_intercept=False, standardize_target=False)
    result = validate(model, chunks(X, y), "r2")
    assert result.scores["r2"] == r2_score(y, np.zeros(30)) == (target == 0.0)


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "estimator",
    [
        ScInOLClassifier(),
        ScInOLRegressor(),
        ScInOLRegressor(loss="quantile", quantile=0.9),
        ScInOLRegressor(loss="quantile", quantile=[0.1, 0.9]),
        make_online_pipeline(OnlineConformalRegressor(ScInOLRegressor())),
    ],
    ids=str,
)
def test_names_of_scores_are_names_of_metrics(estimator):
    """As results have them, as the command line prints them, and as axes show them."""
    is_class = is_classifier(estimator)
    stream = list(chunks(*(classification() if is_class else regression())))
    whole = validate(clone(estimator), stream, cli_metrics(clone(estimator)))
    axes = [_score_label(name, name.startswith("neg_")) for name in whole.scores]
    for names in [*whole.scores], [NAMES[name] for name in whole.scores], axes:
        again = validate(clone(estimator), stream, names)
        assert_array_equal([*again.scores.items()], [*whole.scores.items()])


def test_pinball_loss_by_name():
    X, y = regression()
    for quantile in 0.8, [0.2, 0.5, 0.8]:
        model = ScInOLRegressor(loss="quantile", quantile=quantile)
        p = clone(model).partial_fit_predict(X, y)
        pairs = zip(p.reshape(len(y), -1).T, np.atleast_1d(quantile), strict=True)
        losses = [mean_pinball_loss(y, each, alpha=level) for each, level in pairs]
        result = validate(model, [(X, y)], "neg_mean_pinball_loss")
        assert result.scores["neg_mean_pinball_loss"] == pytest.approx(-np.mean(losses))
    with pytest.raises(ValueError, match="needs an estimator with a quantile"):
        validate(SGDRegressor(), [(X, y)], "neg_mean_pinball_loss")


def test_metrics_of_ones_own():
    X, y = classification()
    metrics = {
        "accuracy, in percent": make_scorer(lambda y, p: 100 * np.mean(y == p)),
        "F2": make_scorer(f1_score, pos_label=0),
        "AUC": "roc_auc",
        "hinge": make_scorer(
            hinge_loss, response_method="decision_function", greater_is_better=False
        ),
    }
    result = validate(ScInOLClassifier(), chunks(X, y), metrics, classes=[0, 1])
    labels = ScInOLClassifier().partial_fit_predict(X, y, classes=[0, 1])
    decision = ScInOLClassifier().partial_fit_predict(
        X, y, classes=[0, 1], method="decision_function"
    )
    assert result.scores == pytest.approx(
        {
            "accuracy, in percent": 100 * accuracy_score(y, labels),
            "F2": f1_score(y, labels, pos_label=0),
            "AUC": roc_auc_score(y, decision),
            "hinge": -hinge_loss(y, decision),
        }
    )


@pytest.mark.cases(1)
@pytest.mark.parametrize("metric", ["neg_log_loss", "accuracy", "roc_auc_ovr"])
@pytest.mark.parametrize("size", [1, 150])
def test_scores_of_the_latest_rows(metric, size):
    X, y = classification(n_samples=400)
    weight = np.random.default_rng(0).choice([0.0, 1.0, 2.0], 400)
    scored = weight > 0
    model, classes = ScInOLClassifier(), {"classes": [0, 1]}
    probabilities = clone(model).partial_fit_predict(
        X, y, **classes, sample_weight=weight, method="predict_proba"
    )[scored]
    stream = [*chunks(X, y, weight, size=size)]
    result = validate(clone(model), stream, metric, **classes, window=60)
    n = scored.sum()
    points = np.append(np.arange(15, n, 15), n)
    assert_array_equal(result.window_n_samples, points)
    assert result.window == 60
    y, weight = y[scored], weight[scored]
    for point, value in zip(points, result.window_curves[metric], strict=True):
        latest = slice(max(point - 60, 0), point)
        rows = y[latest], probabilities[latest]
        expected = score_of(metric, *rows, sample_weight=weight[latest])
        assert value == pytest.approx(expected)
    for place in 0, 20, -1:  # and of all rows up to there
        n = result.n_samples[place]
        if len({*y[:n]}) == 2:
            expected = score_of(
                metric, y[:n], probabilities[:n], sample_weight=weight[:n]
            )
            assert result.curves[metric][place] == pytest.approx(expected)
    np.testing.assert_array_equal(result.n_samples[:10], np.arange(1, 11))
    alone = validate(model, stream, metric, **classes)
    assert alone.window_curves is None
    assert alone.scores == pytest.approx(result.scores)
    np.testing.assert_allclose(alone.curves[metric], result.curves[metric])


@pytest.mark.parametrize(("window", "error"), [(0, ValueError), (2.5, TypeError)])
def test_bad_windows(window, error):
    X, y = regression()
    model = ScInOLRegressor()
    with pytest.raises(error, match="window"):
        validate(model, chunks(X, y), "r2", window=window)
    assert not hasattr(model, "_model")


def test_score_that_is_not_defined_yet_is_nan():
    X, y = classification()
    order = np.argsort(y, kind="stable")
    result = validate(
        ScInOLClassifier(), chunks(X[order], y[order]), "roc_auc", classes=[0, 1]
    )
    assert np.isnan(result.curves["roc_auc"][:30]).all()
    assert np.isfinite(result.scores["roc_auc"])


@pytest.mark.parametrize(
    "where", ["terminal", "notebook", "log", "disabled", "no tqdm"]
)
def test_progress_bar_goes_to_stderr(where, capsys, monkeypatch):
    """But not if all are disabled, as by the environment variable TQDM_DISABLE."""
    tqdm = pytest.importorskip("tqdm", reason="tqdm is not installed")

    class EagerBar(tqdm.tqdm):
        def __init__(self, **keywords):
            keywords |= {"disable": True} if where == "disabled" else {}
            super().__init__(**keywords | {"delay": 0})

    monkeypatch.setattr(tqdm, "tqdm", EagerBar)
    is_terminal = where not in ("notebook", "log")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    if where == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    if where == "no tqdm":
        monkeypatch.setitem(sys.modules, "tqdm", None)
    X, y = classification()
    progressive_validation(
        ScInOLClassifier(), chunks(X, y), metrics="accuracy", classes=[0, 1]
    )
    captured = capsys.readouterr()
    assert captured.out == ""
    is_shown = where in ("terminal", "notebook")
    assert ("120 rows" in captured.err) == is_shown
    assert ("accuracy=0." in captured.err) == is_shown
    assert is_shown or captured.err == ""


def test_progress_bar_leaves_compiling_out(monkeypatch):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = progressive._progress_bar(True)
    before = bar.start_t, bar.last_print_t
    clock.turn_back(clock.learning_time() - 100.0)
    bar.update(5)
    assert np.subtract((bar.start_t, bar.last_print_t), before) == pytest.approx(
        100.0, abs=1.0
    )
    bar.update(5)
    bar.close()
    assert bar.start_t - before[0] == pytest.approx(100.0, abs=1.0)


@pytest.mark.parametrize("fails", ["stream", "estimator"])
@pytest.mark.parametrize("n_chunks", [0, 3])
def test_stream_that_fails_in_the_middle(fails, n_chunks):
    """The error says where, and has what came before."""
    X = np.random.default_rng(0).standard_normal((150, 4))
    y = (X[:, 0] > 0).astype(int)
    chunks = [(X[i : i + 50], y[i : i + 50]) for i in range(0, 50 * n_chunks, 50)]

    def stream():
        yield from chunks
        if fails == "stream":
            raise OSError("the connection was lost")
        yield np.full((5, X.shape[1]), np.nan), y[:5]

    model = ScInOLClassifier()
    with pytest.raises((OSError, ValueError)) as failure:
        progressive_validation(model, stream(), metrics="accuracy", classes=[0, 1])
    (note,) = failure.value.__notes__
    assert f"chunk {n_chunks} of the stream" in note
    assert f"after {50 * n_chunks} rows" in note
    assert hasattr(failure.value, "result") == (n_chunks > 0)
    if n_chunks:
        expected = progressive_validation(
            ScInOLClassifier(), chunks, metrics="accuracy", classes=[0, 1]
        )
        result = failure.value.result
        assert result.scores == expected.scores
        assert result.n_samples[-1] == 50 * n_chunks
        assert model.n_samples_seen_ == 50 * n_chunks


def test_metric_that_fails_is_the_error():
    """It fails again for the scores so far, and then there are none."""

    def metric(y, predictions):
        raise ZeroDivisionError("no such mean")

    X = np.random.default_rng(0).standard_normal((50, 3))
    stream = [(X, X[:, 0])] * 3
    with pytest.raises(ZeroDivisionError, match="no such mean") as failure:
        progressive_validation(
            ScInOLRegressor(), stream, metrics={"mean": make_scorer(metric)}
        )
    assert not hasattr(failure.value, "result")
    assert failure.value.__context__ is None


X, Y = regression()
OURS, OTHER = ScInOLRegressor(), LogisticRegression()
CHUNKS, ROWS = [(X, Y)], [classification()]


@pytest.mark.parametrize(
    ("model", "stream", "metrics", "words"),
    [
        (OURS, [], "r2", "The stream is empty"),
        (OURS, [(X[:0], Y[:0])] * 2, "r2", "The stream is empty"),
        (OURS, [(X, Y, 0.0 * Y)], "r2", "all have weight 0"),
        (SGDRegressor(), CHUNKS, "r2", "No row of the stream was scored"),
        *(
            (OURS, [chunk], "r2", "The stream must consist of")
            for chunk in (X, (X,), "text")
        ),
        (OURS, CHUNKS, "acuracy", "not a valid scoring value|No valid scoring"),
        (OURS, CHUNKS, [], "At least one metric"),
        (OURS, CHUNKS, {"error": mean_absolute_error}, "metrics.make_scorer"),
        (ScInOLClassifier("hinge"), ROWS, "neg_log_loss", "needs predict_proba, which"),
        (OTHER, ROWS, "r2", "LogisticRegression does not have"),
        (make_pipeline(OTHER), ROWS, "r2", "LogisticRegression does not have"),
    ],
)
def test_bad_input(model, stream, metrics, words):
    classes = {"classes": [0, 1]} if is_classifier(model) else {}
    with pytest.raises((ValueError, TypeError, AttributeError), match=words):
        validate(clone(model), stream, metrics, **classes)


def test_target_and_frames():
    with pytest.raises(ValueError, match="must consist of frames; got tuple"):
        validate(ScInOLRegressor(), [regression()], "r2", target="y")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"a": [1.0], "b": [2.0]})
    with pytest.raises(ValueError, match=r"There is no column 'y' .*'a', 'b'"):
        validate(ScInOLRegressor(), [frame], "r2", target="y")
    with pytest.raises(ValueError, match="with target= naming a column"):
        validate(ScInOLRegressor(), [frame], "r2")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pa.table({"a": pa.array([None], pa.float64()), "y": [1.0]})
    with pytest.raises(ValueError, match=r"There is no column 'label' .*'a', 'y'"):
        validate(ScInOLRegressor(), [table], "r2", target="label")
    with pytest.raises(ValueError, match="Input X contains NaN"):
        validate(ScInOLRegressor(), [table], "r2", target="y")


def test_classes_are_those_of_the_first_chunk():
    X, y = classification(3)
    stream = [(X[:0], y[:0]), *chunks(X, y, size=40)]
    for model in (ScInOLClassifier(), make_pipeline(StandardScaler(), clone(SGD))):
        guessed = validate(clone(model), stream, "accuracy")
        told = validate(clone(model), stream, "accuracy", classes=[0, 1, 2])
        assert guessed.scores == told.scores


@pytest.mark.parametrize("n_classes", [1, 2])
def test_class_that_the_first_chunk_does_not_have(n_classes):
    X, y = classification(3)
    order = np.argsort(y >= n_classes, kind="stable")
    X, y = X[order], y[order]
    with pytest.raises(ValueError, match=r"greater than one|unseen labels: \[2\]") as e:
        validate(ScInOLClassifier(), chunks(X, y, size=20), "accuracy")
    assert "pass classes= with all of them" in e.value.__notes__[-1]


def test_metrics_that_do_not_go_together():
    metrics = {
        "hinge": make_scorer(hinge_loss, response_method="decision_function"),
        "log loss": "neg_log_loss",
    }
    with pytest.raises(ValueError, match="need different kinds of predictions"):
        validate(ScInOLClassifier(), [classification()], metrics, classes=[0, 1])
    # Any number of them for those that predict chunk by chunk.
    X, y = classification()
    assert validate(clone(SGD), chunks(X, y), metrics, classes=[0, 1]).scores


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_display_from_result(pyplot):
    X, y = classification()
    metrics, names = ["accuracy", "neg_log_loss"], ["ScInOLClassifier", "again"]
    result = validate(ScInOLClassifier(), chunks(X, y), metrics, classes=[0, 1])
    display = ProgressiveValidationDisplay.from_result(result)
    assert display.ax_.get_ylabel() == "Accuracy"
    second = ProgressiveValidationDisplay.from_result(
        result, metric=metrics[1], name="again", ax=display.ax_
    )
    assert second.ax_ is display.ax_
    for each, metric in zip((display, second), metrics, strict=True):
        assert_array_equal(each.line_.get_ydata(), result.curves[metric])
    assert legend_of(display) == names
    with pytest.raises(ValueError, match="no metric 'r2', only"):
        ProgressiveValidationDisplay.from_result(result, metric="r2")


@pytest.mark.parametrize(
    ("metric", "negate_score", "label"),
    [
        ("neg_log_loss", True, "Log loss"),
        ("neg_log_loss", False, "Negative log loss"),
        ("accuracy", True, "Negative accuracy"),
    ],
)
def test_display_from_estimator(pyplot, metric, negate_score, label):
    X, y = classification()
    given = {"classes": [0, 1], "window": 20, "negate_score": negate_score}
    display = ProgressiveValidationDisplay.from_estimator(
        ScInOLClassifier(), chunks(X, y), metrics=metric, color="red", **given
    )
    assert display.ax_.get_ylabel() == label
    sign = -1 if negate_score else 1
    for line, rows, scores in (
        (display.line_, display.n_samples, display.scores),
        (display.window_line_, display.window_n_samples, display.window_scores),
    ):
        assert_array_equal(line.get_xdata(), rows)
        assert_array_equal(line.get_ydata(), sign * scores)
        assert line.get_color() == "red"
    assert legend_of(display)[1] == "ScInOLClassifier, last 20 rows"
    display.name = display.window = None
    assert display.plot().window_line_.get_label() == "last rows"


def curve(scores, **parameters):
    return ProgressiveValidationDisplay(
        n_samples=np.arange(1, len(scores) + 1), scores=scores, **parameters
    )


def test_display_has_the_range_of_later_scores(pyplot):
    later = np.linspace(0.5, 0.3, 90)
    first = curve([9.0] * 10 + [*later]).plot()
    ax = first.ax_
    np.testing.assert_allclose(ax.get_ylim(), (0.29, 0.51))
    # Windows and further curves count, alarms and what is not finite do not.
    alarm = Alarm(row=50, change=40, direction="rise")
    window = {"window_n_samples": [5, 50, 100], "window_scores": [7.0, 0.8, 0.4]}
    curve([-5.0] * 10 + [np.nan, -np.inf, *later[2:]], alarms=[alarm], **window).plot(
        ax
    )
    np.testing.assert_allclose(ax.get_ylim(), (0.3 - 0.025, 0.8 + 0.025))
    ax.autoscale()
    assert ax.get_ylim()[1] > 9.0
    _, ax = pyplot.subplots()
    ax.set_ylim(0.0, 1.0)  # which stay
    assert curve([9.0] * 10 + [*later]).plot(ax).ax_.get_ylim() == (0.0, 1.0)
    low, high = curve([0.5] * 50).plot().ax_.get_ylim()
    assert low < 0.5 < high


def alarms_at(*rows):
    return [Alarm(row=row, change=row - 1, direction="rise") for row in rows]


def test_alarms_close_together_are_a_band(pyplot):
    rows = 100, 300, 310, 320, 330, 340, 600, 610, 990
    display = curve(np.linspace(1.0, 0.5, 1000), alarms=alarms_at(*rows)).plot()
    lines = [line.get_xdata()[0] for line in display.alarm_lines_]
    assert lines == [100, 600, 610, 990]
    (band,) = display.alarm_bands_
    extents = band.get_extents().transformed(display.ax_.transData.inverted())
    assert extents.intervalx == pytest.approx([300, 340])
    assert legend_of(display) == ["Alarms close together", "Alarm: rise of the losses"]
    display.plot(alarms=False)
    assert display.alarm_lines_ == display.alarm_bands_ == []
    assert display.ax_.get_legend() is None


def test_display_of_coverage_by_groups(pyplot):
    X, y = regression()
    X[:, 0] = X[:, 0] > 0
    model = OnlineConformalRegressor(ScInOLRegressor(), groups=0)
    display = ProgressiveValidationDisplay.from_estimator(
        make_online_pipeline(model), chunks(X, y), metrics="coverage", progress=False
    )
    of_groups = display.group_scores
    assert of_groups == pytest.approx(clone(model).partial_fit(X, y).group_coverage_)
    _, *dots = display.ax_.lines
    places = [(dot.get_xdata()[0], dot.get_ydata()[0]) for dot in dots]
    assert places == [(len(y), share) for share in of_groups.values()]
    assert legend_of(display)[1:] == [f"Group: {label}" for label in of_groups]
    low, high = display.ax_.get_ylim()
    assert all(low < share < high for share in of_groups.values())
    model = clone(model).set_params(groups=None)
    display = ProgressiveValidationDisplay.from_estimator(
        model, chunks(X, y), metrics="coverage", progress=False
    )
    assert display.group_scores is None


# Progressive validation of classifiers of several labels a row.

N_ROWS = 120


def labels_and_rows(n_labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    Y = X[:, :n_labels] + rng.normal(size=(N_ROWS, n_labels)) > 0.0
    return X, Y.astype(int)


def labelled(X, Y, container=np.asarray, size=30):
    for start in range(0, N_ROWS, size):
        rows = slice(start, start + size)
        yield X[rows], container(Y[rows])


def mean_over_labels(metric, Y, P, **keywords):
    return np.mean([metric(*each, **keywords) for each in zip(Y.T, P.T, strict=True)])


#: Functions of labels, predicted labels and probabilities, by names of scorers.
EXPECTED = {
    "neg_log_loss": lambda Y, L, P, **c: -mean_over_labels(log_loss, Y, P, **c),
    "accuracy": lambda Y, L, P, **c: accuracy_score(Y, L, **c),
    "neg_brier_score": lambda Y, L, P, **c: (
        -mean_over_labels(brier_score_loss, Y, P, **c)
    ),
    "roc_auc": lambda Y, L, P, **c: roc_auc_score(Y, P, **c),
    "average_precision": lambda Y, L, P, **c: average_precision_score(Y, P, **c),
    "f1_macro": lambda Y, L, P, **c: f1_score(Y, L, average="macro", **c),
    "f1_micro": lambda Y, L, P, **c: f1_score(Y, L, average="micro", **c),
}


def test_default_metrics_weights_and_windows():
    X, Y = labels_and_rows(3)
    c = np.random.default_rng(1).integers(0, 3, N_ROWS) / 2.0
    P = ScInOLClassifier().partial_fit_predict(
        X, Y, sample_weight=c, method="predict_proba"
    )
    halves = [(X[rows], Y[rows], c[rows]) for rows in (slice(60), slice(60, None))]
    result = validate(ScInOLClassifier(), halves, window=20)
    assert [*result.scores] == ["neg_log_loss", "accuracy"]
    result = validate(ScInOLClassifier(), halves, [*EXPECTED], window=20)
    learned = np.flatnonzero(c)
    for name, score in result.scores.items():
        latest = result.window_curves[name][-1]
        for rows, actual in (learned, score), (learned[-20:], latest):
            of_rows = Y[rows], P[rows] > 0.5, P[rows]
            expected = EXPECTED[name](*of_rows, sample_weight=c[rows])
            assert_allclose(actual, expected)


def test_metrics_of_labels_together():
    """One pass of scores, by which labels are told, with other metrics of labels."""
    X, Y = labels_and_rows(3)
    model = ScInOLClassifier(loss="hinge")
    hamming = make_scorer(hamming_loss, greater_is_better=False)
    metrics = {"hamming": hamming, "auc": "roc_auc"}
    result = validate(clone(model), labelled(X, Y), metrics)
    by_default = validate(clone(model), labelled(X, Y))
    labels = model.partial_fit_predict(X, Y)
    assert_allclose(result.scores["hamming"], -hamming_loss(Y, labels))
    assert by_default.scores == {"accuracy": accuracy_score(Y, labels)}


def test_other_packages():
    X, Y = labels_and_rows(3)
    model = MLPClassifier((3,), random_state=0)
    result = validate(clone(model), labelled(X, Y))
    answers = []
    for number, (rows, labels) in enumerate(labelled(X, Y)):
        if number:
            answers.append(model.predict_proba(rows))
        model.partial_fit(rows, labels, classes=range(3))
    P = np.concatenate(answers)
    for name, score in result.scores.items():
        assert_allclose(score, EXPECTED[name](Y[30:], P > 0.5, P), rtol=1e-12)

"""Input that cannot be used: the words of the error, and that nothing has changed."""

import pickle
import re
from contextlib import suppress
from itertools import count, product
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from support.registry import ENGINES, THOROUGH

import sklearn_scinol
from sklearn_scinol import (
    DFEGClassifier,
    DFEGRegressor,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineScaler,
    RandomFourierFeatures,
    TableEncoder,
)

BOTH = ScInOLClassifier, ScInOLRegressor
NUMERIC = OnlineScaler, OnlineBinner, RandomFourierFeatures

all_estimators = pytest.mark.parametrize("estimator", BOTH)
METHODS = "fit", "partial_fit", "partial_fit_predict"
all_methods = pytest.mark.parametrize("method", METHODS)
online_methods = pytest.mark.parametrize("method", METHODS[1:])
fresh_and_fitted = pytest.mark.parametrize(
    "fitted", [False, True], ids=["fresh", "fitted"]
)


def rows():
    return np.random.default_rng(0).normal(size=(12, 3))


def targets(estimator):
    y = np.arange(12) % 3
    return y if is_classifier(estimator()) else y + 0.5


def learn(estimator, method, X, y, **keywords):
    """Call a method that learns, with the classes where it takes them."""
    if is_classifier(estimator) and method != "fit":
        keywords = {"classes": [0, 1, 2]} | keywords
    return getattr(estimator, method)(X, y, **keywords)


def make(estimator, fitted, **parameters):
    """An estimator that has learned from good rows, or not."""
    made = estimator(**parameters)
    return learn(made, "partial_fit", rows(), targets(estimator)) if fitted else made


def state(estimator):
    """Every attribute, to the last bit."""
    return pickle.dumps(vars(estimator), protocol=3)  # without random origins


def assert_refused(estimator, method, X, y, match, error=ValueError, **keywords):
    """The call raises, and leaves the estimator as it was."""
    before = state(estimator)
    with pytest.raises(error, match=match):
        learn(estimator, method, X, y, **keywords)
    assert state(estimator) == before


def assert_all_refused(calls, match, estimator, error=ValueError):
    before = state(estimator)
    for call in calls:
        with pytest.raises(error, match=match):
            call()
        assert state(estimator) == before


# Rows.


def holding(value, container=np.array):
    """Rows of which the second last holds `value`."""
    X = rows()
    X[-2, 1] = value
    return container(X)


def masked(values):
    return np.ma.array(
        values, mask=np.arange(np.size(values)).reshape(values.shape) == 4
    )


class Bad(NamedTuple):
    """Bad arguments in place of good ones, and the words of the refusal."""

    given: dict
    words: str
    estimators: tuple = BOTH
    methods: tuple = METHODS
    fitted: tuple = (False, True)


NAN, INFINITE = "Input X contains NaN", "Input X contains infinity"
NO_ROWS, TEXT = "Found array with 0 sample", "could not convert string to float"
COMPLEX, COUNTS = "Complex data not supported", "inconsistent numbers of samples"
BAD_ROWS = {
    "nan": (holding(np.nan), NAN),
    "infinity": (holding(np.inf), INFINITE),
    "float32-infinity": (np.float32(holding(np.inf)), f"{INFINITE}.*float32"),
    "sparse-nan": (holding(np.nan, sparse.csr_array), NAN),
    "sparse-infinity": (holding(np.inf, sparse.csr_array), INFINITE),
    "missing": (holding(None, lambda X: X.astype(object)), NAN),
    "long-integer": (np.array([[0, 1, 10**400]] * 12, dtype=object), "too large"),
    "masked": (masked(rows()), "X has masked values"),
    "scalar": (1.0, "Expected 2D array, got scalar array instead"),
    "vector": (rows()[:, 0], "Expected 2D array, got 1D array instead"),
    "cube": (rows()[..., np.newaxis], "Found array with dim 3"),
    "no-rows": (rows()[:0], NO_ROWS),
    "no-columns": (rows()[:, :0], "Found array with 0 feature"),
    "strings": (np.full((12, 3), "a"), TEXT),
    "complex": (rows() + 1j, COMPLEX),
    "too-few": (rows()[1:], COUNTS),
}
BAD_TARGETS = {
    "nan": (np.array([0.0] * 11 + [np.nan]), "Input y contains NaN"),
    "infinity": (np.array([0.0] * 11 + [np.inf]), "Input y contains infinity"),
    "none": (None, "requires y to be passed, but the target y is None"),
    "complex": (np.arange(12) % 3 + 1j, COMPLEX),
    "sparse": (sparse.csr_array(np.ones((12, 1))), "parse data was passed"),
    "masked": (masked(np.arange(12) % 3), "y has masked values"),
    "missing-label": (np.array([0, 1] * 5 + [2, None], object), "y contains NaN"),
    "nan-among-labels": (np.array([0, 1] * 5 + [2, np.nan], object), "y contains NaN"),
}
BAD_NUMBERS = {
    "strings": (np.array(["1.5"] * 11 + ["much"]), f"{TEXT}|arrays of bytes/str"),
    "objects": (np.array(["1.5"] * 11 + ["much"], dtype=object), TEXT),
    "cube": (np.zeros((12, 2, 2)), "Found array with dim 3"),
    "dates": (np.arange(12).astype("datetime64[D]"), "y has dates or durations"),
    "durations": (np.arange(12).astype("timedelta64[h]"), "y has dates or durations"),
}
BAD_LABELS = {
    "matrix": (np.arange(24).reshape(12, 2), "y should be a 1d array, got an array of"),
    # Does not list all of them.
    "numbers": (rows()[:, 0], r"Unknown label type: continuous(?=.{,190}$)"),
}
ONE_CLASS = "The number of classes has to be greater than one; got 1 class"
BAD_CLASSES = {
    "one": ([1], ONE_CLASS),
    "none": (None, "classes must be passed on the first call"),
    "halves": ([0.0, 0.5, 1.0], "Unknown label type"),
    "mixed": ([0, "a"], "Mix of label input types"),
    "number": (3, "Expected array-like"),
    "missing": ([0, 1, np.nan], "Input classes contains NaN"),
    "missing-object": (["a", "b", None], "Input classes contains NaN"),
}
OTHER_CLASSES = [0, 1], [0, 1, 2, 3], ["a", "b", "c"]
ANOTHER = "is not the same as on last call to partial_fit, was: array"
BAD_WEIGHTS = {
    "masked": (masked(np.ones(12)), "sample_weight has masked values"),
    "negative": ([1.0] * 11 + [-1.0], "Negative values in data passed"),
    "nan": ([1.0] * 11 + [np.nan], "Input sample_weight contains NaN"),
    "infinity": ([1.0] * 11 + [np.inf], "Input sample_weight contains inf"),
    "too-few": ([1.0] * 11, r"sample_weight.shape == \(11,\), expected \(12,\)!"),
    "matrix": (np.ones((12, 1)), "Sample weights must be 1D array or scalar"),
    "strings": (["a"] * 12, TEXT),
}
CLASSIFIER, REGRESSOR = BOTH[:1], BOTH[1:]
BAD = {
    **{
        f"{argument}-{name}": Bad({argument: value}, words, *of)
        for argument, table, *of in (
            ("X", BAD_ROWS),
            ("y", BAD_TARGETS),
            ("y", BAD_NUMBERS, REGRESSOR),
            ("y", BAD_LABELS, CLASSIFIER),
            ("classes", BAD_CLASSES, CLASSIFIER, METHODS[1:], (False,)),
            ("sample_weight", BAD_WEIGHTS),
        )
        for name, (value, words) in table.items()
    },
    **{
        f"classes-{classes}": Bad(
            {"classes": classes}, ANOTHER, CLASSIFIER, METHODS[1:], (True,)
        )
        for classes in OTHER_CLASSES
    },
    "y-one-class": Bad({"y": np.ones(12)}, ONE_CLASS, CLASSIFIER, METHODS[:1]),
}


def each_is_refused(test):
    """Run a test with each kind of input and method; the rest in turn, or all."""
    turn, cases = count(), []
    for (name, bad), method in product(BAD.items(), METHODS):
        others = [*product(bad.estimators, bad.fitted, ENGINES)]
        for other in others if THOROUGH else [others[next(turn) % len(others)]]:
            if method in bad.methods:
                cases.append(pytest.param(bad, method, *other, id=f"{name}-{method}"))
    names = "bad", "method", "estimator", "fitted", "engine"
    mark = pytest.mark.parametrize(names, cases, indirect=["engine"])
    return pytest.mark.cases(150)(mark(test))


@each_is_refused
def test_bad_input(bad, method, estimator, fitted, engine):
    given = {"X": rows(), "y": targets(estimator), **bad.given}
    if bad.words == NO_ROWS:
        given["y"] = given["y"][:0]
    made, errors = make(estimator, fitted), (ValueError, TypeError)
    assert_refused(made, method, match=bad.words, error=errors, **given)


@all_estimators
@pytest.mark.parametrize(
    "parameters", [{"center": False}, {"algorithm": "scinol1"}, {"average": 9}], ids=str
)
@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("n_copies", [1, 5])
def test_not_finite(estimator, parameters, method, fitted, n_copies, engine):
    """Wherever it stands, in rows that do not count and in columns of zeros too."""
    y = np.tile(targets(estimator), n_copies)
    for row, column, value in ((0, 0, np.nan), (5, 2, np.inf), (11, 1, -np.inf)):
        X = np.tile(rows(), (n_copies, 1))
        X[:, 2] = 0.0
        X[row, column] = value
        for weight in (1.0, 0.0):
            c = np.ones(len(y))
            c[row] = weight
            made = make(estimator, fitted, **parameters)
            assert_refused(made, method, X, y, "Input X contains", sample_weight=c)
    X[0] = -X[row]  # both infinities, which have no sum
    assert_refused(made, method, X, y, "Input X contains")


@all_estimators
@online_methods
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_other_names(estimator, method, library, engine):
    frames, y = pytest.importorskip(library), targets(estimator)
    frame = frames.DataFrame(dict(zip("abc", rows().T, strict=True)))
    made = learn(estimator(), "partial_fit", frame, y)
    if not hasattr(made, "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the names of these frames")
    match = "The feature names should match those that were passed during fit."
    for names in "cab", "adc", "ab", "abcd":
        columns = zip(names, [*rows().T, rows()[:, 0]], strict=False)
        other = frames.DataFrame(dict(columns))
        assert_refused(made, method, other, y, match)
        assert_all_refused([lambda: made.predict(other)], match, made)  # noqa: B023


# What helps.


@pytest.mark.parametrize("library", ["pandas", "polars", None])
@pytest.mark.parametrize("estimator", [*BOTH, *NUMERIC])
def test_columns_of_text_are_named(estimator, library):
    X = np.array([["Rome", "1", "a b"], ["Oslo", "2.5", "3"]] * 6, dtype=object)
    words, y = f"{TEXT}: 'Rome'. To encode the columns of text, ", np.arange(12) % 2
    made = estimator().fit(rows(), y)
    read = made.predict if hasattr(made, "predict") else made.transform
    assert_all_refused([lambda: read(X)], words, made)
    given, names = X, ["x0", "x2"]
    if library is not None:
        frames, names = pytest.importorskip(library), ["c", "t"]
        given = frames.DataFrame(dict(zip("cnt", X.T, strict=True)))
    with pytest.raises(ValueError, match=re.escape(f"{words}{names}")):
        estimator().fit(given, y)


@pytest.mark.parametrize("estimator", [*BOTH, *NUMERIC])
def test_columns_of_dates_are_named(estimator):
    pd = pytest.importorskip("pandas")
    dates = pd.date_range("2026-01-01", periods=12)
    frames = [pd.DataFrame({"a": 1.0, "when": dates}), pd.DataFrame({"when": dates})]
    with suppress(ImportError):
        import polars as pl

        frames += [pl.DataFrame({"a": [1.0] * 12, "when": dates.to_numpy()})]
    for frame in frames:
        with pytest.raises(TypeError, match=r"columns of dates, \['when'\], begin"):
            estimator().fit(frame, np.arange(12) % 2)


@pytest.mark.parametrize("estimator", [*BOTH, DFEGRegressor])
def test_estimators_with_a_loss_are_named(estimator):
    y = np.arange(12) % 2
    loss = "squared_hinge" if is_classifier(estimator()) else "squared_error"
    with pytest.raises(ValueError, match=f"'{loss}' is a loss of ") as refusal:
        estimator(loss).fit(rows(), y)
    named = re.findall(r"\w+(?:Regressor|Classifier)", str(refusal.value))[1:]
    assert len(named) == 3
    for name in named:
        getattr(sklearn_scinol, name)(loss=loss).fit(rows(), y)


@all_estimators
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_what_learns_from_missing_values_is_named(estimator, container):
    X, y = holding(np.nan, container), targets(estimator)
    made, kernel = make(estimator, True), DFEGClassifier(kernel="rbf")
    calls = [lambda: made.fit(X, y), lambda: made.partial_fit(X, y)]
    calls += [lambda: made.predict(X), lambda: kernel.fit(holding(np.nan), y > 1)]
    words = r"To learn from missing values.*make_online_pipeline\(OnlineBinner"
    assert_all_refused(calls, words, made)


@pytest.mark.parametrize("X", [[{"a": 1.0}], ({"a": 1.0},), {"a": 1.0}])
@pytest.mark.parametrize("estimator", [*BOTH, *NUMERIC])
def test_dicts_are_for_pipelines(estimator, X):
    made = estimator().fit(rows(), np.arange(12) % 2)
    calls = [lambda: made.partial_fit(X, [1.0])]
    if hasattr(made, "predict"):
        one = made.row_by_row()
        calls += [lambda: made.predict(X), lambda: made.fit(X, [1.0])]
        calls += [lambda: one.learn_one({"a": 1.0}, 1.0)]
        calls += [lambda: one.predict_one({"a": 1.0})]
    words = f"{estimator.__name__} takes rows of numbers, not dicts: .*TableEncoder"
    assert_all_refused(calls, words, made, TypeError)


# Masks, which NumPy's functions leave out in silence.


@all_estimators
def test_masks_of_rows_that_come_alone(estimator):
    made = make(estimator, True)
    one, X = made.row_by_row(), rows()
    several = ScInOLRegressor().partial_fit(X, X)
    x = np.ma.array(X[0], mask=[False, True, False])
    for name, model, call in (
        ("X", made, lambda: one.predict_one(x)),
        ("X", made, lambda: one.learn_one(x, 1.0)),
        ("X", made, lambda: made.predict(masked(X))),
        ("y", made, lambda: one.learn_one(X[0], np.ma.masked)),
        ("y", several, lambda: several.row_by_row().learn_one(X[0], x)),
        ("sample_weight", made, lambda: one.learn_one(X[0], 1, np.ma.masked)),
    ):
        assert_all_refused([call], f"^{name} has masked values", model)


def test_masks_that_mask_nothing():
    arrays = rows(), targets(ScInOLRegressor), np.ones(12)
    model = ScInOLRegressor().partial_fit(*map(np.ma.array, arrays))
    assert state(model) == state(ScInOLRegressor().partial_fit(*arrays))


@pytest.mark.parametrize("transformer", [*NUMERIC, TableEncoder])
def test_masks_of_transformed_rows(transformer):
    fitted, X = transformer().fit(rows()), masked(rows())
    pipeline = make_online_pipeline(transformer(), ScInOLRegressor())
    pipeline.partial_fit(rows(), targets(ScInOLRegressor))
    calls = [fitted.partial_fit, fitted.partial_fit_transform, fitted.transform]
    calls += [transformer().fit, pipeline.predict]
    calls = [lambda call=call: call(X) for call in calls]
    calls += [lambda: pipeline.row_by_row().predict_one(X[1])]
    assert_all_refused(calls, "X has masked values", fitted)


# Sparse rows with indices that are none of theirs.


def out_of_range(kind, index):
    """Sparse rows of some format, one of whose indices is another one."""
    X = getattr(sparse, kind)(rows())
    if X.format == "lil":
        X.rows[1][2] = index
    elif X.format == "coo":
        X.row[4] = index
    elif X.format == "dia":
        X.data = X.data[:1]
    else:
        X.indices[2] = index
    return X


FORMATS = [*product(("csr", "csc", "coo", "bsr", "lil", "dia"), ("matrix", "array"))]


@pytest.mark.parametrize("estimator", [ScInOLClassifier, HedgeRegressor])
@pytest.mark.parametrize("index", [20, -7])
@pytest.mark.parametrize("kind", ["_".join(each) for each in FORMATS])
def test_indices_out_of_range(estimator, kind, index):
    """Refused before rows are converted, which would read or write other memory."""
    X, y, made = out_of_range(kind, index), targets(estimator), make(estimator, True)
    calls = [lambda: estimator().fit(X, y), lambda: made.predict(X)]
    calls += [lambda: made.partial_fit(X, y), lambda: made.partial_fit_predict(X, y)]
    assert_all_refused(calls, "ind(ex|ices)|number of diagonals", made)


@pytest.mark.parametrize("transformer", [*NUMERIC, TableEncoder])
@pytest.mark.parametrize("kind", ["csc_array", "coo_matrix", "bsr_array"])
def test_transformers_refuse_sparse_rows_unread(transformer, kind):
    made = transformer().fit(rows())
    for call in made.partial_fit, made.transform:
        with pytest.raises(TypeError, match=r"[Ss]parse data was passed"):
            call(out_of_range(kind, 20))


# Targets.


@online_methods
def test_other_number_of_outputs(method, engine):
    one = make(ScInOLRegressor, True)
    two = ScInOLRegressor().partial_fit(rows(), np.zeros((12, 2)))
    for made, shape, expected in (
        (one, (12, 2), (12,)),
        (two, (12,), (12, 2)),
        (two, (12, 3), (12, 2)),
    ):
        words = re.escape(f"y.shape == {shape}, expected {expected}")
        assert_refused(made, method, rows(), np.zeros(shape), words)


@pytest.mark.cases(3)
@all_methods
@fresh_and_fitted
def test_column_of_labels(method, fitted, engine):
    """Usable, with scikit-learn's warning."""
    y = targets(ScInOLClassifier)
    made, expected = (make(ScInOLClassifier, fitted, random_state=0) for _ in range(2))
    with pytest.warns(DataConversionWarning, match="A column-vector y was passed"):
        learn(made, method, rows(), y[:, np.newaxis])
    learn(expected, method, rows(), y)
    assert state(made) == state(expected)


# Classes.


@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("class_weight", [None, {0: 2.0}], ids=["", "class-weight"])
@pytest.mark.parametrize(
    ("labels", "named"),
    [
        ([0, 1, 2, 7], "[7]"),
        ([0, -1, 7, 2], "[-1, 7]"),
        (np.array(["0", "1", "2", "0"]), "['0', '1', '2']"),
        (np.array(["0", "1", "2", "0"], dtype=object), "['0', '1', '2']"),
    ],
    ids=["one", "two", "strings", "objects"],
)
def test_unseen_class(method, fitted, class_weight, labels, named, engine):
    """Named in the error, whatever its type."""
    if method == "fit" and not fitted:
        pytest.skip("fit takes the classes from y")
    words = re.escape(f"y contains previously unseen labels: {named}. Pass all labels")
    made = make(ScInOLClassifier, fitted, class_weight=class_weight, warm_start=True)
    assert_refused(made, method, rows(), np.tile(labels, 3), words)


# Weights.


@all_estimators
@fresh_and_fitted
def test_weights_that_are_all_zero(estimator, fitted, engine):
    words = "Sample weights must contain at least one non-zero number."
    made, y = make(estimator, fitted), targets(estimator)
    for weights in np.zeros(12), 0:
        assert_refused(made, "fit", rows(), y, words, sample_weight=weights)
    if is_classifier(made):
        no_class = make(estimator, fitted, class_weight={0: 0, 1: 0, 2: 0})
        assert_refused(no_class, "fit", rows(), y, words)


@pytest.mark.parametrize(
    ("method", "fitted"),
    [("fit", False), ("fit", True), ("partial_fit", False)],  # which ask for them
)
@pytest.mark.parametrize(
    ("weight", "words"),
    [(np.nan, "contains NaN"), (np.inf, "contains inf"), (-1.0, "Negative values")],
)
def test_class_weights(weight, words, method, fitted, engine):
    made = make(ScInOLClassifier, fitted).set_params(class_weight={0: weight})
    words = rf"{words}.*class_weight|class_weight.*{words}"
    assert_refused(made, method, rows(), targets(ScInOLClassifier), words)


# Parameters.


BAD_PARAMETERS = {
    "loss": ["squared_hinge", None],
    "initial_wealth": [0.0, -1.0],
    "max_iter": [0, 1.5],
    "average": [-1, 1.5],
    **{name: ["no"] for name in ("center", "fit_intercept", "shuffle", "warm_start")},
    **{"algorithm": ["a"], "random_state": ["a"], "tol": [-1.0], "verbose": [-1.0]},
}
OF_REGRESSORS = {"epsilon": [-1.0], "quantile": [0.0, 1.0]}
OF_CLASSIFIERS = {"class_weight": ["equal"]}


@pytest.mark.cases(60)
@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (estimator, name, value)
        for estimator, own in zip(BOTH, (OF_CLASSIFIERS, OF_REGRESSORS), strict=True)
        for name, values in {**BAD_PARAMETERS, **own}.items()
        for value in values
    ],
)
def test_parameters(estimator, name, value):
    words = f"The {name!r} parameter of {estimator.__name__} must be"
    for method in METHODS:
        made = estimator(**{name: value})
        assert_refused(made, method, rows(), targets(estimator), words)


@all_methods
@fresh_and_fitted
def test_huber_without_slope(method, fitted, engine):
    """A zero that one loss takes and the other does not."""
    tube = make(ScInOLRegressor, True, loss="epsilon_insensitive", epsilon=0.0)
    line = make(ScInOLRegressor, True, loss="absolute_error")
    np.testing.assert_array_equal(tube.coef_, line.coef_)
    if method == "fit" or not fitted:
        huber = make(ScInOLRegressor, fitted).set_params(loss="huber", epsilon=0.0)
        y = targets(ScInOLRegressor)
        assert_refused(huber, method, rows(), y, "epsilon == 0.* must be > 0")


@all_estimators
@fresh_and_fitted
@pytest.mark.parametrize("method", ["transform", "score", "fit"])
def test_unknown_method(estimator, fitted, method, engine):
    learn = (made := make(estimator, fitted)).partial_fit_predict
    calls = [lambda: learn(rows(), targets(estimator), method=method)]
    assert_all_refused(calls, f"method must be one of .*, got '{method}'", made)


# Rows to predict.


def methods_of(estimator):
    """Return the objects that predict rows."""
    of_classifiers = "decision_function", "predict_proba", "predict_log_proba"
    return ["predict", *(of_classifiers if is_classifier(estimator) else ())]


@all_estimators
def test_not_fitted(estimator):
    fresh = estimator()
    calls = [lambda: fresh.score(rows(), targets(estimator))]
    calls += [lambda: fresh.regret_bound(np.ones(3))]
    calls += [lambda m=m: getattr(fresh, m)(rows()) for m in methods_of(fresh)]
    words = f"This {estimator.__name__} instance is not fitted yet. Call 'fit' with"
    assert_all_refused(calls, words, fresh, NotFittedError)
    assert vars(fresh) == fresh.get_params()
    for name in ("coef_", "intercept_", "cumulative_loss_", "n_samples_seen_"):
        with pytest.raises(AttributeError, match=f"{estimator.__name__}.* not fitted"):
            getattr(fresh, name)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", [case for case in BAD_ROWS if "too" not in case])
def test_rows_to_predict(case):
    X, words = BAD_ROWS[case]
    for estimator in BOTH:
        made = make(estimator, True)
        calls = [lambda m=m: getattr(made, m)(X) for m in methods_of(made)]  # noqa: B023
        assert_all_refused(calls, words, made)

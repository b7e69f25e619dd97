"""Input that cannot be used: the words of the error, and that nothing has changed.

Where scikit-learn has words for what is wrong, they are taken from the estimator that
ours stands in for, so that they follow the version installed.
"""

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
from sklearn.linear_model import SGDClassifier, SGDRegressor
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

SGD = {ScInOLClassifier: SGDClassifier, ScInOLRegressor: SGDRegressor}
NUMERIC = OnlineScaler, OnlineBinner, RandomFourierFeatures

all_estimators = pytest.mark.parametrize("estimator", SGD)
METHODS = "fit", "partial_fit", "partial_fit_predict"
all_methods = pytest.mark.parametrize("method", METHODS)
online_methods = pytest.mark.parametrize("method", METHODS[1:])
fresh_and_fitted = pytest.mark.parametrize(
    "fitted", [False, True], ids=["fresh", "fitted"]
)
# What the package says beside scikit-learn's words, or instead of them.
ADVICE = re.compile(r"( To learn from missing values|\. To encode the columns).*")
MISMATCH = re.escape(
    "The feature names should match those that were passed during fit."
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
    """The call raises, and leaves the estimator as it was; return the error."""
    before = state(estimator)
    with pytest.raises(error, match=match) as refusal:
        learn(estimator, method, X, y, **keywords)
    assert state(estimator) == before
    return refusal.value


def assert_words_of_sgd(refusal, estimator, method, fitted, **given):
    """The counterpart refuses the call in the same words."""
    counterpart = SGD[estimator]
    with pytest.raises(ValueError) as refusal_of_sgd:  # noqa: PT011
        learn(make(counterpart, fitted), method.removesuffix("_predict"), **given)
    words, _, _ = str(refusal_of_sgd.value).partition(" For supervised learning")
    words = words.replace(counterpart.__name__, estimator.__name__)
    assert ADVICE.sub("", str(refusal)) == words


# Rows.


def holding(value, container=np.array):
    """Rows of which the second last holds `value`."""
    X = rows()
    X[-2, 1] = value
    return container(X)


MASK_ADVICE = {
    "X": "pass X.filled(np.nan) to a pipeline that begins with OnlineBinner or "
    "TableEncoder.",
    "y": "leave out the rows that have no target.",
    "sample_weight": "pass sample_weight.filled(0), which leaves out these rows.",
}


def words_on_mask(name):
    words = (
        f"{name} has masked values, and its mask would be ignored: {MASK_ADVICE[name]}"
    )
    return f"^{re.escape(words)}$"


def masked(values):
    return np.ma.array(
        values, mask=np.arange(np.size(values)).reshape(values.shape) == 4
    )


class Bad(NamedTuple):
    """Bad arguments in place of good ones, and the words of the refusal."""

    given: dict
    words: str
    estimators: tuple = tuple(SGD)
    methods: tuple = METHODS
    fitted: tuple = (False, True)
    as_sgd: bool = True  # in the words of the counterpart


NO_ROWS = {"y": np.arange(0)}
TEXT = "could not convert string to float"
REGRESSOR = {"estimators": (ScInOLRegressor,), "as_sgd": False}
CLASSIFIER = {"estimators": (ScInOLClassifier,)}
FIRST = {**CLASSIFIER, "methods": METHODS[1:], "fitted": (False,)}
LATER = {**FIRST, "fitted": (True,)}
ONE_CLASS = "The number of classes has to be greater than one; got 1 class"
OTHER_CLASSES = "is not the same as on last call to partial_fit, was: array"

BAD_ROWS = {
    "nan": Bad({"X": holding(np.nan)}, "Input X contains NaN"),
    "infinity": Bad({"X": holding(np.inf)}, "Input X contains infinity"),
    "minus-infinity": Bad({"X": holding(-np.inf)}, "Input X contains infinity"),
    "float32-nan": Bad({"X": np.float32(holding(np.nan))}, "Input X contains NaN"),
    "float32-infinity": Bad(
        {"X": np.float32(holding(np.inf))},
        r"Input X contains infinity or a value too large for dtype\('float32'\)",
    ),
    "only-nan": Bad({"X": np.full((12, 3), np.nan)}, "Input X contains NaN"),
    "sparse-nan": Bad({"X": holding(np.nan, sparse.csr_array)}, "Input X contains NaN"),
    "sparse-infinity": Bad(
        {"X": holding(np.inf, sparse.csr_array)}, "Input X contains infinity"
    ),
    "missing": Bad(
        {"X": holding(None, lambda X: X.astype(object))}, "Input X contains NaN"
    ),
    "long-integer": Bad(
        {"X": np.array([[0, 1, 10**400]] * 12, dtype=object)},
        "Input contains infinity or a value too large for dtype",
        as_sgd=False,
    ),
    "masked": Bad({"X": masked(rows())}, words_on_mask("X"), as_sgd=False),
    "scalar": Bad({"X": 1.0}, "Expected 2D array, got scalar array instead"),
    "vector": Bad({"X": rows()[:, 0]}, "Expected 2D array, got 1D array instead"),
    "cube": Bad({"X": rows()[..., np.newaxis]}, "Found array with dim 3"),
    "no-rows": Bad({"X": rows()[:0], **NO_ROWS}, "Found array with 0 sample"),
    "no-rows-sparse": Bad(
        {"X": sparse.csr_array((0, 3)), **NO_ROWS}, "Found array with 0 sample"
    ),
    "no-columns": Bad({"X": rows()[:, :0]}, "Found array with 0 feature"),
    "strings": Bad({"X": np.full((12, 3), "a")}, TEXT),
    "objects": Bad({"X": np.full((12, 3), "a", dtype=object)}, TEXT),
    "complex": Bad({"X": rows() + 1j}, "Complex data not supported"),
}
BAD_TARGETS = {
    "too-few-rows": Bad({"X": rows()[1:]}, "inconsistent numbers of samples"),
    "too-many-rows": Bad({"X": [*rows(), *rows()]}, "inconsistent numbers of samples"),
    "nan": Bad({"y": np.array([0.0] * 11 + [np.nan])}, "Input y contains NaN"),
    "infinity": Bad({"y": np.array([0.0] * 11 + [np.inf])}, "y contains infinity"),
    "none": Bad({"y": None}, "requires y to be passed, but the target y is None"),
    "complex": Bad({"y": np.arange(12) % 3 + 1j}, "Complex data not supported"),
    "sparse": Bad(
        {"y": sparse.csr_array(np.ones((12, 1)))}, "parse data was passed", as_sgd=False
    ),
    "masked": Bad({"y": masked(np.arange(12) % 3)}, words_on_mask("y"), as_sgd=False),
    # SGDClassifier says less of these, or fails with a TypeError.
    "missing-label": Bad(
        {"y": np.array([0, 1] * 5 + [2, None], dtype=object)},
        "Input y contains NaN",
        as_sgd=False,
    ),
    "nan-among-labels": Bad(
        {"y": np.array([0, 1] * 5 + [2, np.nan], dtype=object)},
        "Input y contains NaN",
        as_sgd=False,
    ),
    "strings": Bad(
        {"y": np.array(["1.5"] * 11 + ["much"])},
        f"{TEXT}|not compatible with arrays of bytes/str",
        **REGRESSOR,
    ),
    "objects": Bad(
        {"y": np.array(["1.5"] * 11 + ["much"], dtype=object)}, TEXT, **REGRESSOR
    ),
    "cube": Bad({"y": np.zeros((12, 2, 2))}, "Found array with dim 3", **REGRESSOR),
    "several-classes": Bad(
        {"y": np.arange(24).reshape(12, 2)},
        "y should be a 1d array, got an array of shape",
        **CLASSIFIER,
    ),
    "regression": Bad(
        {"y": rows()[:, 0]},
        "Unknown label type: continuous. Maybe you are trying to fit a classifier"
        r"(?=.{,150}$)",  # does not list all of them
        **CLASSIFIER,
        as_sgd=False,
    ),
}
BAD_CLASSES = {
    "one": Bad({"y": np.ones(12)}, ONE_CLASS, **CLASSIFIER, methods=("fit",)),
    "one-passed": Bad({"y": np.ones(12), "classes": [1]}, ONE_CLASS, **FIRST),
    "none-passed": Bad(
        {"classes": None}, "classes must be passed on the first call", **FIRST
    ),
    "fewer": Bad({"classes": [0, 1]}, OTHER_CLASSES, **LATER),
    "more": Bad({"classes": [0, 1, 2, 3]}, OTHER_CLASSES, **LATER),
    "others": Bad({"classes": ["a", "b", "c"]}, OTHER_CLASSES, **LATER),
    "halves": Bad(
        {"classes": [0.0, 0.5, 1.0]}, "Unknown label type", **FIRST, as_sgd=False
    ),
    "mixed": Bad(
        {"classes": [0, "a"]}, "Mix of label input types", **FIRST, as_sgd=False
    ),
    "number": Bad({"classes": 3}, "Expected array-like", **FIRST, as_sgd=False),
}
BAD_WEIGHTS = {
    "masked": Bad(
        {"sample_weight": masked(np.ones(12))},
        words_on_mask("sample_weight"),
        as_sgd=False,
    ),
    "negative": Bad(
        {"sample_weight": [1.0] * 11 + [-1.0]},
        "Negative values in data passed",
        as_sgd=False,
    ),
    "nan": Bad({"sample_weight": [1.0] * 11 + [np.nan]}, "sample_weight contains NaN"),
    "infinity": Bad(
        {"sample_weight": [1.0] * 11 + [np.inf]}, "Input sample_weight contains inf"
    ),
    "too-few": Bad(
        {"sample_weight": [1.0] * 11},
        r"sample_weight.shape == \(11,\), expected \(12,\)!",
    ),
    "too-many": Bad(
        {"sample_weight": [1.0] * 13},
        r"sample_weight.shape == \(13,\), expected \(12,\)!",
    ),
    "matrix": Bad(
        {"sample_weight": np.ones((12, 1))}, "Sample weights must be 1D array or scalar"
    ),
    "strings": Bad({"sample_weight": ["a"] * 12}, TEXT, as_sgd=False),
}


BAD = {
    f"{name} of {what}": bad
    for what, bads in (
        ("rows", BAD_ROWS),
        ("targets", BAD_TARGETS),
        ("classes", BAD_CLASSES),
        ("weights", BAD_WEIGHTS),
    )
    for name, bad in bads.items()
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
    errors = ValueError if bad.as_sgd else (ValueError, TypeError)
    made = make(estimator, fitted)
    refusal = assert_refused(made, method, match=bad.words, error=errors, **given)
    if bad.as_sgd:
        assert_words_of_sgd(refusal, estimator, method, fitted, **given)


@all_estimators
@pytest.mark.parametrize(
    "parameters",
    [{"center": False}, {"algorithm": "scinol1"}, {"average": 1000}],
    ids=str,
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
            sample_weight = np.ones(len(y))
            sample_weight[row] = weight
            made = make(estimator, fitted, **parameters)
            words = "Input X contains"
            assert_refused(made, method, X, y, words, sample_weight=sample_weight)
    X[0] = -X[row]  # both infinities, which have no sum
    assert_refused(made, method, X, y, words)


@all_estimators
@online_methods
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(estimator, method, library, engine):
    frames, y = pytest.importorskip(library), targets(estimator)
    frame = frames.DataFrame(dict(zip("abc", rows().T, strict=True)))
    counterpart = learn(SGD[estimator](), "partial_fit", frame, y)
    if not hasattr(counterpart, "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the names of these frames")
    made = learn(estimator(), "partial_fit", frame, y)
    for names in "cab", "adc", "ab", "abcd":
        X = {name: rows()[:, k % 3] for k, name in enumerate(names)}
        other = frames.DataFrame(X)
        refusal = assert_refused(made, method, other, y, MISMATCH)
        with pytest.raises(ValueError, match=MISMATCH) as refusal_of_sgd:
            learn(counterpart, "partial_fit", other, y)
        assert str(refusal) == str(refusal_of_sgd.value)
        with pytest.raises(ValueError, match=MISMATCH):
            made.predict(other)
    if library == "pandas":
        strings, missing = frame.assign(b="x"), frame.where(frame < 1.0)
        refusal = assert_refused(made, method, strings, y, TEXT)
        assert "To encode the columns of text, ['b'], begin" in str(refusal)
        assert_refused(made, method, missing, y, "Input X contains NaN")


# What helps.


def tables():
    """Three columns, the first and the last of which are text."""
    return np.array([["Rome", "1", "a b"], ["Oslo", "2.5", "3"]] * 6, dtype=object)


@pytest.mark.parametrize("library", ["pandas", "polars", None])
@pytest.mark.parametrize("estimator", [*SGD, *NUMERIC])
def test_columns_of_text_are_named(estimator, library):
    X, names = tables(), ["x0", "x2"]
    if library is not None:
        frames = pytest.importorskip(library)
        X, names = frames.DataFrame(dict(zip("cnt", X.T, strict=True))), ["c", "t"]
    message = re.escape(
        "could not convert string to float: 'Rome'. To encode the columns of text, "
        f"{names}, begin a pipeline with TableEncoder, as "
        "make_online_pipeline(TableEncoder(), ...) does."
    )
    with pytest.raises(ValueError, match=f"^{message}$"):
        estimator().fit(X, np.arange(12) % 2)
    made = estimator().fit(rows(), np.arange(12) % 2)
    read = made.predict if hasattr(made, "predict") else made.transform
    with pytest.raises(ValueError, match="To encode the columns of text, "):
        read(tables())


@pytest.mark.parametrize("estimator", [*SGD, *NUMERIC])
def test_columns_of_dates_are_named(estimator):
    pd = pytest.importorskip("pandas")
    dates = pd.date_range("2026-01-01", periods=12)
    advice = re.escape(
        "To encode the columns of dates, ['when'], begin a pipeline with"
    )
    frames = [pd.DataFrame({"a": 1.0, "when": dates}), pd.DataFrame({"when": dates})]
    with suppress(ImportError):
        import polars as pl

        frames += [pl.DataFrame({"a": [1.0] * 12, "when": dates.to_numpy()})]
    for frame in frames:
        with pytest.raises(TypeError, match=advice):
            estimator().fit(frame, np.arange(12) % 2)


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        (ScInOLRegressor, "squared_error"),
        (DFEGRegressor, "squared_error"),
        (ScInOLClassifier, "squared_hinge"),
    ],
)
def test_estimators_with_a_loss_are_named(estimator, loss):
    y = np.arange(12) % 2
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
    words = re.escape(
        "Input X contains NaN.\n"
        f"{estimator.__name__} does not accept missing values encoded as NaN natively. "
        "To learn from missing values, begin a pipeline with OnlineBinner or "
        "TableEncoder, as make_online_pipeline(OnlineBinner(), ...) does."
    )
    made = make(estimator, True)
    for method in "fit", "partial_fit":
        assert_refused(made, method, X, y, f"^{words}$")
    with pytest.raises(ValueError, match=f"^{words}$"):
        made.predict(X)
    with pytest.raises(ValueError, match="To learn from missing values"):
        DFEGClassifier(kernel="rbf").fit(holding(np.nan), y > 1)


@pytest.mark.parametrize("X", [[{"a": 1.0}], ({"a": 1.0},), {"a": 1.0}])
@pytest.mark.parametrize("estimator", [*SGD, *NUMERIC])
def test_dicts_are_for_pipelines(estimator, X):
    words = (
        f"{estimator.__name__} takes rows of numbers, not dicts: begin a pipeline with "
        "TableEncoder, as make_online_pipeline(TableEncoder(), ...) does."
    )
    words = f"^{re.escape(words)}$"
    made = estimator().fit(rows(), np.arange(12) % 2)
    calls = [lambda: made.partial_fit(X, [1.0])]
    if hasattr(made, "predict"):
        one = made.row_by_row()
        calls += [lambda: made.predict(X), lambda: made.fit(X, [1.0])]
        calls += [lambda: one.learn_one({"a": 1.0}, 1.0)]
        calls += [lambda: one.predict_one({"a": 1.0})]
    before = state(made)
    for call in calls:
        with pytest.raises(TypeError, match=words):
            call()
        assert state(made) == before


@pytest.mark.parametrize("unit", ["datetime64[D]", "timedelta64[h]"])
@fresh_and_fitted
def test_targets_of_dates(unit, fitted):
    made, y = make(ScInOLRegressor, fitted), np.arange(12).astype(unit)
    for method in METHODS:
        assert_refused(made, method, rows(), y, "y has dates or durations", TypeError)


@pytest.mark.parametrize("classes", [["a", None], [0.0, np.nan]])
def test_missing_classes(classes):
    y = np.repeat(classes[:1], 12)
    with pytest.raises(ValueError, match=r"^Input classes contains NaN\.$"):
        ScInOLClassifier().partial_fit(rows(), y, classes=classes)


# Masks, which NumPy's functions leave out in silence.


@all_estimators
def test_masks_of_rows_that_come_alone(estimator):
    made = make(estimator, True)
    one, X = made.row_by_row(), rows()
    several = ScInOLRegressor().partial_fit(X, X).row_by_row()
    before = state(made), state(several.estimator)
    x = np.ma.array(X[0], mask=[False, True, False])
    for name, call in (
        ("X", lambda: one.predict_one(x)),
        ("X", lambda: one.learn_one(x, 1.0)),
        ("X", lambda: made.predict(masked(X))),
        ("y", lambda: one.learn_one(X[0], np.ma.masked)),
        ("y", lambda: several.learn_one(X[0], x)),
        ("sample_weight", lambda: one.learn_one(X[0], 1, np.ma.masked)),
    ):
        with pytest.raises(ValueError, match=words_on_mask(name)):
            call()
        assert (state(made), state(several.estimator)) == before


def test_masks_that_mask_nothing():
    arrays = rows(), targets(ScInOLRegressor), np.ones(12)
    model = ScInOLRegressor().partial_fit(*map(np.ma.array, arrays))
    assert state(model) == state(ScInOLRegressor().partial_fit(*arrays))


@pytest.mark.parametrize("transformer", [*NUMERIC, TableEncoder])
def test_masks_of_transformed_rows(transformer):
    fitted = transformer().fit(rows())
    pipeline = make_online_pipeline(transformer(), ScInOLRegressor())
    pipeline.partial_fit(rows(), targets(ScInOLRegressor))
    before = state(fitted)
    for call in (
        fitted.partial_fit,
        fitted.partial_fit_transform,
        fitted.transform,
        transformer().fit,
        pipeline.predict,
        lambda X: pipeline.row_by_row().predict_one(X[1]),
    ):
        with pytest.raises(ValueError, match=words_on_mask("X")):
            call(masked(rows()))
    assert state(fitted) == before


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


@pytest.mark.parametrize("estimator", [ScInOLClassifier, HedgeRegressor])
@pytest.mark.parametrize("index", [20, -7])
@pytest.mark.parametrize(
    "kind",
    [
        f"{name}_{form}"
        for name in ("csr", "csc", "coo", "bsr", "lil", "dia")
        for form in ("matrix", "array")
    ],
)
def test_indices_out_of_range(estimator, kind, index):
    """Refused before rows are converted, which would read or write other memory."""
    X, words = out_of_range(kind, index), "ind(ex|ices)|number of diagonals"
    made = make(estimator, True)
    for method in "partial_fit", "partial_fit_predict":
        assert_refused(made, method, X, targets(estimator), words)
    with pytest.raises(ValueError, match=words):
        made.predict(X)
    with pytest.raises(ValueError, match=words):
        estimator().fit(X, targets(estimator))


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
    words = re.escape("y.shape == (12, 2), expected (12,)")
    assert_refused(one, method, rows(), np.zeros((12, 2)), words)
    two = ScInOLRegressor().partial_fit(rows(), np.zeros((12, 2)))
    words = re.escape("y.shape == (12,), expected (12, 2)")
    assert_refused(two, method, rows(), np.zeros(12), words)
    words = re.escape("y.shape == (12, 3), expected (12, 2)")
    assert_refused(two, method, rows(), np.zeros((12, 3)), words)


@pytest.mark.cases(3)
@all_methods
@fresh_and_fitted
def test_column_of_labels(method, fitted, engine):
    """Usable, with scikit-learn's warning."""
    y = targets(ScInOLClassifier)
    made, expected = make(ScInOLClassifier, fitted), make(ScInOLClassifier, fitted)
    for estimator in (made, expected):
        estimator.set_params(random_state=0)
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
    words = f"y contains previously unseen labels: {named}. Pass all labels of the "
    words += "stream as classes= at the first call, or set new_classes='add'."
    words = f"^{re.escape(words)}$"
    made = make(ScInOLClassifier, fitted, class_weight=class_weight, warm_start=True)
    assert_refused(made, method, rows(), np.tile(labels, 3), words)


# Weights.


@all_estimators
@fresh_and_fitted
def test_weights_that_are_all_zero(estimator, fitted, engine):
    words = "Sample weights must contain at least one non-zero number."
    made, y = make(estimator, fitted), targets(estimator)
    assert_refused(made, "fit", rows(), y, words, sample_weight=np.zeros(12))
    assert_refused(made, "fit", rows(), y, words, sample_weight=0)
    if is_classifier(made):
        no_class = make(estimator, fitted, class_weight={0: 0, 1: 0, 2: 0})
        assert_refused(no_class, "fit", rows(), y, words)


@pytest.mark.parametrize(
    ("method", "fitted"),
    [("fit", False), ("fit", True), ("partial_fit", False)],  # which ask for them
)
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.nan, "Input class_weight contains NaN"),
        (np.inf, "Input class_weight contains infinity"),
        (-1.0, "Negative values in data passed to ScInOLClassifier.class_weight"),
    ],
)
def test_class_weights(weight, words, method, fitted, engine):
    made = make(ScInOLClassifier, fitted).set_params(class_weight={0: weight})
    assert_refused(made, method, rows(), targets(ScInOLClassifier), words)


# Parameters.


BAD_PARAMETERS = [
    *({"loss": loss} for loss in ("squared_hinge", None)),
    *({"initial_wealth": wealth} for wealth in (0.0, -1.0)),
    *({"max_iter": n} for n in (0, 1.5)),
    *({"average": n} for n in (-1, 1.5)),
    *({name: "no"} for name in ("center", "fit_intercept", "shuffle", "warm_start")),
    *({name: "a"} for name in ("algorithm", "random_state")),
    *({name: -1.0} for name in ("tol", "verbose")),
]
OF_REGRESSORS = [{"epsilon": -1.0}, {"quantile": 0.0}, {"quantile": 1.0}]
OF_REGRESSORS += [{"loss": "log_loss"}]
OF_CLASSIFIERS = [{"class_weight": "equal"}, {"loss": "absolute_error"}]


@pytest.mark.cases(60)
@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        *product([ScInOLClassifier], OF_CLASSIFIERS + BAD_PARAMETERS),
        *product([ScInOLRegressor], OF_REGRESSORS + BAD_PARAMETERS),
    ],
    ids=str,
)
def test_parameters(estimator, parameters):
    (name,) = parameters
    words = f"The {name!r} parameter of {estimator.__name__} must be"
    for method in METHODS:
        made = estimator(**parameters)
        assert_refused(made, method, rows(), targets(estimator), words)


@all_methods
@fresh_and_fitted
def test_huber_without_slope(method, fitted, engine):
    """A zero that one loss takes and the other does not."""
    y = targets(ScInOLRegressor)
    tube = make(ScInOLRegressor, True, loss="epsilon_insensitive", epsilon=0.0)
    line = make(ScInOLRegressor, True, loss="absolute_error")
    np.testing.assert_array_equal(tube.coef_, line.coef_)
    if method == "fit" or not fitted:
        huber = make(ScInOLRegressor, fitted).set_params(loss="huber", epsilon=0.0)
        assert_refused(huber, method, rows(), y, "epsilon == 0.* must be > 0")


@all_estimators
@fresh_and_fitted
@pytest.mark.parametrize("method", ["transform", "score", "fit"])
def test_unknown_method(estimator, fitted, method, engine):
    made = make(estimator, fitted)
    before = state(made)
    with pytest.raises(ValueError, match=f"method must be one of .*, got '{method}'"):
        made.partial_fit_predict(rows(), targets(estimator), method=method)
    assert state(made) == before


# Rows to predict.


@all_estimators
def test_not_fitted(estimator):
    fresh = estimator()
    calls = [
        lambda: fresh.predict(rows()),
        lambda: fresh.score(rows(), targets(estimator)),
        lambda: fresh.regret_bound(np.ones(3)),
    ]
    if is_classifier(fresh):
        calls += [
            lambda: fresh.decision_function(rows()),
            lambda: fresh.predict_proba(rows()),
            lambda: fresh.predict_log_proba(rows()),
        ]
    with pytest.raises(NotFittedError) as refusal_of_sgd:
        SGD[estimator]().predict(rows())
    words = str(refusal_of_sgd.value).replace(
        SGD[estimator].__name__, estimator.__name__
    )
    for call in calls:
        with pytest.raises(NotFittedError, match=re.escape(words)):
            call()
    assert vars(fresh) == fresh.get_params()
    for name in ("coef_", "intercept_", "cumulative_loss_", "n_samples_seen_"):
        with pytest.raises(AttributeError, match=f"{estimator.__name__}.* not fitted"):
            getattr(fresh, name)


@pytest.mark.cases(20)
@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows_to_predict(case):
    X, words = BAD_ROWS[case].given["X"], BAD_ROWS[case].words
    for estimator in SGD:
        made = make(estimator, True)
        methods = ["predict"]
        if is_classifier(made):
            methods += ["decision_function", "predict_proba", "predict_log_proba"]
        before = state(made)
        for method in methods:
            with pytest.raises(ValueError, match=words):
                getattr(made, method)(X)
        assert state(made) == before

"""Input that cannot be used: the words of the error, and that nothing has changed.

Where scikit-learn has words for what is wrong, they are taken from the estimator that
ours stands in for, so that they follow the version installed.
"""

import pickle
import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor

from sklearn_scinol import (
    DFEGClassifier,
    HedgeClassifier,
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
all_methods = pytest.mark.parametrize(
    "method", ["fit", "partial_fit", "partial_fit_predict"]
)
online_methods = pytest.mark.parametrize(
    "method", ["partial_fit", "partial_fit_predict"]
)
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


def assert_refused_like_sgd(
    estimator, method, fitted, X, y, match, error=ValueError, **keywords
):
    """As :func:`assert_refused`, and in the words of the counterpart."""
    refusal = assert_refused(
        make(estimator, fitted), method, X, y, match, error, **keywords
    )
    counterpart = SGD[estimator]
    method = method.removesuffix("_predict")
    with pytest.raises(error) as refusal_of_sgd:
        learn(make(counterpart, fitted), method, X, y, **keywords)
    words, _, _ = str(refusal_of_sgd.value).partition(" For supervised learning")
    words = words.replace(counterpart.__name__, estimator.__name__)
    assert ADVICE.sub("", str(refusal)) == words


# Rows.


def holding(value, container=np.array):
    """Rows of which the second last holds `value`."""
    X = rows()
    X[-2, 1] = value
    return container(X)


BAD_ROWS = {
    "nan": (holding(np.nan), "Input X contains NaN"),
    "infinity": (holding(np.inf), "Input X contains infinity"),
    "minus-infinity": (holding(-np.inf), "Input X contains infinity"),
    "float32-nan": (holding(np.nan).astype(np.float32), "Input X contains NaN"),
    "float32-infinity": (
        holding(np.inf).astype(np.float32),
        r"Input X contains infinity or a value too large for dtype\('float32'\)",
    ),
    "only-nan": (np.full((12, 3), np.nan), "Input X contains NaN"),
    "sparse-nan": (holding(np.nan, sparse.csr_array), "Input X contains NaN"),
    "sparse-infinity": (holding(np.inf, sparse.csr_array), "Input X contains infinity"),
    "missing": (holding(None, lambda X: X.astype(object)), "Input X contains NaN"),
    "scalar": (1.0, "Expected 2D array, got scalar array instead"),
    "vector": (rows()[:, 0], "Expected 2D array, got 1D array instead"),
    "cube": (rows()[..., np.newaxis], "Found array with dim 3"),
    "no-rows": (rows()[:0], "Found array with 0 sample"),
    "no-rows-sparse": (sparse.csr_array((0, 3)), "Found array with 0 sample"),
    "no-columns": (rows()[:, :0], "Found array with 0 feature"),
    "too-few": (rows()[1:], "inconsistent numbers of samples"),
    "too-many": (np.vstack([rows(), rows()]), "inconsistent numbers of samples"),
    "strings": (np.full((12, 3), "a"), "could not convert string to float"),
    "objects": (
        np.full((12, 3), "a", dtype=object),
        "could not convert string to float",
    ),
    "complex": (rows() + 1j, "Complex data not supported"),
}


@all_estimators
@all_methods
def test_integers_that_are_no_floats(estimator, method, engine):
    X = holding(0, lambda X: X.astype(object))
    X[-2, 1] = 10**400
    words = "Input contains infinity or a value too large for dtype"
    made = make(estimator, True)
    assert_refused(made, method, X, targets(estimator), words)
    with pytest.raises(ValueError, match=words):
        made.predict(X)


@all_estimators
@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("case", BAD_ROWS)
def test_rows(estimator, method, fitted, case, engine):
    X, words = BAD_ROWS[case]
    y = targets(estimator)
    if case.startswith("no-rows"):
        y = y[:0]
    assert_refused_like_sgd(estimator, method, fitted, X, y, words)


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        (ScInOLClassifier, {"loss": "hinge"}),
        (ScInOLRegressor, {"loss": "huber"}),
        *(
            (estimator, parameters)
            for estimator in SGD
            for parameters in (
                {"center": False},
                {"algorithm": "scinol1"},
                {"average": True},
                {"average": 1000, "center": False},
                {"fit_intercept": False, "center": False},
                {"warm_start": True, "max_iter": 3, "tol": None},
            )
        ),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
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
@fresh_and_fitted
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
def test_extreme_values(estimator, method, fitted, container, algorithm, engine):
    """All finite values are harmless."""
    y = targets(estimator)
    for value in (5e-324, 1e-200, 1e100, 1e155, 1e200, 1.01e300, -1.7e308):
        X = rows()
        X[3, 0] = value
        made = make(estimator, fitted, algorithm=algorithm)
        learn(made, method, container(X), y)
        made._check_state()
        assert np.isfinite(made.predict(container(X))).all()


@all_estimators
@all_methods
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("n_features", [2, 4])
def test_other_number_of_features(estimator, method, container, n_features, engine):
    X = container(np.ones((12, n_features)))
    words = f"X has {n_features} features, but .* is expecting 3 features as input"
    if method == "fit":  # begins anew, unless it is warm
        warm = make(estimator, True, warm_start=True)
        assert_refused(warm, method, X, targets(estimator), words)
    else:
        assert_refused_like_sgd(estimator, method, True, X, targets(estimator), words)


@all_estimators
@all_methods
@fresh_and_fitted
def test_center_sparse(estimator, method, fitted, engine):
    made = make(estimator, fitted, center=True)
    X = sparse.csr_array(rows())
    words = "Cannot center sparse matrices"
    assert_refused(made, method, X, targets(estimator), words)


@all_estimators
@online_methods
def test_frames(estimator, method, engine):
    pandas = pytest.importorskip("pandas")
    y = targets(estimator)
    frame = pandas.DataFrame(rows(), columns=["a", "b", "c"])
    made = learn(estimator(), "partial_fit", frame, y)
    counterpart = learn(SGD[estimator](), "partial_fit", frame, y)
    for other in (
        frame[["c", "a", "b"]],
        frame.rename(columns={"b": "d"}),
        frame[["a", "b"]],
        frame.assign(d=0.0),
    ):
        refusal = assert_refused(made, method, other, y, MISMATCH)
        with pytest.raises(ValueError, match=MISMATCH) as refusal_of_sgd:
            learn(counterpart, "partial_fit", other, y)
        assert str(refusal) == str(refusal_of_sgd.value)
    with pytest.raises(ValueError, match=MISMATCH):
        made.predict(frame[["c", "a", "b"]])

    strings = frame.assign(b="x")
    words = "could not convert string to float"
    refusal = assert_refused(made, method, strings, y, words)
    assert "To encode the columns of text, ['b'], begin" in str(refusal)
    missing = frame.where(frame < 1.0)
    assert_refused(made, method, missing, y, "Input X contains NaN")


@all_estimators
@online_methods
def test_polars_frames(estimator, method, engine):
    polars = pytest.importorskip("polars")
    y = targets(estimator)
    frame = polars.DataFrame(rows(), schema=["a", "b", "c"])
    if not hasattr(SGD[estimator]().fit(frame, y), "feature_names_in_"):
        pytest.skip("this scikit-learn does not see the names of this polars")
    made = learn(estimator(), "partial_fit", frame, y)
    for other in (
        frame[["c", "a", "b"]],
        frame.rename({"b": "d"}),
        frame[["a", "b"]],
    ):
        assert_refused(made, method, other, y, MISMATCH)


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


@pytest.mark.parametrize(
    ("estimator", "loss", "words"),
    [
        (
            HedgeClassifier,
            "squared_error",
            "regressors, for instance of HedgeRegressor",
        ),
        (ScInOLClassifier, "huber", "regressors, for instance of HedgeRegressor"),
        (ScInOLRegressor, "hinge", "classifiers, for instance of HedgeClassifier"),
    ],
)
def test_losses_of_the_other_kind(estimator, loss, words):
    words = f"Got '{loss}' instead. '{loss}' is a loss of {words}."
    with pytest.raises(ValueError, match=f"{re.escape(words)}$"):
        estimator(loss=loss).fit(rows(), np.arange(12) % 2)
    with pytest.raises(ValueError, match=r"Got 'hing' instead\.$"):
        estimator(loss="hing").fit(rows(), np.arange(12) % 2)


# Masks, which NumPy's functions leave out in silence.

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


@all_estimators
@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("name", MASK_ADVICE)
def test_masks(estimator, method, fitted, name):
    given = {"X": rows(), "y": targets(estimator), "sample_weight": np.ones(12)}
    given[name] = masked(given[name])
    made = make(estimator, fitted)
    assert_refused(made, method, match=words_on_mask(name), **given)
    given[name] = np.ma.array(given[name].data)  # where none is masked
    learn(made, method, **given)


@all_estimators
def test_masks_of_rows_that_come_alone(estimator):
    made = make(estimator, True)
    one, X = made.row_by_row(), rows()
    before = state(made)
    x = np.ma.array(X[0], mask=[False, True, False])
    for name, call in (
        ("X", lambda: one.predict_one(x)),
        ("X", lambda: one.learn_one(x, 1.0)),
        ("X", lambda: made.predict(masked(X))),
        ("y", lambda: one.learn_one(X[0], np.ma.masked)),
        ("sample_weight", lambda: one.learn_one(X[0], 1, np.ma.masked)),
    ):
        with pytest.raises(ValueError, match=words_on_mask(name)):
            call()
        assert state(made) == before


def test_masks_of_several_targets(engine):
    outputs = ScInOLRegressor().partial_fit(rows(), rows())
    one, before = outputs.row_by_row(), state(outputs)
    with pytest.raises(ValueError, match=words_on_mask("y")):
        one.learn_one(
            rows()[0], np.ma.array([1.0, 2.0, 3.0], mask=[True, False, False])
        )
    assert state(outputs) == before


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


BAD_TARGETS = {
    "nan": (np.array([0.0] * 11 + [np.nan]), "Input y contains NaN"),
    "infinity": (np.array([0.0] * 11 + [np.inf]), "Input y contains infinity"),
    "none": (None, "requires y to be passed, but the target y is None"),
    "too-few": (np.arange(11) % 3, "inconsistent numbers of samples"),
    "too-many": (np.arange(13) % 3, "inconsistent numbers of samples"),
    "complex": (np.arange(12) % 3 + 1j, "Complex data not supported"),
}


@all_estimators
@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("case", BAD_TARGETS)
def test_targets(estimator, method, fitted, case, engine):
    y, words = BAD_TARGETS[case]
    assert_refused_like_sgd(estimator, method, fitted, rows(), y, words)


@all_estimators
@all_methods
@fresh_and_fitted
def test_sparse_targets(estimator, method, fitted, engine):
    y = sparse.csr_array(targets(estimator)[:, np.newaxis])
    words = "Sparse data was passed"
    made = make(estimator, fitted)
    assert_refused(made, method, rows(), y, words, (TypeError, ValueError))


@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_target_in_regression(method, fitted, missing, engine):
    y = np.array([0.0] * 11 + [missing], dtype=object)
    made = make(ScInOLRegressor, fitted)
    assert_refused(made, method, rows(), y, "Input y contains NaN")


@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_label(method, fitted, missing, engine):
    """SGDClassifier says less, or fails with a TypeError."""
    y = np.array([0, 1] * 5 + [2, missing], dtype=object)
    made = make(ScInOLClassifier, fitted)
    assert_refused(made, method, rows(), y, "Input y contains NaN")


@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("dtype", [str, object])
def test_strings_in_regression(method, fitted, dtype, engine):
    y = np.array(["1.5"] * 11 + ["much"], dtype=dtype)
    words = "could not convert string to float|not compatible with arrays of bytes/str"
    assert_refused(make(ScInOLRegressor, fitted), method, rows(), y, words)


@all_methods
@fresh_and_fitted
def test_targets_of_three_dimensions(method, fitted, engine):
    y = np.zeros((12, 2, 2))
    words = "Found array with dim 3"
    assert_refused(make(ScInOLRegressor, fitted), method, rows(), y, words)


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


@all_methods
@fresh_and_fitted
def test_several_classes_a_row(method, fitted, engine):
    y = np.arange(24).reshape(12, 2)
    words = "y should be a 1d array, got an array of shape"
    assert_refused_like_sgd(ScInOLClassifier, method, fitted, rows(), y, words)


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


@all_methods
@fresh_and_fitted
def test_regression_target_for_classifier(method, fitted, engine):
    y = rows()[:, 0]
    words = "Unknown label type: continuous. Maybe you are trying to fit a classifier"
    refusal = assert_refused(make(ScInOLClassifier, fitted), method, rows(), y, words)
    assert len(str(refusal)) < 250  # does not list all of them


# Classes.


@fresh_and_fitted
def test_one_class(fitted, engine):
    words = "The number of classes has to be greater than one; got 1 class"
    y = np.ones(12)
    assert_refused_like_sgd(ScInOLClassifier, "fit", fitted, rows(), y, words)


@online_methods
def test_one_class_passed(method, engine):
    words = "The number of classes has to be greater than one; got 1 class"
    y = np.ones(12)
    assert_refused_like_sgd(
        ScInOLClassifier, method, False, rows(), y, words, classes=[1]
    )


@online_methods
def test_missing_classes(method, engine):
    words = re.escape("classes must be passed on the first call to partial_fit.")
    y = targets(ScInOLClassifier)
    assert_refused_like_sgd(
        ScInOLClassifier, method, False, rows(), y, words, classes=None
    )


@online_methods
@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2, 3], [0, 1, 3], ["a", "b", "c"]])
def test_changed_classes(method, classes, engine):
    words = "is not the same as on last call to partial_fit, was: array"
    y = targets(ScInOLClassifier)
    assert_refused_like_sgd(
        ScInOLClassifier, method, True, rows(), y, words, classes=classes
    )


@online_methods
def test_classes_that_are_no_classes(method, engine):
    y = targets(ScInOLClassifier)
    for classes, words, error in (
        ([0.0, 0.5, 1.0], "Unknown label type", ValueError),
        ([0, "a"], "Mix of label input types", ValueError),
        (3, "Expected array-like", ValueError),
    ):
        made = ScInOLClassifier()
        assert_refused(made, method, rows(), y, words, error, classes=classes)


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


@online_methods
def test_unseen_class_at_the_end(method, engine):
    """Of a chunk that is learned in several blocks."""
    X, y = np.zeros((20_000, 3)), np.zeros(20_000, dtype=int)
    y[-1] = 5
    words = r"y contains previously unseen labels: \[5\]"
    for fitted in (False, True):
        assert_refused(make(ScInOLClassifier, fitted), method, X, y, words)


# Weights.


BAD_WEIGHTS = {
    "negative": ([1.0] * 11 + [-1.0], "Negative values in data passed"),
    "nan": ([1.0] * 11 + [np.nan], "Input sample_weight contains NaN"),
    "infinity": ([1.0] * 11 + [np.inf], "Input sample_weight contains infinity"),
    "too-few": ([1.0] * 11, r"sample_weight.shape == \(11,\), expected \(12,\)!"),
    "too-many": ([1.0] * 13, r"sample_weight.shape == \(13,\), expected \(12,\)!"),
    "matrix": (np.ones((12, 1)), "Sample weights must be 1D array or scalar"),
    "strings": (["a"] * 12, "could not convert string to float"),
}


@all_estimators
@all_methods
@fresh_and_fitted
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_weights(estimator, method, fitted, case, engine):
    weight, words = BAD_WEIGHTS[case]
    y = targets(estimator)
    made = make(estimator, fitted)
    refusal = assert_refused(made, method, rows(), y, words, sample_weight=weight)
    if case in ("negative", "strings"):  # SGD takes negative weights
        return
    with pytest.raises(ValueError, match=words) as refusal_of_sgd:
        SGD[estimator]().fit(rows(), y, sample_weight=weight)
    assert str(refusal) == str(refusal_of_sgd.value)


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


@all_estimators
@online_methods
def test_zero_weights_of_a_chunk_are_no_error(estimator, method, engine):
    made, y = make(estimator, True), targets(estimator)
    before = state(made)
    learn(made, method, 10.0 * rows(), y, sample_weight=np.zeros(12))
    assert state(made) == before


# Parameters.


BAD_PARAMETERS = [
    {"loss": "squared_hinge"},
    {"loss": None},
    {"algorithm": "scinol3"},
    {"initial_wealth": 0.0},
    {"initial_wealth": -1.0},
    {"center": "yes"},
    {"fit_intercept": "no"},
    {"max_iter": 0},
    {"max_iter": 1.5},
    {"tol": -1.0},
    {"shuffle": "no"},
    {"random_state": "a"},
    {"average": -1},
    {"average": 1.5},
    {"warm_start": "no"},
    {"verbose": -1},
]


@all_estimators
@all_methods
@pytest.mark.parametrize("parameters", BAD_PARAMETERS, ids=str)
def test_parameters(estimator, method, parameters, engine):
    (name,) = parameters
    words = f"The {name!r} parameter of {estimator.__name__} must be"
    made = estimator(**parameters)
    assert_refused(made, method, rows(), targets(estimator), words)


@all_methods
@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": -1.0},
        {"quantile": 0.0},
        {"quantile": 1.0},
        {"loss": "log_loss"},
    ],
    ids=str,
)
def test_parameters_of_regressors(method, parameters, engine):
    (name,) = parameters
    words = f"The {name!r} parameter of ScInOLRegressor must be"
    y = targets(ScInOLRegressor)
    assert_refused(ScInOLRegressor(**parameters), method, rows(), y, words)


@all_methods
@pytest.mark.parametrize(
    "parameters", [{"class_weight": "equal"}, {"loss": "absolute_error"}], ids=str
)
def test_parameters_of_classifiers(method, parameters, engine):
    (name,) = parameters
    words = f"The {name!r} parameter of ScInOLClassifier must be"
    y = targets(ScInOLClassifier)
    assert_refused(ScInOLClassifier(**parameters), method, rows(), y, words)


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


@fresh_and_fitted
@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_no_probabilities(fitted, method, engine):
    made = make(ScInOLClassifier, fitted, loss="hinge")
    y = targets(ScInOLClassifier)
    before = state(made)
    with pytest.raises(AttributeError, match=method):
        made.partial_fit_predict(rows(), y, classes=[0, 1, 2], method=method)
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


@all_estimators
@pytest.mark.parametrize("case", [case for case in BAD_ROWS if "too" not in case])
def test_rows_to_predict(estimator, case):
    X, words = BAD_ROWS[case]
    made = make(estimator, True)
    methods = ["predict"]
    if is_classifier(made):
        methods += ["decision_function", "predict_proba", "predict_log_proba"]
    before = state(made)
    for method in methods:
        with pytest.raises(ValueError, match=words):
            getattr(made, method)(X)
    assert state(made) == before


@all_estimators
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_other_number_of_features_to_predict(estimator, container):
    X = container(rows()[:, :2])
    words = f"X has 2 features, but {estimator.__name__} is expecting 3 features"
    with pytest.raises(ValueError, match=words):
        make(estimator, True).predict(X)

"""Pipelines on streams: what each step sees, and what is left when one fails."""

import copy
import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    StandardScaler,
)
from sklearn.utils import get_tags
from support.comparisons import assert_identical
from support.estimator_checks import with_checks
from support.steps import assert_same_steps

from sklearn_scinol import HedgeClassifier, ScInOLClassifier, ScInOLRegressor
from sklearn_scinol.pipeline import OnlinePipeline, make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineTargetEncoder,
    TableEncoder,
)

N_ROWS = 240
SGD = SGDClassifier(loss="log_loss", random_state=0)
METHODS = "partial_fit", "partial_fit_predict"


def data(n=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 0.01, 3.0] + [0.0, 50.0, 0.0, -7.0]
    y = (X[:, 0] + X[:, 3] + rng.normal(size=n) > -7.0).astype(int)
    return X, y


def slices(n, size):
    return [slice(start, start + size) for start in range(0, n, size)]


def stream(size=20):
    X, y = data()
    return [(X[rows], y[rows]) for rows in slices(len(y), size)]


def weight(n=N_ROWS):
    return np.random.default_rng(1).choice([0.0, 0.5, 3.0], size=n)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Spy(TransformerMixin, BaseEstimator):
    """Notes what it is given."""

    def fit(self, X, y=None):
        raise AssertionError("fit is for all rows at once")

    def partial_fit(self, *arguments, **keywords):
        vars(self).setdefault("calls_", []).append((arguments, keywords))
        return self

    def transform(self, X):
        return 2.0 * X


@pytest.mark.cases(4)
@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 7, 100, N_ROWS])
@pytest.mark.parametrize(
    ("first", "last"),
    [
        (StandardScaler(), ScInOLClassifier()),
        (OnlineBinner(), ScInOLClassifier()),
        (MinMaxScaler(), SGD),
    ],
)
def test_steps_by_hand(first, last, size, engine):
    X, y = data()
    model = clone(make_online_pipeline(first, "passthrough", last))
    first, alone = clone(first), clone(last)
    given = {"classes": [0, 1], "method": "predict_proba"}
    for rows in slices(len(y), size):
        if hasattr(first, "partial_fit_transform"):
            Z = first.partial_fit_transform(X[rows])
        else:
            Z = first.partial_fit(X[rows]).transform(X[rows])
        if last is SGD:
            assert model.partial_fit(X[rows], y[rows], [0, 1]) is model
            alone.partial_fit(Z, y[rows], [0, 1])
        else:
            said = model.partial_fit_predict(X[rows], y[rows], **given)
            assert_identical(said, alone.partial_fit_predict(Z, y[rows], **given))
    assert_identical(vars(model[0]), vars(first))
    assert_array_equal(model[-1].coef_, alone.coef_)
    Z = first.transform(X)
    for method in "predict", "predict_proba", "predict_log_proba", "decision_function":
        assert_identical(getattr(model, method)(X), getattr(alone, method)(Z))
    assert model.score(X, y) == alone.score(Z, y)


@pytest.mark.parametrize("method", METHODS)
def test_transformers_see_no_labels(method):
    spy = Spy()
    model = make_online_pipeline(spy, ScInOLClassifier())
    for X, y in stream(50):
        getattr(model, method)(X, y, classes=[0, 1])
        (arguments, keywords) = spy.calls_[-1]
        assert len(arguments) == 1
        assert arguments[0] is X
        assert keywords == {}
    assert len(spy.calls_) == 5
    spies = Spy(), Spy()  # but for the last step of transformers
    make_online_pipeline(*spies).partial_fit(*data())
    assert [len(spy.calls_[0][0]) for spy in spies] == [1, 2]


def test_labels_are_used_after_their_row_is_predicted(engine):
    X, y = data(60)
    steps = StandardScaler(), OnlineBinner(n_samples=10), ScInOLClassifier()
    model = make_online_pipeline(*steps).partial_fit(X[:20], y[:20], classes=[0, 1])
    ask = {"method": "decision_function"}
    said = copy.deepcopy(model).partial_fit_predict(X[20:], y[20:], **ask)
    for row in 0, 17, 39:
        other = y[20:].copy()
        other[row:] = 1 - other[row:]
        again = copy.deepcopy(model).partial_fit_predict(X[20:], other, **ask)
        assert_array_equal(again[: row + 1], said[: row + 1])
        assert not np.any(again[row + 1 :] == said[row + 1 :])


@pytest.mark.parametrize("last", ["passthrough", None])
def test_last_step_that_passes_through(last):
    X, y = data()
    model = OnlinePipeline([("scale", StandardScaler()), ("last", last)])
    assert_array_equal(
        model.partial_fit(X, y).transform(X), StandardScaler().fit_transform(X)
    )


def test_nested_pipelines(engine):
    """As transformers and as the last step."""
    flat = [StandardScaler(), MinMaxScaler(), Normalizer(), ScInOLClassifier()]
    flat = make_online_pipeline(*flat)
    steps = clone(flat)
    nested = make_online_pipeline(steps[:2], make_online_pipeline(*steps[2:]))
    for X, y in stream():
        assert_identical(
            nested.partial_fit_predict(X, y, classes=[0, 1]),
            flat.partial_fit_predict(X, y, classes=[0, 1]),
        )
    for one, other in zip(steps, flat, strict=True):
        assert_identical(vars(one), vars(other))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("encoder", [OnlineTargetEncoder, TableEncoder])
def test_nested_steps_that_need_targets(encoder, method):
    X, y = data()
    nested = make_online_pipeline(StandardScaler(), encoder())
    model = make_online_pipeline(nested, HedgeClassifier())
    with pytest.raises(ValueError, match=f"{encoder.__name__} would get no targets"):
        getattr(model, method)(X, y, classes=[0, 1])


UNFITTED = {
    "pca": PCA(2),
    "columntransformer": make_column_transformer((PCA(1), [0, 1])),
    "pipeline": make_pipeline(StandardScaler(), PCA(1)),
    "frozenestimator": FrozenEstimator(StandardScaler()),
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", UNFITTED)
def test_unfitted_steps(name, method):
    X, y = data()
    step = copy.deepcopy(UNFITTED[name])
    model = make_online_pipeline(StandardScaler(), step, ScInOLClassifier())
    message = f"The step '{name}' has no partial_fit and is not fitted: "
    with pytest.raises(NotFittedError, match=message):
        getattr(model, method)(X, y, classes=[0, 1])
    assert not hasattr(model[0], "mean_")
    assert not hasattr(model[-1], "classes_")
    if name != "frozenestimator":
        step.fit(StandardScaler().fit_transform(X))
        getattr(model, method)(X, y, classes=[0, 1])
        assert model.n_samples_seen_ == N_ROWS


def test_frozen_steps_never_learn():
    """Though scikit-learn's pass `partial_fit` on to what they wrap."""
    X, y = data()
    scaler = StandardScaler().fit(X[:100])
    before = pickle.dumps(scaler)
    model = make_online_pipeline(FrozenEstimator(scaler), ScInOLClassifier())
    model = clone(model).partial_fit(X, y, classes=[0, 1])
    assert pickle.dumps(scaler) == before
    alone = ScInOLClassifier().partial_fit(scaler.transform(X), y, classes=[0, 1])
    assert_array_equal(model[-1].coef_, alone.coef_)
    frozen = make_online_pipeline(StandardScaler(), FrozenEstimator(alone))
    assert not hasattr(frozen, "partial_fit")
    assert not hasattr(frozen, "partial_fit_predict")
    with pytest.raises(AttributeError) as raised:
        frozen.partial_fit(X, y)
    assert "has no partial_fit" in str(raised.value.__cause__)


@pytest.mark.parametrize(
    ("last", "available"),
    [
        (ScInOLClassifier(), METHODS),
        (make_online_pipeline(ScInOLClassifier()), METHODS),
        *((last, METHODS[:1]) for last in (SGD, StandardScaler(), PCA())),
        *((last, METHODS[:1]) for last in ("passthrough", None)),
        (LogisticRegression(), []),
    ],
)
def test_methods_that_are_available(last, available):
    model = OnlinePipeline([("scale", StandardScaler()), ("last", last)])
    assert [name for name in METHODS if hasattr(model, name)] == [*available]
    for name in {*METHODS} - {*available}:
        with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
            getattr(model, name)


def test_bad_steps():
    X, y = data()
    model = make_online_pipeline(LogisticRegression(), ScInOLClassifier())
    with pytest.raises(TypeError, match="All intermediate steps should be"):
        model.partial_fit(X, y, classes=[0, 1])
    model = OnlinePipeline([("a", StandardScaler()), ("a", ScInOLClassifier())])
    with pytest.raises(ValueError, match="Names provided are not unique"):
        model.partial_fit(X, y, classes=[0, 1])
    model = make_online_pipeline(ScInOLClassifier(), verbose="loud")
    with pytest.raises(ValueError, match="The 'verbose' parameter of OnlinePipeline"):
        model.partial_fit(X, y, classes=[0, 1])


class Summing(TransformerMixin, BaseEstimator):
    """Changes what it has in place, and deep inside."""

    def fit(self, X, y=None):
        return self

    def partial_fit(self, X, y=None):
        seen = vars(self).setdefault("seen_", {"sums": [np.zeros(4)]})
        seen["sums"][0] += X.sum(axis=0)
        return self

    def transform(self, X):
        return X


def bad_chunks():
    X, y = data(20)
    infinite, c = X.copy(), weight()
    infinite[-1, 2] = np.inf
    yield X, y + 5, {}, "y contains previously unseen labels: "
    yield X, y[:-1], {}, "inconsistent numbers of samples"
    yield X, y, {"sample_weight": -np.ones(20)}, "Negative values in data"
    yield X, y, {"classes": [0, 1, 2]}, "is not the same as on last call"
    yield X[:, :3], y, {}, "X has 3 features, but StandardScaler is expecting 4"
    yield infinite, y, {}, "Input X contains infinity"
    yield X[:0], y[:0], {}, "Found array with 0 sample"
    yield X, None, {}, "requires y to be passed, but the target y is None"
    yield X, y, {"method": "predict_all"}, "method must be one of"
    yield X, y, {"weights": c}, "does not accept the weights parameter"
    yield X, y, {"nobody__sample_weight": c}, "for a step 'nobody' with partial_fit"
    yield X, y, {"functiontransformer__y": c}, "a step 'functiontransformer' with part"


@pytest.mark.cases(12)
@pytest.mark.parametrize(("X", "y", "keywords", "words"), [*bad_chunks()])
def test_bad_chunks_change_nothing(X, y, keywords, words, engine):
    steps = StandardScaler(), Summing(), FunctionTransformer(), ScInOLClassifier()
    model = make_online_pipeline(*steps).partial_fit(*data(), classes=[0, 1])
    before = copy.deepcopy(model)
    for method in METHODS[1:] if "method" in keywords else METHODS:
        with pytest.raises(ValueError, match=words):
            getattr(model, method)(X, y, **keywords)
        assert_same_steps(model, before)


def test_first_chunk_without_classes():
    X, y = data()
    model = make_online_pipeline(StandardScaler(), ScInOLClassifier())
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        model.partial_fit(X, y)
    assert not hasattr(model, "n_features_in_")
    model = make_online_pipeline(StandardScaler(), ScInOLRegressor())
    with pytest.raises(TypeError, match="unexpected keyword argument 'classes'"):
        model.partial_fit(X, y, classes=[0, 1])
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("method", METHODS)
def test_parameters_of_steps(method):
    (X, y), c = data(), weight()
    model = make_online_pipeline(StandardScaler(), ScInOLClassifier())
    getattr(model, method)(
        X, y, classes=[0, 1], sample_weight=c, standardscaler__sample_weight=1.0 + c
    )
    scaler = StandardScaler().partial_fit(X, sample_weight=1.0 + c)
    assert_array_equal(model[0].mean_, scaler.mean_)
    alone = ScInOLClassifier()
    alone.partial_fit(scaler.transform(X), y, classes=[0, 1], sample_weight=c)
    assert_array_equal(model[-1].coef_, alone.coef_)


def test_fit_with_weights():
    """Weights reach the last step, and the means of targets of a table."""
    (X, y), c = data(), weight()
    few = {"random_state": 0, "max_iter": 2, "tol": None}
    model = make_online_pipeline(StandardScaler(), ScInOLClassifier(**few))
    model.fit(X, y, sample_weight=c)
    alone = clone(model[-1]).fit(model[0].transform(X), y, sample_weight=c)
    assert_array_equal(model[-1].coef_, alone.coef_)
    encoder = TableEncoder(kinds={"x0": "category"}, sparse_output=False)
    X = np.round(X, 1)
    for last in ScInOLClassifier(**few), ScInOLRegressor(**few):
        model = make_online_pipeline(encoder, last)
        means = []
        for c in weight(), None:
            model = clone(model).fit(X, y, sample_weight=c)
            means.append(model[0].transform(X))
            classes = [0, 1] if hasattr(last, "predict_proba") else None
            other = clone(model).partial_fit(X, y, classes, c)
            assert_array_equal(means[-1], other[0].transform(X))
        assert (means[0] != means[1]).any()
        key = {"tableencoder__classes": classes, "sample_weight": weight()}
        assert_array_equal(clone(model).fit(X, y, **key)[0].transform(X), means[0])


def asking(step, **requests):
    return step.set_partial_fit_request(**requests)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("nests", [False, True])
@pytest.mark.parametrize("of_scaler", [True, False, "its_weight"])
def test_requested_weights(of_scaler, nests, method, routing):
    (X, y), c = data(), weight()
    steps = [
        asking(StandardScaler(), sample_weight=of_scaler),
        "passthrough",
        asking(ScInOLClassifier(), sample_weight=True),
    ]
    scaler, _, last = steps
    if nests:
        steps = make_online_pipeline(*steps[:2]), make_online_pipeline(last)
    model = make_online_pipeline(*steps)
    given = {"its_weight": c + 1.0} if of_scaler == "its_weight" else {}
    getattr(model, method)(X, y, classes=[0, 1], sample_weight=c, **given)
    of_scaler = {True: c, False: None, "its_weight": c + 1.0}[of_scaler]
    expected = StandardScaler().partial_fit(X, sample_weight=of_scaler)
    assert_array_equal(scaler.mean_, expected.mean_)
    alone = ScInOLClassifier()
    alone.partial_fit(scaler.transform(X), y, classes=[0, 1], sample_weight=c)
    assert_array_equal(last.coef_, alone.coef_)


def test_weights_that_nobody_has_requested(routing):
    (X, y), c = data(), weight()
    last = ScInOLClassifier(random_state=0).set_fit_request(sample_weight=True)
    model = make_online_pipeline(Normalizer(), last)
    for error, words, given in (
        (ValueError, "not explicitly set as requested", {"sample_weight": c}),
        (TypeError, r"got unexpected argument\(s\) {'colour'}", {"colour": c}),
    ):
        with pytest.raises(error, match=words):
            model.partial_fit(X, y, classes=[0, 1], **given)
        assert not hasattr(model, "n_features_in_")
    asking(last, sample_weight=False)
    with pytest.raises(TypeError, match=r"unexpected argument\(s\) {'sample_weight'}"):
        model.partial_fit(X, y, classes=[0, 1], sample_weight=c)
    model.partial_fit(X, y, classes=[0, 1])
    assert model.n_samples_seen_ == N_ROWS
    model.fit(X, y, sample_weight=c)
    alone = clone(last).fit(Normalizer().fit_transform(X), y, sample_weight=c)
    assert_array_equal(last.coef_, alone.coef_)


class Shifting(TransformerMixin, BaseEstimator):
    """Takes metadata when it transforms, and as `partial_fit` a target of its own."""

    def fit(self, X, y=None):
        return self

    def partial_fit(self, X, y=None, X_before=None):
        self.before_ = X_before
        return self

    def transform(self, X, shift=0.0):
        return X + shift

    def __sklearn_is_fitted__(self):
        return True


@pytest.mark.parametrize("kind", ["learns", "frozen"])
def test_metadata_of_transform(kind, routing):
    X, y = data()
    step = Shifting().set_transform_request(shift=True)
    if kind == "frozen":
        step = FrozenEstimator(step)
    model = make_online_pipeline(step, ScInOLClassifier())
    model.partial_fit(X, y, classes=[0, 1], shift=3.0)
    alone = ScInOLClassifier().partial_fit(X + 3.0, y, classes=[0, 1])
    assert_array_equal(model[-1].coef_, alone.coef_)
    assert_array_equal(model.predict(X, shift=3.0), alone.predict(X + 3.0))
    with pytest.raises(TypeError, match=r"got unexpected argument\(s\) {'shift'}"):
        model[:-1].partial_fit(X, shift=3.0)  # which does not transform by the last


@pytest.mark.parametrize("memory", [False, True])
def test_fit_shows_all_rows_first(memory, tmp_path):
    X, y = data()
    steps = StandardScaler(), ScInOLClassifier(random_state=0, max_iter=3, tol=None)
    model = make_online_pipeline(*steps, memory=str(tmp_path) if memory else None)
    theirs = clone(make_pipeline(*steps)).fit(X, y)
    model.fit(X, y)
    assert_array_equal(model[-1].coef_, theirs[-1].coef_)
    model.partial_fit(X + 1.0, y)
    assert model.n_samples_seen_ == 4 * N_ROWS
    assert model[0].n_samples_seen_ == 2 * N_ROWS
    assert theirs[0].n_samples_seen_ == N_ROWS


def test_attributes_of_the_last_step():
    model = make_online_pipeline(StandardScaler(), ScInOLClassifier())
    names = "n_samples_seen_", "cumulative_loss_", "loss_curve_", "classes_"
    for name in names:
        assert not hasattr(model, name)
    for X, y in stream(60):
        model.partial_fit(X, y, classes=[0, 1])
    for name in names:
        assert_array_equal(getattr(model, name), getattr(model[-1], name))
    assert model.n_samples_seen_ == N_ROWS
    assert len(model.loss_curve_) == 4
    assert model.n_features_in_ == 4
    sgd = make_online_pipeline(clone(SGD)).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(AttributeError, match="cumulative_loss_"):
        sgd.cumulative_loss_  # noqa: B018


@pytest.mark.parametrize("of_class", [ScInOLClassifier, ScInOLRegressor, None])
def test_tags(of_class):
    last = [of_class()] if of_class else []
    for first in StandardScaler(), StandardScaler(with_mean=False):
        ours, theirs = (
            get_tags(make(first, *last))
            for make in (make_online_pipeline, make_pipeline)
        )
        assert ours == theirs


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("step", [OnlineBinner(), TableEncoder(n_hashed=16)])
def test_frames_have_no_sparse_rows(step, library):
    """In scikit-learn's words, before a step has learned."""
    pytest.importorskip(library, reason=f"{library} is not installed")
    X, y = data()
    model = make_online_pipeline(StandardScaler(), clone(step), ScInOLClassifier())
    before = copy.deepcopy(model.set_output(transform=library))
    with pytest.raises(ValueError, match=r"set_output\(transform=.default"):
        model.partial_fit(X, y, classes=[0, 1])
    assert_same_steps(model, before)
    with pytest.raises(ValueError, match=r"set_output\(transform=.default"):
        model[1].fit_transform(X)


@pytest.mark.cases(150)
@with_checks(
    make_online_pipeline(StandardScaler(), ScInOLClassifier(random_state=0, tol=0.05)),
    # SGD's default `tol` ends before a class of weight 0 is no longer predicted.
    make_online_pipeline(StandardScaler(), clone(SGD).set_params(tol=None)),
    make_online_pipeline(StandardScaler(), IncrementalPCA()),
    expected_failed=dict.fromkeys(
        ["check_estimators_overwrite_params", "check_dont_overwrite_parameters"],
        "Pipelines learn in their steps, which are parameters.",
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)

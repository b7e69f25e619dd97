"""Learning in the space of a kernel, and what comes with that."""

import copy
import math
import pickle
from functools import partial
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.svm import SVC
from support.comparators import CombinedRows
from support.comparisons import assert_close, assert_identical, learned
from support.naive_kernels import KERNELS, KernelModel
from support.registry import CASES, REPRESENTATIVES, Case, thinned
from support.sums import linear

from sklearn_scinol import DFEGClassifier, DFEGRegressor
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from sklearn_scinol.models import kernel as kernel_model


def with_kernels(cases):
    return [case for case in cases if case.algorithm in ("dfeg", "kernel_gd")]


# Each estimator; one output and three, of which each has its own norm; averaged or not.
EACH_KIND = [
    Case(DFEGClassifier, "log_loss", "dfeg", 3, average=15),
    Case(DFEGClassifier, "hinge", "dfeg"),
    Case(DFEGRegressor, "absolute_error", "dfeg"),
    Case(BaselineClassifier, "log_loss", "kernel_gd", average=15),
    Case(BaselineRegressor, "absolute_error", "kernel_gd", 3),
]
representatives = thinned(EACH_KIND)

estimators = pytest.mark.parametrize("estimator", [DFEGClassifier, DFEGRegressor])


def multiquadric(a, b):
    """A kernel that scikit-learn does not have."""
    pairs = zip(a, b, strict=True)
    return 1.0 / math.sqrt(1.0 + sum((a_i - b_i) ** 2 for a_i, b_i in pairs))


def gram(X, Y=None):
    return pairwise_kernels(X, Y, metric="rbf", gamma=0.5)


def stream(case, n_samples=30, n_features=3, seed=0):
    """Rows about as long as 1, and targets that are a smooth function of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, n_features))
    waves = np.sin(linear(X, rng.normal(size=(n_features, case.n_outputs))) * 2.0)
    decision = waves + rng.normal(scale=0.2, size=waves.shape)
    return X, case.targets(decision)


def weights(n_samples):
    return np.random.default_rng(1).choice([0.0, 0.3, 1.0, 2.0], size=n_samples)


def make(case, **parameters):
    """The estimator of a case, with a kernel."""
    defaults = {"kernel": "rbf", "gamma": 0.5}
    if case.diverges:
        defaults["learning_rate"] = 0.05
    return case.make(**defaults | parameters)


def coefficients(estimator):
    """Together: gradients of an intercept can sum up to nothing but rounding errors."""
    return np.column_stack([estimator.dual_coef_, estimator.intercept_])


def assert_close_models(actual, expected, tolerance):
    assert_array_equal(actual.support_, expected.support_)
    assert_close(coefficients(actual), coefficients(expected), tolerance)
    assert_close(actual.cumulative_loss_, expected.cumulative_loss_, tolerance)
    assert actual.t_ == expected.t_
    if actual.kernel == "precomputed":
        return
    vectors = (
        sparse.csr_array(model.support_vectors_).toarray()
        for model in (actual, expected)
    )
    assert_array_equal(*vectors)
    coef = np.ones(expected.dual_coef_.shape)
    assert_close(actual.regret_bound(coef), expected.regret_bound(coef), tolerance)


# The plain reference.


class Kernel(NamedTuple):
    """A kernel as an estimator and as the reference take it."""

    name: str
    parameters: dict
    plain: object

    def __str__(self):
        return self.name

    def rows(self, X, of_stream):
        """Rows as the estimator takes them."""
        return gram(X, of_stream) if self.name == "precomputed" else X


REFERENCE_KERNELS = [
    Kernel(name, {"kernel": name, **parameters}, partial(KERNELS[name], **parameters))
    for name, parameters in {
        "rbf": {"gamma": 0.5},
        "poly": {"gamma": 0.3, "degree": 2, "coef0": 0.5},
        "laplacian": {"gamma": 0.4},
        "cosine": {},
    }.items()
]


REFERENCE_KERNELS += [
    Kernel("callable", {"kernel": multiquadric}, multiquadric),
    Kernel("precomputed", {"kernel": "precomputed"}, REFERENCE_KERNELS[0].plain),
]
RBF, PRECOMPUTED = REFERENCE_KERNELS[0], REFERENCE_KERNELS[-1]


def reference(case, kernel, **parameters):
    """The plain counterpart of ``make(case, **kernel.parameters, **parameters)``."""
    defaults = {"average": case.average}
    if case.diverges:
        defaults["beta"] = 0.05
    loss = case.reference_loss()
    parameters = defaults | parameters
    return KernelModel(case.algorithm, loss, kernel.plain, case.n_outputs, **parameters)


def assert_agrees(case, kernel, estimator, model, rows, tolerance, orders=(None,)):
    """Let a model learn what an estimator has learned, or both; compare them."""
    X, y, c = rows
    charged = None
    if not hasattr(estimator, "n_features_in_"):
        given = kernel.rows(X, X), y
        charged = case.charged(estimator, *given, sample_weight=c)
    targets, expected = case.reference_targets(y), []
    for order in orders:
        for r in map(int, range(len(y)) if order is None else order):
            expected.append(model.decision_function(X[r], c[r] or None))
            if c[r] > 0.0:
                model.learn(r, X[r], targets[r], c[r])
    if charged is not None:
        assert_close(charged, expected, tolerance)
    assert_array_equal(estimator.support_, model.support)
    expected = np.column_stack([model.dual_coef, model.intercept])
    assert_close(coefficients(estimator), expected, tolerance)
    assert_close(estimator.cumulative_loss_, model.cumulative_loss, tolerance)
    assert estimator.n_samples_seen_ == len(model.squares)
    # Of a precomputed kernel nobody knows the norms of new rows.
    square = 0.0 if kernel is PRECOMPUTED else None
    new = new_rows(case)
    expected = [model.decision_function(x, square=square) for x in new]
    decision = case.decision(estimator, kernel.rows(new, X))
    assert_close(decision, expected, tolerance)


def new_rows(case):
    """Some of them longer than those that were learned."""
    X, _ = stream(case, 8, seed=1)
    return X * np.array([[1.0], [3.0]] * 4)


@pytest.mark.parametrize("other", [False, True], ids=["defaults", "other-parameters"])
@pytest.mark.parametrize(
    ("case", "kernel"),
    [
        *product(with_kernels(CASES), [RBF]),
        *product(with_kernels(REPRESENTATIVES), REFERENCE_KERNELS[1:]),
    ],
    ids=str,
)
def test_learning(case, kernel, other, engine, monkeypatch):
    monkeypatch.setattr(kernel_model, "DIAGONAL_ROWS", 3)
    X, y = stream(case)
    parameters = {"fit_intercept": False} if other else {}
    if other and case.algorithm == "dfeg":
        parameters |= {"delta": 0.1, "a": 1.1}
    estimator = make(case, **kernel.parameters, **parameters)
    model = reference(case, kernel, **parameters)
    rows = X, y, weights(len(y)) if other else np.ones(len(y))
    assert_agrees(case, kernel, estimator, model, rows, 1e-10)
    vectors = kernel.rows(X[model.support], X[model.support])
    rng = np.random.default_rng(3)
    for size in 0.0, 1e-6, 1.0, 1e3:
        coef = size * rng.normal(size=(case.n_outputs, len(model.support)))
        comparator = coef, size * rng.normal(size=case.n_outputs) * (not other)
        bound = estimator.regret_bound(*comparator, vectors=vectors)
        assert_close(bound, model.regret_bound(*comparator), 1e-10)


@pytest.mark.parametrize(
    ("kernel", "max_support"), [(RBF, None), (PRECOMPUTED, None), (RBF, 5)], ids=str
)
@representatives
@pytest.mark.parametrize("shuffle", [False, True])
def test_epochs(case, kernel, max_support, shuffle, engine, monkeypatch):
    """A row that comes again has its coefficient changed; it is not stored twice."""
    monkeypatch.setattr(kernel_model, "BLOCK_ROWS", 7)
    X, y = stream(case, 15)
    c = weights(len(y))
    parameters = {**kernel.parameters, "max_support": max_support, "shuffle": shuffle}
    estimator = make(case, **parameters, max_iter=3, tol=None, random_state=0)
    estimator.fit(kernel.rows(X, X), y, sample_weight=c)
    model = reference(case, kernel, max_support=max_support or math.inf)
    permutation = np.random.RandomState(0).permutation
    orders = [permutation(len(y)) if shuffle else None for _ in range(3)]
    tolerance = 1e-8 if max_support else 1e-10
    assert_agrees(case, kernel, estimator, model, (X, y, c), tolerance, orders)
    assert len(set(estimator.support_)) == len(estimator.support_) <= len(y)


LINEAR = {"kernel": "poly", "degree": 1, "gamma": 1.0, "coef0": 0.0}


# A budget.


@representatives
@pytest.mark.parametrize("max_support", [1, 5])
@pytest.mark.parametrize("duplicates", [False, True])
def test_projection(case, max_support, duplicates, engine):
    """Every later row is replaced by its nearest point in the span of the first."""
    X, y = stream(case)
    if duplicates:  # of which the matrix of kernels is singular
        X[:12] = np.repeat(X[:4], 3, axis=0)
    estimator = make(case, max_support=max_support)
    model = reference(case, RBF, max_support=max_support)
    assert_agrees(case, RBF, estimator, model, (X, y, weights(len(y))), 1e-8)


@pytest.mark.cases(3)
@representatives
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
def test_budget(case, container, engine):
    """Until it is reached nothing is different, and nothing grows from then on."""
    X, y = stream(case, 400)
    budgeted, unlimited = make(case, max_support=50), make(case)
    for model in budgeted, unlimited:
        case.partial_fit(model, container(X[:40]), y[:40])
    assert pickle.dumps(budgeted._model.coef) == pickle.dumps(unlimited._model.coef)
    case.partial_fit(budgeted, container(X), y)
    assert budgeted.support_vectors_.shape == (50, 3)
    assert budgeted.dual_coef_.shape == (case.n_outputs, 50)
    size = len(pickle.dumps(budgeted))
    assert size < 2 * 8 * 50**2  # a matrix of 50 by 50, and less than as much again
    case.partial_fit(budgeted, container(X), y)
    assert len(pickle.dumps(budgeted)) == pytest.approx(size, abs=100)


# The regret bound.


@pytest.mark.cases(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [c for c in with_kernels(REPRESENTATIVES) if not c.average], ids=str
)
@settings(max_examples=6, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_bound_holds(case, data):
    """Against what rows can be combined to, or in a budget what the stored ones can."""
    n = data.draw(st.integers(1, 25))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, 2)) * 10.0 ** data.draw(st.integers(-3, 3))
    c = rng.choice(data.draw(st.sampled_from([[1.0], [0.0, 0.1, 1.0, 10.0]])), size=n)
    c[0] = 1.0
    max_support = data.draw(st.sampled_from([None, 1, 3, 6]))
    estimator = make(
        case,
        kernel=data.draw(st.sampled_from(["rbf", "poly", "laplacian"])),
        fit_intercept=data.draw(st.booleans()),
        max_support=max_support,
        degree=2,
    )
    size = 10.0 ** data.draw(st.integers(-1, 2))
    against = data.draw(st.booleans())
    decisions = []
    for r in range(n):
        decision = size * rng.standard_cauchy((1, case.n_outputs))
        if r == 0:
            decision = np.ones((1, case.n_outputs))
        elif against:  # the prediction that comes
            said = case.decision(estimator, X[r : r + 1])
            decision = size * np.where(said > 0, -1.0, 1.0) - said
        decisions.append(decision)
        y = case.targets(decision)
        case.partial_fit(estimator, X[r : r + 1], y, sample_weight=c[r : r + 1])
    y = case.targets(np.concatenate(decisions))
    in_span = max_support is not None and estimator.support_.size == max_support
    CombinedRows(case, estimator, X, y, c, in_span).check_hardest()


@representatives
def test_regret_bound_of_the_model(case, engine):
    """By default coefficients are those of the support vectors."""
    X, y = stream(case)
    estimator = case.partial_fit(make(case), X, y)
    coef, intercept = estimator.dual_coef_, estimator.intercept_
    expected = estimator.regret_bound(coef, intercept, vectors=X[estimator.support_])
    assert estimator.regret_bound(coef, intercept) == expected
    if case.n_outputs == 1:
        assert estimator.regret_bound(coef[0], intercept[0]) == expected
    nothing = case.partial_fit(make(case), X, y, sample_weight=np.zeros(len(y)))
    assert nothing.regret_bound(np.zeros((case.n_outputs, 1)), vectors=X[:1]) == 0.0
    assert nothing.regret_bound(nothing.dual_coef_, nothing.intercept_) == 0.0


def test_regret_bound_of_bad_comparators(engine):
    X, y = load_iris(return_X_y=True)
    linear, made = (
        DFEGClassifier(kernel=kernel, fit_intercept=False).partial_fit(
            X[::5], y[::5], classes=[0, 1, 2]
        )
        for kernel in ("linear", "rbf")
    )
    n, ones = made.support_.size, np.ones
    nan = np.full((3, n), np.nan)
    for arguments, vectors, words in [
        ([ones((3, 2))], None, rf"coef.shape == .*, expected \(3, {n}"),
        ([ones((3, n)), ones(2)], None, "intercept.shape"),
        ([ones((3, n)), 1.0], None, "intercept must be 0"),
        ([ones((3, 2))], ones((2, 3)), r"vectors\.shape == .* expected \(2, 4"),
        ([ones((3, 2))], nan[:2, :4], "Input contains NaN"),
        ([nan], None, "Input coef contains NaN"),
    ]:
        with pytest.raises(ValueError, match=words):
            made.regret_bound(*arguments, vectors=vectors)
    with pytest.raises(ValueError, match="vectors must be None"):
        linear.regret_bound(ones((3, 4)), vectors=X)


def test_regret_bound_of_a_precomputed_kernel(engine):
    X, y = load_iris(return_X_y=True)
    K = gram(X)
    made = DFEGClassifier(kernel="precomputed").partial_fit(K, y, classes=[0, 1, 2])
    rbf = DFEGClassifier(kernel="rbf", gamma=0.5).partial_fit(X, y, classes=[0, 1, 2])
    coef = np.random.default_rng(0).normal(size=(3, 5))
    assert made.regret_bound(coef, 1.0, vectors=K[:5, :5]) == pytest.approx(
        rbf.regret_bound(coef, 1.0, vectors=X[:5]), rel=1e-12
    )
    for vectors in None, np.ones((3, 5)), np.ones((3, 1)):
        with pytest.raises(ValueError, match="vectors"):
            made.regret_bound(coef[:, :3], vectors=vectors)


# Kernels.


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.7])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize("unit", [1.0, 0.0])
def test_gamma(gamma, container, unit, engine):
    X, y = load_iris(return_X_y=True)
    X = container(unit * X)
    made = DFEGClassifier(kernel="rbf", gamma=gamma)
    made.partial_fit(X, y, classes=[0, 1, 2])
    expected = SVC(gamma=gamma).fit(X, y)._gamma
    assert made.gamma_ == pytest.approx(expected, rel=1e-12)

    # The first rows decide.
    made.partial_fit(100.0 * X, y)
    assert made.gamma_ == pytest.approx(expected, rel=1e-12)
    explicit = DFEGClassifier(kernel="rbf", gamma=made.gamma_)
    explicit.partial_fit(X, y, classes=[0, 1, 2]).partial_fit(100.0 * X, y)
    assert_array_equal(made.dual_coef_, explicit.dual_coef_)


@pytest.mark.parametrize("kernel", sorted({*PAIRWISE_KERNEL_FUNCTIONS} - {"linear"}))
@estimators
def test_every_kernel(estimator, kernel, engine):
    """As scikit-learn computes it, with those of the parameters that it takes."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::3], y[::3]
    parameters = {"gamma": 0.2, "degree": 2.5, "coef0": 0.5}
    K = pairwise_kernels(X, metric=kernel, filter_params=True, **parameters)
    models = [
        (estimator(kernel="precomputed"), K),
        (estimator(kernel=kernel, **parameters), X),
    ]
    if "chi2" not in kernel:  # of which scikit-learn has none of sparse rows
        for index_dtype in np.int32, np.int64:
            rows = sparse.csr_array(X)
            rows.indices = rows.indices.astype(index_dtype)
            rows.indptr = rows.indptr.astype(index_dtype)
            models.append((estimator(kernel=kernel, **parameters), rows))
    precomputed = models[0][0]
    for model, rows in models:
        model.set_params(max_iter=2, tol=None, random_state=0).fit(rows, y)
        assert np.isfinite(model.predict(rows)).all()
        assert_close(model.dual_coef_, precomputed.dual_coef_, 1e-9)
        assert_close(model.cumulative_loss_, precomputed.cumulative_loss_, 1e-9)


def test_parameters_of_a_callable(engine):
    def bell(a, b, *, width):
        return np.exp(-(((a - b) / width) ** 2).sum())

    X, y = load_diabetes(return_X_y=True)
    X, y = 20.0 * X[:50], y[:50]
    made = DFEGRegressor(kernel=bell, kernel_params={"width": 2.0}).partial_fit(X, y)
    rbf = DFEGRegressor(kernel="rbf", gamma=0.25).partial_fit(X, y)
    assert_close_models(made, rbf, 1e-12)


# Containers.


@representatives
@pytest.mark.parametrize("max_support", [None, 12])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_dense_and_sparse(case, max_support, kernel, engine):
    """Rows are stored as the first were, and others may follow."""
    X, y = stream(case)
    X[np.random.default_rng(2).random(X.shape) < 0.4] = 0.0
    expected = make(case, kernel=kernel, max_support=max_support)
    charged = case.charged(expected, X, y)
    half = len(y) // 2
    for first, second in (
        (sparse.csr_array, sparse.csr_array),
        (sparse.csr_matrix, np.array),
        (np.array, sparse.csr_array),
    ):
        made = clone(expected)
        of_first = case.charged(made, first(X[:half]), y[:half])
        of_second = case.charged(made, second(X[half:]), y[half:])
        assert_close(np.concatenate([of_first, of_second]), charged, 1e-12)
        assert sparse.issparse(made.support_vectors_) == (first is not np.array)
        assert_close_models(made, expected, 1e-12)
        for container in np.array, sparse.csr_array:
            decision = case.decision(made, container(X))
            assert_close(decision, case.decision(expected, X), 1e-12)


# Copies, and what happens when learning fails.


FAILURES = [RuntimeError("no kernel"), KeyboardInterrupt(), math.nan, math.inf]


@pytest.mark.cases(3)
@thinned(
    EACH_KIND, failure=FAILURES, max_support=[None, 12], method=["partial_fit", "fit"]
)
def test_failing_kernels(case, failure, max_support, method, engine, monkeypatch):
    """The model is as it was, however many blocks it had learned by then."""
    monkeypatch.setattr(kernel_model, "BLOCK_ROWS", 5)
    X, y = stream(case, 40)
    calls_left = [math.inf]

    def kernel(a, b):
        calls_left[0] -= 1
        if calls_left[0] >= 0:
            return np.exp(-0.5 * ((a - b) ** 2).sum())
        if isinstance(failure, float):
            return failure
        raise failure

    def learn(model, X, y):
        if method == "fit" and hasattr(model, "support_"):
            return model.set_params(warm_start=True).fit(X, y)
        return case.partial_fit(model, X, y)

    made = make(case, kernel=kernel, max_support=max_support, max_iter=1, tol=None)
    fresh = clone(made)
    case.partial_fit(made, X[:10], y[:10])
    before, twin = copy.deepcopy(learned(made)), copy.deepcopy(made)
    error = ValueError if isinstance(failure, float) else type(failure)
    for model, calls in (made, 0), (made, 150), (fresh, 100):
        calls_left[0] = calls
        with pytest.raises(error):
            learn(model, X[10:], y[10:])
        calls_left[0] = math.inf
        assert_identical(learned(made), before)
    for model in made, twin:
        case.partial_fit(model, X[10:], y[10:])
    assert_identical(learned(made), learned(twin))
    assert vars(fresh) == fresh.get_params()


# Precomputed kernels.


@representatives
def test_precomputed_rows_are_predicted_as_charged(case, engine):
    """The next row has its norm in its own column, in each pass; new rows have none."""
    X, y = stream(case)
    K = gram(X)
    made = make(case, kernel="precomputed", average=False)
    for row in [*range(len(y)), 0, 1]:
        rows, before = slice(row, row + 1), copy.deepcopy(made)
        expected = case.charged(before, K[rows], y[rows])
        if made.__sklearn_is_fitted__():
            assert_close(case.decision(made, K[rows]), expected, 1e-12)
        case.partial_fit(made, K[rows], y[rows])
    fitted = clone(made).set_params(max_iter=2, tol=None).fit(K, y)
    expected = case.charged(copy.deepcopy(fitted), K[:1], y[:1])
    assert_close(case.decision(fitted, K[:1]), expected, 1e-12)
    fitted._check_state()


@representatives
def test_too_many_precomputed_rows(case, engine):
    X, y = stream(case)
    K = gram(X)
    words = "need a column for each row of the stream. Input has "
    made = make(case, kernel="precomputed")
    with pytest.raises(ValueError, match="Sparse precomputed kernels"):
        case.partial_fit(made, sparse.csr_array(K), y)
    with pytest.raises(ValueError, match=f"{words}20 columns for 30 rows"):
        case.partial_fit(made, K[:, :20], y)
    assert vars(made) == made.get_params()
    case.partial_fit(made, K[:20], y[:20])
    before = made.dual_coef_
    for rows, message in (K[:11], f"{words}30 .* 31 rows"), (K[:10, :20], "features"):
        with pytest.raises(ValueError, match=message):
            case.partial_fit(made, rows, y[: len(rows)])
    assert_array_equal(made.dual_coef_, before)
    expected = make(case, kernel="precomputed")
    case.partial_fit(made, K[20:], y[20:])
    assert_close_models(made, case.partial_fit(expected, K, y), 1e-10)


# What cannot be used.

REFUSED = [
    *(
        (estimator(kernel=kernel, center=True), "center must be False with a kernel")
        for estimator in (DFEGClassifier, DFEGRegressor)
        for kernel in ("rbf", "precomputed")
    ),
    (DFEGRegressor(kernel="precomputed", max_support=5), "max_support must be None"),
    (BaselineClassifier("ogd", kernel="rbf"), "kernel must be 'linear' with algorithm"),
    (BaselineRegressor("kernel_gd", radius=1.0), "radius must be None"),
    (DFEGClassifier(kernel="rbf", scale=True), "scale must be False with a kernel"),
    (
        BaselineRegressor("kernel_gd", kernel="rbf", standardize_target=True),
        "standardize_target must be False with a kernel",
    ),
    (DFEGClassifier(kernel="rbf", clip_ratio=2.0), "clip_ratio must be None with a"),
    (DFEGRegressor(kernel="chi2"), "X contains negative values"),
]


@pytest.mark.cases(60)
@pytest.mark.parametrize(("estimator", "words"), REFUSED)
def test_refused(estimator, words, engine):
    with pytest.raises(ValueError, match=words):
        estimator.fit(-np.eye(4), [0, 1, 0, 1])
    assert vars(estimator) == estimator.get_params()


@representatives
def test_attributes(case, engine):
    X, y = stream(case)
    fresh, linear, rbf = make(case), case.make(), make(case)
    precomputed = make(case, kernel="precomputed")
    for model in linear, rbf, precomputed:
        tags = model.__sklearn_tags__().input_tags
        assert tags.pairwise == (model is precomputed) != tags.sparse
        case.partial_fit(model, X if model is not precomputed else gram(X), y)
    for name in "support_", "support_vectors_", "dual_coef_", "gamma_":
        assert hasattr(rbf, name)
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(fresh, name)
        with pytest.raises(AttributeError, match="not available with kernel='linear'"):
            getattr(linear, name)
    with pytest.raises(AttributeError, match="only available when using a linear"):
        _ = rbf.coef_
    assert precomputed.support_vectors_.size == 0
    assert not hasattr(precomputed, "gamma_")


# Extremes.


TINY_PRODUCTS = {"kernel": "poly", "gamma": 1e-110, "coef0": 1.0}

#: Factors of the rows, and kernels.
EXTREMES = {
    "large rows": (1e95, LINEAR),
    "small rows": (1e-100, LINEAR),
    "large rows, tiny products": (1e95, TINY_PRODUCTS),
    "tiny products": (1.0, TINY_PRODUCTS),
    "ones": (1.0, {"kernel": lambda a, b: 1.0}),
    "zeros": (1.0, {"kernel": lambda a, b: 0.0}),
    "not positive": (1.0, {"kernel": "sigmoid", "gamma": 2.0, "coef0": -1.0}),
}


@pytest.mark.cases(30)
@thinned(EACH_KIND, extreme=list(EXTREMES), fit_intercept=[False, True])
def test_extreme_rows_and_kernels(case, extreme, fit_intercept, engine):
    (X, y), (size, parameters) = stream(case), EXTREMES[extreme]
    y = y if case.classifies else size * y
    for max_support in None, 1, 4, 12:
        parameters = {**parameters, "max_support": max_support}
        model = make(case, fit_intercept=fit_intercept, **parameters)
        assert_finite(case, model, size * X, y)


def assert_finite(case, estimator, X, y):
    assert np.isfinite(case.charged(estimator, X, y)).all()
    assert np.isfinite(case.decision(estimator, X)).all()
    assert np.isfinite(coefficients(estimator)).all()
    assert np.isfinite(estimator.cumulative_loss_)
    coef = np.ones((case.n_outputs, len(X)))
    assert not np.isnan(estimator.regret_bound(coef, vectors=X))


@representatives
@pytest.mark.parametrize("max_support", [None, 12])
def test_kernels_beyond_the_range_of_numbers(case, max_support, engine):
    X, y = stream(case)
    made = make(case, kernel="poly", degree=5, max_support=max_support)
    case.partial_fit(made, X[:15], y[:15])
    before = copy.deepcopy(learned(made))
    with pytest.raises(ValueError, match="Floating-point under-/overflow occurred"):
        case.partial_fit(made, 1e95 * X[15:], y[15:])
    assert_identical(learned(made), before)

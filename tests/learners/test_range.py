"""Values over the whole range of numbers: what they may be, and what they change."""

import copy
from functools import partial
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from support.comparisons import assert_close, assert_identical
from support.invariances import SCALE_INVARIANT
from support.registry import CASES, LAYOUTS, thinned

from sklearn_scinol import (
    AdaFTRLRegressor,
    AdaImplicitRegressor,
    DFEGRegressor,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import BaselineRegressor


def tame(case, seed=0):
    """Rows whose values are in units, times powers of two, near 1."""
    X, y = case.data(seed=seed)
    return X / 10.0 ** np.arange(-3, 3), y


@thinned([*SCALE_INVARIANT], layout=LAYOUTS, first=[1e-12, 1e12])
@pytest.mark.parametrize("scale", [2.0**-540, 1.0, 2.0**850])
def test_a_first_value_far_from_the_rest(case, layout, first, scale, engine):
    X, y = tame(case)
    X[0] *= first
    plain, other = (case.make(center=layout.center) for _ in range(2))
    charged = case.charged(plain, layout.container(X), y)
    assert_identical(case.charged(other, layout.container(X * scale), y), charged)
    other._check_state()


@pytest.mark.cases(20)
@thinned([*SCALE_INVARIANT], layout=LAYOUTS)
def test_features_that_outgrow_their_unit(case, layout, engine):
    """What was learned while values were next to nothing is as good as nothing."""
    X, y = tame(case)
    X[:5] = 0.0  # so that nothing else is learned meanwhile
    X[:5, 2] = 1e-300 * (1.0 + np.arange(5))
    make = partial(case.make, center=layout.center, fit_intercept=False)
    model, alone = make(), make()
    for rows in np.split(np.arange(40), [3, 20]):
        case.partial_fit(model, layout.container(X[rows]), y[rows])
        model._check_state()
    X[:5, 2] = 0.0
    case.partial_fit(alone, layout.container(X), y)
    decision = case.decision(model, layout.container(X))
    assert np.isfinite(decision).all()
    if hasattr(model, "regret_bound"):
        assert model.regret_bound(np.zeros(model.coef_.shape)) == np.inf
    if case.algorithm in ("nag", "freegrad"):
        return  # which also count how often a feature came up
    assert_close(decision, case.decision(alone, layout.container(X)), 1e-9)


# Learners that depend on units: the range is limited, and what is beyond it refused.

LIMITED = [
    AdaImplicitRegressor(center=False),
    AdaFTRLRegressor(center=False),
    DFEGRegressor(),
    DFEGRegressor(kernel="rbf", gamma=1.0),
    BaselineRegressor("sgd", center=False),
    BaselineRegressor("adagrad", center=True),
]
limited = pytest.mark.parametrize("estimator", LIMITED, ids=str)
containers = pytest.mark.parametrize("container", [np.array, sparse.csr_array])


def assert_refused(estimator, X, y, words, **keywords):
    unchanged = copy.deepcopy(estimator)
    with pytest.raises(ValueError, match=words):
        estimator.partial_fit(X, y, **keywords)
    assert_identical(vars(estimator), vars(unchanged))


@limited
@containers
@pytest.mark.parametrize("n_rows", [1, 12])
@pytest.mark.parametrize("value", [1.01e100, -1e155, 1e300, -1.7e308])
def test_values_out_of_range(estimator, container, n_rows, value, engine):
    """In the last row as in the first, in any chunk and layout."""
    if container is not np.array and getattr(estimator, "center", None) is True:
        pytest.skip("sparse rows are not centred")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, 3)), rng.normal(size=n_rows)
    X[-1, 1] = value
    made = copy.deepcopy(estimator)
    for _ in "fresh", "fitted":
        assert_refused(made, container(X), y, "Input X contains a value that is too")
        made.partial_fit(container(rng.normal(size=(5, 3))), rng.normal(size=5))


@limited
def test_values_times_weights_out_of_range(estimator, engine):
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.ones(12)
    X[5, 0], c = 1e60, np.ones(12)
    c[5] = 1e41
    words = "times the weight of its row, relative to the first or to their mean, it"
    assert_refused(copy.deepcopy(estimator), X, y, words, sample_weight=c)


@limited
@pytest.mark.parametrize("target", [1.01e100, -1e300])
def test_targets_out_of_range(estimator, target, engine):
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.ones(12)
    y[-1] = target
    assert_refused(copy.deepcopy(estimator), X, y, "Input y contains a value that is")


@pytest.mark.parametrize("algorithm", ["adaimplicit", "constant", "iomd"])
@pytest.mark.parametrize("radius", [None, 1.0])
@pytest.mark.parametrize(
    ("parameters", "X", "y"),
    [
        # Centred at 5e99 and in units of 3e99: a norm of 1e199, which has no square.
        ({}, [1e100, -1.0, 0.1, -0.1], [-4e99, 3e99, 1.0, 2.0]),
        # Squares of 1e-320 have few digits.
        ({}, [1.0, -1.0, 0.1, -0.1], [-4e-160, 3e-160, 1e-160, 2e-160]),
        ({"fit_intercept": False, "center": False}, [1e-162, 3e-160], [55.0, -2.0]),
    ],
)
def test_rows_and_targets_of_extraordinary_size(
    algorithm, radius, parameters, X, y, engine
):
    model = AdaImplicitRegressor(algorithm=algorithm, radius=radius, **parameters)
    X = np.array(X)[:, np.newaxis]
    for rows in slice(1), slice(1, 2), slice(2, 4):
        if len(X[rows]):
            model.partial_fit(X[rows], y[rows])
            model._check_state()
    assert np.isfinite(model.predict(X)).all()


EXTREME = "adaimplicit", "constant", "iomd", "dfeg", "koolen", "orabona_pal"


@pytest.mark.cases(30)
@thinned(
    [case for case in CASES if case.algorithm in EXTREME and not case.average],
    beta=[2.0**-20, 2.0**20],
)
def test_values_of_all_sizes_stay_finite(case, beta, engine):
    """All values or targets of one size, or of many in turn."""
    rng = np.random.default_rng(0)
    X, y = case.data()
    # Losses that are squares, of quotients of those in turn, are to be in range.
    large = 30 if case.loss.startswith("squared") else 95
    sizes = [1e-150, 1.0, 1e95]
    runs = [*product(sizes, sizes, [False, True])]
    for _ in range(12):
        runs.append((*10.0 ** rng.choice([-large, 0, large], (2, len(y))), False))
    scale = {"beta": beta} if case.traits.implicit else {}
    for unit, target, fit_intercept in runs:
        model = case.make(fit_intercept=fit_intercept, **scale)
        new = (rng.standard_normal(X.shape).T * unit).T
        if not case.classifies:
            y = (rng.standard_normal(y.shape).T * target).T
        charged = case.charged(model, new, y)
        names = "coef_", "intercept_", "lambda_", "delta_sum_"
        learned = [getattr(model, name, 0.0) for name in names]
        for numbers in charged, *learned, case.decision(model, new):
            assert np.isfinite(numbers).all()
        assert not np.isnan(model.cumulative_loss_)
        assert not np.isnan(model.regret_bound(np.zeros(model.coef_.shape)))


def test_bends_of_the_huber_loss():
    """Rows are multiplied by the largest slope, unless targets are standardised."""
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.ones(12)
    model = ScInOLRegressor(loss="huber", epsilon=1.1e20, standardize_target=False)
    assert_refused(model, X, y, "must be <= 1e\\+20 unless the target is standardised")
    model.set_params(standardize_target=True).partial_fit(X, y)._check_state()
    tube = ScInOLRegressor(loss="epsilon_insensitive", epsilon=1e100)
    for standardize in False, True:
        made = clone(tube).set_params(standardize_target=standardize)
        made.partial_fit(X, y)._check_state()


@pytest.mark.parametrize("initial_wealth", [1e-300, 1e-10, 1e30, 1e100])
@pytest.mark.parametrize("algorithm", ["scinol1", "scinol2"])
def test_bound_with_any_wealth(algorithm, initial_wealth):
    """Also for the model that is 0 everywhere."""
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.ones(20)
    model = ScInOLRegressor(
        algorithm=algorithm, initial_wealth=initial_wealth, center=False
    ).partial_fit(X, y)
    for coef in np.zeros(3), np.ones(3):
        assert 0.0 <= model.cumulative_loss_ <= 20.0 + model.regret_bound(coef) < np.inf


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_scinol_takes_all_finite_values(n_outputs, engine):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * 2.0 ** rng.integers(-1000, 1001, size=(200, 5))
    Y = rng.normal(size=(200, n_outputs))
    model = ScInOLRegressor()
    for rows in np.split(np.arange(200), [1, 2, 50]):
        model.partial_fit(X[rows], Y[rows])
        model._check_state()
    assert np.isfinite(model.predict(X)).all()


# Norms that are all but lost.


@pytest.mark.cases(3)
@pytest.mark.parametrize("exponent", [4, 7, 8, 9, 12])
def test_long_rows_that_cancel(exponent, engine):
    """What rounding leaves of the norm does not make weights too large."""
    rng = np.random.default_rng(exponent)
    X = rng.standard_normal((200, 5))
    X[::2] *= 10.0**exponent
    X[1::2] = -X[::2] * (1 + 1e-16)  # brings theta back to next to nothing
    X = np.vstack([X, rng.standard_normal((200, 5))])
    y = np.concatenate([np.full(200, 1e3), np.full(200, 1.0)])
    model = DFEGRegressor(fit_intercept=False)
    for r in range(len(y)):
        model.partial_fit(X[r : r + 1], y[r : r + 1])
        h, theta = model._model.shared_state(), model._model.state().theta
        exact = np.linalg.norm(theta)
        assert_allclose(h.norm, exact, rtol=1e-6, atol=h.error[0])
        largest = np.exp(max(exact, h.error[0]) / (model.a * np.sqrt(h.H[0])))
        assert np.linalg.norm(model.coef_) <= largest / h.H[0] ** 1.5 * (1 + 1e-6)


@pytest.mark.parametrize("tuning", ["koolen", "orabona_pal"])
@pytest.mark.parametrize("power", [-150, -1, 10, 150])
def test_scale_of_losses_does_not_matter(tuning, power, engine):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), rng.standard_normal(60)
    expected = AdaFTRLRegressor(tuning=tuning, center=False).partial_fit(X, y)
    model = AdaFTRLRegressor(tuning=tuning, center=False)
    model.partial_fit(X, y, sample_weight=np.full(60, 2.0**power))
    assert_array_equal(model.coef_, expected.coef_)
    assert_array_equal(model.intercept_, expected.intercept_)
    assert_array_equal(model.delta_sum_, 2.0**power * expected.delta_sum_)


# Averages of weights on a ball.


@pytest.mark.thorough
def test_sparse_rows_in_a_ball_fold_their_scale(engine):
    """Many projections make the common factor of the weights small."""
    rng = np.random.default_rng(0)
    X = sparse.random(800, 50, 0.1, format="csr", random_state=0) * 10.0
    y = rng.standard_normal(800)
    parameters = {"algorithm": "iomd", "beta": 1e3, "radius": 0.01, "average": 10}
    parameters["center"] = False
    from_sparse = AdaImplicitRegressor(**parameters).partial_fit(X, y)
    from_dense = AdaImplicitRegressor(**parameters).partial_fit(X.toarray(), y)
    assert_allclose(from_sparse.coef_, from_dense.coef_, rtol=1e-9, atol=1e-15)
    plain = AdaImplicitRegressor(**{**parameters, "average": False})
    models = []
    for r in range(800):
        models.append(plain.partial_fit(X[r : r + 1], y[r : r + 1]).coef_)
    mean = np.mean(models[9:], axis=0)
    assert_allclose(from_sparse.coef_, mean, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("exponent", [-6, -14, -25])
def test_averages_of_a_ball_after_rows_of_another_size(exponent, engine):
    """Steps that shrink the old weights to next to nothing: none of them is lost."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), 10.0 * rng.normal(size=40)
    X[rng.random(X.shape) < 0.5] = 0.0
    X[:20] *= 10.0**exponent
    y[:20] *= 10.0**exponent
    parameters = {"radius": 0.5, "center": False, "fit_intercept": False}
    averaged = AdaImplicitRegressor(average=True, **parameters)
    plain = AdaImplicitRegressor(**parameters)
    total = np.zeros(3)
    for r in range(40):
        row = X[r : r + 1], y[r : r + 1]
        total += plain.partial_fit(*row).coef_
        averaged.partial_fit(*row)
        largest = np.abs(total).max() / (r + 1)
        assert_allclose(
            averaged.coef_, total / (r + 1), rtol=1e-11, atol=1e-11 * largest
        )

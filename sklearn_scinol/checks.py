"""Checks that learners, losses and steps of pipelines keep what they declare."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import _num_samples

from ._docstrings import described_as
from ._hyperparameters import is_value, with_plain_numbers
from ._invariants import check
from .baselines import BaselineClassifier, BaselineRegressor
from .config import config_context
from .estimators.waiting import take_rows
from .evaluation.comparator import row_losses
from .learners import OGD
from .learners.interface import check_is_learner, traits
from .losses.interface import check_is_loss
from .losses.methods import MAX_STEP
from .merging import merge_models
from .views import dense_view_of

__all__ = ["check_learner", "check_loss", "check_step"]

N_FEATURES = 5

#: Minimum number of rows to check a step with.
MIN_ROWS_OF_STEP = 20


class Case(NamedTuple):
    """A case: an estimator with a learner and a loss, and a kind of rows."""

    learner: Any
    loss: Any  # a name or an instance
    n_classes: int  # 0 in regression
    container: Any

    @property
    def traits(self):
        return traits(type(self.learner))

    @property
    def keywords(self):
        return {"classes": np.arange(self.n_classes)} if self.n_classes else {}

    def make(self, **parameters):
        """Create the estimator, without a transform of rows or targets."""
        given = {"algorithm": self.learner, "loss": self.loss, "center": False}
        if self.n_classes:
            return BaselineClassifier(**given | parameters)
        return BaselineRegressor(**given | parameters)

    def learn(self, estimator, X, y, c=None):
        """Learn rows; return the predictions before each."""
        keywords = self.keywords | {"sample_weight": c}
        if self.n_classes:
            keywords["method"] = "decision_function"
        return estimator.partial_fit_predict(self.container(X), y, **keywords)

    def decide(self, estimator, X):
        """Predict rows."""
        X = self.container(X)
        return (
            estimator.decision_function(X) if self.n_classes else estimator.predict(X)
        )

    def targets(self, y):
        """Convert targets to the form that models take."""
        return y if self.n_classes else y[:, np.newaxis]

    def data(self, n=40, seed=0):
        """Rows with zeros and heavy tails, in units far apart.

        The units are alike for learners that see rows as vectors: a matrix of rows in
        units far apart is nearly singular.
        """
        rng = np.random.default_rng(seed)
        X = rng.standard_t(2, size=(n, N_FEATURES))
        scores = X @ rng.normal(size=(N_FEATURES, max(self.n_classes - 1, 1)))
        scores += rng.normal(size=scores.shape)
        X[rng.random(X.shape) < 0.4] = 0.0
        if not self.traits.by_vector:
            X *= 10.0 ** np.linspace(-2, 2, N_FEATURES)
        if not self.n_classes:
            return X, scores[:, 0]
        return X, np.column_stack([np.zeros(n), scores]).argmax(axis=1)


def check_learner(learner: Any, *, engines: Sequence[str] | None = None) -> None:
    """Check that a learner keeps what it declares, and what holds for all learners.

    It learns 40 rows at a time: two classes, three classes and numbers, dense and
    sparse.

    - A row is predicted as it is charged for, before it is learned.
    - Rows in any chunks lead to the same state, bit by bit.
    - Rows of weight 0 leave the state alone.
    - Dense and sparse rows, and all engines, agree to 1e-12.
    - A model that was pickled goes on where it was.
    - `invariants` hold, also of merged models, and states are finite; with
      `stays_finite` also after rows with values of up to 1e100.
    - With `scale_invariant`, powers of two do not change a bit of predictions.
    - The regret is at most `regret_bound`.

    Parameters
    ----------
    learner : Learner
        An instance.
    engines : list of {"numpy", "numba"}, default=None
        Engines to learn with. None stands for all installed engines; compiling takes
        some 20 seconds.

    Raises
    ------
    AssertionError
        If a statement does not hold.
    TypeError, ValueError
        If it lacks what its kind must declare, or is of another kind.

    Examples
    --------
    >>> from sklearn_scinol.checks import check_learner
    >>> from sklearn_scinol.learners import AdaGrad
    >>> check_learner(AdaGrad(eta=0.1), engines=["numpy"])
    """
    _check_is_value(learner, "learner")
    check_is_learner(type(learner))
    cases = [
        Case(learner, "log_loss", 2, np.array),
        Case(learner, "log_loss", 2, sparse.csr_array),
        Case(learner, "log_loss", 3, np.array),
        Case(learner, "absolute_error", 0, np.array),
    ]
    dense, of_sparse, *_ = [_check_case(case, engines) for case in cases]
    agree = "dense and sparse rows agree", _are_close(of_sparse, dense, 1e-12)
    check([agree], learner)
    has = cases[0].traits
    with config_context(engine="numpy"), np.errstate(all="ignore"):
        for case in cases:
            if hasattr(learner, "merged"):
                _check_merged(case)
            if has.stays_finite:
                _check_extremes(case)
            if has.scale_invariant:
                check(_powers_of_two(case), learner)
            if has.bounds_regret:
                check(_bound(case), learner)


@described_as(check_learner)
def check_loss(loss: Any, *, engines: Sequence[str] | None = None) -> None:
    """Check that a loss and its derivative, and all else that it has, fit together.

    - The loss is not negative and convex; its slopes are at most `lipschitz`.
    - `gradient` is a subgradient, of arrays as of numbers.
    - The exponentials of `log_probabilities` sum to 1.
    - `minimiser` and `proximal` fit `value`.
    - Gradient descent learns with it, as :func:`check_learner` describes.

    Parameters
    ----------
    loss : Loss
        An instance.

    Examples
    --------
    >>> from sklearn_scinol.checks import check_loss
    >>> from sklearn_scinol.losses import Huber
    >>> check_loss(Huber(epsilon=0.5), engines=["numpy"])
    """
    _check_is_value(loss, "loss")
    check_is_loss(type(loss))
    loss = with_plain_numbers(loss)
    check((_joint_formulas if loss.joint else _formulas)(loss), loss)
    n_classes = (3 if loss.joint else 2) if loss.is_classification else 0
    for container in np.array, sparse.csr_array:
        _check_case(Case(OGD(1e-3), loss, n_classes, container), engines)


def check_step(step: Any, X: Any, y: ArrayLike | None = None) -> None:
    """Check that a step of a pipeline learns a stream row by row.

    It is for steps with `partial_fit_transform`, which transform each row by the rows
    before it.

    - No row sees itself or the future: how a row is transformed depends neither on
      later rows or labels nor on its own label.
    - Rows in any chunks are transformed alike, to the last bit. `transform` gives what
      the next row would be transformed to, but for rounding.
    - `observe` is `observe_transform` without its result.
    - `observe_transform`, then `learn_labels`, row by row, are
      `partial_fit_transform`.
    - A step that was pickled goes on where it was.

    Parameters
    ----------
    step : object
        A step that has learned nothing. It is not changed.
    X : object
        20 rows or more, as the step takes them: an array, a frame or a list.
    y : array-like of shape (n_samples,), default=None
        Their labels, for a step with `learn_labels`.

    Raises
    ------
    AssertionError
        If a statement does not hold.
    ValueError
        If there are fewer rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol.checks import check_step
    >>> from sklearn_scinol.preprocessing import OnlineTargetEncoder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice(["Oslo", "Rome", "Turku"], size=(50, 2))
    >>> check_step(OnlineTargetEncoder(), X, rng.normal(size=50))
    """
    n = _num_samples(X)
    if n < MIN_ROWS_OF_STEP:
        raise ValueError(f"check_step needs at least {MIN_ROWS_OF_STEP} rows, got {n}.")
    y = None if y is None else np.asarray(y)
    given = {"y": y}
    if y is not None and y.dtype.kind not in "fiu":
        given["classes"] = np.unique(y)

    def learned(step, rows, labels=y):
        of_rows = given | {"y": None if labels is None else labels[rows]}
        return _cells(step.partial_fit_transform(take_rows(X, rows), **of_rows))

    check(_invariants_of_step(step, X, y, given, learned), step)


def _invariants_of_step(step, X, y, given, learned):
    """Yield what holds of a step; `learned` learns some rows and transforms them."""
    n = _num_samples(X)
    expected = learned(deepcopy(step), np.arange(n))
    parts, pieces = deepcopy(step), []
    for rows in np.split(np.arange(n), [1, 2, 7, n // 2]):
        pieces.append(learned(parts, rows))
        parts = pickle.loads(pickle.dumps(parts))
    pieces = np.concatenate(pieces)
    yield "chunks, and pickling, make no difference", _same_cells(pieces, expected)
    half, begun = np.arange(n // 2), deepcopy(step)
    of_half = learned(begun, half)
    yield "no row sees later rows", _same_cells(of_half, expected[half])
    for place in half[1:] if y is not None else ():
        changed = y.copy()
        changed[place:] = np.roll(y, n // 2 + 1)[place:]
        own = learned(deepcopy(step), np.arange(place + 1), changed)[place]
        yield "no row sees its own label", _same_cells(own, expected[place])
    after = np.arange(n // 2, n)
    asked, following = _cells(begun.transform(take_rows(X, after[:1]))), expected[after]
    yield (
        "`transform` gives what the next row is transformed to",
        _differ_by_rounding(asked, following[:1]),
    )
    if not hasattr(step, "observe_transform"):
        return
    one, other = deepcopy(begun), deepcopy(begun)
    for row, of_row in zip(after, following, strict=True):
        x = take_rows(X, slice(row, row + 1))
        observed = _cells(one.observe_transform(x))
        yield "`observe` returns the step", other.observe(x) is other
        if y is not None and hasattr(step, "learn_labels"):
            labels = given | {"y": y[row : row + 1]}
            for each in one, other:
                learns = each.learn_labels(x, **labels) is each
                yield "`learn_labels` returns the step", learns
        yield (
            "`observe_transform` and `learn_labels`, row by row, are "
            "`partial_fit_transform`",
            _same_cells(observed, of_row[np.newaxis]),
        )
    x = take_rows(X, slice(0, 1))
    alike = _same_cells(_cells(one.transform(x)), _cells(other.transform(x)))
    yield "`observe` learns what `observe_transform` does", alike


def _cells(Z):
    """Return transformed rows as an array, sparse ones with their dense view."""
    if sparse.issparse(Z):
        view = dense_view_of(Z)
        Z = Z.toarray() if view is None else np.hstack([Z.toarray(), view])
    return np.asarray(Z)


def _same_cells(actual, expected):
    if actual.shape != expected.shape:
        return False
    if actual.dtype.kind in "fiub":
        return np.array_equal(actual, expected, equal_nan=True)
    pairs = zip(actual.ravel(), expected.ravel(), strict=True)
    return all(a == b or (a != a and b != b) for a, b in pairs)


def _differ_by_rounding(actual, expected):
    """Whether numbers differ by rounding at most, and other cells not at all."""
    if actual.dtype.kind not in "fiub" or actual.shape != expected.shape:
        return _same_cells(actual, expected)
    return np.allclose(actual, expected, rtol=1e-10, atol=1e-12, equal_nan=True)


def _check_is_value(value, what):
    if not is_value(value):
        raise TypeError(f"Expected an instance of a {what}, got {value!r}.")


def _are_close(actual, expected, tolerance=1e-10):
    """Whether numbers differ by a share of the largest one at most."""
    return np.abs(actual - expected) <= tolerance * np.abs(expected).max(initial=0.0)


@contextmanager
def _named(case):
    """Name the learner and the loss where learning fails."""
    try:
        yield
    except AssertionError:
        raise
    except Exception as error:
        name = type(case.make()).__name__
        raise AssertionError(
            f"{case.learner}: {name} with loss={case.loss!r} raises "
            f"{type(error).__name__}: {error}"
        ) from error


# Checks of every learner.


def _check_case(case, engines):
    """Check what does not depend on what is declared; return the predictions."""
    if engines is None:
        engines = ("numpy", *(["numba"] if find_spec("numba") else []))
    of_engines: list = []
    for engine in engines:
        with config_context(engine=engine), _named(case):
            check(_of_rows(case, of_engines), case.learner)
        agree = "all engines agree", _are_close(of_engines[-1], of_engines[0], 1e-12)
        check([agree], case.learner)
    return of_engines[0]


def _of_rows(case, charged):
    """Yield what holds of rows; append the predictions that are charged."""
    X, y = case.data()
    c = np.random.default_rng(1).choice([0.0, 0.1, 1.0, 5.0], size=len(y))
    c[0] = 1.0
    whole, parts, some = case.make(), case.make(), case.make()
    charged.append(case.learn(whole, X, y, c))
    whole._check_state()
    in_parts = []
    for rows in np.split(np.arange(len(y)), [1, 2, 9, 30]):
        in_parts.append(case.learn(parts, X[rows], y[rows], c[rows]))
        parts = pickle.loads(pickle.dumps(parts))
    are_same = np.concatenate(in_parts).tobytes() == charged[-1].tobytes()
    are_same &= _state(parts) == _state(whole)
    yield "chunks, and pickling, make no difference", are_same
    case.learn(some, X[c > 0.0], y[c > 0.0], c[c > 0.0])
    yield "rows of weight 0 change nothing", _state(some) == _state(whole)
    unweighted = case.make()
    case.learn(unweighted, X[:1], y[:1])
    for r in range(1, 15):
        decision = case.decide(unweighted, X[r : r + 1])
        own = case.learn(unweighted, X[r : r + 1], y[r : r + 1])
        yield (
            "a row is charged for what is predicted before it is learned",
            _are_close(own, decision),
        )


def _state(estimator):
    """Return all that was learned, as bytes."""
    model = estimator._model
    arrays = [model.fields, model.shared, *model.arrays, model.first, model.numbers]
    return [np.ascontiguousarray(array).tobytes() for array in arrays]


# Checks of declared properties.


def _check_merged(case):
    X, y = case.data()
    models = [case.make(), case.make()]
    for model, rows in zip(models, (slice(0, 25), slice(25, 40)), strict=True):
        case.learn(model, X[rows], y[rows])
    merged = merge_models(models)
    merged._check_state()
    case.learn(merged, X, y)
    merged._check_state()


def _check_extremes(case):
    X, y = case.data()
    exponents = np.random.default_rng(2).integers(-100, 97, size=X.shape)
    estimator = case.make()
    statement = "states stay finite, and invariants hold, on values up to 1e100"
    try:
        case.learn(estimator, np.sign(X) * 10.0**exponents, y)
        estimator._check_state()
    except (AssertionError, ValueError) as error:
        raise AssertionError(f"{case.learner}: expected that {statement}.") from error


def _powers_of_two(case):
    X, y = case.data()
    units = 2.0 ** np.random.default_rng(3).integers(-300, 301, size=N_FEATURES)
    charged = [case.learn(case.make(), rows, y).tobytes() for rows in (X, X * units)]
    statement = "powers of two as units of features do not change predictions"
    yield statement, charged[0] == charged[1]


def _bound(case):
    rng = np.random.default_rng(4)
    for seed in range(5):
        X, y = case.data(seed=seed)
        estimator = case.make()
        case.learn(estimator, X, y)
        model, n_outputs = estimator._model, estimator._model.n_outputs
        for size in 0.0, 1e-3, 0.1, 1.0, 10.0:
            coef = size * rng.normal(size=(n_outputs, N_FEATURES)) / np.abs(X).max(0)
            loss = row_losses(X, case.targets(y), model.loss, coef, 0.0).sum()
            regret = estimator.cumulative_loss_ - loss
            bound = estimator.regret_bound(coef if n_outputs > 1 else coef[0])
            rounding = 1e-9 * max(estimator.cumulative_loss_, 1.0)
            statement = f"the regret, {regret:g}, is at most its bound, {bound:g}"
            yield statement, regret <= bound + rounding


# Formulas of losses.


def _formulas(loss):
    targets = (-1.0, 1.0) if loss.is_classification else (-1.3, 0.0, 2.0)
    for target in targets:
        near = target + np.array([0.0, 1e-3, -1e-3])
        p = np.sort(np.concatenate([np.linspace(-6.0, 6.0, 49), near]))
        y = np.full(p.size, target)
        value, g = loss.value(y, p), loss.gradient(y, p)
        rounding = 1e-12 * (1.0 + value)
        yield "`value` is not negative", value >= 0.0
        for step in 1e-6, -1e-6:
            below = loss.value(y, p + step) + rounding >= value + g * step
            yield "`gradient` is the derivative, or a subgradient", below
        tangents = value[:, None] + g[:, None] * (p - p[:, None])
        yield "`value` is convex", tangents <= value + 1e-9 * (1.0 + value)
        is_bounded = np.abs(g) <= loss.lipschitz * (1.0 + 1e-9)
        yield "slopes are at most `lipschitz`", is_bounded
        for method, of_array in (loss.value, value), (loss.gradient, g):
            of_numbers = np.array([method(target, float(one)) for one in p])
            statement = f"`{method.__name__}` is the same of numbers as of arrays"
            yield statement, _are_close(of_numbers, of_array, 1e-12)
        if hasattr(loss, "minimiser"):
            for one in p:
                minimiser = np.clip(float(loss.minimiser(target, one)), -700.0, 700.0)
                lowest = loss.value(target, minimiser)
                yield "`minimiser` is one", lowest <= value + 1e-12
        if hasattr(loss, "proximal"):
            yield from _steps(loss, target, p)
    yield from _probabilities(loss, [1, 3])


def _steps(loss, y, p):
    for one in map(float, p[::4]):
        for s in 1e-3, 1.0, 1e3, MAX_STEP:
            u, decrease = loss.proximal(y, one, s)
            others = u + np.array([0.0, 1e-4, -1e-4, 1.0, -1.0]) * max(abs(u), 1e-3)
            totals = loss.value(y, one + others) + 0.5 * others * (others / s)
            rounding = 1e-9 * (1.0 + loss.value(y, one))
            yield "`proximal` minimises", totals[0] <= totals + rounding
            fall = loss.value(y, one) - totals[0]
            yield "`proximal` gives the decrease", np.abs(fall - decrease) <= rounding


def _joint_formulas(loss):
    rng = np.random.default_rng(0)
    P, y = 3.0 * rng.normal(size=(30, 4)), rng.integers(4, size=30)
    value = loss.value(y, P)
    rows = np.array([loss.row_value(k, p) for k, p in zip(y, P, strict=True)])
    yield "`row_value` is `value` of a row", _are_close(rows, value, 1e-12)
    yield "`value` is not negative", value >= 0.0
    G = np.empty_like(P)
    for k, p, g in zip(y, P, G, strict=True):
        loss.row_gradient(k, p, g)
    is_bounded = np.abs(G) <= loss.lipschitz * (1.0 + 1e-9)
    yield "slopes are at most `lipschitz`", is_bounded
    for step in [*1e-6 * np.eye(4), *-1e-6 * np.eye(4), *rng.normal(size=(20, 4))]:
        above = loss.value(y, P + step) + 1e-12 * (1.0 + value) - value - G @ step
        yield "`row_gradient` is the derivative, or `value` convex", above >= 0.0
    yield from _probabilities(loss, [4])


def _probabilities(loss, numbers_of_outputs):
    for n_outputs in numbers_of_outputs if hasattr(loss, "log_probabilities") else ():
        p = 3.0 * np.random.default_rng(1).normal(size=(20, n_outputs))
        log = loss.log_probabilities(p)
        has_classes = log.shape == (20, max(n_outputs, 2))
        yield "`log_probabilities` has a column for each class", has_classes
        sums = np.exp(log).sum(axis=1)
        yield "probabilities sum to 1", _are_close(sums, np.ones(20))

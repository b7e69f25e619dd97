"""Hostile streams: estimators with any parameters, and calls with any arguments.

Nothing here says which calls must be refused. Most arguments are usable, so that
streams go on; each kind of argument that is not comes up as well.
"""

import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.linear_model import SGDClassifier, SGDRegressor

import sklearn_scinol
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor
from support import formats
from support.registry import has, options

try:
    import pandas as pd
except ImportError:
    pd = None
try:
    import polars
except ImportError:
    polars = None


class Call(NamedTuple):
    """A method with the arguments it is given."""

    method: str
    arguments: dict

    def on(self, estimator):
        return getattr(estimator, self.method)(**self.arguments)


class Case(NamedTuple):
    """An estimator that has learned nothing, and what is asked of it in turn."""

    estimator: object
    engine: str
    calls: list


# Chance.


class Chance:
    """Choices of a NumPy generator."""

    def __init__(self, *seed):
        self._rng = np.random.default_rng(seed)

    def pick(self, options):
        return options[int(self._rng.random() * len(options))]

    def rarely(self, share):
        """Whether something happens that seldom does."""
        return self._rng.random() < share

    def rng(self):
        """A generator of many numbers."""
        return self._rng


# Values of features, each kind a function of chance, and numbers of rows and columns.

#: The ends of the range, and where squares and cubes meet them.
SPECIAL = [0.0, -0.0, 5e-324, 1e-310, 2.2250738585072014e-308, 1e-200, 1e-163, 1e-155]
SPECIAL += [1e-103, 1e-16, 0.5, 1.0, 1.0 + 2**-52, 3.0, 1e16, 1e77, 1e100, 1e103]
SPECIAL += [1e133, 1e150, 1e154, 1e155, 1e200, 1e300]

#: Beyond what is documented to be usable.
BEYOND = np.array([np.nan, np.inf, 1.0000001e300, 1e305, np.finfo(np.float64).max])


def normal(chance, n, d):
    return chance.rng().normal(size=(n, d))


def with_zeros(chance, n, d):
    rng = chance.rng()
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.3)


def whole(chance, n, d):
    return chance.rng().integers(-3, 4, size=(n, d)).astype(np.float64)


def in_units(chance, n, d):
    reach = chance.pick([3, 30, 100, 150, 170, 290])
    rng = chance.rng()
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-reach, reach, size=d)


def of_rows(chance, n, d):
    reach = chance.pick([3, 30, 100, 150, 170, 290])
    rng = chance.rng()
    return rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-reach, reach, size=(n, 1))


def special(chance, n, d):
    values = chance.pick([SPECIAL, SPECIAL[:16], SPECIAL[-8:], SPECIAL[:8]])
    rng = chance.rng()
    return rng.choice(values, (n, d)) * rng.choice([-1.0, 1.0], (n, d))


def constant(chance, n, d):
    return np.full((n, d), float(chance.pick([0.0, 1.0, 1e-300, 1e150, -1e300])))


def duplicated(chance, n, d):
    return np.repeat(chance.rng().normal(size=(n, 1)), d, axis=1)


def growing(chance, n, d):
    base = chance.pick([2.0, 1e3, 1e30, 1e100])
    powers = np.minimum(float(base) ** np.arange(n), 1e300)
    return normal(chance, n, d).clip(-1, 1) * powers[:, np.newaxis]


def shrinking(chance, n, d):
    return growing(chance, n, d)[::-1]


def tiny_first(chance, n, d):
    X = normal(chance, n, d)
    X[:1] *= chance.pick([1e-10, 1e-100, 1e-160, 1e-300, 1e-320])
    return X


VALUES = [normal, with_zeros, whole, in_units, of_rows, special, constant, duplicated]
VALUES += [growing, shrinking, tiny_first]


def draw_values(chance, n, d):
    X = chance.pick(VALUES)(chance, n, d)
    if X.size and chance.rarely(0.05):
        rng = chance.rng()
        row = chance.pick([n - 1, int(rng.integers(n))])
        value = chance.pick(BEYOND) * chance.pick([1.0, -1.0])
        X[row, int(rng.integers(d))] = value
    return X


# What the rows are given in, each a function of chance and rows.


def without_chance(containers):
    """Functions of chance and rows that do not need chance."""
    return [lambda _, X, given=given: given(X) for given in containers]


def mapped(X):
    if not X.size:
        return X
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        X.tofile(path)
        return np.memmap(path, np.float64, "r", shape=X.shape)


def one_row_repeated(X):
    return np.broadcast_to(X[:1], X.shape) if X.size else X


DENSE = [*formats.DENSE.values(), mapped, one_row_repeated, np.asmatrix]
DENSE += [partial(np.asarray, dtype=dtype) for dtype in ("i4", "u1", "u8", "bool")]


def masked(chance, X):
    return np.ma.masked_array(X, mask=chance.rng().random(X.shape) < 0.2)


def with_objects(chance, X):
    X = X.astype(object)
    if X.size:
        strange = [None, "a", "1.5", b"1", [1.0], {}, 10**400, 1j, np.nan, pd and pd.NA]
        X[-1, 0] = chance.pick(strange)
    return X


UNUSABLE = [
    lambda X: np.zeros(len(X), dtype=[("a", "f8"), ("b", "i4")]),
    lambda X: [row[: len(row) - i % 2] for i, row in enumerate(X.tolist())],
    lambda X: X[:, 0] if X.shape[1] else X.ravel(),
    lambda X: np.hstack([X, np.ones((len(X), 1))]),
    lambda X: np.vstack([X, np.ones((1, X.shape[1]))]),
    lambda X: X.astype("complex128"),
    lambda X: X.astype("U"),
    lambda X: X.astype("S"),
    lambda X: X[..., np.newaxis],
    lambda X: 1.0,
    lambda X: None,
    lambda X: {"a": X},
    lambda X: "rows",
    lambda X: X[:, 1:],
    lambda X: X[:0],
]


def duplicates(chance, X):
    n, d = X.shape
    at = chance.rng().integers(0, max(d, 1), size=(n, 3 if d else 0))
    data = np.take_along_axis(X, at, axis=1) if d else X
    ends = np.arange(n + 1) * at.shape[1]
    return sparse.csr_array((data.ravel(), at.ravel(), ends), shape=(n, d))


def broken_csr(chance, X):
    """Arrays that do not describe a matrix, which SciPy does not look at by itself."""
    X = formats.with_explicit_zeros(X)
    if not X.nnz:
        return X
    fault = chance.pick(range(8))
    if fault == 0:
        X.indices[-1] = X.shape[1]
    elif fault == 1:
        X.indices[-1] = chance.pick([-1, -(2**31)])
    elif fault == 2:
        X.indices[0] = 2**31 - 1
    elif fault == 3:
        X.indptr[-1] += chance.pick([1, 1000, 2**30])
    elif fault == 4:
        X.indptr[-2] = X.indptr[-1] + 1
    elif fault == 5:
        X.indptr[0] = chance.pick([1, -1])
    elif fault == 6:
        X.data = X.data[:-1]
    else:
        X.indptr = X.indptr[:-1]
    return X


def names(X):
    return [f"x{j}" for j in range(X.shape[1])]


def frame(X):
    return pd.DataFrame(X, columns=names(X))


def frame_without_a_name(X):
    return pd.DataFrame(X, columns=[1, *names(X)[1:]] if X.shape[1] else [])


def frame_of_nullables(chance, X):
    made = pd.DataFrame(np.sign(X)).fillna(0).astype("Int64").astype(object)
    made = made.astype(chance.pick(["Int64", "Float64", "Int8"]))
    made.columns = names(X)
    if X.size and chance.rarely(0.3):
        made.iloc[-1, 0] = pd.NA
    return made


FRAMES = [
    frame,
    frame_without_a_name,
    lambda X: frame(X).iloc[:, ::-1],
    lambda X: pd.DataFrame(X, columns=["x0"] * X.shape[1]),
    lambda X: frame(X).astype("category"),
    lambda X: frame(X).astype(str),
    lambda X: frame(X).assign(x0=pd.Timestamp("2020-01-01")),
    lambda X: pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(X)),
]
FRAMES = FRAMES * (pd is not None)
if polars is not None:
    FRAMES.append(lambda X: polars.DataFrame(X, schema=names(X)))

STRANGE = without_chance([*DENSE, *formats.SPARSE.values(), *FRAMES, *UNUSABLE])
STRANGE += [masked, with_objects, duplicates, broken_csr, broken_csr]
STRANGE += [frame_of_nullables] * (pd is not None)


def draw_container(chance, layout):
    """What rows come in: mostly in the layout of the stream."""
    if chance.rarely(0.3):
        return chance.pick(STRANGE)
    as_given, csr = without_chance([lambda X: X, sparse.csr_array])
    in_turn = chance.pick([as_given, csr])
    return {"dense": as_given, "sparse": csr, "in turn": in_turn}[layout]


# Targets.


def worded(codes):
    return np.array(["no", "yes", "perhaps", "who knows"])[codes]


LABELS = [
    np.asarray,
    np.asarray,
    worded,
    lambda codes: codes.astype(np.float64),
    lambda codes: worded(codes).astype(object),
    lambda codes: (codes - 1) * 2**40,
]


def draw_labels(chance, n, n_classes, labels):
    """Labels of a chunk, and of a stream now and then what cannot be learned."""
    codes = chance.pick(
        [
            chance.rng().integers(0, n_classes, n),
            np.arange(n) % n_classes,
            np.zeros(n, dtype=np.intp),
            (np.arange(n) % 2).astype(np.intp),
        ]
    )
    y = labels(codes)
    if not chance.rarely(0.08):
        return y
    return chance.pick(
        [
            y[1:],
            y[:, np.newaxis],
            np.stack([y, y], axis=1),
            y.tolist(),
            codes + 0.5,
            np.full(n, np.nan),
            np.full(n, None),
            codes.astype("datetime64[s]"),
            codes.astype(str),
            codes.astype(bool),
            np.array([*codes[1:], "other"][:n], dtype=object),
            sparse.csr_array(codes[:, np.newaxis]),
            codes + n_classes,
            None,
            "no",
            [[label] * (i % 2 + 1) for i, label in enumerate(y.tolist())],
            codes * 1j,
            pd.Series(y, dtype="category") if pd else y,
            pd.Series(codes, dtype="Int64") if pd else y,
        ]
    )


def draw_targets(chance, n, n_outputs):
    """Targets of a chunk, and now and then what cannot be learned."""
    rng = chance.rng()
    y = rng.normal(size=(n, n_outputs))
    kind = chance.pick(range(8))
    if kind == 0:
        y[:] = chance.pick([0.0, 1.0, -1e10, 1e150, 1e300])
    elif kind == 1:
        y *= 10.0 ** rng.uniform(-300, 300)
    elif kind == 2:
        y *= 10.0 ** rng.uniform(-300, 300, size=(n, 1))
    elif kind == 3:
        y = rng.choice(SPECIAL, y.shape) * rng.choice([-1.0, 1.0], y.shape)
    elif kind == 4:
        y *= chance.pick([1e10, 1e100, 1e154, 1e155])
    columns = y
    y = y[:, 0] if n_outputs == 1 else y
    if not chance.rarely(0.1):
        return y
    return chance.pick(
        [
            y[1:],
            y[..., np.newaxis],
            y[:, np.newaxis],
            y.tolist(),
            y.astype(np.float32),
            np.sign(y).astype(np.int8),
            y > 0,
            y.astype(object),
            y.astype(str),
            y + 1j,
            np.where(np.arange(n) == n - 1, chance.pick(BEYOND), y.T).T,
            np.full(n, None),
            np.zeros(n, dtype="datetime64[s]"),
            sparse.csr_array(np.sign(columns)),
            None,
            "no",
            1.0,
            columns[:, :0],
            pd.Series(columns[:, 0]).astype("Float64") if pd else y,
        ]
    )


def draw_weights(chance, n):
    """Weights of a chunk's rows, or None, or what cannot be weights."""
    if chance.rarely(0.5):
        return None
    rng = chance.rng()
    if chance.rarely(0.9):
        c = rng.random(n)
        kind = chance.pick(range(8))
        if kind == 0:
            return np.ones(n)
        if kind == 1:
            return c * (rng.random(n) < 0.5)
        if kind == 2:
            return np.zeros(n)
        if kind == 3:
            return c * 10.0 ** rng.uniform(-300, 300)
        if kind == 4:
            return c * 10.0 ** rng.uniform(-300, 300, size=n)
        if kind == 5:
            return rng.choice(SPECIAL, n)
        if kind == 6:
            return np.full(n, chance.pick([1e-300, 1e-154, 1e10, 1e100, 1e154, 1e300]))
        return c
    c = np.ones(n)
    return chance.pick(
        [
            -c,
            np.where(np.arange(n) == n - 1, -1e-300, c),
            np.where(np.arange(n) == n - 1, chance.pick(BEYOND), c),
            c[1:],
            c[:, np.newaxis],
            c.astype(int),
            c.astype(bool),
            c.astype(object),
            np.full(n, None),
            np.full(n, "a"),
            c + 1j,
            2.0,
            "balanced",
            c.tolist(),
        ]
    )


# Parameters.

#: Of what unit a parameter is, nobody knows.
SCALES = [0.5, 1e-3, 1e3, 1e-10, 1e10, 1e-20, 1e20, 1e-300, 1e300]

PARAMETERS = {
    "center": ["auto", True, False],
    "additive": [False, True],
    "scale": [True, False],
    "clip_ratio": [None, None, 2.0, 1.5, 1e3],
    "moment_forgetting": [0, 1e-3, 0.1, 0.99],
    "standardize_target": [True, False],
    "fit_intercept": [True, False],
    "average": [True, 2, 10],
    "shuffle": [True, False],
    "exclude": [(), ["second_order"], ["pools", "forest"]],
    "warm_start": [True, False],
    "max_iter": [1, 2, 5],
    "tol": [None, 1e-3, 0.0],
    "initial_wealth": SCALES,
    "beta": SCALES,
    "learning_rate": SCALES,
    "radius": [None, *SCALES],
    "a": [0.882, 1.0, 1e-3, 1e3],
    "delta": SCALES,
    "epsilon": [0.0, *SCALES],
    "quantile": [0.01, 0.99, 1e-300],
    "kernel": [
        "linear",
        "rbf",
        "poly",
        "laplacian",
        "sigmoid",
        "cosine",
        "precomputed",
    ],
    "gamma": ["scale", "auto", 0.0, *SCALES],
    "degree": [2, 3, 0.5, 50],
    "coef0": [0, 1, -1],
    "max_support": [None, 1, 3],
    "prior_scale": [1e-6, 0.3, 1, 1e6],
    "forgetting": [0, 1e-3, 0.1, 0.99],
    "moderate": ["auto", True, False],
    "clip_deviations": [None, 1, 3.0, 1e300],
    "random_features": [None, None, 1, 5],
    "vovk": [False, True],
    "normalizer": ["sum", "mean"],
    "class_weight": [{}, "balanced", {0: 2.0, 1: 1e-3}, {0: 1e300}, {0: 0.0}],
    "new_classes": ["error", "add"],
    "n_jobs": [None, 1],
    "n_neighbors": [1, 3, 10, 10**12],
    "window": [1, 2, 7, 64, 65, 10**12],
    "n_estimators": [1, 3],
    "step": SCALES,
    "dirichlet": [None, 0.5, 1e-3, 1e3, 1e-10, 1e10],
    "max_nodes": [1, 2, 7, 64, 65, 10**12],
}

UNUSABLE_PARAMETERS = [-1, 0, "no", np.nan, np.inf, [], {}, 1e400, b"", True, None]

#: What the compiled engine may be asked for: each other value would be compiled.
COMPILED = {"initial_wealth", "beta", "learning_rate", "a", "delta", "gamma", "shuffle"}
COMPILED |= {"warm_start", "tol", "class_weight", "new_classes", "n_neighbors"}
COMPILED |= {"window", "n_estimators", "step", "dirichlet", "max_nodes", "prior_scale"}
COMPILED |= {"forgetting", "moderate", "clip_deviations"}


def experts(estimator):
    """Lists of experts for mixtures."""
    if is_classifier(estimator):
        scinol, baseline = sklearn_scinol.ScInOLClassifier, BaselineClassifier
        other = SGDClassifier(random_state=0)
    else:
        scinol, baseline = sklearn_scinol.ScInOLRegressor, BaselineRegressor
        other = SGDRegressor(random_state=0)
    return [
        None,
        [("one", scinol())],
        [("one", scinol()), ("two", scinol(algorithm="scinol1", center=False))],
        [("one", baseline("coin")), ("two", baseline("adam", average=True))],
        [("one", scinol()), ("other", other)],
        [("one", scinol()), ("two", "drop")],
        [],
    ]


def parameters_of(estimator, compiled):
    """Values of the parameters that an estimator has."""
    found = {}
    for name in estimator().get_params(deep=False):
        if compiled and name not in COMPILED:
            continue
        if name in ("loss", "algorithm", "tuning"):
            found[name] = options(estimator, name)
        elif name == "estimators":
            found[name] = experts(estimator())
        elif name in PARAMETERS:
            found[name] = PARAMETERS[name]
    return found


def draw_parameters(chance, estimator, compiled):
    values = parameters_of(estimator, compiled)
    chosen = {
        name: chance.pick(values[name])
        for name in values
        if chance.rarely(0.6 if name in ("loss", "algorithm", "estimators") else 0.15)
    }
    if chance.rarely(0.03):
        chosen[chance.pick([*values])] = chance.pick(UNUSABLE_PARAMETERS)
    quick = {"random_state": 0, "max_iter": 2, "tol": None}
    return {name: quick[name] for name in quick if has(estimator, name)} | chosen


# Calls.


def draw_rows(chance, stream):
    n = chance.pick([1, 2, 3, 5, 8, 8, 20])
    if chance.rarely(0.02):
        n = chance.pick([0, 0, 300])
    X = draw_values(chance, n, stream.d)
    return n, draw_container(chance, stream.layout)(chance, X)


class Stream(NamedTuple):
    """What the chunks of a stream have in common."""

    estimator: type
    d: int
    layout: str
    n_outputs: int  # or number of classes
    labels: object

    @property
    def classifies(self):
        return is_classifier(self.estimator())


def draw_learning(chance, stream, is_first):
    method = chance.pick(["partial_fit", "partial_fit", "partial_fit_predict", "fit"])
    n, X = draw_rows(chance, stream)
    arguments = {"X": X}
    if stream.classifies:
        arguments["y"] = draw_labels(chance, n, stream.n_outputs, stream.labels)
        if method != "fit" and chance.rarely(0.95 if is_first else 0.2):
            classes = stream.labels(np.arange(stream.n_outputs))
            if chance.rarely(0.05):
                classes = chance.pick(
                    [classes[:1], classes[::-1], [], "no", 3, [None, 1], [0.5, 1.5]]
                )
            arguments["classes"] = classes
        if method == "partial_fit_predict":
            answers = ["predict", "decision_function", "predict_proba", "no"]
            answers += ["predict_log_proba"]
            arguments["method"] = chance.pick(answers)
    else:
        arguments["y"] = draw_targets(chance, n, stream.n_outputs)
    weights = draw_weights(chance, n)
    if weights is not None:
        arguments["sample_weight"] = weights
    return Call(method, arguments)


def draw_question(chance, stream):
    methods = ["predict", "predict"]
    if stream.classifies:
        methods += ["decision_function", "predict_proba", "predict_log_proba"]
    _, X = draw_rows(chance, stream)
    return Call(chance.pick(methods), {"X": X})


def draw_other(chance, stream):
    if chance.rarely(0.5):
        values = parameters_of(stream.estimator, compiled=True)
        name = chance.pick([*values, "no"])
        return Call("set_params", {name: chance.pick(values.get(name, [1]))})
    coef = np.ones((1 if stream.n_outputs < 3 else stream.n_outputs, stream.d))
    coef = coef[0] if chance.rarely(0.5) else coef
    return Call("regret_bound", {"coef": coef * chance.pick([0.0, 1.0, 1e100])})


def draw_case(chance, estimator):
    """A case of an estimator."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # what is made here is not what is judged
        return _draw_case(chance, estimator)


def _draw_case(chance, estimator):
    engine = chance.pick(["numpy"] * 88 + ["uncompiled"] * 10 + ["compiled"] * 2)
    parameters = draw_parameters(chance, estimator, engine == "compiled")
    stream = Stream(
        estimator,
        d=chance.pick([1, 2, 3, 3, 5, 12, 40]),
        layout=chance.pick(["dense", "dense", "sparse", "in turn"]),
        n_outputs=chance.pick(
            [2, 2, 3, 4] if is_classifier(estimator()) else [1, 1, 3]
        ),
        labels=chance.pick(LABELS),
    )
    calls = []
    for _ in range(chance.pick([1, 2, 2, 3, 3, 4, 6])):
        if chance.rarely(0.25):
            calls.append(draw_question(chance, stream))
        elif chance.rarely(0.08):
            calls.append(draw_other(chance, stream))
        else:
            calls.append(draw_learning(chance, stream, not calls))
    return Case(estimator(**parameters), engine, calls)


def seeded_case(estimator, seed):
    """The case of a seed, the same wherever it is drawn."""
    return draw_case(Chance(crc32(estimator.__name__.encode()), seed), estimator)

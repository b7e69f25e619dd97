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
    return normal(chance, n, d) * (chance.rng().random((n, d)) < 0.3)


def whole(chance, n, d):
    return chance.rng().integers(-3, 4, size=(n, d)).astype(np.float64)


def in_units(chance, n, d, by_row=False):
    reach = chance.pick([3, 30, 100, 150, 170, 290])
    exponents = chance.rng().uniform(-reach, reach, size=(n, 1) if by_row else d)
    return normal(chance, n, d) * 10.0**exponents


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


def tiny_first(chance, n, d):
    X = normal(chance, n, d)
    X[:1] *= chance.pick([1e-10, 1e-100, 1e-160, 1e-300, 1e-320])
    return X


VALUES = [normal, with_zeros, whole, in_units, partial(in_units, by_row=True), special]
VALUES += [constant, duplicated, growing, tiny_first]
VALUES += [lambda *size: growing(*size)[::-1]]


def draw_values(chance, n, d):
    X = chance.pick(VALUES)(chance, n, d)
    if X.size and chance.rarely(0.05):
        rng = chance.rng()
        row = chance.pick([n - 1, int(rng.integers(n))])
        value = chance.pick(BEYOND) * chance.pick([1.0, -1.0])
        X[row, int(rng.integers(d))] = value
    return X


# What the rows are given in, each a function of chance and rows.


def mapped(X):
    if not X.size:
        return X
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows"
        X.tofile(path)
        return np.memmap(path, np.float64, "r", shape=X.shape)


DENSE = [*formats.DENSE.values(), mapped, np.asmatrix]
DENSE += [lambda X: np.broadcast_to(X[:1], X.shape) if X.size else X]
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
    *(partial(np.asarray, dtype=dtype) for dtype in ("complex128", "U", "S")),
    *(lambda X, value=value: value for value in (1.0, None, "rows", {"a": [1.0]})),
    *(lambda X, at=at: X[at] for at in (np.s_[..., None], np.s_[:, 1:], np.s_[:0])),
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
    name, place, value = chance.pick(
        [
            ("indices", -1, X.shape[1]),
            ("indices", -1, chance.pick([-1, -(2**31)])),
            ("indices", 0, 2**31 - 1),
            ("indptr", -1, X.nnz + chance.pick([1, 1000, 2**30])),
            ("indptr", -2, X.nnz + 1),
            ("indptr", 0, chance.pick([1, -1])),
            ("data", None, None),
            ("indptr", None, None),
        ]
    )
    if place is None:
        setattr(X, name, getattr(X, name)[:-1])
    else:
        getattr(X, name)[place] = value
    return X


def names(X):
    return [f"x{j}" for j in range(X.shape[1])]


def frame(X):
    return pd.DataFrame(X, columns=names(X))


def frame_of_nullables(chance, X):
    made = pd.DataFrame(np.sign(X)).fillna(0).astype("Int64").astype(object)
    made = made.astype(chance.pick(["Int64", "Float64", "Int8"]))
    made.columns = names(X)
    if X.size and chance.rarely(0.3):
        made.iloc[-1, 0] = pd.NA
    return made


FRAMES = [
    frame,
    lambda X: pd.DataFrame(X, columns=[1, *names(X)[1:]] if X.shape[1] else []),
    lambda X: frame(X).iloc[:, ::-1],
    lambda X: pd.DataFrame(X, columns=["x0"] * X.shape[1]),
    lambda X: frame(X).astype("category"),
    lambda X: frame(X).astype(str),
    lambda X: frame(X).assign(x0=pd.Timestamp("2020-01-01")),
    lambda X: pd.DataFrame.sparse.from_spmatrix(sparse.csr_array(X)),
]
FRAMES = FRAMES * (pd is not None)
FRAMES += [lambda X: polars.DataFrame(X, schema=names(X))] * (polars is not None)


def without_chance(containers):
    """Functions of chance and rows that do not need chance."""
    return [lambda _, X, given=given: given(X) for given in containers]


STRANGE = without_chance([*DENSE, *formats.SPARSE.values(), *FRAMES, *UNUSABLE])
STRANGE += [masked, with_objects, duplicates, broken_csr, broken_csr]
STRANGE += [frame_of_nullables] * (pd is not None)


if polars is not None:
    FRAMES.append(lambda X: polars.DataFrame(X, schema=names(X)))


def draw_container(chance, layout):
    """What rows come in: mostly in the layout of the stream."""
    if chance.rarely(0.3):
        return chance.pick(STRANGE)
    as_given, csr = without_chance([lambda X: X, sparse.csr_array])
    in_turn = chance.pick([as_given, csr])
    return {"dense": as_given, "sparse": csr, "in turn": in_turn}[layout]


# Targets.


def unusable_of_all(y, columns):
    """Targets and labels in other containers and shapes."""
    n = len(y)
    strange = [y[1:], y[:, np.newaxis], y.tolist(), np.full(n, None), None, "no"]
    strange += [sparse.csr_array(np.sign(columns)), columns * 1j, columns.astype(str)]
    return [*strange, np.zeros(n, dtype="datetime64[s]"), columns[:, 0] > 0]


def worded(codes):
    return np.array(["no", "yes", "perhaps", "who knows"])[codes]


LABELS = [np.asarray, np.asarray, worded, lambda codes: codes.astype(np.float64)]
LABELS += [lambda codes: worded(codes).astype(object)]
LABELS += [lambda codes: (codes - 1) * 2**40]


def draw_labels(chance, n, n_classes, labels):
    """Labels of a chunk, and of a stream now and then what cannot be learned."""
    kinds = [chance.rng().integers(0, n_classes, n), np.arange(n) % n_classes]
    kinds += [np.zeros(n, dtype=np.intp), (np.arange(n) % 2).astype(np.intp)]
    codes = chance.pick(kinds)
    y = labels(codes)
    if not chance.rarely(0.08):
        return y
    strange = [
        *unusable_of_all(y, codes[:, np.newaxis]),
        np.stack([y, y], axis=1),
        codes + 0.5,
        np.full(n, np.nan),
        np.array([*codes[1:], "other"][:n], dtype=object),
        codes + n_classes,
        [[label] * (i % 2 + 1) for i, label in enumerate(y.tolist())],
    ]
    if pd:
        strange += [pd.Series(y, dtype="category"), pd.Series(codes, dtype="Int64")]
    return chance.pick(strange)


def draw_targets(chance, n, n_outputs):
    """Targets of a chunk, and now and then what cannot be learned."""
    rng = chance.rng()
    y = rng.normal(size=(n, n_outputs))
    far = chance.pick([0.0, 1.0, -1e10, 1e150, 1e300])
    large = chance.pick([1e10, 1e100, 1e154, 1e155])
    special = rng.choice(SPECIAL, y.shape) * rng.choice([-1.0, 1.0], y.shape)
    powers = 10.0 ** rng.uniform(-300, 300, size=(n, 1))
    kinds = [y, y, y, np.full_like(y, far), y * powers[:1], y * powers, special]
    columns = chance.pick([*kinds, y * large]) if n else y
    y = columns[:, 0] if n_outputs == 1 else columns
    if not chance.rarely(0.1):
        return y
    strange = [
        *unusable_of_all(y, columns),
        y[..., np.newaxis],
        y.astype(np.float32),
        np.sign(y).astype(np.int8),
        y.astype(object),
        np.where(np.arange(n) == n - 1, chance.pick(BEYOND), y.T).T,
        1.0,
        columns[:, :0],
    ]
    if pd:
        strange.append(pd.Series(columns[:, 0]).astype("Float64"))
    return chance.pick(strange)


def draw_weights(chance, n):
    """Weights of a chunk's rows, or None, or what cannot be weights."""
    if chance.rarely(0.5):
        return None
    rng = chance.rng()
    c, ones, is_last = rng.random(n), np.ones(n), np.arange(n) == n - 1
    if chance.rarely(0.9):
        huge = chance.pick([1e-300, 1e-154, 1e10, 1e100, 1e154, 1e300])
        kinds = [c, ones, c * (rng.random(n) < 0.5), np.zeros(n), huge * ones]
        kinds += [c * 10.0 ** rng.uniform(-300, 300), rng.choice(SPECIAL, n)]
        kinds += [c * 10.0 ** rng.uniform(-300, 300, size=n)]
        return chance.pick(kinds)
    strange = [-ones, np.where(is_last, -1e-300, ones), ones[1:], ones[:, np.newaxis]]
    strange += [np.where(is_last, chance.pick(BEYOND), ones), ones.tolist(), ones + 1j]
    strange += [ones.astype(dtype) for dtype in (int, bool, object)]
    strange += [np.full(n, None), np.full(n, "a"), 2.0, "balanced"]
    return chance.pick(strange)


# Parameters.

#: Of what unit a parameter is, nobody knows.
SCALES = [0.5, 1e-3, 1e3, 1e-10, 1e10, 1e-20, 1e20, 1e-300, 1e300]

OF_UNITS = "initial_wealth", "beta", "learning_rate", "delta", "step"
SWITCHES = "additive", "scale", "standardize_target", "fit_intercept", "shuffle"
FORGETTING = [0, 1e-3, 0.1, 0.99]
KERNELS = ["linear", "rbf", "poly", "laplacian", "sigmoid", "cosine", "precomputed"]

PARAMETERS = {
    **{name: SCALES for name in OF_UNITS},
    **{name: [True, False] for name in (*SWITCHES, "warm_start", "vovk")},
    **{name: FORGETTING for name in ("moment_forgetting", "forgetting")},
    "center": ["auto", True, False],
    "clip_ratio": [None, None, 2.0, 1.5, 1e3],
    "average": [True, 2, 10],
    "exclude": [(), ["second_order"], ["pools", "forest"]],
    "max_iter": [1, 2, 5],
    "tol": [None, 1e-3, 0.0],
    "radius": [None, *SCALES],
    "a": [0.882, 1.0, 1e-3, 1e3],
    "epsilon": [0.0, *SCALES],
    "quantile": [0.01, 0.99, 1e-300],
    "kernel": KERNELS,
    "gamma": ["scale", "auto", 0.0, *SCALES],
    "degree": [2, 3, 0.5, 50],
    "coef0": [0, 1, -1],
    "max_support": [None, 1, 3],
    "prior_scale": [1e-6, 0.3, 1, 1e6],
    "moderate": ["auto", True, False],
    "clip_deviations": [None, 1, 3.0, 1e300],
    "random_features": [None, None, 1, 5],
    "normalizer": ["sum", "mean"],
    "class_weight": [{}, "balanced", {0: 2.0, 1: 1e-3}, {0: 1e300}, {0: 0.0}],
    "new_classes": ["error", "add"],
    "n_jobs": [None, 1],
    "n_neighbors": [1, 3, 10, 10**12],
    "window": [1, 2, 7, 64, 65, 10**12],
    "n_estimators": [1, 3],
    "dirichlet": [None, 0.5, 1e-3, 1e3, 1e-10, 1e10],
    "max_nodes": [1, 2, 7, 64, 65, 10**12],
}

UNUSABLE_PARAMETERS = [-1, 0, "no", np.nan, np.inf, [], {}, 1e400, b"", True, None]

#: What the compiled engine may be asked for: each other value would be compiled.
COMPILED = {*OF_UNITS, "a", "gamma", "shuffle", "warm_start", "tol", "class_weight"}
COMPILED |= {"new_classes", "n_neighbors", "window", "n_estimators", "dirichlet"}
COMPILED |= {"max_nodes", "prior_scale", "forgetting", "moderate", "clip_deviations"}


def experts(estimator):
    """Lists of experts for mixtures."""
    scinol, baseline = sklearn_scinol.ScInOLRegressor, BaselineRegressor
    other = SGDRegressor(random_state=0)
    if is_classifier(estimator):
        scinol, baseline = sklearn_scinol.ScInOLClassifier, BaselineClassifier
        other = SGDClassifier(random_state=0)
    one = ("one", scinol())
    return [
        None,
        [one],
        [one, ("two", scinol(algorithm="scinol1", center=False))],
        [("one", baseline("coin")), ("two", baseline("adam", average=True))],
        [one, ("other", other)],
        [one, ("two", "drop")],
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


OF_LABELS = ["predict", "decision_function", "predict_proba", "predict_log_proba"]


def draw_learning(chance, stream, is_first):
    method = chance.pick(["partial_fit", "partial_fit", "partial_fit_predict", "fit"])
    n, X = draw_rows(chance, stream)
    arguments = {"X": X}
    if stream.classifies:
        arguments["y"] = draw_labels(chance, n, stream.n_outputs, stream.labels)
        if method != "fit" and chance.rarely(0.95 if is_first else 0.2):
            classes = stream.labels(np.arange(stream.n_outputs))
            if chance.rarely(0.05):
                others = [classes[:1], classes[::-1], [], "no", 3, [None, 1]]
                classes = chance.pick([*others, [0.5, 1.5]])
            arguments["classes"] = classes
        if method == "partial_fit_predict":
            arguments["method"] = chance.pick([*OF_LABELS, "no"])
    else:
        arguments["y"] = draw_targets(chance, n, stream.n_outputs)
    weights = draw_weights(chance, n)
    if weights is not None:
        arguments["sample_weight"] = weights
    return Call(method, arguments)


def draw_question(chance, stream):
    methods = ["predict", *OF_LABELS] if stream.classifies else ["predict"]
    return Call(chance.pick(methods), {"X": draw_rows(chance, stream)[1]})


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
    outputs = [2, 2, 3, 4] if is_classifier(estimator()) else [1, 1, 3]
    stream = Stream(
        estimator,
        d=chance.pick([1, 2, 3, 3, 5, 12, 40]),
        layout=chance.pick(["dense", "dense", "sparse", "in turn"]),
        n_outputs=chance.pick(outputs),
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

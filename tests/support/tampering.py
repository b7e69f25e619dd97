"""Tamper with the states of saved models at random, and see what loading lets through.

A case is a fitted model of which one attribute, item or number is replaced or taken
away somewhere, and which is then saved. It is harmless if `load` refuses it with its
sentence, or if what is loaded goes on learning and predicting: errors of this package's
making are allowed; a crash, a RuntimeWarning or any other error is not.
"""

import copy
import re
import warnings
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from fuzz import Failed, on_engine
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import SGDRegressor
from sklearn.pipeline import make_pipeline
from skops import io

from sklearn_scinol import HedgeClassifier, HedgeRegressor, ScInOLRegressor
from sklearn_scinol.experts import AdaHedge, FixedShare
from sklearn_scinol.persistence import load
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    OnlineTargetEncoder,
    RandomFourierFeatures,
    TableEncoder,
)
from sklearn_scinol.transforms import bins
from support.kinds import KINDS, Kind

N_CHUNKS = 20

#: Errors that are raised on purpose, and words that show that one was not.
ON_PURPOSE = ValueError, TypeError
BY_ACCIDENT = re.compile(r"broadcast|unpack|aligned|matmul|out of bounds|not callable")


class Tampered(NamedTuple):
    """How a model of a kind is made, and what is done with it afterwards."""

    make: callable
    use: callable


# Kinds of models.


def of_kind(kind):
    """A kind of model."""

    def use(model):
        for chunk in range(N_CHUNKS):
            kind.learn(model, chunk % 2)
            kind.answers(model)

    return Tampered(lambda: kind.learn(clone(kind.estimator), 0), use)


def of_weights(weights):
    losses = np.abs(np.sin(np.arange(60.0))).reshape(20, 3)

    def use(model):
        for _ in range(N_CHUNKS):
            model.update(losses)
            model.regret_bound()

    def make():
        model = copy.deepcopy(weights)
        model.update(losses)
        return model

    return Tampered(make, use)


def of_transformer(transformer, X, *y):
    def use(model):
        for _ in range(N_CHUNKS):
            model.partial_fit_transform(X, *y)
            model.transform(X)
        model.get_feature_names_out()

    return Tampered(lambda: clone(transformer).partial_fit(X, *y), use)


def of_columns():
    """Steps of scikit-learn around a transformer of this package."""
    X, y = NUMBERS
    columns = ColumnTransformer([("bins", OnlineBinner(5), [0, 1])], sparse_threshold=0)

    def use(model):
        for _ in range(N_CHUNKS):
            model[-1].partial_fit(model[:-1].transform(X), y)
            model.predict(X)

    steps = make_pipeline(columns, ScInOLRegressor(max_iter=2, tol=None))
    return Tampered(lambda: clone(steps).fit(X, y), use)


def table(n=20):
    names = "Rome", "Oslo", "Lima", None
    columns = {
        "x": [float(i % 7) for i in range(n)],
        "city": [names[i % 4] for i in range(n)],
        "is_new": [i % 3 == 0 for i in range(n)],
        "at": np.datetime64("2020-01-01") + np.arange(n),
        "said": [f"word {i % 5} of many" for i in range(n)],
    }
    rows = zip(*columns.values(), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]


NUMBERS = KINDS["bins"].rows(), KINDS["bins"].targets()
TABLE = table(), np.arange(20.0)


ENCODER = TableEncoder(
    kinds={"said": "text"}, interactions=[("x", "city")], n_hashed=16, n_named=3
)
INNER = [("ours", ScInOLRegressor()), ("others", ScInOLRegressor(scale=True))]
EXPERTS = [
    ("inner", HedgeRegressor(INNER)),
    ("pipeline", make_online_pipeline(OnlineScaler(), ScInOLRegressor())),
    ("sgd", SGDRegressor(random_state=0)),
]
DEFAULT = KINDS["dfeg"]._replace(estimator=HedgeClassifier())

TAMPERED = {
    **{name: of_kind(kind) for name, kind in KINDS.items()},
    "hedge-default": of_kind(DEFAULT),
    "hedge-default-sparse": of_kind(DEFAULT._replace(container=sparse.csr_array)),
    "hedge-default-regression": of_kind(Kind(HedgeRegressor())),
    "hedge-nested": of_kind(Kind(HedgeRegressor(EXPERTS))),
    "columns": of_columns(),
    "encoder": of_transformer(ENCODER, TABLE[0]),
    "target means": of_transformer(OnlineTargetEncoder(n_hashed=16), *TABLE),
    "history": of_transformer(OnlineHistory(time="at", n_hashed=3), *TABLE),
    "history of numbers": of_transformer(OnlineHistory([0, ()], 1), *NUMBERS),
    "scaler": of_transformer(OnlineScaler(), NUMBERS[0]),
    "fourier-alone": of_transformer(RandomFourierFeatures(n_components=3), NUMBERS[0]),
    "adahedge": of_weights(AdaHedge(3)),
    "fixed_share": of_weights(FixedShare(3)),
}


# What is tampered with.


#: Where estimators of scikit-learn have those of this package.
STEPS = "steps", "transformers_"


class Place(NamedTuple):
    """A value somewhere in a model."""

    path: str
    value: object
    put: callable  # another value there
    remove: callable  # take it away; None where that cannot be


def places(value, path="", put=None, remove=None):
    """All places in a model, but for what is in estimators from elsewhere."""
    if put is not None:
        yield Place(path, value, put, remove)
    if isinstance(value, (type, np.ndarray, np.generic)):
        return
    if isinstance(value, tuple):
        for i, item in enumerate(value):

            def put_item(new, i=i):
                put(of_type(value)([*value[:i], new, *value[i + 1 :]]))

            yield from places(item, f"{path}[{i}]", put_item)
        return
    is_native = type(value).__module__.startswith("sklearn_scinol.")
    if isinstance(value, BaseEstimator) and not is_native:
        for name in STEPS:
            for _, step, *_ in getattr(value, name, ()):
                yield from places(step, f"{path}.{name}")
        return
    container = value
    if isinstance(value, list):
        items = enumerate(value)
    else:
        container = value if isinstance(value, dict) else getattr(value, "__dict__", {})
        items = container.items()
    for key, item in items:
        put, remove = container.__setitem__, container.__delitem__
        yield from places(
            item, f"{path}[{key!r}]", partial(put, key), partial(remove, key)
        )


def of_type(value):
    """What makes tuples and lists of the type of one from a list."""
    return getattr(type(value), "_make", type(value))


def tamper(model, random):
    """Replace a value somewhere, or take it away; return what was done."""
    all_places = [*places(model)]
    place = all_places[random.integers(len(all_places))]
    action = random.random()
    if action < 0.06 and place.remove:
        place.remove()
        return f"{place.path} removed"
    if action < 0.16:
        other = all_places[random.integers(len(all_places))]
        place.put(other.value)
        other.put(place.value)
        return f"{place.path} and {other.path} swapped"
    new = another(place.value, random)
    place.put(new)
    return f"{place.path} = {new!r}, was {place.value!r}"


def another(value, random):
    """Another value than one, of the same or of another kind."""
    if isinstance(value, np.ndarray):
        return another_array(value, random)
    choices = [None, 0, -1, 1.5, "text", [], {}, np.zeros(3), np.zeros((2, 2)), True]
    if isinstance(value, (bool, np.bool_)):
        choices = [not value] * 5 + choices
    elif isinstance(value, (int, float, np.number)):
        with np.errstate(all="ignore"):
            near = [value + 1, value - 1, 2 * value, -value, value / 2, float(value)]
        near.append(int(value) if np.isfinite(value) else 7)
        far = [100_000, 2**31, 2**40, 1e-300, 1e300, np.nan, np.inf]
        choices = [*near, 0, 1, 2, *far, *choices[:5]]
    elif isinstance(value, str):
        choices = ["", value + "x", value[::-1], *choices]
    elif isinstance(value, (list, tuple)):
        if not hasattr(value, "_make"):
            choices += [value[:-1], of_type(value)([*value, *value])]
        choices += [of_type(value)([*value][::-1]), [*value], tuple(value)]
    elif isinstance(value, dict):
        choices = [{}, dict([*value.items()][1:]), {**value, "text": 1}, *choices]
    return choices[random.integers(len(choices))]


def another_array(array, random):
    """Another array than one, as a rule nearly the same."""
    dtypes = np.float32, np.int64, np.int32, np.complex128, bool
    changes = [
        *(lambda at=at: array[at].copy() for at in np.s_[:1, :-1, ::-1, :0]),
        *(lambda dtype=dtype: array.astype(dtype) for dtype in dtypes),
        lambda: array[..., :-1].copy(),
        lambda: array[np.newaxis].copy(),
        lambda: np.concatenate([array, array]),
        lambda: np.repeat(array, 2, axis=-1),
        lambda: np.repeat(array, 2, axis=-1)[..., ::2],
        lambda: array.T.copy(),
        lambda: np.asfortranarray(array),
        lambda: array.astype(array.dtype.newbyteorder()),
        lambda: -array,
        lambda: 0 * array,
        lambda: array + 1,
        lambda: array * 1e200,
        lambda: random.permuted(array),
        lambda: array.flat[0],
        *(array.ravel, array.tolist, lambda: None),
    ]
    for value in np.nan, np.inf, -1, 1, 2**31, 2**40, -1e300, 1e300, 1e-300:
        changes += [partial(with_entry, array, random, value)] * 2
    while True:
        with warnings.catch_warnings(action="ignore"), suppress(Exception):
            return changes[random.integers(len(changes))]()  # if there is such a change


def with_entry(array, random, value):
    array = array.copy(order="K")
    array[tuple(random.integers(n) for n in array.shape)] = value
    return array


# What comes of it.


@cache
def fitted(name):
    with on_engine("numpy"), patch.object(bins, "N_SAMPLES", 8):
        return TAMPERED[name].make()


def outcome(name, seed, engine, path, tell=lambda _: None):
    """What came of a case in a word; raise `Failed` if it did harm."""
    random = np.random.default_rng([seed, *name.encode()])
    with on_engine("numpy"), warnings.catch_warnings(action="ignore"):
        model = copy.deepcopy(fitted(name))
        tell(tamper(model, random))
        try:
            io.dump(model, path)
        except Exception:
            return "not saved"
    with on_engine(engine), warnings.catch_warnings(action="ignore"):
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model = load(path)
        except Exception as error:
            tell(repr(error.__cause__))
            check_refusal(error, path)
            return "refused"
        try:
            TAMPERED[name].use(model)
        except Exception as error:
            tell(repr(error))
            check_error(error)
            return "an error"
    return "harmless"


def check_refusal(error, path):
    sentence = str(error)
    is_of_load = isinstance(error, ON_PURPOSE) and sentence.startswith(str(path))
    if not is_of_load or "\n" in sentence:
        raise Failed("exception", f"load: {error!r}") from error


def check_error(error):
    if isinstance(error, RuntimeWarning):
        raise Failed("warning", str(error)) from error
    is_missing = isinstance(error, AttributeError) and str(error).startswith("This '")
    is_on_purpose = isinstance(error, ON_PURPOSE) or is_missing
    if not is_on_purpose or BY_ACCIDENT.search(str(error)):
        raise Failed("exception", repr(error)) from error

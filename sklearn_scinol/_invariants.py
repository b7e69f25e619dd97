"""State and check what must hold between two calls, for loading, tests, debugging.

An invariant is a pair: a statement in words, and a bool or an array of bools that tell
where it holds. Each class with state has a generator of invariants, `invariants` or, in
estimators, `_invariants`, about its own numbers and how its parts fit together. A
statement may rely on earlier statements. Files may have any state: a statement comes
before code that would fail, or take unbounded memory, if it did not hold. Learning
never checks invariants.
"""

from dis import get_instructions
from functools import cache, partial
from inspect import unwrap
from itertools import pairwise
from types import CodeType, MethodType
from typing import get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError

from ._hyperparameters import is_native

#: Factor of bounds that allows for rounding.
ROUNDING = 1 + 1e-9

#: Attributes that scikit-learn gives to estimators.
BY_SCIKIT_LEARN = {"n_features_in_", "feature_names_in_", "_sklearn_output_config"}
BY_SCIKIT_LEARN |= {"_metadata_request", "_parent_callback_ctx", "_skl_callbacks"}
BY_SCIKIT_LEARN |= {"_sklearn_version", "_callback_fit_ctx"}


def check(invariants, name):
    """Raise :exc:`AssertionError` for the first invariant that does not hold.

    Invariants are pairs of str and bool or ndarray of bool; `name` names the object.
    """
    with np.errstate(all="ignore"):
        for statement, holds in invariants:
            if holds is not True and not np.asarray(holds).all():
                where = np.argwhere(~np.atleast_1d(holds))[0].tolist()
                at = f" (violated at {where})" if np.ndim(holds) else ""
                raise AssertionError(f"{name}: expected that {statement}{at}")


def check_parts(thing, name):
    """Check the invariants of an object, and of all that it refers to.

    States from elsewhere may raise other errors than :func:`check`.
    """
    to_visit, visited, pipelines = [(name, thing)], {}, []
    while to_visit:
        name, thing = to_visit.pop()
        if isinstance(thing, type) or id(thing) in visited:
            continue
        visited[id(thing)] = thing
        if is_native(type(thing)) and not isinstance(thing, tuple):
            unknown = {*getattr(thing, "__dict__", ())} - attributes(type(thing))
            check([(f"there is no {', '.join(unknown)}", not unknown)], name)
        if hasattr(type(thing), "named_steps"):
            pipelines.append((name, thing))
        for method in "invariants", "_invariants":
            # Learners are tuples: their invariants take the state of a model.
            if hasattr(type(thing), method) and not isinstance(thing, tuple):
                check(getattr(thing, method)(), name)
        to_visit += _parts(name, thing)
    for name, pipeline in pipelines:  # whose steps are valid by themselves
        check(fit_together(pipeline), name)


@cache
def attributes(kind):
    """Return names of the attributes that objects of a class may have.

    They are those that functions of the class assign, and of its bases.
    """
    names, codes = {*BY_SCIKIT_LEARN}, []
    for base in kind.__mro__:
        names |= vars(base).get("__annotations__", {}).keys()
        for member in vars(base).values():
            functions = getattr(member, "fget", member), getattr(member, "fset", None)
            codes += [getattr(unwrap(f), "__code__", None) for f in functions if f]
    while codes:
        code = codes.pop()
        if isinstance(code, CodeType):
            codes += code.co_consts
            stored = (i for i in get_instructions(code) if i.opname == "STORE_ATTR")
            names |= {instruction.argval for instruction in stored}
    return names


def fit_together(pipeline):
    """Yield that each step takes as many columns as the step before gives."""
    steps = [step for _, step in pipeline.steps if hasattr(step, "n_features_in_")]
    for step, following in pairwise(steps):
        try:
            n_columns = getattr(step, "_n_features_out", None)
            if n_columns is None:
                n_columns = len(step.get_feature_names_out())
        except (AttributeError, NotFittedError):
            continue
        yield (
            f"{type(following).__name__} takes {n_columns} columns",
            following.n_features_in_ == n_columns,
        )


def _parts(name, thing):
    """Return the objects that an object refers to, with names."""
    if isinstance(thing, MethodType):
        thing = [thing.__self__]
    elif isinstance(thing, partial):
        thing = [thing.func, thing.args, thing.keywords]
    elif isinstance(thing, np.ndarray):
        thing = thing.ravel().tolist() if thing.dtype == object else ()
    if isinstance(thing, (list, tuple, set)):
        thing = dict(enumerate(thing))
    elif not isinstance(thing, dict):
        thing = getattr(thing, "__dict__", {})
    return [(f"{name}.{key}", value) for key, value in thing.items()]


#: Types that numbers of a type may have in a saved state.
NUMBERS = {bool: (bool, np.bool_), int: (int, np.integer), float: float}


def same_structure(state, fresh, name):
    """Compare attributes, types and shapes of arrays of a state with a new one.

    Axes of arrays, and lists, that grow are empty in a new one, and may have any
    length. None allows anything.
    """
    if fresh is None or state is fresh:
        return
    if type(fresh) in NUMBERS:
        yield f"{name} is of type {type(fresh).__name__}", is_number(state, type(fresh))
    elif isinstance(fresh, np.ndarray):
        is_array = isinstance(state, np.ndarray) and state.dtype == fresh.dtype
        yield f"{name} is an array of {fresh.dtype}", is_array
        shape = fresh.shape
        if 0 in shape and len(shape) == state.ndim:
            pairs = zip(shape, state.shape, strict=True)
            shape = tuple(length or grown for length, grown in pairs)
            shape = shape if state.size else state.shape
        yield f"{name} has shape {shape}", state.shape == shape
    else:
        kind = type(fresh)
        yield f"{name} is of type {kind.__name__}", type(state) is kind
        if isinstance(fresh, str):
            yield f"{name} is {fresh!r}", state == fresh
        elif isinstance(fresh, tuple) or (isinstance(fresh, list) and fresh):
            yield f"{name} has {len(fresh)} items", len(state) == len(fresh)
            for i, (value, new) in enumerate(zip(state, fresh, strict=True)):
                yield from same_structure(value, new, f"{name}[{i}]")
        for attribute, new in getattr(fresh, "__dict__", {}).items():
            yield f"{name} has {attribute!r}", hasattr(state, attribute)
            yield from same_structure(
                getattr(state, attribute), new, f"{name}.{attribute}"
            )


def is_number(value, kind):
    """Whether a value is a number of a kind: bool, int or float."""
    is_bool = isinstance(value, NUMBERS[bool])
    return isinstance(value, NUMBERS[kind]) and is_bool == (kind is bool)


def is_count(value, minimum=0):
    """Whether a value is an integer, and not less than a minimum."""
    return is_number(value, int) and value >= minimum


def parameters(name, values, minimum, maximum):
    """Yield that parameters in a NamedTuple are numbers of the types of their defaults.

    Parameters of this package are in a range, and where their annotation has another
    type beside float, they may be of that type, with a number for each output.
    """
    hints = {}
    if is_native(type(values)):
        hints = get_type_hints(type(values))
    else:
        minimum, maximum = -np.inf, np.inf
    for field, value in zip(values._fields, values, strict=True):
        default = values._field_defaults.get(field, 0.0)
        kind = type(default) if isinstance(default, int) else float
        lists = [get_origin(each) or each for each in get_args(hints.get(field))[1:]]
        numbers = [*value] if type(value) in lists else [value]
        are_of_type = all(is_number(each, kind) for each in numbers)
        yield f"{field} of {name} is of type {kind.__name__}", are_of_type
        are_in_range = all(minimum <= each <= maximum for each in numbers)
        yield f"{field} of {name} is in its range", are_in_range


def floats(name, values, shape):
    """Yield that an array has the given shape, and finite numbers."""
    is_array = isinstance(values, np.ndarray) and values.dtype == np.float64
    yield f"{name} is an array of float64", is_array
    yield f"{name} has shape {shape}", values.shape == shape
    yield f"{name} is finite", np.isfinite(values)


def finite(name, value):
    """Yield that a number, an array or a list has only finite numbers."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from finite(name, item)
        return
    if sparse.issparse(value):
        value = value.data
    value = np.asarray(value)
    if value.dtype.kind in "fc":
        yield f"{name} is finite", np.isfinite(value)

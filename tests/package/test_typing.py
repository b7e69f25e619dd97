"""The types of what users call: all are said, they are right, and of use."""

import inspect
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest
from sklearn.utils._param_validation import StrOptions
from support.public_api import public_objects

import sklearn_scinol
from sklearn_scinol import config
from sklearn_scinol.engines import ENGINES
from sklearn_scinol.estimators.row_by_row import RowByRow
from sklearn_scinol.persistence import load
from sklearn_scinol.preprocessing import table
from sklearn_scinol.streams import read_table, reading
from sklearn_scinol.tables.kinds import KINDS

PACKAGE = Path(sklearn_scinol.__file__).parent
# Formulas, which engines call, take numbers and arrays alike.
FORMULAS = ("sklearn_scinol.learners", "sklearn_scinol.losses", "sklearn_scinol._port")
PUBLIC = [
    public
    for public in public_objects()
    if not getattr(public, "__module__", "").startswith(FORMULAS)
]
CLASSES = [*filter(inspect.isclass, PUBLIC), RowByRow]
# Those of scikit-learn have no types.
ESTIMATORS = [
    cls
    for cls in CLASSES
    if hasattr(cls, "_parameter_constraints")
    and "sklearn_scinol" in getattr(cls.__init__, "__module__", "")
]


def name_of(public):
    return public.__name__


def functions_of(cls):
    """Constructors, methods and properties that classes of the package define."""
    for base in cls.__mro__:
        if not is_native(base):
            continue
        for name, member in vars(base).items():
            if name.startswith("_") and name not in ("__init__", "__iter__"):
                continue
            if isinstance(member, property):
                yield member.fget
            elif callable(public := getattr(base, name)):
                public = inspect.unwrap(getattr(public, "__func__", public))
                if inspect.isfunction(public) and is_native(public):
                    yield public


def is_native(public):
    return public.__module__.partition(".")[0] == "sklearn_scinol"


def lacking(function):
    """What has no annotation: names of parameters, and "return"."""
    signature = inspect.signature(function)
    annotations = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls") and parameter.kind != parameter.VAR_POSITIONAL
    }
    annotations["return"] = signature.return_annotation
    return [name for name, found in annotations.items() if found is signature.empty]


def test_functions_and_methods_say_their_types():
    functions = {*map(inspect.unwrap, filter(inspect.isfunction, PUBLIC))}
    for cls in CLASSES:
        methods = {*functions_of(cls)}
        assert methods, cls
        functions |= methods
    assert not {f.__qualname__: lacking(f) for f in functions if lacking(f)}


def test_signatures_are_readable():
    """They have the names of types, not what these stand for, and say what returns."""
    methods = {function for cls in CLASSES for function in functions_of(cls)}
    for function in {*methods, *filter(callable, PUBLIC)}:
        signature = str(inspect.signature(function))
        assert not signature.endswith("-> 'Any'") or function is load
        assert not re.search(r"typing\.|collections\.|Union\[|numpy\.", signature)


def choices(hint):
    """The strings that an annotation allows."""
    if get_origin(hint) is Literal:
        return {*get_args(hint)}
    return set().union(*map(choices, get_args(hint)))


@pytest.mark.parametrize("cls", ESTIMATORS, ids=name_of)
def test_choices_are_those_of_validation(cls):
    hints = get_type_hints(cls.__init__)
    del hints["return"]
    for name, hint in hints.items():
        if name == "kinds":  # whose values are checked
            continue
        constraints = cls._parameter_constraints[name]
        options = [c.options for c in constraints if isinstance(c, StrOptions)]
        assert choices(hint) == set().union(*options), name


def test_choices_of_functions():
    assert {*get_args(config.Engine)} == {*ENGINES}
    assert {*get_args(table.Kind)} == {*KINDS, "drop"}
    formats = choices(get_type_hints(read_table)["file_format"])
    assert formats == {"auto", *reading.READERS}


USER_CODE = """
import numpy as np
from sklearn_scinol import OnlineNewtonRegressor, ScInOLClassifier, ScInOLRegressor
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

X, y = np.zeros((2, 1)), ["ham", "spam"]
model = ScInOLClassifier()
reveal_type(model.fit(X, y))
reveal_type(ScInOLClassifier().partial_fit(X, y, classes=[0, 1]).predict(X))
reveal_type(model.predict_proba(X))
reveal_type(model.regret_bound([1.0]))
reveal_type(model.row_by_row().learn_one(X[0], "ham"))
reveal_type(OnlineNewtonRegressor().predict(X, return_std=True))
reveal_type(make_online_pipeline(TableEncoder(), model).partial_fit(X, y))
ScInOLRegressor(los="huber")
ScInOLRegressor(loss="hinge")
model.partial_fit(X, y, class_weight=[0, 1])
"""
MYPY_SAYS = [
    *("estimators.scinol.ScInOLClassifier", r"numpy.ndarray\[", r"numpy.ndarray\["),
    *("float", "estimators.row_by_row.RowByRow", r"tuple\[numpy.ndarray\["),
    *("pipeline.OnlinePipeline", 'argument "los" for', 'Argument "loss" to'),
    'argument "class_weight" for "partial_fit"',
]


@pytest.mark.thorough
@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_mypy_understands_what_users_write(tmp_path):
    command = [sys.executable, "-m", "mypy", "--config-file=", "--hide-error-codes"]
    command += [
        "--follow-imports=silent",
        "--cache-dir",
        str(tmp_path),
        "-c",
        USER_CODE,
    ]
    process = subprocess.run(
        command, capture_output=True, text=True, cwd=PACKAGE.parent
    )
    lines = re.findall("(?:error|note): (.*)", process.stdout)
    said = [line for line in lines if " defined in " not in line]
    assert len(said) == len(MYPY_SAYS), process.stdout + process.stderr
    for line, expected in zip(said, MYPY_SAYS, strict=True):
        assert re.search(expected, line)


def test_types_are_marked_as_such():
    assert (PACKAGE / "py.typed").is_file()

"""Let an estimator learn a hostile stream, and say what fails.

    python tests/fuzz.py HedgeRegressor 7       one case, call by call

`make fuzz` tries 10,000 cases of each estimator, by `test_fuzz.py`.

A case is an estimator with some parameters, and a few calls, see `hostile.py`. It fails

- "exception", if a call raises anything but an error raised on purpose;
- "state", if after a call an invariant does not hold;
- "answer", if what a call returns is not finite, or not of the length of the rows;
- "changed", if a call that was refused, or that only asked, left another state behind,
  or if a call changed the arrays that it was given;
- "warning", if there was a RuntimeWarning;
- "stuck", if after all calls ordinary rows cannot be learned any more.
"""

import copy
import linecache
import os
import re
import sys
import traceback
import warnings
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.utils import check_array
from support.comparisons import assert_identical
from support.hostile import Call, seeded_case
from support.registry import PUBLIC_ESTIMATORS

import sklearn_scinol
from sklearn_scinol import config_context
from sklearn_scinol.models import linear
from sklearn_scinol.models.weights import MAX_WEIGHT
from sklearn_scinol.transforms import bins

PACKAGE = str(Path(sklearn_scinol.__file__).parent)
ESTIMATORS = {estimator.__name__: estimator for estimator in PUBLIC_ESTIMATORS}
LEARNING = "fit", "partial_fit", "partial_fit_predict"
QUESTIONS = "predict", "decision_function", "predict_proba", "predict_log_proba"

#: Kinds of errors that scikit-learn raises on purpose.
DOCUMENTED = ValueError, TypeError, AttributeError, NotFittedError

#: What says more of how something is computed than of what is wrong with the input.
INTERNAL = re.compile(
    r"^$|broadcast|unpack|not aligned|ufunc|matmul|out of bounds|NoneType"
    r"|truth value of an array|cannot be safely cast|safely|object of type",
    re.IGNORECASE,
)


class Failed(Exception):
    """A failure of a case: the verdict, and its cause."""

    def __init__(self, verdict, cause):
        super().__init__(verdict, cause)
        self.verdict, self.cause = verdict, cause


# A case.


# Chunks are small: let those of two rows go the way of large ones, and few fix edges.
@patch.multiple(linear, MANY_ROWS=2, MANY_ENTRIES=1)
@patch.object(bins, "N_SAMPLES", 7)
def judge(case, tell=lambda *_: None):
    """Make the calls of a case; raise `Failed` at the first that goes wrong."""
    estimator = case.estimator
    with on_engine(case.engine):
        for call in case.calls:
            outcome = told(estimator, call, tell)
            if isinstance(outcome, Exception):
                continue
            check_state(estimator)
            adds_classes = getattr(estimator, "new_classes", None) == "add"
            check_answer(call, outcome, adds_classes)
        go_on(estimator, tell, any(beyond_tame(call) for call in case.calls))


def told(estimator, call, tell):
    """Make a call, and tell of it."""
    tell(call)
    outcome = make_call(estimator, call)
    tell(outcome)
    return outcome


def make_call(estimator, call):
    """Return the result of a call, or the error that refused it."""
    before = copy.deepcopy(estimator)
    given = {name: contents(value) for name, value in call.arguments.items()}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = call.on(estimator)
        except Exception as error:
            outcome = error
    for warning in caught:
        of_expert = "sklearn_scinol" not in warning.filename and is_mixture(estimator)
        if issubclass(warning.category, RuntimeWarning) and not of_expert:
            place = f"{Path(warning.filename).name}:{warning.lineno}"
            raise Failed("warning", f"{warning.message} ({place})")
    if isinstance(outcome, Exception):
        check_documented(call, outcome, is_classifier(estimator))
        check_unchanged(estimator, before, "was refused")
    elif call.method in (*QUESTIONS, "regret_bound"):
        check_unchanged(estimator, before, "only asked")
    for name, value in call.arguments.items():
        if contents(value) != given[name]:
            raise Failed("changed", f"the argument {name} of {call.method}")
    return outcome


def is_mixture(estimator):
    return hasattr(estimator, "estimators")


def contents(value):
    """The bytes of an argument."""
    if sparse.issparse(value):
        return [
            array.tobytes()
            for name, array in sorted(vars(value).items())
            if isinstance(array, np.ndarray) and array.dtype != object
        ]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tobytes()
    return None


def check_documented(call, error, classifies):
    """Fail if an error is not one that is raised on purpose."""
    on_purpose = isinstance(error, DOCUMENTED) and is_on_purpose(error)
    if not on_purpose and not is_refused_alike(call, error, classifies):
        described = f"{type(error).__name__}: {error} ({place_of(error)})"
        raise Failed("exception", described)


def is_on_purpose(error):
    """Whether this package raised the error, or another for it."""
    if INTERNAL.search(str(error)):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    ours = [i for i, frame in enumerate(frames) if frame.filename.startswith(PACKAGE)]
    if not ours:  # scikit-learn's own, such as of a parameter that there is not
        return True
    last, theirs = frames[ours[-1]], frames[ours[-1] + 1 :]
    if not theirs:
        line = linecache.getline(last.filename, last.lineno)
        return line.strip().startswith("raise") or last.name == "__getattr__"
    packages = Path(theirs[0].filename).parts
    return not {"sklearn", "joblib"}.isdisjoint(packages) or any(
        frame.name == "check_format" for frame in theirs
    )


def is_refused_alike(call, error, classifies):
    """Whether scikit-learn's counterpart refuses the same rows in the same words."""
    if not str(error):
        return False
    if call.method in QUESTIONS:
        try:
            check_array(call.arguments["X"], accept_sparse=True, dtype=np.float64)
        except Exception as other:
            return str(other) == str(error)
    if call.method not in LEARNING:
        return False
    arguments = {name: call.arguments.get(name) for name in ("X", "y", "sample_weight")}
    counterpart = SGDClassifier if classifies else SGDRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if sparse.issparse(arguments["X"]):
                sparse.csr_array(arguments["X"]).check_format()  # it would crash
            counterpart().fit(**arguments)
        except Exception as other:
            return str(other) == str(error)
    return False


def place_of(error):
    """The last line of the package that an error went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    frame = (ours or frames)[-1]
    return f"{os.path.relpath(frame.filename, PACKAGE)}:{frame.lineno}"


def check_unchanged(estimator, before, how):
    try:
        assert_identical(vars(estimator), vars(before))
    except (AssertionError, ValueError) as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise Failed(
            "changed", f"the state, by a call that {how} ({frame.line})"
        ) from error


def check_state(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            estimator._check_state()
        except AssertionError as error:
            raise Failed("state", str(error)) from error


def check_answer(call, answer, adds_classes=False):
    """Predictions are finite, one a row; a bound is a number.

    Before a class has come its score is minus infinity.
    """
    if call.method == "regret_bound" and np.isnan(answer):
        raise Failed("answer", "regret_bound is NaN")
    if call.method not in (*QUESTIONS, "partial_fit_predict"):
        return
    answer, n = np.asarray(answer), number_of_rows(call.arguments["X"])
    if n not in (None, len(answer)):
        words = f"{call.method} has {len(answer)} entries for {n} rows"
        raise Failed("answer", words)
    if answer.dtype.kind == "f" and not np.isfinite(answer).all():
        came_later = adds_classes and call.method == "partial_fit_predict"
        if came_later and not np.isnan(answer).any():
            return
        kind = "NaN" if np.isnan(answer).any() else "infinite"
        raise Failed("answer", f"{call.method} is {kind}")


def number_of_rows(X):
    """None where it is not clear what is a row."""
    return X.shape[0] if len(getattr(X, "shape", ())) == 2 else None


def beyond_tame(call):
    """Whether values or weights are such that an unbounded loss may overflow."""
    for name in ("X", "y", "sample_weight"):
        value = call.arguments.get(name)
        if sparse.issparse(value):
            value = (value.tocsr() if value.format in ("dok", "lil") else value).data
        try:
            values = np.asarray(value)
        except ValueError:  # a ragged list
            continue
        if values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                sizes = np.abs(values.astype(np.float64))
            if sizes.max(initial=0, where=np.isfinite(sizes)) > linear.MAX_SAFE_VALUE:
                return True
    return False


def go_on(estimator, tell, wild):
    """Learn ordinary rows, by the parameters of the first ones, and predict them."""
    if estimator._learned_with:
        make_call(estimator, Call("set_params", dict(estimator._learned_with)))
    X, y = ordinary_rows(estimator)
    is_new = is_classifier(estimator) and not estimator.__sklearn_is_fitted__()
    classes = {"classes": [0, 1]} if is_new else {}
    call = Call("partial_fit", {"X": X, "y": y, **classes})
    outcome = told(estimator, call, tell)
    if isinstance(outcome, Exception):
        if could_learn(estimator, call) and not may_diverge(estimator, outcome, wild):
            raise Failed("stuck", f"{type(outcome).__name__}: {outcome}")
        return
    check_state(estimator)
    for method in ("predict", "predict_proba"):
        if hasattr(estimator, method):
            answer = told(estimator, call := Call(method, {"X": X}), tell)
            if not isinstance(answer, Exception):
                check_answer(call, answer)
            elif not may_diverge(estimator, answer, wild):
                raise Failed("stuck", f"{method}: {answer}")


def ordinary_rows(estimator, n=6):
    """Rows such as the estimator has learned, but in ordinary units."""
    fitted = estimator.__sklearn_is_fitted__()
    d = estimator.n_features_in_ if fitted else 3
    if estimator.get_params().get("kernel") == "precomputed":
        seen = getattr(estimator._model, "n_rows", 0) if fitted else 0
        n = min(n, d - seen % d)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    shape = estimator._output_shape if fitted else ()
    if not is_classifier(estimator):
        return X, rng.normal(size=(n, *shape))
    if shape:  # several labels a row
        return X, rng.integers(2, size=(n, *shape))
    classes = estimator.classes_ if fitted else np.arange(2)
    return X, classes[np.arange(n) % len(classes)]


def could_learn(estimator, call):
    """Whether parameters are such that an estimator without a past learns the rows."""
    of_classes = getattr(estimator, "_class_weight", None)  # those of its first rows
    if of_classes is not None and of_classes.max() > MAX_WEIGHT:
        return False
    keywords = {}
    if is_classifier(estimator) and np.ndim(call.arguments["y"]) == 1:
        keywords["classes"] = np.unique(call.arguments["y"])
        if len(keywords["classes"]) < 2:
            return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(estimator).partial_fit(**call.arguments | keywords)
    except Exception:
        return False
    return True


def may_diverge(estimator, error, wild):
    """Whether an algorithm or a kernel that may has led to infinity, and says so.

    Unbounded losses may after values beyond those that all learners stay finite on.
    """
    model = getattr(estimator, "_model", None)
    experts = [expert.estimator for expert in getattr(model, "experts", [])]
    models = [getattr(one, "_model", None) for one in experts or [estimator]]
    diverges = any(
        one is None
        or not one.traits.stays_finite
        or (wild and np.isinf(one.loss.lipschitz))
        or hasattr(one, "kernel")
        for one in models
    )
    words = "under-/overflow|are too large|predictions are infinite"
    return diverges and re.search(words, str(error)) is not None


@contextmanager
def on_engine(name):
    if name == "numpy" or not find_spec("numba"):
        with config_context(engine="numpy"):
            yield
        return
    from numba import config

    before, config.DISABLE_JIT = config.DISABLE_JIT, name == "uncompiled"
    try:
        with config_context(engine="numba"):
            yield
    finally:
        config.DISABLE_JIT = before


def replay(name, seed):
    """Print the calls of a case, and what came of each."""
    case = seeded_case(ESTIMATORS[name], seed)
    print(f"{case.estimator!r}, engine {case.engine}")

    def tell(said):
        if not isinstance(said, Call):
            print(f"  {said!r}")
            return
        print(said.method)
        for argument, value in said.arguments.items():
            is_sparse = sparse.issparse(value)
            arrays = vars(value) if is_sparse else getattr(value, "strides", "")
            print(f"    {argument} = {value!r} {arrays}")

    try:
        with np.printoptions(floatmode="unique", threshold=400, linewidth=88):
            judge(case, tell)
    except Failed as failure:
        print(f"{failure.verdict}: {failure.cause}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(replay(sys.argv[1], int(sys.argv[2])))

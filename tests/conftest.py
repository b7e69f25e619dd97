"""Fixtures of all tests."""

import gc
import importlib.util
import shutil
from collections import Counter, defaultdict
from functools import cache, wraps
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

import sklearn_scinol
from sklearn_scinol import config_context
from sklearn_scinol.estimators.online_estimator import OnlineEstimator
from sklearn_scinol.mixtures import default_experts
from sklearn_scinol.models import linear

# Before it is imported, so that failures show values.
pytest.register_assert_rewrite("support")
from support.registry import ENGINES, THOROUGH  # noqa: E402
from support.scripts import EXAMPLES  # noqa: E402

#: Tests of what users run by themselves.
SLOW_FOLDERS = {"examples", "site"}

#: Cases of a test that are run, where no mark says how many, unless all are.
N_CASES = 8

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,
    max_examples=100 if THOROUGH else 25,
)
settings.load_profile("deterministic")


@pytest.fixture(autouse=True)
def seed():
    """Seed NumPy, so that estimators with `random_state=None` repeat their runs."""
    np.random.seed(0)  # noqa: NPY002  (its state is what they take)


@pytest.fixture(autouse=True)
def checked_states(monkeypatch):
    """Check the invariants of states after learning calls 1, 4, 16 ... of a test."""
    calls, checks = count(1), {4**k for k in range(20)}

    def checked(learn):
        @wraps(learn)
        def learn_and_check(estimator, *arguments):
            answer = learn(estimator, *arguments)
            if next(calls) in checks:
                estimator._check_state()
            return answer

        return learn_and_check

    for name in ("_run_epochs", "_learn_in_order"):
        learn = getattr(OnlineEstimator, name)
        monkeypatch.setattr(OnlineEstimator, name, checked(learn))


@pytest.fixture(autouse=True)
def two_rows_are_many(monkeypatch):
    """Learn small chunks like large ones, whose values are checked while learned."""
    monkeypatch.setattr(linear, "MANY_ROWS", 2)
    monkeypatch.setattr(linear, "MANY_ENTRIES", 1)


@pytest.fixture(autouse=True)
def small_experts(monkeypatch):
    """Make default experts small, whose loops may run uncompiled."""
    monkeypatch.setattr(default_experts, "N_RANDOM_FEATURES", 6)
    monkeypatch.setattr(default_experts, "N_TREES", 1)
    monkeypatch.setattr(default_experts, "MAX_NODES", 31)


@pytest.fixture
def as_users_run(monkeypatch, checked_states, two_rows_are_many, small_experts):
    """Undo what the fixtures above change, for tests of what is compiled."""
    monkeypatch.undo()


class NumPyEngine:
    """A plugin, whose fixture is there for doctests as well.

    A file of fixtures at the root would put the sources before an installed package.
    """

    @pytest.fixture(autouse=True)
    def numpy_engine(self, request):
        """Tests are in no need of a compiler, but for those that ask for an engine."""
        about_engines = "test_config.py", "test_engines.py", "config.py"
        if request.node.path.name in about_engines:
            yield
            return
        with config_context(engine="numpy"):
            yield


def pytest_configure(config):
    config.pluginmanager.register(NumPyEngine())
    gc.disable()  # while tests are collected, which makes no garbage
    # Tests run side by side: threads of linear algebra would wait for each other.
    threadpool_limits(1)
    # scikit-learn reads the signature of a class in each call; here it does so once.
    names = cache(BaseEstimator._get_param_names.__func__)
    BaseEstimator._get_param_names = classmethod(lambda cls: [*names(cls)])


def pytest_addoption(parser):
    text = "run at most N cases of each test, which have the most different values"
    parser.addoption("--each", type=int, metavar="N", help=text)
    text = "run all cases of all tests, on all engines"
    parser.addoption("--all-cases", action="store_true", help=text)


def engine_of(item):
    return item.callspec.params.get("engine") if hasattr(item, "callspec") else None


def pytest_itemcollected(item):
    """Mark tests as slow that wait for the compiler, and those of scripts."""
    if engine_of(item) == "numba" or item.path.parent.name in SLOW_FOLDERS:
        item.add_marker("slow")


@pytest.hookimpl(trylast=True)  # after cases were selected by name
def pytest_collection_modifyitems(config, items):
    """Leave out thorough tests, and cases of others; see `n_cases`."""
    tests = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    all_cases = THOROUGH or config.getoption("all_cases")
    each = config.getoption("each") or len(items)
    kept = set()
    for cases in tests.values():
        some = cases if all_cases else one_engine_each(cases)
        most = len(some) if all_cases else n_cases(some[0])
        kept.update(most_different(some, min(most, each)))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]


def n_cases(item):
    """Return how many cases of a test are run, unless all are."""
    if item.get_closest_marker("thorough"):
        return 0
    mark = item.get_closest_marker("cases")
    return mark.args[0] if mark else N_CASES


def most_different(cases, n):
    """Keep `n` cases of a test: each time one whose values were kept least often."""
    if n >= len(cases):
        return cases
    values = {
        case: case.name.partition("[")[2].rstrip("]").split("-") for case in cases
    }
    kept, n_kept = [], Counter()
    for _ in range(n):
        case = min(values, key=lambda each: sum(n_kept[v] for v in values[each]))
        n_kept.update(values.pop(case))
        kept.append(case)
    return kept


def one_engine_each(cases):
    """Keep one of the cases that differ in the engine alone, each engine in turn.

    If there are only these two, both.
    """
    groups = defaultdict(list)
    for item in cases:
        engine = engine_of(item)
        name = item.name.replace(engine, "", 1) if engine in ENGINES else item.name
        groups[name].append(item)
    if len(groups) == 1:
        return cases
    return [group[n % len(group)] for n, group in enumerate(groups.values())]


def pytest_collection_finish():
    """Collect garbage of tests only, not among all collected items."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(params=ENGINES)
def engine(request, monkeypatch):
    """The name of an engine, which is in use while the test runs.

    "uncompiled" is the compiled one, with its loops run as they stand: the same lines,
    without waiting for the compiler. Tests that need them compiled ask for "numba".
    """
    name = request.param
    if name != "numpy":
        numba = pytest.importorskip("numba", reason="numba is not installed")
        monkeypatch.setattr(numba.config, "DISABLE_JIT", name == "uncompiled")
        name = "numba"
    with config_context(engine=name):
        yield request.param


@pytest.fixture
def package(tmp_path):
    """A copy of the package, to be changed."""
    source = Path(sklearn_scinol.__file__).parent
    ignore = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(source, tmp_path / source.name, ignore=ignore)


@pytest.fixture
def load(monkeypatch, request):
    """Import a benchmark by its name."""

    def load(name):
        module = importlib.import_module(name)
        # Bars appear after a while, which would make what is printed a matter of time.
        if hasattr(module, "show_progress"):
            monkeypatch.setattr(module, "show_progress", lambda iterable, *_: iterable)
        return module

    monkeypatch.syspath_prepend(EXAMPLES / "benchmarks")
    if importlib.util.find_spec("matplotlib"):
        request.getfixturevalue("pyplot")
    return load


@pytest.fixture
def pyplot():
    """matplotlib's, without a window."""
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="no matplotlib")
    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")

"""Interrupted at any moment, an estimator has learned a whole number of rows.

A pipeline has learned all rows or none. Moments are lines of the package, so that each
can be tried (a call of a compiled loop is one); and random times, since an interruption
may come within a line. `INTERRUPTIONS=1000` tries so many of each.
"""

import copy
import dis
import os
import signal
import sys
import threading
from contextlib import suppress
from functools import cache, partial
from itertools import count, pairwise, product
from time import perf_counter, sleep

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import IncrementalPCA
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import StandardScaler
from support.comparisons import assert_identical, learned
from support.registry import thoroughly

import sklearn_scinol
from sklearn_scinol import (
    AdaFTRLRegressor,
    AdaImplicitRegressor,
    DFEGRegressor,
    HedgeRegressor,
    MondrianForestRegressor,
    OnlineConformalRegressor,
    OnlineKNeighborsRegressor,
    ScInOLRegressor,
    _parallel,
    _rollback,
    _steps,
    config_context,
    pipeline,
)
from sklearn_scinol._locks import Locks
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.evaluation import LossMonitor
from sklearn_scinol.mixtures import mixture_model as mixture_model
from sklearn_scinol.models import linear, transformed
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    OnlineTargetEncoder,
    RandomFourierFeatures,
    TableEncoder,
)

PACKAGE = os.path.dirname(sklearn_scinol.__file__)
N_MOMENTS = int(os.environ.get("INTERRUPTIONS", 4))
OTHERS = []

NUMBERS = np.random.default_rng(0).normal(size=(40, 3))
EXPERTS = [("ours", ScInOLRegressor()), ("theirs", SGDRegressor(random_state=0))]
TEAM = [
    ("alone", ScInOLRegressor()),
    ("slow", BaselineRegressor("adaogd", learning_rate=0.01)),
    ("fast", BaselineRegressor("adaogd", learning_rate=1.0)),
]
SCALED = BaselineRegressor("adaogd", scale=True)
FORGETTING = clone(SCALED).set_params(moment_forgetting=0.1)
STANDARDISED = BaselineRegressor("adagrad", scale=True, standardize_target=True)
KERNEL = DFEGRegressor(kernel="rbf", gamma=0.1)
DENSE, SPARSE = (np.array, 40), (sparse.csr_array, 40)
FEW_DENSE, FEW_SPARSE = (np.array, 20), (sparse.csr_array, 20)
#: Estimators, in what they get rows, and how many.
KINDS = {
    "one dense row": (ScInOLRegressor(center=False), np.array, 1),
    "dense rows": (ScInOLRegressor(), *DENSE),
    "averages": (AdaImplicitRegressor(average=True, radius=1.0), *DENSE),
    "standardised": (STANDARDISED, *DENSE),
    "sparse rows": (ScInOLRegressor(), *SPARSE),
    "clipped dense rows": (ScInOLRegressor(clip_ratio=1.5), *DENSE),
    "clipped sparse rows": (ScInOLRegressor(clip_ratio=1.5), *SPARSE),
    "few sparse rows": (AdaFTRLRegressor(clip_ratio=1.5), sparse.csr_array, 2),
    "scaled sparse rows": (SCALED, *SPARSE),
    "scaled sparse rows that forget": (FORGETTING, *SPARSE),
    "squared error": (AdaImplicitRegressor("squared_error"), *SPARSE),
    "kernel": (clone(KERNEL).set_params(average=True), *DENSE),
    "budget": (clone(KERNEL).set_params(max_support=20), *DENSE),
    "neighbors": (OnlineKNeighborsRegressor(window=20), *DENSE),
    "forest": (MondrianForestRegressor(3, random_state=0), *DENSE),
    "mixture": (HedgeRegressor(), *FEW_DENSE),
    "mixture of sparse rows": (HedgeRegressor(), *FEW_SPARSE),
    "mixture of a team": (HedgeRegressor(TEAM), *FEW_DENSE),
    "mixture of others": (HedgeRegressor(EXPERTS), *FEW_DENSE),
    "mixture of others on sparse rows": (HedgeRegressor(EXPERTS), *FEW_SPARSE),
    "mixture in threads": (HedgeRegressor(EXPERTS, n_jobs=2), *FEW_DENSE),
}


#: One for each way through the compiled engine; each loop takes its time to compile.
COMPILED = ["dense rows", "sparse rows", "scaled sparse rows", "kernel"]
COMPILED += ["mixture of a team", *thoroughly(*KINDS)]
kinds = pytest.mark.parametrize(
    ("kind", "engine"),
    [*product(KINDS, ["numpy"]), *product(dict.fromkeys(COMPILED), ["numba"])],
    indirect=["engine"],
)


@pytest.fixture(autouse=True)
def same_config():
    """Restore scikit-learn's configuration, which an interruption may leave changed."""
    with sklearn.config_context():
        yield


def prepared(kind, monkeypatch):
    """An estimator that has learned rows, and others that it is about to learn."""
    monkeypatch.setattr(transformed, "BLOCK_ROWS", 16)
    estimator, container, n_rows = KINDS[kind]
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30 + n_rows, 6)), rng.normal(size=30 + n_rows)
    X[rng.random(X.shape) < 0.5] = 0.0
    X, c = container(X), rng.choice([0.0, 0.5, 3.0], size=len(y))
    c[-1] = 1.0
    estimator = copy.deepcopy(estimator).partial_fit(X[:30], y[:30])
    return estimator, (X[30:], y[30:], c[30:])


def assert_whole(estimator, before, rows):
    """It has learned some rows, in order, and nothing else; and can go on."""
    X, y, c = rows
    join_threads()
    estimator._check_state()
    n_learned = estimator.n_samples_seen_ - before.n_samples_seen_
    if n_learned == 0:
        assert_identical(vars(estimator), vars(before))
    before = copy.deepcopy(before)
    if n_learned:
        end = np.searchsorted(np.cumsum(c > 0.0), n_learned) + 1
        before.partial_fit(X[:end], y[:end], sample_weight=c[:end])
        assert_identical(learned(estimator), learned(before))
    for one in estimator, before:
        one.partial_fit(X, y, sample_weight=c)
    assert_identical(learned(estimator), learned(before))


def interrupt(*_, **__):
    raise KeyboardInterrupt


def is_interrupted(call, on_call):
    """Make a call while calls are traced; return whether it was interrupted."""
    trace = sys.gettrace()
    sys.settrace(on_call)
    try:
        call()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(trace)
    return False


def interrupted_at(line, call):
    """Whether a call was interrupted when the package came to that line."""
    lines = count()

    def on_line(frame, event, argument):
        if event == "line" and next(lines) == line:
            sys.settrace(None)
            raise KeyboardInterrupt
        return on_line

    def on_call(frame, event, argument):
        return on_line if frame.f_code.co_filename.startswith(PACKAGE) else None

    return is_interrupted(call, on_call)


def interrupted_at_lines(copy_and_call):
    """Copies that were interrupted at random lines of their call."""
    last = 1
    while interrupted_at(last, copy_and_call()[1]):
        last *= 2
    for line in np.random.default_rng(1).integers(0, last, size=2 * N_MOMENTS):
        one, call = copy_and_call()
        if interrupted_at(line, call):
            yield one


def interrupted_at_times(copy_and_call):
    """Copies that were interrupted at random times of their call."""
    copy_and_call()[1]()  # compiles what is to be compiled
    call, start = copy_and_call()[1], perf_counter()
    call()
    duration = perf_counter() - start
    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for delay in np.random.default_rng(2).uniform(1e-5, duration, N_MOMENTS):
            one, call = copy_and_call()
            with suppress(KeyboardInterrupt):
                signal.setitimer(signal.ITIMER_REAL, delay)
                call()
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                continue
            yield one
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)


def timers(test):
    """Run a test where there are timers, and signals come to its thread."""
    # Python drops an interruption that comes while an object is finalised.
    dropped = "ignore::pytest.PytestUnraisableExceptionWarning"
    is_main = threading.current_thread() is threading.main_thread()
    no_signals = not (hasattr(signal, "setitimer") and is_main)
    reason = "there are no timers, or signals come to another thread"
    test = pytest.mark.filterwarnings(dropped)(test)
    return pytest.mark.skipif(no_signals, reason=reason)(test)


def copy_and_learn(estimator, rows):
    X, y, c = rows
    one = copy.deepcopy(estimator)
    return one, partial(one.partial_fit, X, y, sample_weight=c)


@pytest.mark.cases(1)
@kinds
def test_interrupted_at_a_line(kind, engine, monkeypatch):
    estimator, rows = prepared(kind, monkeypatch)
    copy_and_learn(estimator, rows)[1]()  # compiles what is to be compiled
    n_lines = 0
    for one in interrupted_at_lines(partial(copy_and_learn, estimator, rows)):
        n_lines += 1
        assert_whole(one, estimator, rows)
    assert n_lines >= N_MOMENTS / 2


@pytest.fixture(autouse=True)
def others(monkeypatch):
    """Leave threads of tests before alone: those of Dask's pool, say, never end."""
    monkeypatch.setattr(sys.modules[__name__], "OTHERS", [*threading.enumerate()])


def join_threads():
    """Wait for threads that a call has left, which are to change nothing any more."""
    # One whose start is interrupted cannot be joined, and may never begin.
    for _ in range(1000):
        names = [one.name for one in threading.enumerate() if one not in OTHERS]
        if not any(name.startswith("ThreadPoolExecutor") for name in names):
            return
        sleep(0.001)


@pytest.mark.cases(3)
@timers
@kinds
def test_interrupted_at_a_time(kind, engine, monkeypatch):
    estimator, rows = prepared(kind, monkeypatch)
    for one in interrupted_at_times(partial(copy_and_learn, estimator, rows)):
        assert_whole(one, estimator, rows)


# Single rows, and all moments at which Python looks for signals: where functions begin,
# after calls, and where loops begin anew.

LOOKS = {"CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME"}


@cache
def moments_of(code):
    """Offsets of instructions before which Python may raise an interruption."""
    instructions = [*dis.get_instructions(code)]
    after_looks = {
        after.offset
        for before, after in pairwise(instructions)
        if before.opname in LOOKS
    }
    jumps = {each.offset for each in instructions if each.opname == "JUMP_BACKWARD"}
    return after_looks | jumps


def interrupted_at_moment(moment, call):
    """Whether a call was interrupted when the package came to that moment."""
    moments = count()

    def on_opcode(frame, event, argument):
        is_moment = event == "opcode" and frame.f_lasti in moments_of(frame.f_code)
        if is_moment and next(moments) == moment:
            sys.settrace(None)
            raise KeyboardInterrupt
        return on_opcode

    def on_call(frame, event, argument):
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes = True
        return on_opcode

    return is_interrupted(call, on_call)


class Late:
    """Rows that wait, and calls that are to be interrupted."""

    def __init__(self, rows):
        self.late = rows.with_late_labels(max_waiting=3)
        for key in "abc":
            self.late.keep_one(NUMBERS[20], key)

    def learn_one(self, x, y):
        self.late.learn_one("b", y)

    def predict_one(self, x):
        self.late.predict_one(x, "d")

    def predict_again(self, x):
        self.late.predict_one(x, "b")


def before_scinol(step):
    return make_online_pipeline(step, ScInOLRegressor())


SCALER, MEANS = OnlineScaler(), OnlineTargetEncoder(n_hashed=99)
HISTORY = OnlineHistory([0], 1, n_hashed=4)
INTERVALS = OnlineConformalRegressor(ScInOLRegressor())
ROW_CALLS = {
    "forest": (MondrianForestRegressor(3, random_state=0), "learn_one"),
    "prediction": (ScInOLRegressor(), "predict_one"),
    "late row": (ScInOLRegressor(), "late.learn_one"),
    "late row of a pipeline": (before_scinol(SCALER), "late.learn_one"),
    "row that waits": (ScInOLRegressor(), "late.predict_one"),
    "row that waits again": (ScInOLRegressor(), "late.predict_again"),
    "row of a pipeline that waits": (before_scinol(SCALER), "late.predict_one"),
    "row that waits for its mean": (before_scinol(MEANS), "late.predict_again"),
    "late row of means": (before_scinol(MEANS), "late.learn_one"),
    "row of a history that waits": (before_scinol(HISTORY), "late.predict_again"),
    "late row of a history": (before_scinol(HISTORY), "late.learn_one"),
    "late row of a mixture": (HedgeRegressor(TEAM), "late.learn_one"),
    "late row with an interval": (INTERVALS, "late.learn_one"),
}


@pytest.mark.cases(1)
@pytest.mark.parametrize(("estimator", "method"), ROW_CALLS.values(), ids=ROW_CALLS)
@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_row_interrupted_at_any_moment(estimator, method, engine):
    """It is learned, or not; it waits, or not; and so it is for the next call."""
    fitted = copy.deepcopy(estimator).partial_fit(NUMBERS[:20], NUMBERS[:20, 0])
    late_or_not, _, method = method.rpartition(".")

    def begin():
        """A call, and what gives the state of its model as pairs."""
        model = copy.deepcopy(fitted)
        one = model.row_by_row().learn_one(NUMBERS[20], NUMBERS[20, 0])
        late = Late(one) if late_or_not else None
        row = NUMBERS[21], NUMBERS[21, 0]
        call = partial(getattr(late or one, method), *row[: 1 + ("learn" in method)])
        return call, lambda: [vars(model), late and (late.late.n_dropped, [*late.late])]

    call, state = begin()
    call()
    after, (call, state) = state(), begin()
    before, n_before, moment = copy.deepcopy(state()), 0, 0
    while interrupted_at_moment(moment, call):
        moment += 1
        try:
            assert_identical(state(), before)
            n_before += 1
        except (AssertionError, ValueError):
            assert_identical(state(), after)
            call, state = begin()
    assert_identical(state(), after)
    assert moment >= n_before > 20


def test_monitor_interrupted_at_any_line():
    rng = np.random.default_rng(0)
    losses = np.append(rng.normal(size=160), 5.0 + rng.normal(size=48))
    before, after = LossMonitor(0.01), LossMonitor(0.01)
    before.update(losses[:160])
    after.update(losses)
    assert len(after.alarms_) > len(before.alarms_)
    monitor, line = copy.deepcopy(before), 0
    while interrupted_at(line, partial(monitor.update, losses[160:])):
        line += 1
        if monitor.n_samples_seen_ == before.n_samples_seen_:
            assert_identical(vars(monitor), vars(before))
        else:
            assert_identical(vars(monitor), vars(after))
            monitor = copy.deepcopy(before)
    assert_identical(vars(monitor), vars(after))
    assert line > 100


def test_lock_that_is_opened_comes_back():
    """Whenever the thread is interrupted."""
    moment, is_interrupted = 0, True

    def learn(locks):
        with locks.learning, locks.state:
            locks.give_way()

    while is_interrupted:
        locks = Locks()
        is_interrupted = interrupted_at_moment(moment, partial(learn, locks))
        moment += 1
        assert not locks.state._is_owned()
    assert moment > 10


# Threads.


class Waiting(SGDRegressor):
    """An expert that learns when it is told to, and says when it begins."""

    begins, goes_on = threading.Event(), threading.Event()

    def partial_fit(self, X, y, sample_weight=None):
        self.begins.set()
        self.goes_on.wait(timeout=20)
        return super().partial_fit(X, y, sample_weight)


class Raising(SGDRegressor):
    """An expert that raises an error once another one has begun to learn."""

    error = None

    def partial_fit(self, X, y, sample_weight=None):
        if self.error is not None:
            Waiting.begins.wait(timeout=60)
            raise self.error
        return super().partial_fit(X, y, sample_weight)


def assert_unchanged_while_one_waits(experts, error, monkeypatch, n_interruptions):
    """A call that fails while an expert learns changes nothing, and will not later.

    It waits for that expert, which is interrupted some times.
    """
    rng, interruptions = np.random.default_rng(0), count()
    X, y = rng.normal(size=(40, 6)), rng.normal(size=40)
    estimator = HedgeRegressor([(str(e), e) for e in experts], n_jobs=2)
    Waiting.goes_on.set()
    estimator.partial_fit(X[:20], y[:20])
    Waiting.begins.clear()
    Waiting.goes_on.clear()
    before = copy.deepcopy(estimator)

    def look_again(seconds):
        if next(interruptions) < n_interruptions:
            raise KeyboardInterrupt
        Waiting.goes_on.set()

    monkeypatch.setattr(_parallel, "sleep", look_again)
    monkeypatch.setattr(Raising, "error", RuntimeError("no more"))
    try:
        with pytest.raises(error):
            estimator.partial_fit(X[20:], y[20:])
        assert next(interruptions) > n_interruptions  # it has looked once more
        now = copy.deepcopy(estimator)
    finally:
        Waiting.goes_on.set()
        join_threads()
    for one in now, estimator:
        assert_identical(vars(one), vars(before))


@pytest.mark.parametrize(
    ("n_interruptions", "error"), [(0, RuntimeError), (3, KeyboardInterrupt)]
)
def test_experts_that_learn_while_one_fails(n_interruptions, error, monkeypatch):
    experts = [Raising(random_state=0), Waiting(random_state=0)]
    assert_unchanged_while_one_waits(experts, error, monkeypatch, n_interruptions)


def test_threads_whose_start_is_interrupted(monkeypatch):
    """The pool does not know of them yet."""
    start, experts = threading.Thread.start, [Waiting(random_state=0), *EXPERTS[0][1:]]

    def interrupted(thread):
        start(thread)
        if thread.name.startswith("ThreadPool") and not Waiting.goes_on.is_set():
            assert Waiting.begins.wait(timeout=60)
            raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    assert_unchanged_while_one_waits(experts, KeyboardInterrupt, monkeypatch, 3)


# Pipelines.

DICTS = [
    {"city": f"c{i % 7}", "rooms": i % 5, "x": x, "text": f"a nice flat {i} to let"}
    for i, x in enumerate(NUMBERS[:, 0].tolist())
]
ENCODER = TableEncoder(n_named=4, n_hashed=64)
CROSSING = clone(ENCODER).set_params(interactions=[("city", "rooms")])
TRANSFORMERS = {
    "encoder of dicts": (CROSSING, DICTS),
    "encoder of frames": (ENCODER, pd.DataFrame(DICTS)),
    "binner": (OnlineBinner(25), NUMBERS),
    "scaler": (OnlineScaler(), NUMBERS),
    "fourier": (RandomFourierFeatures(random_state=0), NUMBERS),
    "target means": (OnlineTargetEncoder(n_hashed=64), DICTS),
    "history": (OnlineHistory([0, ()], 1, n_hashed=20), NUMBERS),
    "foreign": (StandardScaler(), NUMBERS),
    "foreign in double": (IncrementalPCA(2), NUMBERS),
    "pipeline": (make_online_pipeline(OnlineScaler(), OnlineBinner(25)), NUMBERS),
}
LAST_STEPS = {
    "alone": None,
    "linear": ScInOLRegressor(),
    "mixture": HedgeRegressor(EXPERTS),
    "foreign": SGDRegressor(random_state=0),
    "pipeline": make_online_pipeline(StandardScaler(), ScInOLRegressor()),
}
PIPELINES = [
    *product(TRANSFORMERS, ["linear"], ["numpy"]),
    *product([*TRANSFORMERS][:4], ["alone"], ["numpy"]),
    *product(["encoder of dicts"], ["mixture", "foreign"], ["numpy"]),
    ("binner", "mixture", "numpy"),
    ("binner", "linear", "numba"),
    ("scaler", "pipeline", "numpy"),
    *thoroughly(*product(TRANSFORMERS, [*LAST_STEPS][2:], ["numpy", "numba"])),
]
pipelines = pytest.mark.parametrize(
    ("transformer", "last", "engine"), dict.fromkeys(PIPELINES), indirect=["engine"]
)


class Interrupted:
    """A pipeline or transformer, and a call that learns rows at once, or one alone."""

    def __init__(self, transformer, last, n_rows):
        self.n_rows = n_rows
        model, self.X = TRANSFORMERS[transformer]
        model, last = clone(model), LAST_STEPS[last]
        self.is_alone = last is None
        if not self.is_alone:
            model = make_online_pipeline(model, clone(last))
        self.before = model.partial_fit(*self.rows(slice(20)))
        self.after, call = self.copy()
        call()

    def rows(self, rows):
        X = self.X[rows]
        return (X,) if self.is_alone else (X, NUMBERS[rows, 0])

    def copy(self):
        """A copy of the model, and a call by which it learns rows."""
        model = copy.deepcopy(self.before)
        if self.n_rows:
            learn = model.partial_fit_transform if self.is_alone else model.partial_fit
            return model, partial(learn, *self.rows(slice(20, 20 + self.n_rows)))
        learn_one = model.row_by_row().predict_learn_one
        for one in 20, 21:
            learn_one(self.X[one], NUMBERS[one, 0])
        return model, partial(learn_one, self.X[22], NUMBERS[22, 0])

    def is_as_before(self, model):
        """Whether it is as before; if not, all was done when it was interrupted."""
        before = self.before if self.n_rows else self.copy()[0]
        try:
            assert_identical(vars(model), vars(before))
        except AssertionError:
            assert_identical(vars(model), vars(self.after))
            return False
        return True

    def at_lines(self):
        models = interrupted_at_lines(self.copy)
        assert sum(map(self.is_as_before, models)) >= N_MOMENTS / 2


@pytest.mark.cases(3)
@pipelines
def test_pipelines_interrupted_at_a_line(transformer, last, engine):
    Interrupted(transformer, last, 18).at_lines()


@timers
@pipelines
def test_pipelines_interrupted_at_a_time(transformer, last, engine):
    interrupted = Interrupted(transformer, last, 18)
    for model in interrupted_at_times(interrupted.copy):
        interrupted.is_as_before(model)


@pytest.mark.parametrize(
    ("transformer", "last", "engine"),
    [
        ("encoder of dicts", "linear", "numpy"),
        ("binner", "linear", "numba"),
        ("scaler", "pipeline", "numba"),
        ("foreign", "mixture", "numpy"),
        *thoroughly(*(case for case in PIPELINES if case[1] in ("linear", "mixture"))),
    ],
    indirect=["engine"],
)
def test_rows_of_pipelines_interrupted_at_a_line(transformer, last, engine):
    if transformer == "encoder of frames":
        pytest.skip("a row of a frame is a dict")
    Interrupted(transformer, last, 0).at_lines()


@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_interrupted_warm_start(engine, monkeypatch):
    """Right after all rows were learned, which the engine itself would keep."""
    estimator, (X, y, _) = prepared("sparse rows", monkeypatch)
    before = copy.deepcopy(estimator.set_params(warm_start=True))
    learn = linear.LinearModel.learn

    def interrupted(*arguments):
        yield from learn(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(linear.LinearModel, "learn", interrupted)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    assert_identical(vars(estimator), vars(before))


@pytest.mark.parametrize("n_rows", [0, 18])
@pytest.mark.parametrize("engine", ["numba"], indirect=True)
def test_interrupted_when_the_last_step_has_learned(n_rows, engine, monkeypatch):
    model, call = Interrupted("scaler", "linear", n_rows).copy()
    before = copy.deepcopy(model)

    def interrupted(*arguments, **keywords):
        _rollback.learn_as_last_step(*arguments, **keywords)
        raise KeyboardInterrupt

    for module in pipeline, _steps:
        monkeypatch.setattr(module, "learn_as_last_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call()
    assert_identical(vars(model), vars(before))


def test_rollback_that_is_interrupted(monkeypatch):
    """It begins anew, and the interruption is raised when it has ended."""
    model = before_scinol(OnlineScaler()).partial_fit(NUMBERS, NUMBERS[:, 0])
    before, line = copy.deepcopy(model), _rollback.rollback_on_error._restore
    n_interruptions = count()

    def restore(self):
        vars(self._estimator).clear()
        if next(n_interruptions) < 5:
            raise KeyboardInterrupt
        line(self)

    monkeypatch.setattr(_rollback.rollback_on_error, "_restore", restore)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(NUMBERS, np.full(40, np.nan))
    assert_identical(vars(model), vars(before))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("scaled")])
def test_interrupted_between_scaling_and_learning(kind, monkeypatch):
    """The compiled engine takes moments back itself, of values that come again, too."""
    call = pytest.importorskip("sklearn_scinol.engines.numba_engine.learning.call")
    estimator, rows = prepared(kind, monkeypatch)
    one, learn = copy_and_learn(estimator, rows)
    monkeypatch.setattr(call, "loop_of", interrupt)
    with config_context(engine="numba"), pytest.raises(KeyboardInterrupt):
        learn()
    assert_identical(learned(one), learned(estimator))


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "engine"),
    [
        (AdaImplicitRegressor(scale=True), "numpy"),
        (AdaImplicitRegressor(scale=True, moment_forgetting=0.1), "numba"),
        (BaselineRegressor("adaogd", scale=True), "numba"),
    ],
    ids=str,
    indirect=["engine"],
)
def test_features_that_taught_nothing_stay_as_seen(model, engine):
    """A call that is refused forgets no feature that calls before have seen."""
    X, y = sparse.csr_array(np.eye(3) + 1.0), np.zeros(3)  # as predicted
    model = clone(model).partial_fit(X, y)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match="Sample weights must be 0 or"):
        model.partial_fit(X, y, sample_weight=np.full(3, 1e-300))
    assert_identical(vars(model), vars(before))


@pytest.mark.cases(1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense rows", "sparse rows", "mixture of a team"])
@pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)
def test_memory_that_runs_out(kind, engine, monkeypatch):
    estimator, rows = prepared(kind, monkeypatch)
    one, learn = copy_and_learn(estimator, rows)

    def fail(*_, **__):
        raise MemoryError

    for place in "rows", "_empty_predictions":
        with monkeypatch.context() as patch:
            patch.setattr(linear.LinearModel, place, fail)
            with pytest.raises(MemoryError):
                learn()
        assert_identical(vars(one), vars(estimator))

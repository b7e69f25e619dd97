"""One thread learns and others predict: the model is that of the one thread, bitwise.

And each prediction is that of the model between two rows. `THREADED_ROWS=20000` lets so
many rows be learned of each family.
"""

import os
import pickle
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from support.comparisons import assert_identical
from support.copies import COPIES
from support.registry import ENGINES
from support.steps import assert_same
from support.tables import SETTINGS, table

from sklearn_scinol import (
    AdaImplicitClassifier,
    DFEGClassifier,
    DFEGRegressor,
    HedgeClassifier,
    HedgeRegressor,
    OnlineKNeighborsClassifier,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    _locks,
    config_context,
)
from sklearn_scinol._locks import locks_of
from sklearn_scinol._rollback import rollback_on_error
from sklearn_scinol.baselines import BaselineRegressor
from sklearn_scinol.merging import merge_models
from sklearn_scinol.models import linear, transformed
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineHistory,
    OnlineScaler,
    RandomFourierFeatures,
    TableEncoder,
)

N_ROWS = int(os.environ.get("THREADED_ROWS", 8))
IS_LONG = N_ROWS >= 1000  # on compiled loops then, and without a look at predictions
SECONDS = 60.0


def dense(n):
    return np.random.default_rng(0).normal(size=(n, 4)) * [1.0, 100.0, 0.01, 1.0]


def sparse_rows(n):
    X = dense(n)
    X[np.random.default_rng(1).random(X.shape) < 0.5] = 0.0
    return sparse.csr_array(X)


ENCODER = TableEncoder(**SETTINGS, n_hashed=200)
FOURIER = RandomFourierFeatures(random_state=0)
HISTORY = OnlineHistory([0], 1, target=False, n_hashed=4)
SCALER = OnlineScaler()
ADDS = {"new_classes": "add"}
RBF = {"kernel": "rbf", "gamma": 0.1}
SCALED = BaselineRegressor("adagrad", scale=True)
FOREIGN = [
    ("ours", ScInOLClassifier()),
    ("theirs", SGDClassifier("log_loss", random_state=0)),
    ("steps", make_online_pipeline(SCALER, ScInOLClassifier())),
]
FEW = [
    ("linear", ScInOLRegressor()),
    ("newton", OnlineNewtonRegressor()),
    ("bins", ScInOLRegressor(additive=True)),
]
#: Estimators, or steps before one, and what makes their rows.
FAMILIES = {
    "centred": (ScInOLClassifier(), dense),
    "raw": (ScInOLRegressor(center=False), dense),
    "sparse": (ScInOLClassifier(), sparse_rows),
    "scaled": (SCALED, dense),
    "scaled sparse": (SCALED, sparse_rows),
    "clipped": (ScInOLRegressor(clip_ratio=1.5), dense),
    "averaged": (AdaImplicitClassifier(average=5), dense),
    "vectors": (DFEGClassifier(), dense),
    "kernel": (DFEGRegressor(**RBF), dense),
    "budget": (DFEGRegressor(**RBF, max_support=9), sparse_rows),
    "additive": (ScInOLRegressor(additive=True), dense),
    "neighbors": (OnlineKNeighborsClassifier(window=9), sparse_rows),
    "Newton": (OnlineNewtonRegressor(), dense),
    "random features": (OnlineNewtonRegressor(random_features=5), dense),
    "moderate Newton": (OnlineNewtonClassifier(), dense),
    "class weights": (ScInOLClassifier(class_weight="balanced"), dense),
    "new classes": (ScInOLClassifier(**ADDS), dense),
    "mixture": (HedgeClassifier(), dense),
    "mixture of sparse rows": (HedgeClassifier(), sparse_rows),
    "mixture of a few": (HedgeRegressor(FEW), dense),
    "mixture of others": (HedgeClassifier(FOREIGN), dense),
    "mixture in threads": (HedgeRegressor(FEW[:2], n_jobs=2), dense),
    "mixture of new classes": (HedgeClassifier(**ADDS), dense),
    "dicts": ([ENCODER, ScInOLClassifier()], table),
    "dicts, mixture": ([ENCODER, HedgeClassifier()], table),
    "dicts, new classes": ([ENCODER, ScInOLClassifier(**ADDS)], table),
    "bins": ([OnlineBinner(n_samples=9), ScInOLRegressor()], dense),
    "scaler": ([SCALER, ScInOLClassifier()], dense),
    "fourier": ([FOURIER, ScInOLClassifier()], dense),
    "other scaler": ([StandardScaler(), HedgeRegressor(FEW)], dense),
}


class Stream:
    """Rows of a family and their labels or targets, and how they are learned."""

    def __init__(self, family, n, n_before):
        model, make = FAMILIES[family]
        model = make_online_pipeline(*model) if isinstance(model, list) else model
        self.rows, rng = make(n), np.random.default_rng(2)
        self.y, self.classes = rng.normal(size=n), {}
        if is_classifier(model):
            self.y = rng.integers(3, size=n)
            self.y[: 2 * n_before] %= 2  # the third class comes later
            self.classes = {} if "new classes" in family else {"classes": [0, 1, 2]}
        self.model = self.learn(clone(model), slice(n_before))

    def learn(self, model, part):
        return model.partial_fit(self.rows[part], self.y[part], **self.classes)

    def row(self, i):
        if not sparse.issparse(self.rows):
            return self.rows[i]
        row = self.rows[[i]]
        return row.indices, row.data

    def asks(self, model, rows):
        """Ways to predict the first two rows, each a function that gives bytes."""
        name = "decision_function" if is_classifier(model) else "predict"
        asks = [lambda: answer(getattr(model, name)(self.rows[:2]))]
        for each in rows, model.row_by_row():
            ask = getattr(each, f"{name}_one")
            asks.append(lambda ask=ask: answer(ask(self.row(0))))
        return asks


def answer(values):
    return np.asarray(values).tobytes()


@contextmanager
def threads_that_predict(asks, engine):
    """Run each function in threads, and return the set of all predictions."""
    ends, answers = threading.Event(), set()
    begin = threading.Barrier(len(asks) + 1, timeout=SECONDS)

    def predict(ask):
        found = set()
        with config_context(engine="numpy" if engine == "numpy" else "numba"):
            begin.wait()
            while not (found and ends.is_set()):
                found.add(ask())
        return found

    interval = sys.getswitchinterval()
    with ThreadPoolExecutor(len(asks)) as pool:
        threads = [pool.submit(predict, ask) for ask in asks]
        sys.setswitchinterval(1e-6)
        try:
            begin.wait()
            yield answers
        finally:
            ends.set()
            sys.setswitchinterval(interval)
        for thread in threads:
            answers |= thread.result(SECONDS)


@pytest.mark.cases(3)
@pytest.mark.parametrize("engine", ["numba"] if IS_LONG else ENGINES, indirect=True)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "chunks"])
def test_predictions_change_nothing(family, by_rows, engine):
    n, n_before = N_ROWS + 6, 6
    stream, size = Stream(family, n, n_before), 1 if by_rows else 4
    model = deepcopy(stream.model)
    learner = model.row_by_row()

    def learn(model, learner, size):
        """Learn the stream, in steps."""
        for start in range(n_before, n, size):
            if by_rows:
                learner.learn_one(stream.row(start), stream.y[start])
            else:
                stream.learn(model, slice(start, start + size))
            yield

    with threads_that_predict(stream.asks(model, learner), engine) as answers:
        for _ in learn(model, learner, size):
            pass
    expected = set()
    for step in {size} if IS_LONG else {1, size}:  # a chunk may be learned in parts
        one = deepcopy(stream.model)
        rows = one.row_by_row()
        asks = [] if IS_LONG else stream.asks(one, rows)
        expected |= {ask() for ask in asks}
        for _ in learn(one, rows, step):
            expected |= {ask() for ask in asks}
        if step == size:
            assert_same(model, one)
    assert IS_LONG or answers <= expected


@pytest.mark.parametrize("family", ["kernel", "mixture of a few", "dicts"])
def test_copies_of_a_model_that_learns(family, engine):
    """They are it as it was between two rows."""
    stream = Stream(family, 16, 6)
    model = deepcopy(stream.model)

    def ask(model):
        return answer(deepcopy(model).predict(stream.rows[:4]))

    with threads_that_predict([lambda: ask(model)] * 2, engine) as answers:
        for i in range(6, 16):
            stream.learn(model, slice(i, i + 1))
    expected = {ask(stream.model)}
    for i in range(6, 16):
        expected.add(ask(stream.learn(stream.model, slice(i, i + 1))))
    assert answers <= expected


@pytest.mark.cases(5)
@pytest.mark.parametrize(
    "step", [ENCODER, SCALER, OnlineBinner(n_samples=9), FOURIER, HISTORY]
)
@pytest.mark.parametrize("by_rows", [True, False], ids=["rows", "chunks"])
def test_transformers(step, by_rows, engine):
    """They transform while they learn, alone or in a pipeline."""
    n = N_ROWS + 6
    rows, y = table(n) if step is ENCODER else dense(n), np.arange(n) % 2
    start = make_online_pipeline(clone(step), ScInOLClassifier())
    start.partial_fit(rows[:6], y[:6], classes=[0, 1])

    def ask(model):
        Z = model[0].transform(rows[:4])
        return answer(Z.toarray() if sparse.issparse(Z) else Z)

    def learn(model):
        learner = model.row_by_row()
        for i in range(6, n):
            if by_rows:
                learner.learn_one(rows[i], y[i])
            else:
                model[0].partial_fit(rows[i : i + 1])
            yield

    model = deepcopy(start)
    with threads_that_predict([lambda: ask(model)] * 3, engine) as answers:
        for _ in learn(model):
            pass
    assert answers <= {ask(start)} | {ask(start) for _ in learn(start)}
    assert_same(model, start)


def test_a_file_has_the_model_before_later_rows(tmp_path, monkeypatch):
    """What another thread learns while it is written is not in it."""
    pytest.importorskip("skops", reason="skops is not installed")
    from sklearn_scinol import persistence

    X, y = dense(9), np.arange(9.0)
    model = ScInOLRegressor().partial_fit(X[:6], y[:6])
    before, packed = model.coef_, persistence._pack

    def learn_and_pack(io, saved, progress):
        model.partial_fit(X[6:], y[6:])
        return packed(io, saved)

    monkeypatch.setattr(persistence, "_pack", learn_and_pack)
    persistence.save(model, tmp_path / "model.skops")
    assert_identical(persistence.load(tmp_path / "model.skops").coef_, before)


def in_a_thread(call):
    """What a function gives in another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(SECONDS)


def is_free(model):
    """Whether another thread may learn."""

    def try_both():
        locks = locks_of(model)
        for lock in locks.learning, locks.state:
            if not lock.acquire(blocking=False):
                return False
            lock.release()
        return not locks.readers

    return in_a_thread(try_both)


def test_a_long_call_lets_others_predict(monkeypatch):
    """A prediction comes between two blocks of rows, and waits for the first."""
    monkeypatch.setattr(transformed, "BLOCK_ROWS", 8)
    X, y = dense(24), np.zeros(24)
    y[:12] = 1.0
    model = ScInOLRegressor().partial_fit(X[:4], y[:4])
    before, ends, answers = deepcopy(model), threading.Event(), []
    learn_rows = linear.LinearModel._learn_many

    def predict():
        with config_context(engine="numpy"):
            answers.append(model.predict(X[:2]))
        ends.set()

    thread = threading.Thread(target=predict)

    def learn_and_be_asked(*arguments):
        answer = learn_rows(*arguments)
        if not thread.ident:
            locks_of(model).is_wanted = False
            thread.start()
            while not locks_of(model).is_wanted:
                pass
        return answer

    monkeypatch.setattr(linear.LinearModel, "_learn_many", learn_and_be_asked)
    monkeypatch.setattr(_locks, "sleep", lambda _: ends.wait(SECONDS))
    model.partial_fit(X[4:], y[4:])
    thread.join()
    assert_identical(answers, [before.partial_fit(X[4:12], y[4:12]).predict(X[:2])])
    assert_identical(model._model, before.partial_fit(X[12:], y[12:])._model)


def test_predictions_run_side_by_side(monkeypatch):
    model = ScInOLRegressor().partial_fit(dense(9), np.zeros(9))
    both, decision = threading.Barrier(2, timeout=SECONDS), linear.LinearModel.decision

    def decision_of_both(*arguments):
        both.wait()
        return decision(*arguments)

    monkeypatch.setattr(linear.LinearModel, "decision", decision_of_both)

    def predict(_):
        with config_context(engine="numpy"):
            return answer(model.predict(dense(2)))

    with ThreadPoolExecutor(2) as pool:
        assert len({*pool.map(predict, range(2))}) == 1


def test_two_threads_that_learn(monkeypatch):
    """They take turns, a whole call each, even where one lets others predict."""
    monkeypatch.setattr(transformed, "BLOCK_ROWS", 4)
    X, y = dense(40), np.arange(40.0)
    model = ScInOLRegressor().partial_fit(X[:8], y[:8])
    alone = [deepcopy(model) for _ in range(2)]
    parts = slice(8, 24), slice(24, 40)
    always = property(lambda locks: True, lambda locks, value: None)
    monkeypatch.setattr(_locks.Locks, "is_wanted", always, raising=False)

    def learn(part):
        with config_context(engine="numpy"):
            model.partial_fit(X[part], y[part])

    with ThreadPoolExecutor(2) as pool:
        [*pool.map(learn, parts)]
    for one, order in zip(alone, (parts, parts[::-1]), strict=True):
        for part in order:
            one.partial_fit(X[part], y[part])
    assert model.loss_curve_ in [one.loss_curve_ for one in alone]
    assert answer(model.coef_) in [answer(one.coef_) for one in alone]


@pytest.mark.parametrize("family", ["centred", "mixture of a few", "dicts"])
def test_locks_are_free_after_errors(family):
    stream = Stream(family, 8, 6)
    model, rows = stream.model, stream.model.row_by_row()
    stream.learn(model, slice(6, 8))
    for call in (
        lambda: model.partial_fit(stream.rows[:1], [np.nan]),
        lambda: rows.learn_one(stream.row(0), np.nan),
        lambda: rows.predict_one(np.zeros(99)),
        lambda: model.predict(np.zeros((1, 99))),
    ):
        with pytest.raises((ValueError, TypeError)):
            call()
    for each in model, rows.estimator, *getattr(model, "steps", ()):
        assert is_free(each[1] if isinstance(each, tuple) else each)


def test_locks_are_free_after_interruptions(monkeypatch):
    """Also where a thread is interrupted that waits."""
    monkeypatch.setattr(transformed, "BLOCK_ROWS", 4)
    X, y = dense(20), np.zeros(20)
    model = ScInOLRegressor().partial_fit(X[:4], y[:4])
    before = deepcopy(model)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    patches = [(_locks, "sleep"), (_locks.Locks, "wait_for_readers")]
    patches += [(linear.LinearModel, name) for name in ("_learn_many", "decision")]
    for owner, name in patches:
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupted)
            locks_of(model).is_wanted = True
            with pytest.raises(KeyboardInterrupt):
                model.partial_fit(X[4:], y[4:]).predict(X)
        assert is_free(model)
        if name != "decision":
            assert_identical(vars(model), vars(before))


def test_a_failed_call_is_undone_when_nobody_reads(monkeypatch):
    """An interruption may end the wait for readers, so the rollback waits again."""
    model, seen = ScInOLRegressor().partial_fit(dense(4), np.zeros(4)), []

    def wait(locks):
        seen.append(model.n_iter_)

    monkeypatch.setattr(_locks.Locks, "wait_for_readers", wait)
    with pytest.raises(KeyboardInterrupt), rollback_on_error(model):
        model.n_iter_ = 7
        raise KeyboardInterrupt
    assert seen == [7]
    assert model.n_iter_ == 1


@pytest.mark.parametrize("way", COPIES.values(), ids=[*COPIES])
def test_copies_have_locks_of_their_own(way, tmp_path):
    model = ScInOLClassifier().partial_fit(dense(4), [0, 1, 1, 0], classes=[0, 1])
    with locks_of(model).learning, locks_of(model).state:
        other = way(model, tmp_path / "model")
        assert is_free(other)
        assert is_free(clone(model))
        assert is_free(merge_models([model, other], start=model))
        assert not is_free(model)
        rows = pickle.loads(pickle.dumps(model.row_by_row()))
        assert is_free(rows.estimator)
    assert rows._locks is locks_of(rows.estimator)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_forked_while_another_thread_learns():
    """The locks of a thread that is not there any more are free."""
    model = ScInOLRegressor().partial_fit(dense(4), np.zeros(4))
    rows, begins, ends = model.row_by_row(), threading.Event(), threading.Event()

    def learn():
        with locks_of(model).learning, locks_of(model).state:
            begins.set()
            ends.wait(SECONDS)

    with ThreadPoolExecutor(1) as pool:
        pool.submit(learn)
        begins.wait(SECONDS)
        if not (child := os.fork()):
            locks = rows._locks.learning, rows._locks.state
            os._exit(not all(lock.acquire(blocking=False) for lock in locks))
        ends.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

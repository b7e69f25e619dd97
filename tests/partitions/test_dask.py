"""Learning and predicting partitions, with Dask's schedulers and with a cluster."""

import logging
import os
import signal
from copy import deepcopy
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, SGDClassifier
from support.comparisons import assert_identical
from support.registry import REPRESENTATIVES, thinned
from support.sums import linear

from sklearn_scinol import (
    HedgeClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
    get_config,
    merge_models,
)
from sklearn_scinol.dask import fit_dask, partitions, predict_dask
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.persistence import load
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineScaler, TableEncoder

dask = pytest.importorskip("dask", reason="dask is not installed")
da = pytest.importorskip("dask.array")

SIZES = 7, 1, 12, 0, 20
ENDS = np.cumsum(SIZES)
PARTS = [slice(*ends) for ends in zip(ENDS - SIZES, ENDS, strict=True)]
CLASSES = {"classes": [0, 1]}


@pytest.fixture(autouse=True)
def here():
    """Compute in this thread, unless a test asks for a cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


def binary(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + 0.3 * rng.normal(size=n) > 0).astype(int)


def as_dask(array, sizes=SIZES):
    chunks = [(n,) for n in array.shape]
    return da.from_array(array, chunks=(tuple(sizes), *chunks[1:]))


def as_csr(X):
    """With blocks that are sparse."""
    empty = sparse.csr_array((0, 0))
    return X.map_blocks(sparse.csr_array, dtype=X.dtype, meta=empty)


def of_unknown_lengths(array):
    """The same partitions, of which Dask does not know how long they are."""
    nan = ((np.nan,) * array.numblocks[0], *array.chunks[1:])
    return da.Array(array.dask, array.name, nan, meta=array._meta)


def learned(estimator, X, y, c=None, parts=PARTS, **given):
    """What `partial_fit` makes of parts that are not empty."""
    model = deepcopy(estimator)
    for rows in parts:
        if rows.stop > rows.start:
            weights = {} if c is None else {"sample_weight": c[rows]}
            model.partial_fit(X[rows], y[rows], **given, **weights)
    return model


def fitted(estimator, X, y, c=None, sizes=SIZES, known=True, **options):
    """What `fit_dask` makes of partitions, whose lengths Dask knows or not."""
    arrays = [as_dask(each, sizes) for each in (X, y, c) if each is not None]
    rows, targets, *weights = arrays if known else map(of_unknown_lengths, arrays)
    given = {"sample_weight": weights[0]} if weights else {}
    return fit_dask(estimator, rows, targets, **given, **options)


# One model, from partition to partition.


@thinned(REPRESENTATIVES, container=[np.array, sparse.csr_array], weighted=[0, 1])
def test_sequential_is_partial_fit(case, container, weighted):
    X, y = case.data(40)
    c = np.random.default_rng(1).choice([0.5, 1.0, 4.0], 40) if weighted else None
    estimator, rows = case.make(), as_dask(X)
    rows = rows if container is np.array else as_csr(rows)
    given = case.classes()
    weights = {"sample_weight": None if c is None else as_dask(c)}
    model = fit_dask(
        estimator, rows, as_dask(y), checkpoint_every=2, **weights, **given
    )
    assert not hasattr(estimator, "_model")
    expected = learned(estimator, container(X), y, c, **given)
    assert_identical(vars(model), vars(expected))


@pytest.mark.parametrize("make", [HedgeClassifier, SGDClassifier])
@pytest.mark.parametrize("strategy", ["threads", "synchronous"])
def test_mixtures_and_others(make, strategy):
    X, y = binary()
    estimator = make(random_state=0)
    with dask.config.set(scheduler=strategy):
        model = fitted(estimator, X, y, **CLASSES)
    expected = learned(estimator, X, y, **CLASSES)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_fitted_ones_go_on():
    X, y = binary()
    start = ScInOLClassifier().partial_fit(X, y, **CLASSES)
    before = deepcopy(start)
    for classes in None, [0, 1]:
        model = fitted(start, X, y, classes=classes)
        assert_identical(vars(start), vars(before))
        assert_identical(vars(model), vars(learned(start, X, y)))
    with pytest.raises(ValueError, match="not the same as on last call"):
        fitted(start, X, y, classes=[0, 1, 2])
    assert fitted(clone(start), X, y, **CLASSES).n_samples_seen_ == 40


@pytest.mark.parametrize("known", [True, False])
def test_columns_and_rows_in_other_blocks(known):
    X, y = binary()
    rows, targets = as_dask(X).rechunk({1: 2}), as_dask(y)
    if known:
        targets = targets.rechunk(40)
    else:
        rows, targets = map(of_unknown_lengths, (rows, targets))
    model = fit_dask(ScInOLClassifier(), rows, targets, **CLASSES)
    expected = learned(ScInOLClassifier(), X, y, **CLASSES)
    assert_identical(vars(model), vars(expected))
    model = fit_dask(ScInOLClassifier(), as_csr(rows), targets, **CLASSES)
    assert model.n_samples_seen_ == 40


def test_several_targets_and_labels():
    X, _ = binary()
    targets = as_dask(X).rechunk({1: 1})
    model = fit_dask(ScInOLRegressor(), as_dask(X), targets)
    assert_identical(vars(model), vars(learned(ScInOLRegressor(), X, X)))
    labels = (X > 0.0).astype(int)
    model = fitted(ScInOLClassifier(), X, labels, classes=range(3))
    expected = ScInOLClassifier().partial_fit(X, labels).predict_proba(X)
    assert_array_equal(model.predict_proba(X), expected)
    lazy = predict_dask(model, as_dask(X), method="predict_proba")
    assert_array_equal(lazy.compute(), expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_delayed_chunks(weighted):
    given = (*binary(), np.linspace(0.5, 2, 40))[: 2 + weighted]
    parts = [tuple(each[rows] for each in given) for rows in PARTS]
    chunks = [dask.delayed(part, pure=False) for part in parts]
    model = fit_dask(ScInOLClassifier(), chunks, **CLASSES)
    expected = learned(ScInOLClassifier(), *given, **CLASSES)
    assert_identical(vars(model), vars(expected))
    assert_identical([*partitions(chunks)], parts)


def test_new_classes_and_passes():
    X, y = binary()
    estimator = ScInOLClassifier(new_classes="add")
    model = fitted(estimator, X, y, n_passes=3)
    assert_identical(vars(model), vars(learned(estimator, X, y, parts=PARTS * 3)))


def test_all_is_one_graph_if_not_computed():
    X, y = binary()
    later = fitted(ScInOLClassifier(), X, y, compute=False, **CLASSES)
    names = {dask.utils.key_split(key) for key in later.dask}
    assert {"partial_fit", "ScInOLClassifier"} <= names
    expected = learned(ScInOLClassifier(), X, y, **CLASSES)
    for _ in range(2):  # no task changes what it is given
        assert_identical(vars(later.compute()), vars(expected))
    with pytest.raises(ValueError, match="no checkpoints"):
        fitted(ScInOLRegressor(), X, y, compute=False, checkpoint="a")


def test_the_engine_is_that_of_the_caller():
    class Tells(ScInOLRegressor):
        def partial_fit(self, X, y):
            self.engine_ = get_config()["engine"]
            return super().partial_fit(X, y)

    with dask.config.set(scheduler="threads"):
        model = fitted(Tells(), *binary())
    assert model.engine_ == get_config()["engine"] == "numpy"


# Checkpoints.


def test_going_on_from_a_file(tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    X, y = binary()
    path = tmp_path / "model.skops"
    broken = X.copy()
    broken[39] = np.nan
    fit = partial(fitted, y=y, n_passes=2, checkpoint=path, checkpoint_every=2)
    with pytest.raises(ValueError, match="NaN") as raised:
        fit(ScInOLClassifier(), broken, **CLASSES)
    assert raised.value.__notes__[0].startswith("This happened at partition 4,")
    expected = learned(ScInOLClassifier(), X, y, parts=PARTS * 2, **CLASSES)
    for n_done in 4, 10:  # of ten, the second time
        state = load(path)
        assert state["n_done"] == n_done
        model = fit(state["model"], X, n_done=n_done)
        assert_identical(vars(model), vars(expected))


def test_what_cannot_be_saved_is_known_at_once(tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    X, y = binary()
    estimator = ScInOLClassifier(class_weight={False: 1.0, True: 2.0})
    with pytest.raises(TypeError, match="cannot be saved"):
        fitted(estimator, X, y > 0, checkpoint=tmp_path / "model.skops", **CLASSES)


def test_checkpoints_of_merged_models_are_passes():
    X, y = binary()
    told = []
    fit = partial(fitted, X=X, y=y, strategy="merge", n_shards=2, n_passes=3)
    tell = {"checkpoint": lambda *state: told.append(state)}
    model = fit(ScInOLClassifier(), **tell, **CLASSES)
    assert [n_done for _, n_done in told] == [5, 10, 15]
    assert_identical(vars(fit(told[0][0], n_done=5)), vars(model))
    with pytest.raises(ValueError, match="whole passes of 5 partitions, got 4"):
        fit(model, n_done=4)


# Shards.

fit_shards = partial(fitted, strategy="merge", **CLASSES)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("is_fitted", [False, True])
def test_merge_is_merge_models(known, is_fitted):
    X, y = binary(60)
    sizes = 10, 3, 12, 0, 20, 15
    estimator = ScInOLClassifier()
    if is_fitted:
        estimator.partial_fit(X[:5] + 1.0, y[:5], **CLASSES)
    options = {"n_shards": 3, "n_start_rows": 12, "n_final_rows": 18}
    model = fit_shards(estimator, X, y, None, sizes, known, n_passes=2, **options)

    def part(first, *numbers, last=60):
        """Rows of partitions that neither the start nor the end has."""
        bounds = np.cumsum([0, *sizes])
        ends = [(bounds[i], bounds[i + 1]) for i in numbers]
        return [slice(max(a, first), max(min(b, last), a, first)) for a, b in ends]

    fit = partial(learned, X=X, y=y, **CLASSES)
    last = 42 if known else 45
    expected = deepcopy(estimator)
    for is_first in not is_fitted, False:
        n_first = (12 if known else 10) * is_first
        expected = fit(expected, parts=part(0, 0, 1, last=n_first))
        models = [
            fit(expected, parts=part(n_first, *numbers, last=last))
            for numbers in ((0, 1), (2, 3), (4, 5))
        ]
        begun = hasattr(expected, "classes_")
        expected = merge_models(models, start=expected if begun else None)
        expected = fit(expected, parts=part(last, 4, 5))
    assert_array_equal(model.decision_function(X), expected.decision_function(X))
    assert model.n_samples_seen_ == 120 + 5 * is_fitted
    model._check_state()


def test_merge_in_steps_equals_one_model():
    """Of what is exact, with more shards than are merged at a time."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = linear(X, rng.normal(size=4)) + rng.normal(size=400)
    options = {"center": False, "scale": False, "standardize_target": False}
    options |= {"loss": "squared_error", "clip_deviations": None}
    estimator = OnlineNewtonRegressor(**options)
    given = {"strategy": "merge", "n_shards": 20}
    model = fitted(estimator, X, y, sizes=(10,) * 40, **given)
    one = deepcopy(estimator).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, one.coef_, rtol=1e-10)
    assert model.n_samples_seen_ == 400


@pytest.mark.parametrize("n_rows", [(1000, 2000), (0, 0), (30, 30)])
@pytest.mark.parametrize("known", [True, False])
def test_each_row_counts_once(n_rows, known):
    """Also where there are no more rows than at the start and the end."""
    X, y = binary()
    ends = dict(zip(("n_start_rows", "n_final_rows"), n_rows, strict=True))
    model = fit_shards(ScInOLClassifier(), X, y, known=known, n_shards=3, **ends)
    assert model.n_samples_seen_ == 40
    if known and n_rows[0] >= 30:  # one model had all
        expected = learned(ScInOLClassifier(), X, y, **CLASSES)
        assert model.cumulative_loss_ == pytest.approx(expected.cumulative_loss_)
    most_are_empty = {"sizes": (0, 40, 0, 0), "known": known, "n_shards": 4}
    model = fit_shards(ScInOLClassifier(), X, y, **most_are_empty)
    assert model.n_samples_seen_ == 40


def test_shards_make_their_partitions():
    """In the tasks that learn them, but for what several partitions are made of."""
    X, y = binary()
    options = {"strategy": "merge", "n_shards": 3, "n_passes": 2, **CLASSES}
    known = {"ScInOLClassifier", "partial_fit", "start", "merge_models"}
    rows = as_dask(X).map_blocks(lambda rows: rows + 1.0)
    for each, shared in (rows, 0), (rows.rechunk({0: 10}), 3):
        later = fit_dask(ScInOLClassifier(), each, as_dask(y), compute=False, **options)
        others = [key for key in later.dask if dask.utils.key_split(key) not in known]
        assert bool(others) == bool(shared)
        sizes = each.chunks[0]
        expected = fitted(ScInOLClassifier(), X + 1.0, y, sizes=sizes, **options)
        assert_identical(vars(later.compute()), vars(expected))


# Frames.


@pytest.fixture
def table():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="no dataframes of dask")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=60)})
    frame["city"] = rng.choice(["Oslo", "Rome", "Lima"], 60)
    frame["weight"] = rng.choice([0.5, 2.0], 60)
    frame["sold"] = (frame["x"] + (frame["city"] == "Rome") > 0).astype(int)
    return frame, dd.from_pandas(frame, npartitions=4)


def test_frames(table):
    frame, partitioned = table
    pipeline = make_online_pipeline(TableEncoder(), ScInOLClassifier())

    def given(frame):
        return frame[["x", "city"]], frame["sold"]

    weights = {"sample_weight": partitioned["weight"]}
    model = fit_dask(pipeline, *given(partitioned), **weights, **CLASSES)
    expected = deepcopy(pipeline)
    for part in dask.compute(*partitioned.to_delayed()):
        expected.partial_fit(*given(part), sample_weight=part["weight"], **CLASSES)
    rows, lazy_rows = given(frame)[0], given(partitioned)[0]
    said = expected.predict_proba(rows)
    assert_array_equal(model.predict_proba(rows), said)
    lazy = predict_dask(model, lazy_rows, "predict_proba")
    assert lazy.numblocks == (4, 1)
    assert lazy.shape[1] == 2
    assert_array_equal(lazy.compute(), said)
    labels = predict_dask(model, lazy_rows)
    assert_array_equal(labels.compute(), expected.predict(rows))
    options = {"strategy": "merge", "n_shards": 2, "n_start_rows": 10}
    merged = fit_dask(pipeline, *given(partitioned), **options, **CLASSES)
    assert merged.n_samples_seen_ == 60


MANY_COLUMNS = {f"more_{i}": 1.0 for i in range(30)}


def test_frames_from_files_keep_their_partitions(table, tmp_path):
    """Where Dask would read a few columns in fewer partitions, each its own number."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    dd = pytest.importorskip("dask.dataframe")
    frame, partitioned = table
    parts = dask.compute(*partitioned.assign(**MANY_COLUMNS).to_delayed())
    for i, part in enumerate(parts):
        part.to_parquet(tmp_path / f"{i}.parquet")
    read = dd.read_parquet(tmp_path)
    X, y = read.drop(columns=["sold", "city"]), read["sold"]
    assert X.npartitions == 4
    model = fit_dask(ScInOLClassifier(), X, y, **CLASSES)
    ends = np.cumsum([0, *map(len, parts)])
    given = {"parts": [slice(*each) for each in pairwise(ends)], **CLASSES}
    expected = learned(ScInOLClassifier(), X.compute(), frame["sold"], **given)
    assert_identical(vars(model)["_model"], vars(expected)["_model"])
    assert predict_dask(model, X).numblocks == (4,)


# Predictions.


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("container", [np.array, sparse.csr_array])
@pytest.mark.parametrize(
    ("method", "n_classes"),
    [("predict", 2), ("decision_function", 2), ("predict_proba", 3)],
)
def test_predictions(method, n_classes, container, known):
    X, y = binary()
    y = np.array(["few", "more", "most"])[np.where(X[:, 1] > 1, n_classes - 1, y)]
    model = ScInOLClassifier(center=False)
    model.partial_fit(container(X), y, classes=np.unique(y))
    ask = getattr(deepcopy(model), method)
    expected = np.concatenate([ask(container(X[i])) for i in PARTS if X[i].size])
    rows = as_dask(X).rechunk({1: 2})
    rows = rows if container is np.array else as_csr(rows)
    rows = rows if known else of_unknown_lengths(rows)
    lazy = predict_dask(model, rows, method)
    model.partial_fit(container(X), y)  # comes too late
    assert lazy.dtype == expected.dtype
    assert lazy.ndim == expected.ndim
    assert lazy.chunks[1:] == tuple((n,) for n in expected.shape[1:])
    assert lazy.chunks[0] == SIZES if known else np.isnan(lazy.chunks[0]).all()
    said = lazy.compute()
    assert said.dtype == expected.dtype
    assert_array_equal(said, expected)
    assert_array_equal(lazy[-1].compute() if known else said[-1], expected[-1])


# Progressive validation.


@pytest.mark.parametrize("n_ahead", [0, 2])
def test_progressive_validation(n_ahead):
    given = (*binary(), np.linspace(0.5, 2, 40))
    results = []
    for chunks in partitions(*map(as_dask, given), n_ahead=n_ahead), [given]:
        estimator = ScInOLClassifier()
        result = progressive_validation(estimator, chunks, **CLASSES)
        results.append((result.scores, estimator._model))
    assert results[0][0] == pytest.approx(results[1][0])
    assert_identical(results[0][1], results[1][1])


# What is refused, and when.


def test_refused():
    X, y = binary()
    rows, targets = as_dask(X), as_dask(y)
    model = ScInOLClassifier()
    computed = []
    never = rows.map_blocks(lambda rows: computed.append(rows), meta=X[:0])
    pipeline = make_online_pipeline(OnlineScaler(), model)
    unknown = of_unknown_lengths(targets.rechunk(40))
    chunk = dask.delayed((X, y))
    for error, match, given, options in (
        (ValueError, "classes must be passed", (model, never, targets), {}),
        (ValueError, "classes must be passed", (pipeline, never, targets), {}),
        (ValueError, "y to be passed", (model, never), CLASSES),
        (ValueError, "for classifiers", (ScInOLRegressor(), never, targets), CLASSES),
        (TypeError, "LogisticRegression does not", (LogisticRegression(), never), {}),
        (TypeError, "X must be a dask", (model, X, targets), CLASSES),
        (TypeError, "y must be a dask", (model, never, y), CLASSES),
        (ValueError, "1D array", (model, targets, targets), CLASSES),
        (ValueError, r"samples: \[40, 39\]", (model, never, targets[:-1]), CLASSES),
        (ValueError, "X has 5, and y has 1", (model, never, unknown), CLASSES),
        (TypeError, "list of Delayed", (model, [(X, y)]), CLASSES),
        (TypeError, "list of Delayed", (model, []), CLASSES),
        (ValueError, "are then None", (model, [chunk], targets), CLASSES),
        (ValueError, "'strategy' param", (model, never, targets), {"strategy": "both"}),
        (ValueError, "than 5 part", (model, never, targets), {"n_done": 6, **CLASSES}),
        (ValueError, "need a y", (OnlineScaler(), rows), {"sample_weight": targets}),
    ):
        with pytest.raises(error, match=match):
            fit_dask(*given, **options)
        assert not computed
    with pytest.raises(NotFittedError):
        predict_dask(model, rows)
    regressor = ScInOLRegressor().partial_fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        predict_dask(regressor, rows, "predict_proba")
    with pytest.raises(ValueError, match="features"):
        predict_dask(regressor, as_dask(X[:, :2]))
    with pytest.raises(TypeError, match="X must be a dask"):
        predict_dask(regressor, X)


def test_refused_while_learning():
    X, y = binary()
    with pytest.raises(TypeError, match="SGDClassifier cannot be merged"):
        fit_shards(SGDClassifier(), X, y)
    with pytest.raises(TypeError, match="got ndarray"):
        fit_dask(ScInOLClassifier(), [dask.delayed(X)], **CLASSES)
    with pytest.raises(ValueError, match=r"samples: \[3, 2\]"):
        fit_dask(ScInOLClassifier(), [dask.delayed((X[:3], y[:2]))], **CLASSES)
    with pytest.raises(ValueError, match="No partition has any rows"):
        fitted(ScInOLClassifier(), X[:0], y[:0], sizes=[0], **CLASSES)


# A cluster.


@pytest.fixture(scope="module")
def client():
    """Two processes, which come back when they are killed."""
    distributed = pytest.importorskip("distributed", reason="no distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def on_cluster(client):
    with dask.config.set(scheduler="distributed"):
        yield client


@pytest.mark.thorough
def test_merged_on_a_cluster(on_cluster):
    X, y = binary(60)
    rows, targets = as_dask(X, (10,) * 6), as_dask(y, (10,) * 6)
    options = {"strategy": "merge", "n_start_rows": 5, **CLASSES}
    fit = partial(fit_dask, ScInOLClassifier(), y=targets, **options)
    model = fit(rows)
    with dask.config.set(scheduler="synchronous"):
        same = fit(rows, n_shards=2)
        assert_identical(vars(model)["_model"], vars(same)["_model"])
        said = same.predict(X)
    assert_array_equal(predict_dask(model, rows).compute(), said)
    rows = on_cluster.persist(rows)
    future = on_cluster.compute(fit(rows, compute=False))
    assert_identical(vars(future.result())["_model"], vars(same)["_model"])
    (chunk, *_) = partitions(rows, targets)
    assert_identical(chunk, (X[:10], y[:10]))


@pytest.mark.thorough
def test_a_worker_is_lost(on_cluster, tmp_path):
    """While it learns, with all that it had."""

    class Deadly(ScInOLClassifier):
        def partial_fit(self, X, y, classes=None):
            known = self.n_samples_seen_ if hasattr(self, "classes_") else 0
            super().partial_fit(X, y, classes)
            if known == 17 and not (tmp_path / "killed").exists():
                (tmp_path / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return self

    X, y = binary(60)
    sizes = 7, 10, 12, 11, 20
    given = on_cluster.persist([as_dask(X, sizes), as_dask(y, sizes)])
    workers = on_cluster.scheduler_info()["workers"].keys()
    parts = [slice(*each) for each in pairwise(np.cumsum([0, *sizes]))]
    expected = learned(ScInOLClassifier(), X, y, parts=parts, **CLASSES)
    told = []
    tell = {"checkpoint": lambda model, n_done: told.append(n_done)}
    model = fit_dask(Deadly(), *given, checkpoint_every=2, **tell, **CLASSES)
    assert (tmp_path / "killed").exists()
    assert told == [2, 4, 5]
    assert_identical(vars(model), vars(expected))
    on_cluster.wait_for_workers(2)
    assert on_cluster.scheduler_info()["workers"].keys() != workers

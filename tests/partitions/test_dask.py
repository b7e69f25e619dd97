"""Learning and predicting partitions, with Dask's schedulers and with a cluster."""

import logging
import os
import signal
from copy import deepcopy
from functools import partial
from itertools import pairwise

import joblib
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


# One model, from partition to partition.


@thinned(REPRESENTATIVES, container=[np.array, sparse.csr_array], weighted=[0, 1])
def test_sequential_is_partial_fit(case, container, weighted):
    X, y = case.data(40)
    c = np.random.default_rng(1).choice([0.5, 1.0, 4.0], 40) if weighted else None
    estimator = case.make()
    rows = as_dask(X)
    model = fit_dask(
        estimator,
        rows if container is np.array else as_csr(rows),
        as_dask(y),
        sample_weight=None if c is None else as_dask(c),
        checkpoint_every=2,
        **case.classes(),
    )
    assert not hasattr(estimator, "_model")
    expected = learned(estimator, container(X), y, c, **case.classes())
    assert_identical(vars(model), vars(expected))


@pytest.mark.parametrize("make", [HedgeClassifier, SGDClassifier])
@pytest.mark.parametrize("strategy", ["threads", "synchronous"])
def test_mixtures_and_others(make, strategy):
    X, y = binary()
    estimator = make(random_state=0)
    with dask.config.set(scheduler=strategy):
        model = fit_dask(estimator, as_dask(X), as_dask(y), classes=[0, 1])
    expected = learned(estimator, X, y, classes=[0, 1])
    assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_fitted_ones_go_on():
    X, y = binary()
    start = ScInOLClassifier().partial_fit(X, y, classes=[0, 1])
    before = deepcopy(start)
    for classes in None, [0, 1]:
        model = fit_dask(start, as_dask(X), as_dask(y), classes=classes)
        assert_identical(vars(start), vars(before))
        assert_identical(vars(model), vars(learned(start, X, y)))
    with pytest.raises(ValueError, match="not the same as on last call"):
        fit_dask(start, as_dask(X), as_dask(y), classes=[0, 1, 2])
    anew = fit_dask(clone(start), as_dask(X), as_dask(y), classes=[0, 1])
    assert anew.n_samples_seen_ == 40


@pytest.mark.parametrize("known", [True, False])
def test_columns_and_rows_in_other_blocks(known):
    X, y = binary()
    expected = learned(ScInOLClassifier(), X, y, classes=[0, 1])
    rows = as_dask(X).rechunk({1: 2})
    targets = as_dask(y)
    if known:
        targets = targets.rechunk(40)
    else:
        rows, targets = map(of_unknown_lengths, (rows, targets))
    for each in rows, as_csr(rows):
        model = fit_dask(ScInOLClassifier(center=False), each, targets, classes=[0, 1])
        assert model.n_samples_seen_ == 40
    model = fit_dask(ScInOLClassifier(), rows, targets, classes=[0, 1])
    assert_identical(vars(model), vars(expected))


def test_several_targets():
    X, _ = binary()
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(40, 2))
    targets = as_dask(Y).rechunk({1: 1})
    model = fit_dask(ScInOLRegressor(), as_dask(X), targets)
    assert_identical(vars(model), vars(learned(ScInOLRegressor(), X, Y)))


@pytest.mark.parametrize("weighted", [False, True])
def test_delayed_chunks(weighted):
    X, y = binary()
    c = np.linspace(0.5, 2, 40)
    given = [X, y, c] if weighted else [X, y]
    chunks = [
        dask.delayed(tuple)([each[rows] for each in given], pure=False)
        for rows in PARTS
    ]
    model = fit_dask(ScInOLClassifier(), chunks, classes=[0, 1])
    weights = c if weighted else None
    expected = learned(ScInOLClassifier(), X, y, weights, classes=[0, 1])
    assert_identical(vars(model), vars(expected))
    for chunk, rows in zip(partitions(chunks), PARTS, strict=True):
        assert_identical(chunk, tuple(each[rows] for each in given))


def test_transformers_need_no_targets():
    X, _ = binary()
    model = fit_dask(OnlineScaler(), as_dask(X))
    assert_array_equal(model.transform(X), OnlineScaler().partial_fit(X).transform(X))


def test_new_classes_and_passes():
    X, y = binary()
    estimator = ScInOLClassifier(new_classes="add")
    model = fit_dask(estimator, as_dask(X), as_dask(y), n_passes=3)
    assert_identical(vars(model), vars(learned(estimator, X, y, parts=PARTS * 3)))


def test_all_is_one_graph_if_not_computed():
    X, y = binary()
    later = fit_dask(
        ScInOLClassifier(), as_dask(X), as_dask(y), classes=[0, 1], compute=False
    )
    names = {dask.utils.key_split(key) for key in later.dask}
    assert {"partial_fit", "ScInOLClassifier"} <= names
    expected = learned(ScInOLClassifier(), X, y, classes=[0, 1])
    for _ in range(2):  # no task changes what it is given
        assert_identical(vars(later.compute()), vars(expected))
    with pytest.raises(ValueError, match="no checkpoints"):
        fit_dask(
            ScInOLRegressor(), as_dask(X), as_dask(y), compute=False, checkpoint="a"
        )


def test_the_engine_is_that_of_the_caller():
    class Tells(ScInOLRegressor):
        def partial_fit(self, X, y):
            self.engine_ = get_config()["engine"]
            return super().partial_fit(X, y)

    X, y = binary()
    with dask.config.set(scheduler="threads"):
        model = fit_dask(Tells(), as_dask(X), as_dask(y))
    assert model.engine_ == get_config()["engine"] == "numpy"


# Checkpoints.


def test_going_on_from_a_file(tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    X, y = binary()
    path = tmp_path / "model.skops"
    broken = X.copy()
    broken[39] = np.nan
    fit = partial(fit_dask, n_passes=2, checkpoint=path, checkpoint_every=2)
    with pytest.raises(ValueError, match="NaN") as raised:
        fit(ScInOLClassifier(), as_dask(broken), as_dask(y), classes=[0, 1])
    assert raised.value.__notes__[0].startswith("This happened at partition 4,")
    state = load(path)
    assert state["n_done"] == 4
    model = fit(state["model"], as_dask(X), as_dask(y), n_done=4)
    parts = [*PARTS[:4], *PARTS[4:], *PARTS]
    expected = learned(ScInOLClassifier(), X, y, classes=[0, 1], parts=parts)
    assert_identical(vars(model), vars(expected))
    state = load(path)
    assert state["n_done"] == 10
    assert_identical(vars(state["model"]), vars(expected))
    again = fit(state["model"], as_dask(X), as_dask(y), n_done=10)
    assert_identical(vars(again), vars(expected))


def test_what_cannot_be_saved_is_known_at_once(tmp_path):
    pytest.importorskip("skops", reason="skops is not installed")
    X, y = binary()
    estimator = ScInOLClassifier(class_weight={False: 1.0, True: 2.0})
    path = tmp_path / "model.skops"
    with pytest.raises(TypeError, match="cannot be saved"):
        fit_dask(estimator, as_dask(X), as_dask(y > 0), classes=[0, 1], checkpoint=path)


def test_checkpoints_of_merged_models_are_passes():
    X, y = binary()
    told = []
    fit = partial(fit_dask, X=as_dask(X), y=as_dask(y), strategy="merge", n_shards=2)
    model = fit(
        ScInOLClassifier(),
        classes=[0, 1],
        n_passes=3,
        checkpoint=lambda *state: told.append(state),
    )
    assert [n_done for _, n_done in told] == [5, 10, 15]
    again = fit(told[0][0], n_passes=3, n_done=5)
    assert_identical(vars(again), vars(model))
    with pytest.raises(ValueError, match="whole passes of 5 partitions, got 4"):
        fit(model, n_passes=3, n_done=4)


# Shards.

fit_shards = partial(fit_dask, classes=[0, 1], strategy="merge")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("is_fitted", [False, True])
def test_merge_is_merge_models(known, is_fitted):
    X, y = binary(60)
    sizes = 10, 3, 12, 0, 20, 15
    estimator = ScInOLClassifier()
    if is_fitted:
        estimator.partial_fit(X[:5] + 1.0, y[:5], classes=[0, 1])
    rows, targets = as_dask(X, sizes), as_dask(y, sizes)
    if not known:
        rows, targets = of_unknown_lengths(rows), of_unknown_lengths(targets)
    model = fit_shards(
        estimator,
        rows,
        targets,
        n_passes=2,
        n_shards=3,
        n_start_rows=12,
        n_final_rows=18,
    )

    def part(first, *numbers, last=60):
        """Rows of partitions that neither the start nor the end has."""
        bounds = np.cumsum([0, *sizes])
        ends = [(bounds[i], bounds[i + 1]) for i in numbers]
        return [slice(max(a, first), max(min(b, last), a, first)) for a, b in ends]

    last = 42 if known else 45
    expected = deepcopy(estimator)
    for is_first in not is_fitted, False:
        n_first = (12 if known else 10) * is_first
        fit = partial(learned, X=X, y=y, classes=[0, 1])
        expected = fit(expected, parts=part(0, 0, 1, last=n_first))
        shards = [(0, 1), (2, 3), (4, 5)]
        models = [
            fit(expected, parts=part(n_first, *numbers, last=last))
            for numbers in shards
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
    as_given = {"center": False, "scale": False, "standardize_target": False}
    estimator = OnlineNewtonRegressor(
        loss="squared_error", clip_deviations=None, **as_given
    )
    sizes = (10,) * 40
    model = fit_dask(
        estimator, as_dask(X, sizes), as_dask(y, sizes), strategy="merge", n_shards=20
    )
    one = deepcopy(estimator).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_, one.coef_, rtol=1e-10)
    assert model.n_samples_seen_ == 400


@pytest.mark.parametrize("n_rows", [(1000, 2000), (0, 0), (30, 30)])
@pytest.mark.parametrize("known", [True, False])
def test_each_row_counts_once(n_rows, known):
    """Also where there are no more rows than at the start and the end."""
    X, y = binary()
    rows, targets = as_dask(X), as_dask(y)
    if not known:
        rows, targets = of_unknown_lengths(rows), of_unknown_lengths(targets)
    start, final = n_rows
    model = fit_shards(
        ScInOLClassifier(),
        rows,
        targets,
        n_shards=3,
        n_start_rows=start,
        n_final_rows=final,
    )
    assert model.n_samples_seen_ == 40
    if known and start >= 30:  # one model had all
        expected = learned(ScInOLClassifier(), X, y, classes=[0, 1])
        assert model.cumulative_loss_ == pytest.approx(expected.cumulative_loss_)


def test_shards_make_their_partitions():
    """In the tasks that learn them, but for what several partitions are made of."""
    X, y = binary()
    options = {"classes": [0, 1], "strategy": "merge", "n_shards": 3, "n_passes": 2}
    known = {"ScInOLClassifier", "partial_fit", "start", "merge_models"}
    rows = as_dask(X).map_blocks(lambda rows: rows + 1.0)
    for each, shared in (rows, 0), (rows.rechunk({0: 10}), 3):
        later = fit_dask(ScInOLClassifier(), each, as_dask(y), compute=False, **options)
        others = [key for key in later.dask if dask.utils.key_split(key) not in known]
        assert bool(others) == bool(shared)
        sizes = each.chunks[0]
        held = as_dask(X + 1.0, sizes), as_dask(y, sizes)
        expected = fit_dask(ScInOLClassifier(), *held, **options)
        assert_identical(vars(later.compute()), vars(expected))


def test_shards_without_rows():
    X, y = binary(10)
    sizes = 0, 10, 0, 0
    rows = of_unknown_lengths(as_dask(X, sizes))
    model = fit_shards(
        ScInOLClassifier(), rows, of_unknown_lengths(as_dask(y, sizes)), n_shards=4
    )
    assert model.n_samples_seen_ == 10


def test_weights_and_mixtures_are_merged():
    X, y = binary()
    c = np.tile([0.0, 1.0], 20)
    model = fit_shards(
        HedgeClassifier(),
        as_dask(X),
        as_dask(y),
        sample_weight=as_dask(c),
        n_start_rows=5,
        n_final_rows=5,
    )
    assert model.n_samples_seen_ == 20
    model._check_state()


# Frames.


@pytest.fixture
def table():
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    dd = pytest.importorskip("dask.dataframe", reason="no dataframes of dask")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=60),
            "city": rng.choice(["Oslo", "Rome", "Lima"], 60),
            "weight": rng.choice([0.5, 2.0], 60),
        }
    )
    frame["sold"] = (frame["x"] + (frame["city"] == "Rome") > 0).astype(int)
    return frame, dd.from_pandas(frame, npartitions=4)


def test_frames(table):
    frame, partitioned = table
    columns = ["x", "city"]
    pipeline = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    model = fit_dask(
        pipeline,
        partitioned[columns],
        partitioned["sold"],
        sample_weight=partitioned["weight"],
        classes=[0, 1],
    )
    expected = deepcopy(pipeline)
    for part in dask.compute(*partitioned.to_delayed()):
        expected.partial_fit(
            part[columns], part["sold"], sample_weight=part["weight"], classes=[0, 1]
        )
    said = expected.predict_proba(frame[columns])
    assert_array_equal(model.predict_proba(frame[columns]), said)
    lazy = predict_dask(model, partitioned[columns], "predict_proba")
    assert lazy.numblocks == (4, 1)
    assert lazy.shape[1] == 2
    assert_array_equal(lazy.compute(), said)
    labels = predict_dask(model, partitioned[columns])
    assert_array_equal(labels.compute(), expected.predict(frame[columns]))


def test_merged_pipelines(table):
    frame, partitioned = table
    X, y = partitioned[["x", "city"]], partitioned["sold"]
    pipeline = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    model = fit_shards(pipeline, X, y, n_shards=2, n_start_rows=10)
    assert model.n_samples_seen_ == 60
    assert model.score(frame[["x", "city"]], frame["sold"]) > 0.7


def test_frames_from_files_keep_their_partitions(table, tmp_path):
    """Where Dask would read a few columns in fewer partitions, each its own number."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame, partitioned = table
    for i in range(30):
        partitioned[f"more_{i}"] = 1.0
    for i, part in enumerate(dask.compute(*partitioned.to_delayed())):
        part.to_parquet(tmp_path / f"{i}.parquet")
    dd = pytest.importorskip("dask.dataframe")
    read = dd.read_parquet(tmp_path)
    X, y = read.drop(columns=["sold", "city"]), read["sold"]
    assert X.npartitions == 4
    model = fit_dask(ScInOLClassifier(), X, y, classes=[0, 1])
    ends = np.cumsum([0, *map(len, dask.compute(*partitioned.to_delayed()))])
    frame = X.compute(), frame["sold"]
    parts = [slice(*each) for each in pairwise(ends)]
    expected = learned(ScInOLClassifier(), *frame, classes=[0, 1], parts=parts)
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
    names = np.unique(y)
    model = ScInOLClassifier(center=False).partial_fit(container(X), y, classes=names)
    rows = as_dask(X).rechunk({1: 2})
    rows = rows if container is np.array else as_csr(rows)
    rows = rows if known else of_unknown_lengths(rows)
    lazy = predict_dask(model, rows, method)
    model.partial_fit(container(X), y)  # comes too late
    expected = ScInOLClassifier(center=False)
    expected = expected.partial_fit(container(X), y, classes=names)
    parts = [getattr(expected, method)(container(X[i])) for i in PARTS if X[i].size]
    expected = np.concatenate(parts)
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
    X, y = binary()
    c = np.linspace(0.5, 2, 40)
    results = []
    stream = partitions(as_dask(X), as_dask(y), as_dask(c), n_ahead=n_ahead)
    for chunks in stream, [(X, y, c)]:
        estimator = ScInOLClassifier()
        result = progressive_validation(estimator, chunks, classes=[0, 1])
        results.append((result.scores, vars(estimator)["_model"]))
    assert results[0][0] == pytest.approx(results[1][0])
    assert_identical(results[0][1], results[1][1])


# What is refused, and when.


def test_refused():
    X, y = binary()
    rows, targets = as_dask(X), as_dask(y)
    model = ScInOLClassifier()
    computed = []

    def refused(error, match, *given, **options):
        with pytest.raises(error, match=match):
            fit_dask(*given, **options)
        assert not computed

    never = rows.map_blocks(lambda rows: computed.append(rows), meta=X[:0])
    refused(ValueError, "classes must be passed", model, never, targets)
    pipeline = make_online_pipeline(OnlineScaler(), model)
    refused(ValueError, "classes must be passed", pipeline, never, targets)
    refused(ValueError, "y to be passed", model, never, classes=[0, 1])
    refused(ValueError, "for classifiers", ScInOLRegressor(), never, targets, classes=1)
    refused(TypeError, "LogisticRegression does not", LogisticRegression(), never)
    refused(TypeError, "X must be a dask", model, X, targets, classes=[0, 1])
    refused(TypeError, "y must be a dask", model, never, y, classes=[0, 1])
    refused(ValueError, "1D array", model, targets, targets, classes=[0, 1])
    given = {"classes": [0, 1]}
    refused(ValueError, r"samples: \[40, 39\]", model, never, targets[:-1], **given)
    unknown = of_unknown_lengths(targets.rechunk(40))
    refused(ValueError, "X has 5, and y has 1", model, never, unknown, **given)
    refused(TypeError, "list of Delayed", model, [(X, y)], **given)
    refused(TypeError, "list of Delayed", model, [], **given)
    chunk = dask.delayed((X, y))
    refused(ValueError, "are then None", model, [chunk], targets, **given)
    refused(ValueError, "'strategy' parameter", model, never, targets, strategy="both")
    refused(ValueError, "more than 5 part", model, never, targets, n_done=6, **given)
    with pytest.raises(ValueError, match="need a y"):
        fit_dask(OnlineScaler(), rows, sample_weight=targets)


def test_refused_while_learning():
    X, y = binary()
    given = {"classes": [0, 1]}
    with pytest.raises(TypeError, match="SGDClassifier cannot be merged"):
        fit_dask(SGDClassifier(), as_dask(X), as_dask(y), strategy="merge", **given)
    with pytest.raises(TypeError, match="got ndarray"):
        fit_dask(ScInOLClassifier(), [dask.delayed(X)], **given)
    with pytest.raises(ValueError, match=r"samples: \[3, 2\]"):
        fit_dask(ScInOLClassifier(), [dask.delayed((X[:3], y[:2]))], **given)
    empty = as_dask(X[:0], [0])
    with pytest.raises(ValueError, match="No partition has any rows"):
        fit_dask(ScInOLClassifier(), empty, as_dask(y[:0], [0]), **given)


def test_predictions_that_are_refused():
    X, y = binary()
    with pytest.raises(NotFittedError):
        predict_dask(ScInOLClassifier(), as_dask(X))
    model = ScInOLRegressor().partial_fit(X, y)
    with pytest.raises(AttributeError, match="predict_proba"):
        predict_dask(model, as_dask(X), "predict_proba")
    with pytest.raises(ValueError, match="features"):
        predict_dask(model, as_dask(X[:, :2]))
    with pytest.raises(TypeError, match="X must be a dask"):
        predict_dask(model, X)


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
    sizes = (10,) * 6
    options = {"classes": [0, 1], "strategy": "merge", "n_start_rows": 5}
    rows, targets = as_dask(X, sizes), as_dask(y, sizes)
    model = fit_dask(ScInOLClassifier(), rows, targets, **options)
    with dask.config.set(scheduler="synchronous"):
        same = fit_dask(ScInOLClassifier(), rows, targets, n_shards=2, **options)
        assert_identical(vars(model)["_model"], vars(same)["_model"])
        said = same.predict(X)
    assert_array_equal(predict_dask(model, rows).compute(), said)
    rows = on_cluster.persist(rows)
    later = fit_dask(ScInOLClassifier(), rows, targets, compute=False, **options)
    future = on_cluster.compute(later)
    assert_identical(vars(future.result())["_model"], vars(same)["_model"])
    (chunk, *_) = partitions(rows, targets)
    assert_identical(chunk, (X[:10], y[:10]))


@pytest.mark.thorough
def test_experts_learn_on_workers(on_cluster):
    X, y = binary(30)
    one = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    with joblib.parallel_config(backend="dask"):
        model = HedgeClassifier(n_jobs=2).partial_fit(X, y, classes=[0, 1])
    kinds = on_cluster.run_on_scheduler(
        lambda dask_scheduler: {*dask_scheduler.task_prefixes}
    )
    assert any("call" in kind for kind in kinds)  # such as "batch_of__call_1_calls"
    assert_array_equal(model.decision_function(X), one.decision_function(X))
    assert_array_equal(model.weights_, one.weights_)


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
    rows, targets = on_cluster.persist([as_dask(X, sizes), as_dask(y, sizes)])
    workers = on_cluster.scheduler_info()["workers"].keys()
    ends = np.cumsum(sizes)
    parts = [slice(*each) for each in pairwise([0, *ends])]
    expected = learned(ScInOLClassifier(), X, y, classes=[0, 1], parts=parts)
    told = []
    model = fit_dask(
        Deadly(),
        rows,
        targets,
        classes=[0, 1],
        checkpoint=lambda model, n_done: told.append(n_done),
        checkpoint_every=2,
    )
    assert (tmp_path / "killed").exists()
    assert told == [2, 4, 5]
    assert_identical(vars(model), vars(expected))
    on_cluster.wait_for_workers(2)
    assert on_cluster.scheduler_info()["workers"].keys() != workers


# What others have.


@pytest.mark.slow
def test_wrappers_of_dask_ml():
    wrappers = pytest.importorskip("dask_ml.wrappers", reason="no dask-ml")
    X, y = binary()
    sizes = 15, 5, 20  # it does not take empty ones
    rows, targets = as_dask(X, sizes), as_dask(y, sizes)
    model = wrappers.Incremental(ScInOLClassifier(), shuffle_blocks=False)
    model.fit(rows, targets, classes=[0, 1])
    expected = ScInOLClassifier()
    for some in slice(15), slice(15, 20), slice(20, 40):
        expected.partial_fit(X[some], y[some], classes=[0, 1])
    assert_identical(vars(model.estimator_), vars(expected))
    expected = ScInOLClassifier().partial_fit(X, y, classes=[0, 1])
    model = wrappers.ParallelPostFit(expected)
    assert_array_equal(model.predict(rows).compute(), expected.predict(X))


def test_several_labels_a_row():
    X, _ = binary()
    Y = (X > 0.0).astype(int)
    model = fit_dask(ScInOLClassifier(), as_dask(X), as_dask(Y), classes=range(3))
    expected = ScInOLClassifier().partial_fit(X, Y)
    assert_array_equal(model.decision_function(X), expected.decision_function(X))
    probabilities = predict_dask(model, as_dask(X), method="predict_proba").compute()
    assert_array_equal(probabilities, expected.predict_proba(X))

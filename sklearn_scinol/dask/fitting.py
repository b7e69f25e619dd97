"""Estimators that learn partitions, in order or many at a time."""

import sys
from copy import deepcopy
from functools import partial, reduce
from itertools import pairwise
from numbers import Integral
from os import PathLike
from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import Labels, validate_params
from ..evaluation.progressive import _adds_classes, _is_fitted
from ..persistence import _packed, _skops, save
from .graphs import Graph, check_mergeable, n_threads
from .partitions import Chunks, import_dask

__all__ = ["fit_dask"]

#: A setting of Dask: from how many bytes on it warns of what is sent.
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"

AT_LEAST_0 = Interval(Integral, 0, None, closed="left")
AT_LEAST_1 = Interval(Integral, 1, None, closed="left")


@validate_params(
    {
        "strategy": [StrOptions({"sequential", "merge"})],
        "n_passes": [AT_LEAST_1],
        "n_shards": [AT_LEAST_1, None],
        "n_start_rows": [AT_LEAST_0],
        "n_final_rows": [AT_LEAST_0],
        "checkpoint": [str, PathLike, callable, None],
        "checkpoint_every": [AT_LEAST_1],
        "n_done": [AT_LEAST_0],
        "compute": ["boolean"],
    },
    prefer_skip_nested_validation=False,
)
def fit_dask(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    classes: Labels | None = None,
    sample_weight: Any = None,
    strategy: Literal["sequential", "merge"] = "sequential",
    n_passes: int = 1,
    n_shards: int | None = None,
    n_start_rows: int = 1000,
    n_final_rows: int = 2000,
    checkpoint: Any = None,
    checkpoint_every: int = 10,
    n_done: int = 0,
    compute: bool = True,
) -> Any:
    """Learn from data in partitions.

    The estimator goes to where the partitions are: to the workers of a cluster, where
    there is a :class:`distributed.Client`, or to Dask's threads. It learns each with
    `partial_fit`. The one that is given stays as it is.

    Parameters
    ----------
    estimator : estimator
        What has `partial_fit`. If it is fitted, it goes on learning from where it is,
        as with `partial_fit`; to begin anew, give its :func:`~sklearn.base.clone`.

    X : dask array, dask dataframe or list of Delayed
        Rows, in any number of partitions, of any lengths. Blocks of arrays may be
        sparse, with all columns or some. For frames the estimator is one that takes
        them, such as a pipeline with a
        :class:`~sklearn_scinol.preprocessing.TableEncoder`. Delayed are of
        ``(X, y)`` or ``(X, y, sample_weight)`` each, of whatever the estimator takes.

    y : dask array, series or dataframe, default=None
        Targets of the rows, in the same partitions. None where Delayed have them, and
        for transformers.

    classes : array-like of shape (n_classes,), default=None
        All classes of the data. A classifier that is not fitted needs them, but one
        with ``new_classes="add"``.

    sample_weight : dask array or series, default=None
        Non-negative weights of the rows, in the same partitions. None stands for ones.

    strategy : {"sequential", "merge"}, default="sequential"
        With "sequential" one model learns all partitions in order, to the last bit as
        `partial_fit` does. With "merge" models learn shards, which are as many
        neighbouring partitions each, at the same time, and are merged by
        :func:`~sklearn_scinol.merge_models`, a few at a time. See there which
        estimators can be merged, and how.

    n_passes : int, default=1
        How often all rows are learned. With "merge" all models begin each pass as what
        was merged in the one before.

    n_shards : int, default=None
        Number of shards with "merge", at most one for each partition. None stands for
        the number of threads of all workers; on another cluster the model is then
        another one.

    n_start_rows : int, default=1000
        With "merge", number of rows at the beginning that one model learns; the shards'
        begin as it. Nothing is learned so where the estimator is fitted.

    n_final_rows : int, default=2000
        With "merge", number of rows at the end that the merged model learns, in each
        pass. This is what finds the weights of a mixture's experts.

    checkpoint : str, path-like or function, default=None
        A file for what was learned so far, which
        :func:`~sklearn_scinol.persistence.save` writes over and over: a dict of the
        "model" and of "n_done". Or a function that is called with these two. With
        "merge" that is done after each pass.

    checkpoint_every : int, default=10
        With "sequential", after how many partitions the model comes back to this
        process. If a worker is lost, no more than these are learned again. No more than
        these are read ahead, and in memory at a time, either.

    n_done : int, default=0
        How many partitions were learned by an earlier call and are passed over, those
        of all passes: see the example. With "merge", of whole passes.

    compute : bool, default=True
        Whether to learn now. Otherwise all is one graph, without checkpoints. With
        "sequential", workers with nothing else to do then read partitions ahead as far
        as Dask lets them, which may be all.

    Returns
    -------
    model : estimator or Delayed
        The fitted estimator; with ``compute=False`` a :class:`~dask.delayed.Delayed`
        of it, for :meth:`distributed.Client.compute`.

    Raises
    ------
    ImportError
        If Dask is not installed, or skops where `checkpoint` is a file.
    TypeError
        If the data are none of these, or the estimator has no `partial_fit`, cannot be
        merged with "merge", or cannot be saved.
    ValueError
        If a classifier lacks `classes`, partitions do not fit together, or there are
        no rows at all. What the estimator does not accept raises its own errors, with a
        note that names the partition.

    See Also
    --------
    predict_dask : Predict partitions.
    partitions : A stream for progressive validation.

    Notes
    -----
    *Rows of X and y.* Arrays whose lengths are known are divided as X is. All others
    must have as many partitions, with the same rows.

    *Start and end.* Each row is learned once a pass. Where the lengths of partitions
    are not known, as in frames, `n_start_rows` are rows of the first partition, and
    `n_final_rows` of the last, and fewer if these are shorter.

    *Memory.* With "merge" a task reads the partition that it learns: each thread has
    one in memory. Those with the rows of the start and the end are read again for them.

    *Where partitions are.* Tasks go to partitions that are in the memory of workers.
    Shards learn at the same time if theirs are on different workers.

    *Lost workers.* Dask does again what was lost with a worker, and the outcome is the
    same to the last bit: no task changes what it was given. With "merge" that is all
    that it has learned in this pass.

    *Progress.* The dashboard shows tasks named "partial_fit" and "merge_models". A bar
    is what ``progress(client.compute(fit_dask(..., compute=False)))`` shows, with
    :func:`distributed.progress`, or :class:`dask.diagnostics.ProgressBar` where there
    is no cluster.

    *Configuration.* That of this thread, such as the engine, is in force on workers.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.dask import fit_dask
    >>> X, y = (da.from_array(each) for each in load_breast_cancer(return_X_y=True))
    >>> X = X.rechunk({0: 100})
    >>> model = fit_dask(ScInOLClassifier(), X, y, classes=[0, 1])
    >>> model.n_samples_seen_
    569
    >>> merged = fit_dask(
    ...     ScInOLClassifier(), X, y, classes=[0, 1], strategy="merge", n_shards=2,
    ...     n_start_rows=100, n_final_rows=100, n_passes=2,
    ... )
    >>> merged.n_samples_seen_
    1138

    To go on where another call ended, in its second pass:

    >>> checkpoints = []
    >>> model = fit_dask(
    ...     ScInOLClassifier(), X, y, classes=[0, 1], n_passes=2, checkpoint_every=4,
    ...     checkpoint=lambda *state: checkpoints.append(state),
    ... )
    >>> learned, n_done = checkpoints[1]  # or what `load` gives of a file
    >>> n_done
    8
    >>> again = fit_dask(learned, X, y, n_passes=2, n_done=n_done)
    >>> bool((again.coef_ == model.coef_).all())
    True
    """
    dask = import_dask("fit_dask")
    _check(estimator, classes, y is not None or isinstance(X, (list, tuple)))
    chunks = Chunks.of(X, y, sample_weight)
    n = len(chunks.parts)
    if n_done > n * n_passes:
        raise ValueError(f"n_done={n_done} is more than {n * n_passes} partitions.")
    graph = Graph(chunks, classes)
    stages: list[Any]  # functions of the key of a model
    if strategy == "sequential":
        ends = [*range(n_done, n * n_passes, checkpoint_every), n * n_passes]
        stages = [
            partial(graph.sequence, numbers=[i % n for i in range(*numbers)])
            for numbers in pairwise(ends)
        ]
    else:
        if n_done % n:
            raise ValueError(
                f"With strategy='merge', n_done must be that of whole passes of {n} "
                f"partitions, got {n_done}."
            )
        n_shards = min(n_shards or n_threads(), n)
        cuts = _cuts(chunks.lengths, n, n_start_rows, n_final_rows)
        if is_fitted := _is_fitted(estimator):
            check_mergeable(estimator)
        stages = [
            partial(graph.shards, n_shards=n_shards, cuts=cuts * [first, 1])
            for first in [not is_fitted, *[False] * (n_passes - 1)]
        ][: n_passes - n_done // n]
        ends = [*range(n_done, n * n_passes, n), n * n_passes]
    model = deepcopy(estimator)
    if not compute:
        if checkpoint is not None:
            raise ValueError("With compute=False there are no checkpoints.")
        begin = graph.begin(model)
        return graph.delayed(reduce(lambda model, stage: stage(model), stages, begin))
    tell = _teller(checkpoint, model)
    # A model of any size is sent once a stage, which is no reason to warn. The settings
    # of distributed are there when it is.
    quiet = {LARGE_GRAPH: 2**62} if "distributed" in sys.modules else {}
    with dask.config.set(quiet):
        for stage, end in zip(stages, ends[1:], strict=True):
            (model,) = dask.compute(graph.delayed(stage(graph.begin(model))))
            graph.tasks.clear()
            tell(model, end)
    if stages and not _is_fitted(model):
        raise ValueError("No partition has any rows.")
    return model


def _check(estimator, classes, has_targets):
    """Find out what would fail, before anything is computed."""
    name = type(estimator).__name__
    if not hasattr(estimator, "partial_fit"):
        raise TypeError(
            f"fit_dask needs an estimator with partial_fit, which {name} does not have."
        )
    if not has_targets and (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    if classes is not None and not is_classifier(estimator):
        raise ValueError(f"classes are for classifiers, which {name} is not.")
    if (
        classes is None
        and is_classifier(estimator)
        and not _is_fitted(estimator)
        and not _adds_classes(estimator)
    ):
        raise ValueError(
            f"{name} is not fitted: classes must be passed, for no partition need have "
            "all of them."
        )


def _cuts(lengths, n_partitions, n_start_rows, n_final_rows):
    """How many rows at the ends of partitions are the first and last ones of all."""
    cuts = np.zeros((n_partitions, 2), np.intp)
    if lengths is None:
        cuts[0, 0], cuts[-1, 1] = n_start_rows, n_final_rows
        return cuts
    ends = np.cumsum(lengths)
    begins = ends - lengths
    cuts[:, 0] = np.clip(n_start_rows - begins, 0, lengths)
    cuts[:, 1] = np.clip(n_final_rows - (ends[-1] - ends), 0, lengths)
    return cuts


def _teller(checkpoint, model):
    """What to do with a model after each stage."""
    if checkpoint is None:
        return lambda model, n_done: None
    if callable(checkpoint):
        return checkpoint
    _packed(_skops("fit_dask"), model)  # or it is known now that this fails
    return lambda model, n_done: save({"model": model, "n_done": n_done}, checkpoint)

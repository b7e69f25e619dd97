"""Learning of partitions, in order or many at a time."""

from __future__ import annotations

import sys
from copy import deepcopy
from functools import partial, reduce
from itertools import pairwise
from numbers import Integral
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils._param_validation import Interval, StrOptions

from .._optional import import_optional
from .._typing import Estimator, Labels, validate_params
from .._validation import is_fitted
from ..estimators.rehearsal import adds_classes
from .graphs import Learning, check_mergeable, n_threads
from .partitions import Chunks

if TYPE_CHECKING:
    from dask.delayed import Delayed

#: Setting of Dask for the size of graphs above which it warns.
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
    estimator: Estimator,
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
) -> Estimator | Delayed:
    """Learn from data in partitions.

    The estimator goes to the partitions, to the workers of a cluster if there is a
    :class:`distributed.Client`, else to Dask's threads, and learns each with
    `partial_fit`. The argument stays as it is.

    Parameters
    ----------
    estimator : estimator
        An estimator with `partial_fit`. If it is fitted, it goes on learning; to begin
        anew, pass its :func:`~sklearn.base.clone`.
    X : dask array, dask dataframe or list of Delayed
        Rows, in any number of partitions, of any lengths. Blocks of arrays may be
        sparse, with all columns or some. Frames need an estimator that takes them, such
        as a pipeline with a :class:`~sklearn_scinol.preprocessing.TableEncoder`. Each
        Delayed is of ``(X, y)`` or ``(X, y, sample_weight)``.
    y : dask array, series or dataframe, default=None
        Targets of the rows, in the same partitions. None if Delayed have them, and for
        transformers.
    classes : array-like of shape (n_classes,), default=None
        All classes of the data. An unfitted classifier needs them, except with
        ``new_classes="add"``.
    sample_weight : dask array or series, default=None
        Non-negative weights of the rows, in the same partitions. None stands for ones.
    strategy : {"sequential", "merge"}, default="sequential"
        With "sequential" one model learns all partitions in order, equal to the last
        bit to `partial_fit`. With "merge" models learn shards of neighbouring
        partitions at the same time, and are merged by
        :func:`~sklearn_scinol.merge_models`, which says what can be merged.
    n_passes : int, default=1
        Number of passes over all rows. With "merge" all models begin each pass as the
        merged model of the one before.
    n_shards : int, default=None
        Number of shards with "merge", at most one for each partition. By default the
        number of threads of all workers; the model then depends on the cluster.
    n_start_rows : int, default=1000
        With "merge", number of first rows that one model learns, with which all shards
        begin; none if the estimator is fitted.
    n_final_rows : int, default=2000
        With "merge", number of last rows that the merged model learns in each pass,
        which tell the weights of a mixture's experts.
    checkpoint : str, path-like or function, default=None
        A file that :func:`~sklearn_scinol.persistence.save` writes over and over: a
        dict of the "model" and of "n_done". Or a function to call with these two. With
        "merge" after each pass.
    checkpoint_every : int, default=10
        With "sequential", number of partitions after which the model comes back to this
        process. No more are learned again if a worker is lost, and no more are in
        memory at a time.
    n_done : int, default=0
        Number of partitions, in all passes, that an earlier call has learned. With
        "merge", of whole passes.
    compute : bool, default=True
        Whether to learn now. Otherwise all is one graph, without checkpoints. With
        "sequential", idle workers then read partitions ahead, perhaps all.

    Returns
    -------
    model : estimator or Delayed
        The fitted estimator; with ``compute=False`` a :class:`~dask.delayed.Delayed`
        of it, for :meth:`distributed.Client.compute`.

    Raises
    ------
    ImportError
        If Dask is not installed, or skops if `checkpoint` is a file.
    TypeError
        If the data are of other types, or the estimator has no `partial_fit`, cannot be
        merged with "merge", or cannot be saved.
    ValueError
        If a classifier lacks `classes`, partitions do not fit together, or there are
        no rows. Errors of the estimator have a note that names the partition.

    See Also
    --------
    predict_dask : Predict partitions.
    partitions : Make a stream for progressive validation.

    Notes
    -----
    *Rows of X and y.* Arrays of known lengths are divided as X is. All others must have
    as many partitions, with the same rows.

    *Start and end.* Each row is learned once a pass. If the lengths of partitions are
    not known, as in frames, `n_start_rows` are rows of the first partition, and
    `n_final_rows` of the last, and fewer if these are shorter.

    *Workers.* Shards learn at the same time if their partitions are on different
    workers. What is lost with a worker is learned again, with the same result. Workers
    have the configuration of this thread, such as the engine.

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
    """
    dask = import_optional("dask", "`fit_dask`")
    _check(estimator, classes, y is not None or isinstance(X, (list, tuple)))
    chunks = Chunks.from_collections(X, y, sample_weight)
    n = len(chunks.parts)
    if n_done > n * n_passes:
        raise ValueError(f"n_done={n_done} is more than {n * n_passes} partitions.")
    learning = Learning(chunks, classes)
    stages: list[Any]  # functions of a lazy model
    if strategy == "sequential":
        ends = [*range(n_done, n * n_passes, checkpoint_every), n * n_passes]
        stages = [
            partial(learning.sequence, numbers=[i % n for i in range(*numbers)])
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
        if has_learned := is_fitted(estimator):
            check_mergeable(estimator)
        stages = [
            partial(learning.shards, n_shards=n_shards, cuts=cuts * [first, 1])
            for first in [not has_learned, *[False] * (n_passes - 1)]
        ][: n_passes - n_done // n]
        ends = [*range(n_done, n * n_passes, n), n * n_passes]
    model = deepcopy(estimator)
    lazily = partial(dask.delayed, pure=False, traverse=False)
    if not compute:
        if checkpoint is not None:
            raise ValueError("With compute=False there are no checkpoints.")
        return reduce(lambda lazy, stage: stage(lazy), stages, lazily(model))
    save_checkpoint = _checkpoint_function(checkpoint, model)
    # Do not warn of large models, which are sent once a stage.
    quiet = {LARGE_GRAPH: 2**62} if "distributed" in sys.modules else {}
    with dask.config.set(quiet):
        for stage, end in zip(stages, ends[1:], strict=True):
            (model,) = dask.compute(stage(lazily(model)))
            save_checkpoint(model, end)
    if stages and not is_fitted(model):
        raise ValueError("No partition has any rows.")
    return model


def _check(estimator, classes, has_targets):
    """Check arguments before anything is computed."""
    name = type(estimator).__name__
    if not hasattr(estimator, "partial_fit"):
        raise TypeError(
            f"fit_dask needs an estimator with partial_fit, which {name} does not have."
        )
    if not has_targets and (is_classifier(estimator) or is_regressor(estimator)):
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    if classes is not None and not is_classifier(estimator):
        raise ValueError(f"classes are for classifiers, which {name} is not.")
    needs_classes = is_classifier(estimator) and not adds_classes(estimator)
    if classes is None and needs_classes and not is_fitted(estimator):
        raise ValueError(
            f"{name} is not fitted: classes must be passed, for no partition may have "
            "all of them."
        )


def _cuts(lengths, n_partitions, n_start_rows, n_final_rows):
    """Return numbers of rows of each partition among the first and last of all."""
    cuts = np.zeros((n_partitions, 2), np.intp)
    if lengths is None:
        cuts[0, 0], cuts[-1, 1] = n_start_rows, n_final_rows
        return cuts
    ends = np.cumsum(lengths)
    begins = ends - lengths
    cuts[:, 0] = np.clip(n_start_rows - begins, 0, lengths)
    cuts[:, 1] = np.clip(n_final_rows - (ends[-1] - ends), 0, lengths)
    return cuts


def _checkpoint_function(checkpoint, model):
    """Return the function to call after each stage."""
    if checkpoint is None:
        return lambda model, n_done: None
    if callable(checkpoint):
        return checkpoint
    from ..persistence import _pack, import_skops, save

    _pack(import_skops("fit_dask"), model)  # fails now, if ever
    return lambda model, n_done: save({"model": model, "n_done": n_done}, checkpoint)

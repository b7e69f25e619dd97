"""Tasks of learning."""

from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from uuid import uuid4

import numpy as np
import sklearn
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples, check_consistent_length

from .._validation import is_fitted
from ..config import config_context, get_config
from ..merging import merge_models

#: Maximum number of models merged at a time.
SPLIT_EVERY = 8


def delayed(function, *arguments, name):
    """Return the lazy result of a function, with a name for the dashboard."""
    from dask import delayed

    key = f"{name}-{uuid4().hex}"
    return delayed(function, pure=False)(*arguments, dask_key_name=key)


class Learning:
    """How chunks are learned lazily: with given classes, as configured here."""

    def __init__(self, chunks, classes):
        self.chunks = chunks
        given = {} if classes is None else {"classes": classes}
        config = get_config(), sklearn.get_config()
        self._learn = partial(learn, given=given, config=config)

    def sequence(self, model, numbers):
        """Learn partitions one after the other; return the lazy model.

        Each has its own tasks: while one is learned, workers compute the next.
        """
        parts = self.chunks.lazy([self.chunks.parts[number] for number in numbers])
        for number, part in zip(numbers, parts, strict=True):
            learn = partial(self._learn, number=number)
            model = delayed(learn, model, part, name="partial_fit")
        return model

    def shards(self, model, n_shards, cuts):
        """Learn shards at the same time, and merge them; return the lazy model.

        A task computes the partition that it learns. Else Dask would have all workers
        compute partitions of the first shard before any of the others.

        `cuts`, of shape (n_partitions, 2), has the numbers of rows at the beginning of
        each partition that are learned before the shards, and at its end after merging.
        """
        recipes = self.chunks.recipes()

        def learned(model, numbers, which):
            for number in numbers.tolist():
                make, others = recipes[number]
                prepare = partial(select_rows, make, which, *cuts[number].tolist())
                learn = partial(self._learn, number=number, prepare=prepare)
                model = delayed(learn, model, others, name="partial_fit")
            return model

        begins, ends = map(np.flatnonzero, cuts.T)
        start = learned(model, begins, "first")
        start = delayed(check_mergeable, start, name="start")
        shards = np.array_split(np.arange(len(cuts)), n_shards)
        models = [learned(start, shard, "middle") for shard in shards]
        while len(models) > 1:
            models = [
                delayed(merge, models[i : i + SPLIT_EVERY], start, name="merge_models")
                for i in range(0, len(models), SPLIT_EVERY)
            ]
        return learned(models[0], ends, "last")


# Functions of tasks. None changes its arguments, so that it can be called again.


def learn(model, chunk, number, given, config, prepare=None):
    """Return a copy of a model that has learned one more chunk.

    `prepare` makes the chunk, `given` has more arguments of `partial_fit`, and `config`
    is for :func:`config_contexts`.
    """
    try:
        if prepare is not None:
            chunk = prepare(chunk)
        X, y, sample_weight = _unpack(chunk)
        check_consistent_length(X, y, sample_weight)
        if _num_samples(X) == 0:
            return model
        if sample_weight is not None:
            given = {**given, "sample_weight": sample_weight}
        targets = () if y is None else (y,)
        model = deepcopy(model)
        with config_contexts(config):
            model.partial_fit(X, *targets, **given)
    except Exception as error:
        error.add_note(f"This happened at partition {number}, counted from 0.")
        raise
    return model


def _unpack(chunk):
    """Return X, y and sample_weight of a partition."""
    if not isinstance(chunk, (list, tuple)) or not 1 <= len(chunk) <= 3:
        raise TypeError(
            "Delayed must be of (X, y) or (X, y, sample_weight), got "
            f"{type(chunk).__name__}."
        )
    return (*chunk, None, None)[:3]


@contextmanager
def config_contexts(config):
    """Set the configurations of this package and of scikit-learn."""
    of_package, of_sklearn = config
    with config_context(**of_package), sklearn.config_context(**of_sklearn):
        yield


def select_rows(make, which, n_first, n_last, values):
    """Return the first rows of a chunk, the last ones, or the rows between."""
    chunk = make(values)
    if not n_first and not n_last:
        return chunk
    X, y, sample_weight = _unpack(chunk)
    n = _num_samples(X)
    end = min(n_first, n)
    begin = max(end, n - n_last)
    rows = {"first": slice(end), "middle": slice(end, begin), "last": slice(begin, n)}
    return [
        None if each is None else _safe_indexing(each, rows[which])
        for each in (X, y, sample_weight)
    ]


def check_mergeable(model):
    """Return a model if it can be merged."""
    if is_fitted(model):
        merge_models([model])
    return model


def merge(models, start):
    """Merge models, of which some may not be fitted."""
    models = [model for model in models if is_fitted(model)]
    if not models:
        return start
    return merge_models(models, start=start if is_fitted(start) else None)


def n_threads():
    """Return the number of tasks that run at the same time."""
    import dask
    from dask.base import get_scheduler
    from dask.system import CPU_COUNT

    client = getattr(get_scheduler(), "__self__", None)
    if hasattr(client, "nthreads"):
        return max(1, sum(client.nthreads().values()))
    return dask.config.get("num_workers", None) or CPU_COUNT

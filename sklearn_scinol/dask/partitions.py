"""Collections of Dask as chunks of rows."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
from sklearn.utils import check_scalar

from .._optional import import_optional
from ..streams.ahead import map_ahead


def partitions(
    X: Any, y: Any = None, sample_weight: Any = None, *, n_ahead: int = 2
) -> Iterator[tuple[Any, ...]]:
    """Compute partitions one after the other, as a stream of chunks.

    Up to `n_ahead` partitions are computed, and come to this process, in advance. Any
    estimator can learn them here.

    Parameters
    ----------
    X : dask array, dask dataframe or list of Delayed
        Rows, as :func:`fit_dask` takes them.
    y : dask array, series or dataframe, default=None
        Targets; None if Delayed have them.
    sample_weight : dask array or series, default=None
        Weights of rows; None stands for ones.
    n_ahead : int, default=2
        Number of partitions that are computed at the same time, in advance.

    Returns
    -------
    chunks : iterator of tuple
        ``(X, y)`` or ``(X, y, sample_weight)`` of each partition: arrays, sparse
        matrices or frames.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError, ValueError
        If data or partitions do not fit together.

    See Also
    --------
    sklearn_scinol.evaluation.progressive_validation : Takes such a stream.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.dask import partitions
    >>> from sklearn_scinol.evaluation import progressive_validation
    >>> X, y = (da.from_array(each) for each in load_breast_cancer(return_X_y=True))
    >>> stream = partitions(X.rechunk({0: 100}), y)
    >>> result = progressive_validation(ScInOLClassifier(), stream, classes=[0, 1])
    >>> round(result.scores["accuracy"], 3)
    0.956
    """
    dask = import_optional("dask", "`partitions`")
    check_scalar(n_ahead, "n_ahead", Integral, min_val=0)
    chunks = Chunks.from_collections(X, y, sample_weight)

    def computed(part):
        (chunk,) = dask.compute(chunks.lazy(part))
        return tuple(chunk)

    return map_ahead(computed, chunks.parts, n_ahead)


class Chunks(NamedTuple):
    """Partitions as parts of one graph."""

    parts: list[Any]  # for each the keys of X, y, sample_weight; or the key of a tuple
    graph: dict[Any, Any]  # tasks that make the partitions
    lengths: list[int] | None  # numbers of rows, if all are known

    @classmethod
    def from_collections(cls, X, y=None, sample_weight=None):
        """Make chunks of the arguments of :func:`fit_dask`."""
        from dask.core import flatten

        if isinstance(X, (list, tuple)):
            chunks = _checked_chunks(X, y, sample_weight)
            return cls([chunk.key for chunk in chunks], _graph(chunks), None)
        given = {"X": X, "y": y, "sample_weight": sample_weight}
        given = {name: each for name, each in given.items() if each is not None}
        check_collections(given)
        if sample_weight is not None and y is None:
            raise ValueError("Rows with a sample_weight need a y.")
        X = with_all_columns(given.pop("X"))
        collections = [X, *(_rechunk_like(X, *each) for each in given.items())]
        keys = [flatten(each.__dask_keys__()) for each in collections]
        parts = zip(*keys, strict=True)
        return cls([*map(list, parts)], _graph(collections), _lengths(X))

    def recipes(self):
        """Return what makes each partition, and the lazy values that this takes.

        These are of shared tasks, and of data in the memory of a cluster.
        """
        from dask.optimization import cull

        keys = [part if isinstance(part, list) else [part] for part in self.parts]
        graphs = [cull(self.graph, each) for each in keys]
        n_users = Counter(chain.from_iterable(graph for graph, _ in graphs))
        future = getattr(sys.modules.get("distributed"), "Future", ())
        recipes = []
        for part, own, (graph, needs) in zip(self.parts, keys, graphs, strict=True):
            tasks = {
                key: task
                for key, task in graph.items()
                if n_users[key] == 1 and not isinstance(task, future)
            }
            needed = {*own}.union(*(needs[key] for key in tasks))
            others = [*(needed - tasks.keys())]
            make = partial(compute_partition, part=part, tasks=tasks, others=others)
            recipes.append((make, others))
        lazy = self.lazy([others for _, others in recipes])
        return [(make, others) for (make, _), others in zip(recipes, lazy, strict=True)]

    def lazy(self, keys):
        """Return the lazy values of keys, given in nested lists.

        They share one layer of a graph: each layer takes Dask some time in each call.
        """
        from dask.core import flatten
        from dask.delayed import Delayed
        from dask.highlevelgraph import HighLevelGraph
        from dask.optimization import cull

        name = f"chunks-{uuid4().hex}"
        tasks, _ = cull(self.graph, [*flatten(keys)])
        layers = HighLevelGraph({name: tasks}, {name: set()})

        def lazy(key):
            if isinstance(key, list):
                return [*map(lazy, key)]
            return Delayed(key, layers, layer=name)

        return lazy(keys)


def compute_partition(values, part, tasks, others):
    """Compute a partition by its own tasks, given the values of others."""
    from dask.core import get

    values = dict(zip(others, values, strict=True))
    keys = part if isinstance(part, list) else [part]
    own = [key for key in keys if key in tasks]
    values.update(zip(own, get(tasks, own, dict(values)), strict=True))
    chunk = [values[key] for key in keys]
    return chunk if isinstance(part, list) else chunk[0]


def _graph(collections):
    """Return the tasks of collections.

    Arrays are optimised together, to compute what they share once. Frames stay as they
    are: to read a few columns only, Dask would change their partitions.
    """
    from dask.highlevelgraph import HighLevelGraph

    graphs = [collection.__dask_graph__() for collection in collections]
    graph = {}
    for each in {id(each): each for each in graphs}.values():
        graph.update(each)
    if arrays := [*filter(is_array, collections)]:
        together = HighLevelGraph.merge(*(array.__dask_graph__() for array in arrays))
        keys = [array.__dask_keys__() for array in arrays]
        # Leaves out partitions that are already in the memory of a cluster.
        graph.update(arrays[0].__dask_optimize__(together, keys))
    return graph


def check_collections(given):
    """Check that arguments, by name, are collections of Dask."""
    for name, each in given.items():
        if not (hasattr(each, "npartitions") and hasattr(each, "to_delayed")):
            raise TypeError(
                f"{name} must be a dask array or dataframe, got "
                f"{type(each).__name__} instead."
            )


def with_all_columns(X):
    """Return rows with all columns in one block."""
    if getattr(X, "ndim", None) != 2:
        raise ValueError(f"Expected 2D array, got {getattr(X, 'ndim', 0)}D array.")
    return X.rechunk({1: -1}) if is_array(X) else X


def is_array(collection):
    return hasattr(collection, "rechunk")


def _lengths(collection):
    """Return numbers of rows of the partitions; None if some are not known."""
    if not is_array(collection) or np.isnan(collection.chunks[0]).any():
        return None
    return [int(length) for length in collection.chunks[0]]


def _rechunk_like(X, name, other):
    """Return targets or weights in the partitions of their rows."""
    if is_array(other):
        if other.ndim > 1:
            other = other.rechunk({1: -1})
        if None not in (lengths := (_lengths(X), _lengths(other))):
            n_rows = [*map(sum, lengths)]
            if n_rows[0] != n_rows[1]:
                raise ValueError(
                    "Found input variables with inconsistent numbers of samples: "
                    f"{n_rows}"
                )
            return other.rechunk({0: tuple(lengths[0])})
    if _n_partitions(X) != _n_partitions(other):
        raise ValueError(
            "The same rows must be in the same partitions: X has "
            f"{_n_partitions(X)}, and {name} has {_n_partitions(other)}."
        )
    return other


def _n_partitions(collection):
    """Return the number of partitions along the rows."""
    return collection.numblocks[0] if is_array(collection) else collection.npartitions


def _checked_chunks(chunks, y, sample_weight):
    from dask.delayed import Delayed

    if y is not None or sample_weight is not None:
        raise ValueError(
            "A list must be of Delayed of (X, y) or (X, y, sample_weight); y and "
            "sample_weight are then None."
        )
    if not chunks or not all(isinstance(chunk, Delayed) for chunk in chunks):
        raise TypeError("X must be a dask array or dataframe, or a list of Delayed.")
    return [*chunks]

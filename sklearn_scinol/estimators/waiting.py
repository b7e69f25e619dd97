"""Rows that wait for their labels, in blocks."""

from importlib import import_module
from itertools import chain, pairwise, starmap
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from .._shards import Origins
from ..blocks import runs_of
from ..tables.frames import library_of
from ..views import TableRows, dense_view_of
from .served import Served


class Waiting(NamedTuple):
    """Rows, or a row, that have come and are learned when their labels come."""

    X: Any  # as the last step takes them, or what its own last step takes
    inputs: tuple[tuple[str, Any], ...] = ()  # what steps that learn labels were given
    served: Any = None  # what was predicted when the rows came
    origins: Origins = Origins()  # of the steps before the last, which encoded X


def take_rows(X, rows):
    """Return some rows, by a slice or by indices."""
    if isinstance(X, Waiting):
        inputs = tuple((name, take_rows(each, rows)) for name, each in X.inputs)
        served = None if X.served is None else X.served[rows]
        return Waiting(take_rows(X.X, rows), inputs, served, X.origins)
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X[rows]
    is_slice, is_arrow = isinstance(rows, slice), library_of(X) == "pyarrow"
    if is_slice:
        start, stop, _ = rows.indices(_num_samples(X))
        rows = slice(start, stop)
    if is_arrow:
        return X.slice(start, stop - start) if is_slice else X.take(rows)
    return _safe_indexing(X, rows)


def join_rows(parts):
    """Join blocks of rows whose :func:`join_key` is the same."""
    X = parts[0]
    if len(parts) == 1:
        return X
    if isinstance(X, Waiting):
        named, served = [dict(part.inputs) for part in parts], None
        inputs = {name: join_rows([each[name] for each in named]) for name in named[0]}
        if X.served is not None:
            served = Served.concatenate([part.served for part in parts])
        rows = join_rows([part.X for part in parts])
        return Waiting(rows, tuple(inputs.items()), served, X.origins)
    if sparse.issparse(X):
        joined = sparse.csr_array(sparse.vstack(parts, format="csr"))
        if isinstance(X, TableRows):
            views = np.concatenate([part.dense_view for part in parts])
            joined = TableRows(joined, shape=joined.shape, dense_view=views)
        joined.has_canonical_format = True
        return joined
    if isinstance(X, np.ndarray):
        return np.concatenate(parts)
    library = library_of(X)
    if library == "pyarrow":
        arrow = import_module("pyarrow")
        batches = chain.from_iterable(
            part.to_batches() if hasattr(part, "to_batches") else [part]
            for part in parts
        )
        return arrow.Table.from_batches(batches, X.schema)
    if library in ("pandas", "polars"):
        return import_module(library).concat(parts)
    return [*chain.from_iterable(parts)]


def pack_rows(X):
    """Return rows as plain data, of which :func:`unpack_rows` makes them again."""
    if isinstance(X, Waiting):
        inputs = [(name, pack_rows(each)) for name, each in X.inputs]
        packed = {"waiting": pack_rows(X.X), "inputs": inputs, "served": X.served}
        return packed | {"origins": sorted(X.origins)}
    if sparse.issparse(X):
        arrays = X.data, X.indices, X.indptr
        return {"csr": arrays, "shape": X.shape, "dense_view": dense_view_of(X)}
    if library_of(X) == "pyarrow":
        arrow = import_module("pyarrow")
        file = arrow.BufferOutputStream()
        with arrow.ipc.new_stream(file, X.schema) as writer:
            writer.write(X)
        return {"arrow": np.frombuffer(file.getvalue(), np.uint8)}
    return X


def unpack_rows(packed):
    """Return the rows that :func:`pack_rows` packed."""
    if not isinstance(packed, dict):
        return packed
    if "waiting" in packed:
        inputs = tuple((name, unpack_rows(each)) for name, each in packed["inputs"])
        rows = unpack_rows(packed["waiting"])
        return Waiting(rows, inputs, packed["served"], Origins(packed["origins"]))
    if "arrow" in packed:
        arrow = import_module("pyarrow")
        table = arrow.ipc.open_stream(arrow.py_buffer(packed["arrow"])).read_all()
        table.validate(full=True)
        return table
    arrays, shape, view = packed["csr"], packed["shape"], packed["dense_view"]
    if view is None:
        rows = sparse.csr_array(arrays, shape=shape)
    else:
        rows = TableRows(arrays, shape=shape, dense_view=view)
    rows.check_format()
    return rows


def join_key(X):
    """Return what is the same for blocks of rows that can be joined."""
    if isinstance(X, Waiting):
        inputs = [(name, join_key(each)) for name, each in X.inputs]
        return "waiting", join_key(X.X), tuple(inputs)
    if sparse.issparse(X):
        view = dense_view_of(X)
        is_canonical = X.format == "csr" and X.has_canonical_format
        key = "sparse", X.shape[1], None if view is None else view.shape[1]
        return key if is_canonical else object()
    if type(X) is np.ndarray:
        is_plain = X.ndim == 2 and X.dtype.kind in "fiub"
        return "array", X.shape[1:], None if is_plain else X.dtype
    library = library_of(X)
    if library == "pyarrow":
        return library, tuple(X.schema.names), tuple(X.schema.types)
    if library == "polars":
        return library, tuple(X.schema.items())
    if library == "pandas":
        return library, tuple(X.columns), tuple(X.dtypes)
    return "list" if isinstance(X, list) else object()


class LearnsLate:
    """Estimator that predicts rows when they come, and learns them later.

    Pipelines have these methods as well, see :class:`Waiting`.
    """

    def _come(self, X, methods):
        """Predict rows that have come, by each of the methods.

        Also returns :class:`Waiting`, to learn when the labels come.
        """
        if not methods:
            return [], Waiting(X, (), Served.unknown(_num_samples(X)))
        predictions, served = self._serve(X, methods)
        return predictions, Waiting(X, (), served)

    def _learn_waiting(self, waiting, y, sample_weight=None):
        """Learn rows whose labels have come, one after the other."""
        ends = [0, len(y)] if self._predicts_each_row else range(len(y) + 1)
        for rows in starmap(slice, pairwise(ends)):
            X, _, served, _ = take_rows(waiting, rows)
            c = None if sample_weight is None else sample_weight[rows]
            self._partial_fit(X, y[rows], c, served=served)

    def _follow(self, X, methods, waiting, y, sample_weight, is_label):
        """Predict rows that come, and learn others whose labels come in between.

        `is_label` says, in the order of time, whether the next label comes, or the next
        row. The labels are of classes that are known. Returns predictions by each
        method, and the rows that have come as :class:`Waiting`.
        """
        predictions, come = [], []
        for is_learned, rows in runs(is_label):
            if is_learned:
                c = None if sample_weight is None else sample_weight[rows]
                self._learn_waiting(take_rows(waiting, rows), y[rows], c)
            else:
                of_run, part = self._come(take_rows(X, rows), methods)
                predictions.append(of_run)
                come.append(part)
        together = zip(*predictions, strict=True)
        return [np.concatenate(each) for each in together], join_rows(come)


def runs(is_label):
    """Yield whether labels or rows come next, and a slice of their numbers."""
    n_before = {False: 0, True: 0}
    for run in runs_of(is_label):
        kind = bool(is_label[run.start])
        start = n_before[kind]
        n_before[kind] += run.stop - run.start
        yield kind, slice(start, n_before[kind])

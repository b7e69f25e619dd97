"""Lazy predictions of rows in partitions."""

from copy import deepcopy
from functools import partial
from operator import call
from typing import Any
from uuid import uuid4

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils.validation import _num_samples

from .._optional import import_optional
from ..config import get_config
from .graphs import config_contexts
from .partitions import Chunks, is_array, with_all_columns


def predict_dask(estimator: Any, X: Any, method: str = "predict") -> Any:
    """Predict rows in partitions lazily.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator, of which a copy predicts.
    X : dask array or dataframe of shape (n_samples, n_features)
        Rows. Blocks of arrays may be sparse, with all columns or some.
    method : str, default="predict"
        The method to predict with, such as "predict_proba".

    Returns
    -------
    predictions : dask array of shape (n_samples,) or (n_samples, n_outputs)
        Predictions, with a block for each partition of X, of known length if that of
        the partition is.

    Raises
    ------
    AttributeError
        If the estimator has no such method.
    ImportError
        If Dask is not installed.
    NotFittedError
        If the estimator is not fitted.
    TypeError
        If X is neither a dask array nor a dataframe.
    ValueError
        If the estimator does not take rows of this kind. Invalid values raise its
        errors when they are computed.

    See Also
    --------
    fit_dask : Learn from partitions.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.dask import predict_dask
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = ScInOLClassifier().partial_fit(X, y, classes=[0, 1])
    >>> rows = da.from_array(X, chunks=(200, 30))
    >>> probabilities = predict_dask(model, rows, "predict_proba")
    >>> probabilities.chunks
    ((200, 200, 169), (2,))
    >>> probabilities[-1].compute().round(2)
    array([0., 1.])
    """
    da = import_optional("dask.array", "predict_dask", "dask")

    chunks = Chunks.from_collections(X)
    predict = partial(
        _predict,
        estimator=deepcopy(estimator),
        method=method,
        config=(get_config(), sklearn.get_config()),
    )
    nothing = predict((_one_row(with_all_columns(X)),))[:0]
    name, ends = f"{method}-{uuid4().hex}", (0,) * (nothing.ndim - 1)
    model = f"model-{uuid4().hex}"
    graph: dict[Any, Any] = {model: partial(predict, nothing=nothing)}
    for number, part in enumerate(chunks.parts):
        graph[(name, number, *ends)] = (call, model, part)
    lengths = chunks.lengths or [np.nan] * len(chunks.parts)
    return da.Array(
        {**chunks.graph, **graph},
        name,
        chunks=(tuple(lengths), *((n,) for n in nothing.shape[1:])),
        meta=nothing,
    )


def _one_row(X):
    """Return a row with the columns and types of a collection."""
    if not is_array(X):
        return X._meta_nonempty.iloc[:1]
    row = np.zeros((1, X.shape[1]), X.dtype)
    return type(X._meta)(row) if sparse.issparse(X._meta) else row


def _predict(chunk, estimator, method, config, nothing=None):
    (X,) = chunk
    if _num_samples(X) == 0:
        return nothing
    with config_contexts(config):
        return getattr(estimator, method)(X)

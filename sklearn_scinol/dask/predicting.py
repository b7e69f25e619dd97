"""Lazy predictions of rows in partitions."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import sklearn
from scipy import sparse
from sklearn.utils.validation import _num_samples

from .._optional import import_optional
from ..config import get_config
from .graphs import config_contexts, delayed
from .partitions import Chunks, check_collections, is_array, with_all_columns

if TYPE_CHECKING:
    from dask.array import Array


def predict_dask(estimator: Any, X: Any, method: str = "predict") -> Array:
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
    dask = import_optional("dask", "`predict_dask`")
    da = import_optional("dask.array", "`predict_dask`")

    check_collections({"X": X})
    X = with_all_columns(X)
    config = get_config(), sklearn.get_config()
    predict = partial(_predict, method=method, config=config)
    nothing = predict(_one_row(X), estimator)[:0]
    predict = partial(predict, nothing=nothing)
    model = dask.delayed(deepcopy(estimator), pure=False, traverse=False)
    if not is_array(X):
        chunks = Chunks.from_collections(X)
        blocks = [
            da.from_delayed(
                delayed(predict, *part, model, name=method),
                (np.nan, *nothing.shape[1:]),
                meta=nothing,
            )
            for part in chunks.lazy(chunks.parts)
        ]
        return da.concatenate(blocks, allow_unknown_chunksizes=True)
    ends = [(n,) for n in nothing.shape[1:]]
    return X.map_blocks(
        predict,
        estimator=model,
        chunks=(X.chunks[0], *ends),
        drop_axis=() if ends else 1,
        meta=nothing,
    )


def _one_row(X):
    """Return a row with the columns and types of a collection."""
    if not is_array(X):
        return X._meta_nonempty.iloc[:1]
    row = np.zeros((1, X.shape[1]), X.dtype)
    return type(X._meta)(row) if sparse.issparse(X._meta) else row


def _predict(X, estimator, method, config, nothing=None):
    if _num_samples(X) == 0:
        return nothing
    with config_contexts(config):
        return getattr(estimator, method)(X)

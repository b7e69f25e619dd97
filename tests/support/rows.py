"""Learn a stream row by row, and by calls of `partial_fit`."""

from copy import deepcopy

import numpy as np

from support.comparisons import assert_identical
from support.steps import assert_same


def assert_learns_alike(
    estimator, X, y, c=None, method="predict", chunk=None, **classes
):
    """By rows and by `partial_fit`; return the first of the two.

    Both learn the rows of `chunk`, if there is one, at once.
    """
    by_rows, by_calls = deepcopy(estimator), deepcopy(estimator)
    rows = by_rows.row_by_row(**classes)
    for i in range(len(y)):
        if chunk is not None and i in chunk:
            if i == chunk.start:
                part = slice(chunk.start, chunk.stop)
                weights = {} if c is None else {"sample_weight": c[part]}
                for each in by_rows, by_calls:
                    each.partial_fit(X[part], y[part], **weights, **classes)
            continue
        weight = None if c is None else c[i]
        said = rows.predict_learn_one(X[i], y[i], weight, method=method)
        weights = {} if c is None else {"sample_weight": c[i : i + 1]}
        expected = by_calls.partial_fit_predict(
            X[i : i + 1], y[i : i + 1], method=method, **weights, **classes
        )
        assert_identical(np.asarray(said), np.asarray(expected[0]))
    assert_same(by_rows, by_calls)
    if hasattr(by_rows, "_check_state"):
        by_rows._check_state()
    return by_rows

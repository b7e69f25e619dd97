"""Checks of data beside scikit-learn's, and what to do about what it refuses."""

from collections.abc import Mapping
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.utils import assert_all_finite

__all__ = [
    "advised",
    "refusal_of_dicts",
    "refuse_masks",
    "refuse_not_finite",
    "refuse_wrong_indices",
]

# Advice for masked arrays, by the name of the parameter.
OF_MASKS = {
    "X": "pass X.filled(np.nan) to a pipeline that begins with OnlineBinner or "
    "TableEncoder",
    "y": "leave out the rows that have no target",
    "sample_weight": "pass sample_weight.filled(0), which leaves out these rows",
}

# Where scikit-learn begins to recommend other estimators.
RECOMMENDS = " For supervised learning, you might want to consider"

# Python's message for a string that is not a number.
NO_NUMBER = "could not convert string to float"


def refuse_masks(**arrays):
    """Refuse masked arrays, by the names of parameters, if some values are masked."""
    for name, array in arrays.items():
        if np.ma.is_masked(array):
            raise ValueError(
                f"{name} has masked values, and its mask would be ignored: "
                f"{OF_MASKS[name]}."
            )


def refuse_wrong_indices(X):
    """Refuse sparse rows whose indices do not belong to them.

    This is for formats that cannot even be converted then: memory would be read or
    written that is not theirs.
    """
    if not sparse.issparse(X) or X.ndim != 2:
        return
    if X.format in ("csc", "bsr"):
        X.check_format(full_check=True)
    elif X.format == "coo":
        sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    elif X.format == "dia":
        sparse.dia_array((X.data, X.offsets), shape=X.shape)


def refusal_of_dicts(name):
    """The error for rows that are dicts, where a class takes rows of numbers."""
    return TypeError(
        f"{name} takes rows of numbers, not dicts: begin a pipeline with TableEncoder, "
        "as make_online_pipeline(TableEncoder(), ...) does."
    )


def refuse_not_finite(values, name):
    """Refuse an array with NaN or infinity, for an estimator of a class."""
    with advised(values, name):
        assert_all_finite(values, estimator_name=name, input_name="X")


@contextmanager
def advised(X, name):
    """Add advice to the errors of scikit-learn's validation of rows.

    Parameters
    ----------
    X : object
        The rows, as they were given.
    name : str
        The class of the estimator.
    """
    try:
        with np.errstate(all="ignore"):  # it adds up numbers
            yield
    except OverflowError:  # integers know no end
        raise ValueError(
            "Input contains infinity or a value too large for dtype('float64')."
        ) from None
    except (TypeError, ValueError) as error:
        first = X[0] if isinstance(X, list | tuple) and X else X
        if isinstance(first, Mapping) and not sparse.issparse(first):
            raise refusal_of_dicts(name) from error
        if message := _with_advice(str(error), X):
            error.args = (message,)
        raise


def _with_advice(message, X):
    """Return a message with advice added, or None if there is no advice for it."""
    known, found, _ = message.partition(RECOMMENDS)
    if found:
        return (
            f"{known} To learn from missing values, begin a pipeline with OnlineBinner "
            "or TableEncoder, as make_online_pipeline(OnlineBinner(), ...) does."
        )
    if NO_NUMBER in message and (names := _columns_of_text(X)):
        return (
            f"{message.rstrip('.')}. To encode the columns of text, {names}, begin a "
            "pipeline with TableEncoder, as make_online_pipeline(TableEncoder(), ...) "
            "does."
        )
    return None


def _columns_of_text(X):
    """Names of columns with strings that are no numbers; none if that is not known."""
    # Imported here, since only errors need these modules.
    from .tables.frames import open_frame
    from .tables.kinds import as_kind

    names = []
    try:
        frame = open_frame(X)
        columns = {name: frame.column(name) for name in frame.names}
    except (TypeError, ValueError):
        return names
    for name, column in columns.items():
        try:
            as_kind(column, "number", name)
        except ValueError as error:
            if NO_NUMBER in str(error):
                names.append(name)
    return names

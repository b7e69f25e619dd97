"""Checks of data besides scikit-learn's, and advice about what it refuses."""

import re
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import check_is_fitted

# Advice for masked arrays, by the name of the parameter.
MASK_ADVICE = {
    "X": "pass X.filled(np.nan) to a pipeline that begins with OnlineBinner or "
    "TableEncoder",
    "losses": "leave out the rows that have no loss",
    "y": "leave out the rows that have no target",
    "sample_weight": "pass sample_weight.filled(0), which leaves out these rows",
}

# Beginning of scikit-learn's recommendation of other estimators.
RECOMMENDATION = " For supervised learning, you might want to consider"

# Python's message for a string that is not a number.
NOT_A_NUMBER = "could not convert string to float"

# Beginnings of messages of Python, NumPy and this package for dates among numbers.
NOT_DATES = (
    r"float\(\) argument must be|The DType .* could not be promoted|"
    r"\w+ takes numbers, not dates"
)


def is_fitted(estimator):
    """Whether an estimator has learned anything."""
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True


def last_step(model):
    """Return the last step of a pipeline, perhaps in pipelines; any other as it is."""
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    return model


def check_has_values(**arrays):
    """Refuse masked values, lazy frames and iterators, by the names of parameters."""
    for name, array in arrays.items():
        if isinstance(array, Iterator):
            raise TypeError(
                f"{name} is an iterator of type {type(array).__name__}, expected an "
                f"array, or a list of rows: pass list({name})."
            )
        if type(array).__name__ == "LazyFrame":  # of polars
            raise TypeError(
                f"{name} is a LazyFrame, which has no values yet: pass "
                f"{name}.collect()."
            )
        if np.ma.is_masked(array):
            raise ValueError(
                f"{name} has masked values, and its mask would be ignored: "
                f"{MASK_ADVICE[name]}."
            )


def check_sparse_indices(X):
    """Refuse sparse rows whose indices are out of range, before they are converted.

    Conversion would read or write memory out of bounds.
    """
    if not sparse.issparse(X) or X.ndim != 2:
        return
    if X.format in ("csc", "bsr"):
        X.check_format(full_check=True)
    elif X.format == "coo":
        sparse.coo_array((X.data, (X.row, X.col)), shape=X.shape)
    elif X.format == "dia":
        sparse.dia_array((X.data, X.offsets), shape=X.shape)


def dicts_error(name):
    """Return the error for dicts given to a class that takes rows of numbers."""
    return TypeError(
        f"{name} takes rows of numbers, not dicts: begin a pipeline with TableEncoder, "
        "as make_online_pipeline(TableEncoder(), ...) does."
    )


class NamedChunk(np.ndarray):
    """Chunk of a row with names, which become those of a model."""

    @classmethod
    def of_row(cls, values):
        """Make a chunk of the values of a row by name."""
        chunk = np.array([[*values.values()]]).view(cls)
        chunk.names = [*values]
        return chunk

    @staticmethod
    def name_features(model, X):
        """Give a model the names of its first row, if they came with it."""
        if type(X) is NamedChunk:
            model.feature_names_in_ = np.array(X.names, dtype=object)


def names_error(new, missing):
    """Return the error for names of features that are not those of before."""
    message = "The feature names should match those that were passed during fit."
    if new:
        message += f" Feature names unseen at fit time: {new}."
    if missing:
        message += f" Feature names seen at fit time, yet now missing: {missing}."
    return ValueError(message)


def check_finite(values, name):
    """Refuse an array with NaN or infinity, for the class `name`."""
    with add_advice(values, name):
        assert_all_finite(values, estimator_name=name, input_name="X")


@contextmanager
def without_names(estimator):
    """Ignore warnings about rows without feature names in the block."""
    if not hasattr(estimator, "feature_names_in_"):
        yield
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        yield


@contextmanager
def add_advice(X, name):
    """Add advice to errors of scikit-learn's validation of `X`, for a class `name`."""
    try:
        if _has_dates(X):  # which NumPy converts, if all columns are dates
            raise TypeError(f"{name} takes numbers, not dates or durations")
        with np.errstate(all="ignore"):  # of its sum
            yield
    except OverflowError:  # of Python integers
        raise ValueError(
            "Input contains infinity or a value too large for dtype('float64')."
        ) from None
    except (TypeError, ValueError) as error:
        first = X[0] if isinstance(X, list | tuple) and X else X
        if isinstance(first, Mapping) and not sparse.issparse(first):
            raise dicts_error(name) from error
        if message := _with_advice(str(error), X):
            error.args = (message,)
        raise


def _has_dates(X):
    """Whether an array, or a column of a frame, has the type of dates or times."""
    types = getattr(X, "dtypes", None)
    types = [getattr(X, "dtype", None)] if types is None else types
    return any(
        getattr(each, "kind", None) in ("M", "m")
        or (hasattr(each, "is_temporal") and each.is_temporal())  # of polars
        for each in types
    )


def _with_advice(message, X):
    """Return a message with advice, or None if there is no advice."""
    known, found, _ = message.partition(RECOMMENDATION)
    if found:
        return (
            f"{known} To learn from missing values, begin a pipeline with OnlineBinner "
            "or TableEncoder, as make_online_pipeline(OnlineBinner(), ...) does."
        )
    for begin, kind, reason in (
        (NOT_A_NUMBER, "text", NOT_A_NUMBER),
        (NOT_DATES, "dates", "expected numbers, got dates"),
    ):
        if re.match(begin, message) and (names := _columns_refused(X, reason)):
            return (
                f"{message.rstrip('.')}. To encode the columns of {kind}, {names}, "
                "begin a pipeline with TableEncoder, as "
                "make_online_pipeline(TableEncoder(), ...) does."
            )
    return None


def _columns_refused(X, reason):
    """Return names of columns that are no numbers for a reason, if known."""
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
            if reason in str(error):
                names.append(name)
    return names

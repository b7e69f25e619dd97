"""Labels as indices of classes, classes that are added later, and their weights."""

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import (
    check_classification_targets,
    type_of_target,
    unique_labels,
)


def as_numpy_labels(labels):
    """Convert pandas' booleans and integers, which scikit-learn converts to floats."""
    if not hasattr(labels, "isna") or np.any(labels.isna()):
        return labels  # missing labels are refused later
    dtypes = {getattr(labels, "dtype", None)}
    if labels.ndim == 2:
        dtypes = set(labels.dtypes)
    if len(dtypes) != 1:
        return labels
    (dtype,) = dtypes
    if hasattr(dtype, "categories"):
        dtype = dtype.categories.dtype
    dtype = getattr(dtype, "numpy_dtype", dtype)
    is_discrete = isinstance(dtype, np.dtype) and dtype.kind in "biu"
    return np.asarray(labels, dtype) if is_discrete else labels


def is_multilabel(labels):
    """Whether labels are a matrix that says of each row and label if the row has it."""
    if isinstance(labels, (list, tuple)):
        has_rows = bool(labels) and not np.isscalar(labels[0])
        is_matrix = has_rows and np.ndim(labels[:1]) == 2
    else:
        is_matrix = len(getattr(labels, "shape", ())) == 2
    return is_matrix and type_of_target(labels) == "multilabel-indicator"


def as_indicators(labels):
    """Convert a matrix of zeros and ones, perhaps sparse, to an array of integers."""
    labels = labels.toarray() if sparse.issparse(labels) else np.asarray(labels)
    indicators = labels == 1
    if not (indicators | (labels == 0)).all():
        raise ValueError(
            "With several labels, y must be a matrix of zeros and ones, one column a "
            "label."
        )
    return indicators.astype(np.uint8)


def check_discrete(labels):
    """Refuse continuous targets; unlike scikit-learn's check, allow many classes."""
    if type_of_target(labels).startswith("continuous"):
        check_classification_targets(labels)


def encode(labels, classes):
    """Encode labels as indices of sorted classes, in the smallest integer type.

    Also returns the labels that are none of the classes; their codes have no meaning.
    """
    dtype = np.min_scalar_type(classes.size - 1)
    if classes.size == 2:  # faster than a search
        is_second = labels == classes[1]
        if np.all(is_second | (labels == classes[0])):
            return is_second.astype(dtype), labels[:0]
    try:
        found = np.searchsorted(classes, labels)
    except TypeError:  # labels that cannot be compared with the classes
        found = np.zeros(labels.size, dtype=np.intp)
    found[found == classes.size] = 0
    return found.astype(dtype), labels[classes[found] != labels]


def merge_classes(classes, labels):
    """Return the sorted union of classes and labels."""
    check_discrete(labels)
    try:
        return unique_labels(classes, labels)
    except TypeError as error:
        kinds = f"{np.asarray(classes).dtype} and {np.asarray(labels).dtype}"
        raise ValueError(f"Mix of label input types; got {kinds}.") from error


def find_class_segments(codes, weights, classes, is_known):
    """Split rows where a class becomes known: before its first row of positive weight.

    The mask `is_known` is of the classes that are known before the first row. Returns
    indices among the classes known at each row, without meaning for rows of weight 0
    whose class is not known; and slices of rows, with the classes known there.
    """
    n, is_known = codes.size, is_known.copy()
    is_new = ~is_known[codes]
    if weights is not None:
        is_new &= weights > 0.0
    rows = np.flatnonzero(is_new)
    new, firsts = np.unique(codes[rows], return_index=True)
    order = np.argsort(firsts)
    local, segments, start = np.zeros_like(codes), [], 0
    for code, end in [*zip(new[order], rows[firsts[order]], strict=True), (None, n)]:
        if end > start:
            segment = slice(start, end)
            places = np.where(is_known, np.cumsum(is_known) - 1, 0)
            local[segment] = places[codes[segment]]
            segments.append((segment, classes[is_known]))
        if code is not None:
            is_known[code] = True
        start = end
    return local, segments


def counts_before(codes, n_classes):
    """Count, for each row, the earlier rows of its class."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=n_classes)
    starts = np.cumsum(counts) - counts
    before = np.empty(codes.size, np.intp)
    before[order] = np.arange(codes.size) - starts[codes[order]]
    return before


def balanced_weight(n_rows, n_classes, n_of_class):
    """Compute weights as scikit-learn does for ``class_weight="balanced"``."""
    return n_rows / (n_classes * n_of_class)


def spread_counts(counts, is_known):
    """Spread counts of known classes over all classes, 0 for new ones."""
    of_all = np.zeros(is_known.size, counts.dtype)
    of_all[is_known] = counts
    return of_all

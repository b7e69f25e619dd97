"""Labels as indices of classes, classes that come later, and how much each weighs."""

import numpy as np
from sklearn.utils.multiclass import (
    check_classification_targets,
    type_of_target,
    unique_labels,
)

__all__ = [
    "as_numpy_labels",
    "balanced_weight",
    "check_discrete",
    "counts_before",
    "encode",
    "stages_of",
    "with_others",
]

# Labels are looked up so many at a time, which bounds what that takes of memory.
BLOCK_ROWS = 8192


def as_numpy_labels(labels):
    """Convert pandas' booleans and integers: scikit-learn would make floats of them."""
    if not hasattr(labels, "isna") or np.any(labels.isna()):
        return labels  # what is missing is refused later
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


def check_discrete(labels):
    """Refuse continuous targets; unlike scikit-learn's check, allow many classes."""
    if type_of_target(labels).startswith("continuous"):
        check_classification_targets(labels)


def encode(labels, classes):
    """Index of each label in sorted classes, in as few bytes as it takes.

    Parameters
    ----------
    labels : ndarray of shape (n,)
    classes : ndarray of shape (n_classes,)

    Returns
    -------
    codes : ndarray of shape (n,)
    unseen : ndarray
        Labels that are none of the classes, of which codes say nothing.
    """
    codes = np.empty(labels.size, dtype=np.min_scalar_type(classes.size - 1))
    unseen = labels[:0]
    for start in range(0, labels.size, BLOCK_ROWS):
        block = labels[start : start + BLOCK_ROWS]
        codes[start : start + BLOCK_ROWS], is_unseen = _encode_block(block, classes)
        if np.any(is_unseen):
            unseen = np.concatenate([unseen, block[is_unseen]])
    return codes, unseen


def _encode_block(labels, classes):
    """Codes of labels, and which of them are none of the classes."""
    if classes.size == 2:
        is_second = labels == classes[1]
        if np.all(is_second | (labels == classes[0])):
            return is_second, False
    try:
        found = np.searchsorted(classes, labels)
    except TypeError:  # labels that cannot be compared with the classes
        found = np.zeros(labels.size, dtype=np.intp)
    found[found == classes.size] = 0
    return found, classes[found] != labels


def with_others(classes, labels):
    """Sorted classes, among them those of labels of the same kind."""
    check_discrete(labels)
    try:
        return unique_labels(classes, labels)
    except TypeError as error:
        kinds = f"{np.asarray(classes).dtype} and {np.asarray(labels).dtype}"
        raise ValueError(f"Mix of label input types; got {kinds}.") from error


def stages_of(codes, weights, classes, is_known):
    """Where a class becomes known: just before its first row of positive weight.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Indices of classes.
    weights : ndarray of shape (n,) or None
    classes : ndarray of shape (n_classes,)
    is_known : ndarray of bool of shape (n_classes,)
        Which classes are known before the first row.

    Returns
    -------
    codes : ndarray of shape (n,)
        Indices of the classes known at each row; any for rows of weight 0 whose class
        is not.
    stages : list of (slice, ndarray)
        Rows for which the same classes are known, and these.
    """
    n, is_known = codes.size, is_known.copy()
    comes = ~is_known[codes]
    if weights is not None:
        comes &= weights > 0.0
    rows = np.flatnonzero(comes)
    new, firsts = np.unique(codes[rows], return_index=True)
    order = np.argsort(firsts)
    local, stages, start = np.zeros_like(codes), [], 0
    for code, end in [*zip(new[order], rows[firsts[order]], strict=True), (None, n)]:
        if end > start:
            stage = slice(start, end)
            places = np.where(is_known, np.cumsum(is_known) - 1, 0)
            local[stage] = places[codes[stage]]
            stages.append((stage, classes[is_known]))
        if code is not None:
            is_known[code] = True
        start = end
    return local, stages


def counts_before(codes, n_classes):
    """How many rows before each one have its class."""
    order = np.argsort(codes, kind="stable")
    counts = np.bincount(codes, minlength=n_classes)
    starts = np.cumsum(counts) - counts
    before = np.empty(codes.size, np.intp)
    before[order] = np.arange(codes.size) - starts[codes[order]]
    return before


def balanced_weight(n_rows, n_classes, n_of_class):
    """What scikit-learn's "balanced" weights are."""
    return n_rows / (n_classes * n_of_class)

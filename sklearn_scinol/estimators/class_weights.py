"""Weights of classes, which multiply the weights of their rows."""

import numpy as np
from sklearn.utils import assert_all_finite, compute_class_weight
from sklearn.utils.validation import check_non_negative

from ..models.weights import check_range
from .labels import balanced_weight, counts_before, find_class_segments, spread_counts


class ClassWeightMixin:
    """Weigh the rows of an :class:`OnlineClassifier` by their classes."""

    @property
    def _weighs_classes(self):
        return self._class_weight is not None or self._class_counts is not None

    def _weights_by_parameter(self, classes):
        """Return the weights of classes that `class_weight` sets, or 1."""
        given = self.class_weight if isinstance(self.class_weight, dict) else {}
        if self._adds_classes:  # other classes may come later
            labels = set(classes.tolist())
            given = {label: c for label, c in given.items() if label in labels}
        weights = compute_class_weight(given, classes=classes, y=classes)
        assert_all_finite(weights, input_name="class_weight")
        check_non_negative(weights, f"{type(self).__name__}.class_weight")
        return weights

    def _weigh_all(self, codes, c, classes):
        """Return codes, weights and segments of a chunk that has all rows to fit."""
        if self._class_weight is not None:
            c = _product(self._class_weight[codes], c)
        if self._class_counts is not None:
            self._class_counts = self._class_counts + np.bincount(
                codes, minlength=classes.size
            )
            counts, n_classes = self._class_counts, np.count_nonzero(self._class_counts)
            c = _product(balanced_weight(counts.sum(), n_classes, counts[codes]), c)
        return codes, c, [(slice(0, codes.size), classes)]

    def _weigh_rows(self, codes, c, classes):
        """Return codes, weights and segments of rows, each from the rows up to it."""
        weights, counts = self._class_weight, self._class_counts
        local_codes, segments = codes, [(slice(0, len(codes)), classes)]
        grows = classes.size > self.classes_.size
        if weights is not None:
            weights = self._weights_by_parameter(classes) if grows else weights
            c = _product(weights[codes], c)
        if grows:
            is_known = np.isin(classes, self.classes_)
            local_codes, segments = find_class_segments(codes, c, classes, is_known)
            counts = None if counts is None else spread_counts(counts, is_known)
        (rows, known), *_ = segments
        if known.size == 1:  # nothing to learn
            c = np.ones(codes.size) if c is None else c.copy()
            check_range(c[rows][c[rows] > 0.0])
            c[rows] = 0.0
        if counts is not None:
            c = _product(_running_weights(codes, c, counts), c)
        return local_codes, c, segments


def _product(weights, c):
    """Multiply weights of rows by sample weights, if there are any."""
    with np.errstate(all="ignore"):  # see models/weights.py
        return weights * (1.0 if c is None else c)


def _running_weights(codes, c, counts):
    """Return balanced weights, each from counts of classes before and rows up to it."""
    learned = slice(None) if c is None else c > 0.0
    weights = np.ones(codes.size)
    codes = codes[learned]
    of_class = counts[codes] + counts_before(codes, counts.size) + 1
    n_classes = np.count_nonzero(counts) + np.cumsum(of_class == 1)
    n_rows = counts.sum() + np.arange(1, codes.size + 1)
    weights[learned] = balanced_weight(n_rows, n_classes, of_class)
    return weights

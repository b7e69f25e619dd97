"""Sizes of errors and ends of prediction intervals, a row at a time."""

import numpy as np

from ...learners.interval_ends import learn_end, learn_size, learn_weight, nest

__all__ = ["learn_error_sizes", "learn_interval_ends"]


def learn_error_sizes(s, sizes, weights, out):
    for r, (size, c) in enumerate(zip(sizes.tolist(), weights.tolist(), strict=True)):
        out[r] = s.means
        if c > 0.0:
            learn_size(s, ..., size, c)


def learn_interval_ends(s, errors, quantiles, weights, out):
    rows = zip(errors.tolist(), weights.tolist(), strict=True)
    for r, (error, c) in enumerate(rows):
        out[r] = np.clip(quantiles[r], *s.limits) + s.correction
        nest(out[r])
        if c > 0.0:
            learn_end(s, ..., error, out[r], learn_weight(s, c))
            s.limits[:] = min(s.limits[0], error), max(s.limits[1], error)

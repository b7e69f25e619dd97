"""Sizes of errors, and ends of prediction intervals or of sets, by row."""

import numpy as np

from ...learners.interval_ends import learn_ends, learn_size, nest


def learn_error_sizes(s, sizes, weights, out):
    for r, (size, c) in enumerate(zip(sizes.tolist(), weights.tolist(), strict=True)):
        out[r] = s.means
        if c > 0.0:
            learn_size(s, ..., size, c)


def learn_interval_ends(s, groups, errors, quantiles, weights, n_lower, out):
    rows = zip(groups.tolist(), errors.tolist(), weights.tolist(), strict=True)
    for r, (group, error, c) in enumerate(rows):
        out[r] = np.clip(quantiles[r], *s.limits) + s.correction[group]
        nest(out[r], n_lower)
        if c > 0.0:
            learn_ends(s, group, error, out[r], c)

"""Sizes of errors, ends of prediction intervals and thresholds of sets, by row."""

import numpy as np

from ...learners.interval_ends import learn_ends, learn_size, learn_weight, nest
from ...learners.set_thresholds import learn_threshold


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
            learn_ends(s, error, out[r], c)


def learn_set_thresholds(s, scores, means, weights, out):
    rows = zip(scores.tolist(), means.tolist(), weights.tolist(), strict=True)
    for r, (score, mean, c) in enumerate(rows):
        np.maximum.accumulate(mean + s.correction, out=out[r])
        if c > 0.0:
            learn_threshold(s, ..., score, out[r], learn_weight(s, c))

"""Loops over what prediction intervals and sets of labels learn."""

from ..._portable import larger, smaller
from ...learners.interval_ends import learn_end, learn_size, learn_weight, nest
from ...learners.set_thresholds import learn_threshold
from .compiling import strict


@strict
def learn_error_sizes(s, sizes, weights, out):
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = s.means[i]
            if weights[r] > 0.0:
                learn_size(s, i, sizes[r], weights[r])


@strict
def learn_interval_ends(s, errors, quantiles, weights, out):
    for r in range(out.shape[0]):
        error, c, least, most = errors[r], 0.0, s.limits[0], s.limits[1]
        if weights[r] > 0.0:
            c = learn_weight(s, weights[r])
        for i in range(out.shape[1]):
            end = smaller(larger(quantiles[r, i], least), most)
            out[r, i] = end + s.correction[i]
        nest(out[r])
        if c > 0.0:
            for i in range(out.shape[1]):
                learn_end(s, i, error, out[r, i], c)
            s.limits[0], s.limits[1] = smaller(least, error), larger(most, error)


@strict
def learn_set_thresholds(s, scores, means, weights, out):
    for r in range(out.shape[0]):
        score, c = scores[r], 0.0
        if weights[r] > 0.0:
            c = learn_weight(s, weights[r])
        for i in range(out.shape[1]):
            out[r, i] = means[r] + s.correction[i]
            if i > 0:
                out[r, i] = larger(out[r, i], out[r, i - 1])
        if c > 0.0:
            for i in range(out.shape[1]):
                learn_threshold(s, i, score, out[r, i], c)

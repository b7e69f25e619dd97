"""Loops over what prediction intervals and sets of labels learn."""

from ..._portable import larger, smaller
from ...learners.interval_ends import learn_end, learn_size, learn_weight, nest
from .compiling import strict


@strict
def learn_error_sizes(s, sizes, weights, out):
    for r in range(out.shape[0]):
        for i in range(out.shape[1]):
            out[r, i] = s.means[i]
            if weights[r] > 0.0:
                learn_size(s, i, sizes[r], weights[r])


@strict
def learn_interval_ends(s, groups, errors, quantiles, weights, n_lower, out):
    for r in range(out.shape[0]):
        error, c, least, most = errors[r], 0.0, s.limits[0], s.limits[1]
        group = groups[r]
        if weights[r] > 0.0:
            c = learn_weight(s, group, weights[r])
        for i in range(out.shape[1]):
            end = smaller(larger(quantiles[r, i], least), most)
            out[r, i] = end + s.correction[group, i]
        nest(out[r], n_lower)
        if c > 0.0:
            for i in range(out.shape[1]):
                learn_end(s, group, i, error, out[r, i], c)
            s.limits[0], s.limits[1] = smaller(least, error), larger(most, error)

"""Means of what experts predict as probabilities."""

import numpy as np

from .._portable import chosen, exp, larger, portable

__all__ = ["MIN_PROBABILITY", "odds_ratio", "probabilities"]

#: Smaller probabilities are mixed as if they were this, which has a logarithm.
MIN_PROBABILITY = 1e-300


@portable
def probabilities(log_odds):
    """Of a class and of the other; that of the unlikely one is accurate as well."""
    odds = exp(-np.abs(log_odds))
    likely = 1.0 / (1.0 + odds)
    unlikely = larger(odds * likely, MIN_PROBABILITY)
    is_likely = log_odds > 0.0
    return chosen(is_likely, likely, unlikely), chosen(is_likely, unlikely, likely)


@portable
def odds_ratio(p, p_other):
    """Log odds of a class with probability `p` against one with `p_other`."""
    return np.log(p / p_other)

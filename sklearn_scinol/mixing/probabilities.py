"""Log odds and probabilities, for means of probabilities."""

import numpy as np

from .._portable import chosen, exp, larger

#: Smaller probabilities count as this one, which has a finite logarithm.
MIN_PROBABILITY = 1e-300


def of_log_odds(log_odds):
    """Probabilities of two classes, both accurate if tiny."""
    odds = exp(-np.abs(log_odds))
    likely = 1.0 / (1.0 + odds)
    unlikely = larger(odds * likely, MIN_PROBABILITY)
    is_likely = log_odds > 0.0
    return chosen(is_likely, likely, unlikely), chosen(is_likely, unlikely, likely)


def odds_ratio(p, p_other):
    """Log odds of a class with probability `p` against one with `p_other`."""
    return np.log(p / p_other)

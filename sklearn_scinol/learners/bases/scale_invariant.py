"""What holds of the state of learners that keep the largest value of a feature."""

import numpy as np

from ..._invariants import ROUNDING
from ..._portable import TINY

__all__ = ["largest_values", "sums_of_gradients"]


def largest_values(s):
    """Of `M`, the largest value so far, which does not depend on the output."""
    yield "M >= 0", s.M >= 0.0
    yield "M is the same for all outputs", s.M[0] == s.M


def sums_of_gradients(s, t):
    """Of `G` and `S2`, the sums of ``t`` gradients and of their squares."""
    yield "S2 is positive", s.S2 >= TINY
    largest_sum = ROUNDING * np.sqrt(t) * s.M  # for |g x| <= M
    yield "S2 <= t M^2", np.sqrt(s.S2) <= largest_sum + np.sqrt(TINY)
    yield "G^2 <= t S2", np.abs(s.G) <= ROUNDING * np.sqrt(t) * np.sqrt(s.S2)

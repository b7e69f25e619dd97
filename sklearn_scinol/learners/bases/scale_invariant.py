"""Invariants of learners that keep the largest absolute value of a feature."""

import numpy as np

from ..._invariants import ROUNDING
from ..._portable import TINY


def maximum_invariants(s):
    """Invariants of `M`, the largest value so far, which all outputs share."""
    yield "M >= 0", s.M >= 0.0
    yield "M is the same for all outputs", s.M[0] == s.M


def gradient_invariants(s, t):
    """Invariants of `G` and `S2`, the sums of `t` gradients and of their squares."""
    yield "S2 is positive", s.S2 >= TINY
    largest_sum = ROUNDING * np.sqrt(t) * s.M  # for |g x| <= M
    yield "S2 <= t M^2", np.sqrt(s.S2) <= largest_sum + np.sqrt(TINY)
    yield "G^2 <= t S2", np.abs(s.G) <= ROUNDING * np.sqrt(t) * np.sqrt(s.S2)

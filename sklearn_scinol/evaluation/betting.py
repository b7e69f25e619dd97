r"""Bets against "the losses are what they were", whose wealth raises alarms.

The losses are cut into blocks of `BLOCK_ROWS` rows. The mean loss of block :math:`n` is
ranked among those of blocks 1 to :math:`n`:

.. math:: p_n = (\text{number of greater ones} + \theta_n \cdot \text{number of equal
    ones, its own included}) / n

with :math:`\theta_n` uniform on (0, 1), from a hash of the order of the losses within
the blocks: independent of their means, since each order of a block's losses is equally
likely. If the losses are exchangeable, then
:math:`p_1, p_2, \dots` are independent and uniform on (0, 1): Vovk, Nouretdinov and
Gammerman (2003), Theorem 1. So the normal scores :math:`z_n = \Phi^{-1}(1 - p_n)` are
independent and standard normal, and :math:`e^{\delta z_n - \delta^2/2}` has mean 1:
what remains of 1 that is bet on a shift of the scores by :math:`\delta`.

Each row brings new wealth of 1, divided among the bets on all shifts by `SHARES`, from
the first block on whose mean differs from those before; the wealth :math:`R` of a bet
becomes

.. math:: R_n = (R_{n-1} + \text{share} \cdot \text{rows of the block})
    \, e^{\delta z_n - \delta^2 / 2}.

If rows brought wealth from the second block on, all wealth less the number of rows
would be a martingale: an e-detector of Shin, Ramdas and Rinaldo (2022), of the kind of
Shiryaev and Roberts. If the first alarm comes when all wealth is :math:`1 / \alpha`,
the mean number of rows up to it is the mean of the wealth, at least :math:`1 / \alpha`.
Less wealth makes alarms only rarer. While all means are equal there is none: of blocks
of equal losses there is one order, and :math:`\theta_n` would be the same in every
stream.
"""

import numpy as np
from scipy.special import ndtri

from .._hashing import combine

#: Rows of a block. Few rows of losses 0 and 1 have mostly equal means, which ranks do
#: not tell apart; many rows delay alarms.
BLOCK_ROWS = 16

#: Shifts of the normal scores that are bet on: rises, then falls.
SHIFTS = np.array([0.35, 0.7, 1.4, -0.35, -0.7, -1.4])

#: Shares of new wealth: two thirds for rises. Losses of 0 and 1 vary more after a rise
#: than before, which hides it; after a fall they vary less.
SHARES = np.where(SHIFTS > 0, 2.0, 1.0) / 9.0

# Maximum of p below 1.
MAX_P = 1.0 - 2.0**-53


class Bets:
    """Wealth of all bets, and where a change would most likely have begun.

    That is where 1 would have grown most since, by any bet: the likelihood ratio of a
    shift is largest there. It is found by the cumulative sums of Page (1954).
    """

    def __init__(self):
        self.n_blocks = 0
        self.wealth = np.zeros(SHIFTS.shape)
        self.growth = np.ones(SHIFTS.shape)  # of 1, since the block `starts`
        self.starts = np.zeros(SHIFTS.shape, dtype=np.int64)
        self.excess = np.zeros(SHIFTS.shape)  # of the ranks since then, without theta

    def add(self, n_greater, n_equal, theta):
        """Settle the bets on a block, given the rank of its mean."""
        n = self.n_blocks
        self.n_blocks += 1
        if n_equal > n:  # all means are equal
            return
        p = (n_greater + theta * n_equal) / (n + 1)
        z = -ndtri(min(p, MAX_P))
        remains = np.exp(SHIFTS * z - 0.5 * SHIFTS**2)  # of 1 that is bet on each shift
        self.wealth = (self.wealth + BLOCK_ROWS * SHARES) * remains
        is_new = self.growth <= 1.0
        self.growth = np.maximum(self.growth, 1.0) * remains
        self.starts = np.where(is_new, n, self.starts)
        excess = 0.5 - (n_greater + 0.5 * n_equal) / (n + 1)
        self.excess = np.where(is_new, 0.0, self.excess) + excess

    def change(self, false_alarm):
        """Return the first block after a change and whether it was a rise, or None.

        Random numbers that break ties raise no alarm in a direction that the ranks
        without them contradict. That makes alarms only rarer.
        """
        if self.wealth.sum() * false_alarm < 1.0:
            return None
        likeliest = np.argmax(self.growth)
        if self.excess[likeliest] * SHIFTS[likeliest] <= 0.0:
            return None
        return int(self.starts[likeliest]), bool(SHIFTS[likeliest] > 0.0)


class TieBreaker:
    """Random numbers from a hash of the orders of the losses within blocks so far.

    The same losses, in any unit, give the same numbers; those of different streams are
    as good as independent, and do not depend on the blocks' means.
    """

    def __init__(self):
        self._hash = combine(np.zeros(1, dtype=np.uint64), np.uint64(1))

    def number(self):
        """Return a number between 0 and 1, both excluded."""
        return (int(self._hash[0] >> np.uint64(11)) + 0.5) * 2.0**-53

    def add(self, order):
        """Add the order of a block, of :func:`orders`, to what is hashed."""
        self._hash = combine(self._hash, order)


def orders(blocks):
    """Return the order of the losses of each block, as an integer of 64 bits."""
    places = np.argsort(blocks, axis=1, kind="stable").astype(np.uint64)
    shifts = 4 * np.arange(BLOCK_ROWS, dtype=np.uint64)
    return np.bitwise_or.reduce(places << shifts, axis=1)

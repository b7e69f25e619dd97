"""Find the state of a coin-betting learner that has given weights."""

import numpy as np


def bet_and_stake(w, stake, max_bet):
    """Factor weights into bets and stakes.

    Bets are at most `max_bet`; where that is too little for `w`, the stake is raised.
    """
    bet = np.clip(np.where(w == 0.0, 0.0, w / stake), -max_bet, max_bet)
    return bet, np.where(bet == 0.0, stake, np.maximum(stake, w / bet))


def solve_odd(function, w, upper):
    """Solve ``function(z) = w`` elementwise, for an odd and increasing function.

    The absolute value of the root is looked for between 0 and `upper`.
    """
    low, high = np.zeros_like(w), np.broadcast_to(upper, w.shape).copy()
    # Halves of the logarithm of the range first, to find the order of magnitude.
    for _ in range(200):
        middle = np.where(low > 0.0, np.sqrt(low) * np.sqrt(high), high * 2.0**-20)
        middle = np.clip(middle, low, high)
        is_below = function(middle) < np.abs(w)
        low = np.where(is_below, middle, low)
        high = np.where(is_below, high, middle)
    return np.where(w == 0.0, 0.0, np.copysign(high, w))

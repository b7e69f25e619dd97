"""What leads to given weights, where these are bets."""

import numpy as np

__all__ = ["solved", "staked"]


def staked(w, stake, largest_bet):
    """A bet, and a stake that is larger where that takes it, whose product is `w`.

    Parameters
    ----------
    w, stake, largest_bet : ndarray
        The stake is positive, and what a bet may be not negative.
    """
    bet = np.clip(np.where(w == 0.0, 0.0, w / stake), -largest_bet, largest_bet)
    return bet, np.where(bet == 0.0, stake, np.maximum(stake, w / bet))


def solved(odd, w, largest):
    """Where an odd, increasing function of each entry is `w`, up to a largest value.

    Parameters
    ----------
    odd : callable
        Of an array of the shape of `w`.
    w, largest : ndarray
    """
    low, high = np.zeros_like(w), np.broadcast_to(largest, w.shape).copy()
    # Halves of the logarithm of the range first, to find the order of magnitude.
    for _ in range(200):
        middle = np.where(low > 0.0, np.sqrt(low) * np.sqrt(high), high * 2.0**-20)
        middle = np.clip(middle, low, high)
        is_below = odd(middle) < np.abs(w)
        low, high = (
            np.where(is_below, middle, low),
            np.where(is_below, high, middle),
        )
    return np.where(w == 0.0, 0.0, np.copysign(high, w))

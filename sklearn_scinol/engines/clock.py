"""Clock of learning, which stands still while loops are compiled."""

from time import perf_counter

_stopped = 0.0


def learning_time():
    """Return seconds on the clock of learning, whose differences have a meaning."""
    return perf_counter() - _stopped


def stopped():
    """Return the seconds for which the clock has stood still."""
    return _stopped


def turn_back(time):
    """Turn the clock back to an earlier :func:`learning_time`."""
    global _stopped
    _stopped = perf_counter() - time

"""Range of the values that can be learned from."""

import numpy as np

from ..blocks import repeat_to_entries

#: Maximum of a value, times the relative weight of its row if that is above 1.
MAX_VALUE = 1e100


class OutOfRange(ValueError):
    """Values are not finite, or too large to learn from."""


def check_values(engine, rows, weights):
    """Raise :exc:`OutOfRange` if a value is not finite, or too large."""
    if too_large(engine, rows, weights, MAX_VALUE) is not None:
        raise OutOfRange(
            "Input X contains a value that is too large: times the weight of its row, "
            f"relative to the first or to their mean, it may be up to {MAX_VALUE:g}."
        )


def too_large(engine, rows, weights, largest):
    """Return a mask of the values that are not finite or, weighted, too large.

    It is None if there are none.
    """
    values = rows[0]
    if engine.norm(values) <= largest / weights.largest():  # false of NaN
        return None
    c = np.maximum(np.maximum(weights.relative, weights.to_mean), 1.0)
    with np.errstate(over="ignore", invalid="ignore"):
        mask = ~(np.abs(values) * repeat_to_entries(rows, c) <= largest)
    return mask if mask.any() else None

"""Losses of the predictions of a block, all rows at once."""

import numpy as np


def compute_losses(loss, block, predictions, numbers):
    with np.errstate(all="ignore"):
        losses = loss.value(block.targets, predictions)
        of_rows = losses if loss.joint else losses.sum(axis=1)
        # One by one, so that the sum does not depend on where blocks begin.
        steps = np.append(numbers[1], block.weights.given * of_rows)
        numbers[1] = np.cumsum(steps)[-1]
    return losses.reshape(len(predictions), -1)


def norm(values):
    return max(values.max(initial=0.0), -values.min(initial=0.0))

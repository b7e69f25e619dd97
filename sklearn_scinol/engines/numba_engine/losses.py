"""Losses of the predictions of a block."""

from functools import cache

import numpy as np

from ...losses import methods
from .borrowing import borrowed
from .compiling import compiled, exact, source_digest

__all__ = ["charge"]


def charge(loss, block, predictions, total):
    """Losses of predictions: see the protocol."""
    n, n_outputs = predictions.shape
    losses = np.empty((n, 1 if loss.joint else n_outputs))
    loop = _loop(type(loss))
    total, all_finite = loop(
        loss, block.targets, predictions, losses, block.weights.given, total
    )
    return losses, float(total), bool(all_finite)


@exact
def running_total(losses, weights, total):
    """One by one, so that the sum does not depend on where blocks begin."""
    for r in range(losses.shape[0]):
        of_row = 0.0
        for k in range(losses.shape[1]):
            of_row += losses[r, k]
        total += weights[r] * of_row
    return total


@cache
def _loop(loss):
    joint = loss.joint
    digest = source_digest(loss)

    def charge(loss, y, predictions, losses, weights, total):
        digest  # noqa: B018 - see source_digest
        y, predictions = borrowed(y), borrowed(predictions)
        if joint:
            for r in range(losses.shape[0]):
                losses[r, 0] = methods.row_value(loss, y[r], predictions[r])
        else:
            each_y, each_p, each = y.ravel(), predictions.ravel(), losses.ravel()
            for i in range(each.size):
                each[i] = methods.value(loss, each_y[i], each_p[i])
        n_finite = 0
        for p in predictions.ravel():
            n_finite += np.isfinite(p)
        total = running_total(losses, weights, total)
        return total, n_finite == predictions.size

    return compiled(charge, classes=(loss,))

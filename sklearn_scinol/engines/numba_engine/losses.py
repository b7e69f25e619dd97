"""Losses of the predictions of a block."""

from functools import cache

import numpy as np

from ... import _portable
from ...losses import methods
from .compiling import compiled, runs_loop


def joint_losses(loss, y, predictions, losses):
    for r in range(losses.shape[0]):
        losses[r, 0] = loss.row_value(y[r], predictions[r])


def separate_losses(loss, y, predictions, losses):
    each_y, each_p = _portable.flat(y), _portable.flat(predictions)
    each = _portable.flat(losses)
    for i in range(each.size):
        each[i] = methods.value(loss, each_y[i], each_p[i])


def losses_by_output(loss, y, predictions, losses):
    for k in range(losses.shape[1]):
        own = loss.of_output(k)
        for r in range(losses.shape[0]):
            losses[r, k] = methods.value(own, y[r, k], predictions[r, k])


def loop_of_losses(loss, by_output):
    """Return the loop for a class of losses, which is part of others."""
    if by_output:
        return losses_by_output
    return joint_losses if loss.joint else separate_losses


@_portable.exact
def running_total(losses, weights, total):
    """Add up losses one by one: the sum must not depend on where blocks begin."""
    for r in range(losses.shape[0]):
        of_row = 0.0
        for k in range(losses.shape[1]):
            of_row += losses[r, k]
        total += weights[r] * of_row
    return total


@runs_loop
def compute_losses(loss, block, predictions, numbers):
    """Losses of predictions."""
    n, n_outputs = predictions.shape
    losses = np.empty((n, 1 if loss.joint else n_outputs))
    arguments = loss, block.targets, predictions, losses, block.weights.given, numbers
    return _loop(type(loss), methods.is_by_output(loss)), arguments, losses


@cache
def _loop(loss, by_output):
    losses_of = loop_of_losses(loss, by_output)

    def compute_losses(loss, y, predictions, losses, weights, numbers):
        losses_of(loss, y, predictions, losses)
        numbers[1] = running_total(losses, weights, numbers[1])

    return compiled(compute_losses)


def norm(values):
    """Return the root of the sum of the squares."""
    values = values.ravel()
    values.flags.writeable = False  # of one type, whether it was so or not
    return _norm(values)


@compiled
def _norm(values):
    square = 0.0
    for i in range(values.size):
        square += values[i] * values[i]
    return np.sqrt(square)

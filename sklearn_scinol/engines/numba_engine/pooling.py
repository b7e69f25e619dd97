"""Log-linear pools of experts for several classes."""

from functools import cache

import numpy as np

from .compiling import compiled, runs_loop


@runs_loop
def learn_pool(learn_rows, learner, loss, state, F, block):
    """Learn the weights of a pool; return its scores before each row."""
    n, n_classes, n_inputs = F.shape
    scores = np.empty((n, n_classes))
    buffers = np.empty(n_classes), np.empty(n_classes), np.empty(n_inputs)
    rows = F, block.targets, block.weights, scores, buffers
    loop = _loop(learn_rows, type(learner), type(loss))
    return loop, (learner, loss, state, *rows), scores


@cache
def _loop(learn_rows, learner, loss):
    return compiled(learn_rows)

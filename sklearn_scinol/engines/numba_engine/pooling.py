"""Log-linear pools of experts for several classes."""

from functools import cache

import numpy as np

from ...learners import log_linear_pool
from .compiling import compiled, runs_loop


@runs_loop
def learn_pool(learner, loss, state, F, block):
    """Learn the weights of a pool; return its scores before each row."""
    n, n_classes, n_inputs = F.shape
    scores = np.empty((n, n_classes))
    buffers = np.empty(n_classes), np.empty(n_classes), np.empty(n_inputs)
    arguments = learner, loss, state, F, block.targets, block.weights, scores, buffers
    return _loop(type(learner), type(loss)), arguments, scores


@cache
def _loop(learner, loss):
    return compiled(log_linear_pool.learn_rows)

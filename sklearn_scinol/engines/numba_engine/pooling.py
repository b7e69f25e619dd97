"""Log-linear pools of experts for several classes."""

from functools import cache

import numpy as np

from ...learners.log_linear_pool import learn_row, pool_scores
from .compiling import compiled, runs_loop


@runs_loop
def learn_pool(learner, loss, state, F, block):
    """Learn the weights of a pool; return its scores before each row."""
    n, n_classes, n_inputs = F.shape
    scores = np.empty((n, n_classes))
    buffers = np.empty(n_classes), np.empty(n_classes), np.empty(n_inputs)
    of_rows = F, block.targets, block.weights.given, block.weights.to_mean
    arguments = learner, loss, state, of_rows, scores, buffers
    return _loop(type(learner), type(loss)), arguments, scores


@cache
def _loop(learner, loss):
    def learn_pool(learner, loss, state, of_rows, scores, buffers):
        F, y, given, c = of_rows
        p, g, direction = buffers
        for r in range(scores.shape[0]):
            pool_scores(state, F[r], p)
            for k in range(p.size):
                scores[r, k] = p[k]
            if given[r] > 0.0:
                learn_row(learner, state, loss, F[r], y[r], c[r], p, g, direction)

    return compiled(learn_pool)

"""Log-linear pools of experts for several classes."""

import numpy as np

from ...learners import log_linear_pool


def learn_pool(learner, loss, state, F, block):
    n, n_classes, n_inputs = F.shape
    scores, direction = np.empty((n, n_classes)), np.empty(n_inputs)
    rows, buffers = (
        (F, block.targets, block.weights),
        (*np.empty((2, n_classes)), direction),
    )
    with np.errstate(all="ignore"):
        log_linear_pool.learn_rows(learner, loss, state, *rows, scores, buffers)
    return scores

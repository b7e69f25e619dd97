"""Log-linear pools of experts for several classes."""

import numpy as np


def learn_pool(learn_rows, learner, loss, state, F, block):
    n, n_classes, n_inputs = F.shape
    scores = np.empty((n, n_classes))
    buffers = *np.empty((2, n_classes)), np.empty(n_inputs)
    with np.errstate(all="ignore"):
        rows = F, block.targets, block.weights, scores, buffers
        learn_rows(learner, loss, state, *rows)
    return scores

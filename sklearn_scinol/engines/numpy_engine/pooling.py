"""Log-linear pools of experts for several classes."""

import numpy as np

from ...learners.log_linear_pool import learn_row, pool_scores


def learn_pool(learner, loss, state, F, block):
    n, n_classes, n_inputs = F.shape
    scores, direction = np.empty((n, n_classes)), np.empty(n_inputs)
    p, g = np.empty((2, n_classes))
    with np.errstate(all="ignore"):
        for r in range(n):
            pool_scores(state, F[r], p)
            scores[r] = p
            if block.weights.given[r] > 0.0:
                y, c = block.targets[r], block.weights.to_mean[r]
                learn_row(learner, state, loss, F[r], y, c, p, g, direction)
    return scores

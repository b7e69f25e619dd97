"""Loop over rows, by weights that are combinations of rows, new or stored."""

import numpy as np

from ...learners.bases.averaging import must_restart, tick
from .learning import derivatives, row_steps


def learn_combination(task, state, block, combination, out):
    learner, starts, t = task.learner, task.averaging_starts, state.numbers[0]
    shared, clock = learner.Shared(*state.shared), state.clock
    gram, values, sums = combination[:3]
    n, n_outputs = out.predictions.shape
    increments = np.zeros((n, n_outputs))
    sum_increments = np.zeros((n, combination.coef_sums.shape[1]))
    c = block.weights.to_mean if task.sees_means else block.weights.relative
    r, room = 0, combination.room
    with np.errstate(all="ignore"):
        while r < n and room > 0:
            learns, dot = block.weights.given[r] > 0.0, values[:, r]
            scale = task.row_scale * c[r]
            q = scale * scale * max(gram[r, r], 0.0)
            out.predictions[r] = p = learner.factor(shared, ..., q, t + 1.0) * dot
            if out.averaged is not None:
                averaged = (sums[:, r] + clock[0] * dot) / max(t - starts, 1.0)
                out.averaged[r] = averaged if t > starts else p
            if learns:
                t += 1.0
                g = derivatives(task.loss, block.targets[r], p) / task.lipschitz
                steps = row_steps(learner, shared, g, scale * dot, q, t)
                increments[r] = -scale * steps
                values[:, r:] += increments[r, :, np.newaxis] * gram[r, r:]
                room -= combination.is_new[r] and increments[r].any()
            if learns and out.averaged is not None:
                sum_increments[r] = -clock[0] * increments[r]
                sums[:, r:] += sum_increments[r, :, np.newaxis] * gram[r, r:]
                for k in range(n_outputs if t > starts else 0):
                    at_rest = learner.factor(shared, k, 0.0, t + 1.0)
                    if must_restart(clock, k, at_rest):
                        restart(combination, increments, sum_increments, clock, k)
                    tick(clock, k, at_rest)
            r += 1
    state.numbers[0] = t
    return r, increments, sum_increments


def restart(combination, increments, sum_increments, clock, k):
    """Bring sums up to date, and let their clock start from 0."""
    combination.sums[k] += clock[0, k] * combination.values[k]
    sum_increments[:, k] += clock[0, k] * increments[:, k]
    combination.coef_sums[:, k] += clock[0, k] * combination.coef[:, k]
    clock[:, k] = 0.0

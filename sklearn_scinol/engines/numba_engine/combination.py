"""Loop over rows, by weights that are combinations of rows, new or stored."""

from functools import cache

import numpy as np

from ... import _portable
from ...learners.bases import averaging
from ...losses.methods import is_by_output
from .compiling import compiled
from .learning.steps import derivatives


def learn_combination(task, state, block, combination, out):
    """Learn rows by weights that are combinations of rows."""
    average = out.averaged is not None
    kinds = type(task.learner), type(task.loss), is_by_output(task.loss)
    loop = _loop(*kinds, average=average)
    n, n_outputs = out.predictions.shape
    increments = np.zeros((n, n_outputs))
    sum_increments = np.zeros((n, combination.coef_sums.shape[1]))
    r, state.numbers[0] = loop(
        task,
        (task.learner.Shared(*state.shared), state.clock, float(state.numbers[0])),
        block,
        combination,
        out,
        (increments, sum_increments),
    )
    return r, increments, sum_increments


def restart(combination, increments, sum_increments, clock, k):
    """Bring sums up to date, and let their clock start from 0."""
    for j in range(increments.shape[0]):
        combination.sums[k, j] += clock[0, k] * combination.values[k, j]
        sum_increments[j, k] += clock[0, k] * increments[j, k]
    for j in range(combination.coef.shape[0]):
        combination.coef_sums[j, k] += clock[0, k] * combination.coef[j, k]
    clock[:, k] = 0.0


@cache
def _loop(learner, loss, by_output, *, average):
    def learn_combination(task, state, block, combination, out, changes):
        learner, weights = task.learner, block.weights
        shared, clock, t = state
        gram, values, sums = combination.gram, combination.values, combination.sums
        increments, sum_increments = changes
        predictions, room = out.predictions, combination.room
        n_outputs, n = values.shape
        g, dots = np.zeros(n_outputs), np.empty(n_outputs)
        r = 0
        while r < n and room > 0:
            learns = weights.given[r] > 0.0
            c = weights.to_mean[r] if task.sees_means else weights.relative[r]
            scale = task.row_scale * c
            q = scale * scale * _portable.larger(gram[r, r], 0.0)
            for k in range(n_outputs):
                dots[k] = values[k, r]
                predictions[r, k] = dots[k] * learner.factor(shared, k, q, t + 1.0)
            if average:
                n_averaged = t - task.averaging_starts
                for k in range(n_outputs):
                    p = predictions[r, k]
                    if n_averaged > 0.0:
                        p = (sums[k, r] + clock[0, k] * dots[k]) / n_averaged
                    out.averaged[r, k] = p
            if not learns:
                r += 1
                continue
            t += 1.0
            y, lipschitz = block.targets, task.lipschitz
            derivatives(task.loss, by_output, lipschitz, y, predictions, r, g)
            takes_room = False
            for k in range(n_outputs):
                step = learner.row_step(shared, k, g[k], scale * dots[k], q, t)
                increment = -scale * step
                if increment == 0.0:
                    continue
                takes_room = combination.is_new[r]
                increments[r, k] = increment
                for j in range(r, n):
                    values[k, j] += increment * gram[r, j]
                if average:
                    sum_increments[r, k] = -clock[0, k] * increment
                    for j in range(r, n):
                        sums[k, j] += sum_increments[r, k] * gram[r, j]
            if takes_room:
                room -= 1
            if average and t > task.averaging_starts:
                for k in range(n_outputs):
                    at_rest = learner.factor(shared, k, 0.0, t + 1.0)
                    if averaging.must_restart(clock, k, at_rest):
                        restart(combination, increments, sum_increments, clock, k)
                    averaging.tick(clock, k, at_rest)
            r += 1
        return r, t

    return compiled(learn_combination)

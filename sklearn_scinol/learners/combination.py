"""Loop over rows, by weights that are combinations of rows, new or stored."""

from functools import cache

import numpy as np

from .._portable import each, larger
from ..losses import methods
from .bases.averaging import must_restart, tick


@cache
def loop_of(by_output, averages):
    """Return the loop; see :class:`Combination`. A loss may be one of each output.

    It learns until the room is taken, and adds up no losses. `changes` are filled with
    those of the rows' coefficients and of their sums, each of shape (n, K); the latter
    has no columns unless averaging. Returns the numbers of rows that were learned, and
    of trials.
    """

    def learn_combination(
        learner, loss, task, shared, clock, t, block, combination, out, changes
    ):
        weights, room = block.weights, combination.room
        n_outputs, n = combination.values.shape
        g, dots = np.zeros(n_outputs), np.empty(n_outputs)
        y, predictions, r = block.targets, out.predictions, 0
        while r < n and room > 0:
            c = weights.to_mean[r] if task.sees_means else weights.relative[r]
            scale = task.row_scale * c
            q = scale * scale * larger(combination.gram[r, r], 0.0)
            n_averaged = t - task.averaging_starts
            predict(learner, shared, t + 1.0, q, combination, out, r, dots)
            if averages:
                average(clock, n_averaged, combination, out, r, dots)
            if weights.given[r] > 0.0:
                t += 1.0
                methods.derive(loss, by_output, task.lipschitz, y, predictions, r, g)
                takes_room = False
                for k in range(n_outputs):
                    step = learner.row_step(shared, k, g[k], scale * dots[k], q, t)
                    increment = -scale * step
                    if increment != 0.0:
                        takes_room = combination.is_new[r]
                        change(averages, clock, combination, changes, r, k, increment)
                if takes_room:
                    room -= 1
                if averages and t > task.averaging_starts:
                    end_trial(learner, shared, clock, t, combination, changes)
            r += 1
        return r, t

    return learn_combination


def predict(learner, shared, t, q, combination, out, r, dots):
    """Predict row `r`, of squared norm `q`; also keep predictions without factors."""
    for k in each(0, dots.size):
        dots[k] = combination.values[k, r]
        out.predictions[r, k] = dots[k] * learner.factor(shared, k, q, t)


def average(clock, n_averaged, combination, out, r, dots):
    """Predict row `r` by averaged weights, or as charged while there are none."""
    for k in each(0, dots.size):
        p = out.predictions[r, k]
        if n_averaged > 0.0:
            p = (combination.sums[k, r] + clock[0, k] * dots[k]) / n_averaged
        out.averaged[r, k] = p


def change(averages, clock, combination, changes, r, k, increment):
    """Change the coefficient of row `r`, and what later rows have of it."""
    (increments, sum_increments), gram = changes, combination.gram
    increments[r, k] = increment
    for j in each(r, gram.shape[1]):
        combination.values[k, j] += increment * gram[r, j]
    if averages:
        sum_increments[r, k] = -clock[0, k] * increment
        for j in each(r, gram.shape[1]):
            combination.sums[k, j] += sum_increments[r, k] * gram[r, j]


def end_trial(learner, shared, clock, t, combination, changes):
    """Advance the clocks; bring sums up to date where a clock starts from 0 again."""
    increments, sum_increments = changes
    for k in range(clock.shape[1]):
        at_rest = learner.factor(shared, k, 0.0, t + 1.0)
        if must_restart(clock, k, at_rest):
            for j in each(0, increments.shape[0]):
                combination.sums[k, j] += clock[0, k] * combination.values[k, j]
                sum_increments[j, k] += clock[0, k] * increments[j, k]
            for j in each(0, combination.coef.shape[0]):
                combination.coef_sums[j, k] += clock[0, k] * combination.coef[j, k]
            clock[:, k] = 0.0
        tick(clock, k, at_rest)

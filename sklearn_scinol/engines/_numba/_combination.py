"""The loop over rows whose weights are combinations of those rows and of others."""

from functools import cache

import numpy as np

from ... import _portable
from ...learners import averaging
from ._compiling import compiled, source_digest
from ._rows import gradient_steps, joint_derivatives, separate_derivatives

__all__ = ["learn_combination"]


def learn_combination(
    model, gram, f, moments, y, sample_weight, is_new, room, predictions, averaged
):
    """Learn from rows and combinations of them: see the NumPy engine's function."""
    kernel = _kernel(
        type(model.learner), type(model.loss), average=averaged is not None
    )
    increments = np.zeros((len(y), model.n_outputs))
    moment_increments = np.zeros((len(y), model.moment.rows.shape[1]))
    r, t = kernel(
        model.learner,
        model.loss,
        model.lipschitz,
        model.shared_state(),
        model.clock,
        float(model.t),
        float(model.averaging_starts),
        gram,
        f,
        f if moments is None else moments,
        y,
        sample_weight,
        is_new,
        room,
        predictions,
        predictions if averaged is None else averaged,
        increments,
        moment_increments,
        model.coef.rows,
        model.moment.rows,
    )
    model.t = int(t)
    return r, increments, moment_increments


@cache
def _kernel(learner, loss, average):
    derivatives = joint_derivatives if loss.joint else separate_derivatives
    return compiled(
        _combination_kernel(
            derivatives=derivatives, average=average, digest=source_digest()
        )
    )


def _combination_kernel(*, derivatives, average, digest):
    def learn_combination(
        learner,
        loss,
        lipschitz,
        h,
        clock,
        t,
        averaging_starts,
        gram,
        f,
        moments,
        y,
        sample_weight,
        is_new,
        room,
        predictions,
        averaged,
        increments,
        moment_increments,
        coef,
        moment,
    ):
        digest  # noqa: B018 - see source_digest
        n_outputs, n = f.shape
        g = np.zeros(n_outputs)
        step = np.zeros(n_outputs)
        dots = np.empty(n_outputs)
        r = 0
        while r < n and room > 0:
            c = sample_weight[r]
            learns = c > 0.0
            t += 1.0
            scale = lipschitz * (c if learns else 1.0)
            q = scale * scale * _portable.larger(gram[r, r], 0.0)
            for k in range(n_outputs):
                dots[k] = f[k, r]
                predictions[r, k] = dots[k] * learner.factor(h, k, q, t)
            if average:
                n_averaged = t - 1.0 - averaging_starts
                for k in range(n_outputs):
                    p = predictions[r, k]
                    if n_averaged > 0.0:
                        p = (moments[k, r] + clock[0, k] * dots[k]) / n_averaged
                    averaged[r, k] = p
            if not learns:
                t -= 1.0
                r += 1
                continue
            derivatives(loss, lipschitz, y, predictions, r, g)
            gradient_steps(learner, loss, h, y, r, c, scale, dots, q, t, g, step)
            takes_room = False
            for k in range(n_outputs):
                increment = -scale * step[k]
                if increment == 0.0:
                    continue
                takes_room = is_new[r]
                increments[r, k] = increment
                for j in range(r, n):
                    f[k, j] += increment * gram[r, j]
                if average:
                    moment_increments[r, k] = -clock[0, k] * increment
                    for j in range(r, n):
                        moments[k, j] += moment_increments[r, k] * gram[r, j]
            if takes_room:
                room -= 1
            if average and t > averaging_starts:
                for k in range(n_outputs):
                    at_rest = learner.factor(h, k, 0.0, t + 1.0)
                    if averaging.tick(clock, k, at_rest):
                        for j in range(n):
                            moments[k, j] += clock[0, k] * f[k, j]
                            moment_increments[j, k] += clock[0, k] * increments[j, k]
                        for j in range(coef.shape[0]):
                            moment[j, k] += clock[0, k] * coef[j, k]
                        clock[:, k] = 0.0
            r += 1
        return r, t

    return learn_combination

"""Steps with a row after its scores are known, for all outputs."""

import numpy as np

from ...._portable import copy_into
from ....learners.bases import averaging
from ....losses import methods
from ..losses import loop_of_losses, running_total
from .outputs import entry_or_intercept, learner_of, output_of


def row_scale(variant, task, c):
    """Return the factor of a row of weight `c` for the learner."""
    return task.row_scale * (1.0 if variant.traits.implicit else c)


def count_outputs(variant, scratch):
    """Return the number of outputs of all learners."""
    return 1 if variant.single_output else scratch.g.size


def loss_of(variant, task, k):
    """Return the loss of output `k`."""
    return methods.of_output(task.loss, k, variant.loss_by_output)


def in_range(squares, c, learns, largest):
    """Whether the values of a row may be learned, by the sum of their squares."""
    if learns and largest < np.inf:
        return squares * max(c * c, 1.0) <= largest * largest
    return squares < np.inf or largest == np.inf


def report(variant, task, state, block, scratch, out, row, q):
    """Make the predictions of scores, which are sums of weight times value."""
    predictions, scale, r = out.predictions, block.target_scale, row.r
    for k in range(count_outputs(variant, scratch)):
        output = output_of(variant, task, state, k)
        p = scratch.dots[k]
        if variant.traits.by_row:
            p *= output.learner.factor(output.shared, k, q, row.t)
        elif variant.traits.by_vector and variant.traits.implicit:
            p = output.learner.charged(output.s, k, p, row.c)
        if variant.standard_target:
            p = scale.offset[r, k] + scale.deviation[r, k] * p
        predictions[r, k] = p


def average(variant, task, state, block, scratch, out, row):
    """Predict a row by averaged weights, or as charged while there are none.

    Sums of weights are brought up to date by each row that is learned.
    """
    target_scale = block.target_scale
    n_averaged = row.t - 1.0 - task.averaging_starts
    learner, sums, r = learner_of(variant, task), scratch.sums, row.r
    for k in range(out.predictions.shape[1]):
        total, last = state.fields[-2, k], state.fields[-1, k]
        clock = state.clock[0, k]
        for j in range(row.m):
            i, _ = entry_or_intercept(variant, block, scratch, row, j)
            at_rest = learner.weight(state.s, (k, i), 0.0, row.t)
            sums[j] = averaging.sum_before(total, last, i, at_rest, clock)
            if row.learns:
                averaging.record_sum(total, last, i, sums[j], clock)
        p = 0.0
        for j in range(row.m):  # on its own: `total` and `last` are neighbours
            _, x_j = entry_or_intercept(variant, block, scratch, row, j)
            p += sums[j] * x_j
        p /= max(n_averaged, 1.0)
        if variant.standard_target:
            p = target_scale.offset[r, k] + target_scale.deviation[r, k] * p
        out.averaged[r, k] = p if n_averaged > 0.0 else out.predictions[r, k]


def derive(variant, task, state, block, scratch, out, row, q):
    """Derive from the loss what each output learns a row by.

    That is the derivative of the loss, or the step that the learner derives from it,
    or from the loss itself.
    """
    has, g, y = variant.traits, scratch.g, block.targets
    if not has.implicit:
        loss, by_output, p = task.loss, variant.loss_by_output, out.predictions
        methods.derive(loss, by_output, task.lipschitz, y, p, row.r, g)
        if variant.has_kinks:
            round_at_kinks(variant, task, block, scratch, out, row)
    for k in range(count_outputs(variant, scratch)):
        output = output_of(variant, task, state, k)
        learner, shared = output.learner, output.shared
        if variant.standard_target:
            g[k] *= block.target_scale.slope[row.r, k]
        if has.by_row:
            dot = scratch.dots[k]
            if has.implicit:
                scale = scale_of_target(variant, task, block, row, k)
                loss = loss_of(variant, task, k)
                scratch.step[k] = learner.implicit_row_step(
                    shared, k, loss, y[row.r, k], row.c, scale, dot, q, row.t
                )
            else:
                dot *= row.scale
                scratch.step[k] = learner.row_step(shared, k, g[k], dot, q, row.t)


def round_at_kinks(variant, task, block, scratch, out, row):
    """Derive by the target where a prediction meets it but for rounding."""
    for k in range(count_outputs(variant, scratch)):
        y, p = block.targets[row.r, k], out.predictions[row.r, k]
        size = abs(y)
        if variant.standard_target:
            offset, spread, _ = block.target_scale
            size += abs(offset[row.r, k]) + spread[row.r, k]
        loss = loss_of(variant, task, k)
        if methods.meets(loss, y, p, size):
            scratch.g[k] = loss.gradient(y, y) / task.lipschitz


def scale_of_target(variant, task, block, row, k):
    """Return offset, spread and slope of a target; see the interface of learners."""
    if not variant.standard_target:
        return 0.0, 1.0, 1.0
    offset, deviation, slope = block.target_scale
    return offset[row.r, k], deviation[row.r, k], slope[row.r, k] / task.lipschitz


def learn_vector(variant, task, state, block, scratch, row):
    """Learn a row with a learner that sees it as a vector."""
    learner, s = learner_of(variant, task), state.s
    y, dots = block.targets, scratch.dots
    if variant.traits.implicit and task.loss.joint:
        learner.learn_jointly(s, task.loss, y[row.r], row.c, dots)
        return
    for k in range(dots.size):
        if variant.traits.implicit:
            scale = scale_of_target(variant, task, block, row, k)
            loss = loss_of(variant, task, k)
            learner.learn_implicitly(s, k, loss, y[row.r, k], row.c, scale, dots[k])
        else:
            x, g = scratch.x[0, : row.m], row.scale * scratch.g[k]
            learner.learn(s, k, x, g, row.t)


def keep_in_range(variant, task, state, scratch, t):
    """Fold factors that have become small into the state; let clocks tick."""
    has, clock = variant.traits, state.clock
    for k in range(count_outputs(variant, scratch)):
        output = output_of(variant, task, state, k)
        learner, shared = output.learner, output.shared
        ticks, restarts = variant.average and t > task.averaging_starts, False
        factor = at_rest = 1.0
        if has.folds:
            factor = learner.take_scale(shared, k)
        if ticks:
            if has.by_row:
                at_rest = learner.factor(shared, k, 0.0, t + 1.0)
            restarts = averaging.must_restart(clock, k, at_rest)
        if restarts or factor != 1.0:
            _pass_over_state(variant, output, state, factor, t)
        if ticks:
            averaging.tick(clock, k, at_rest)


def _pass_over_state(variant, output, state, factor, t):
    """Multiply weights by a factor, and record their sums: the clock restarts."""
    fields, clock, k = state.fields, state.clock, output.k
    for j in range(fields.shape[2]):
        i = k, j
        if variant.average:
            total, last = fields[-2], fields[-1]
            w = output.learner.weight(output.s, i, 0.0, t)
            w_sum = averaging.sum_before(total, last, i, w, clock[0, k])
            averaging.record_sum(total, last, i, w_sum, 0.0)
        if variant.traits.folds and factor != 1.0:
            output.learner.fold(output.s, i, factor)
    clock[:, k] = 0.0


def finish(variant, task, state, block, out, t):
    """Store the number of rows and the losses of their predictions."""
    given, y = block.weights.given, block.targets
    if variant.traits.by_vector and variant.traits.implicit:
        learner_of(variant, task).settle(state.s)
    losses_of = loop_of_losses(variant.loss, variant.loss_by_output)
    losses_of(task.loss, y, out.predictions, out.losses)
    state.numbers[0] = t
    state.numbers[1] = running_total(out.losses, given, state.numbers[1])
    copy_into(block.weights.after, state.weight_scale)

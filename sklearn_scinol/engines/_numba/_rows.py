"""What loops do with a row: the parts that kernels are put together from."""

import numpy as np

from ... import losses
from ...learners import averaging, moments
from ._compiling import expanded, inlined, jitable

# A row's prediction is its sum of weight times value, times the factor of the output.


@inlined
def unit_factor(learner, h, k, q, t):
    return 1.0


@inlined
def shared_factor(learner, h, k, q, t):
    return learner.factor(h, k, q, t)


# A standardised target is predicted in units of its deviation, from its mean. The first
# one has none: it teaches what the mean is, and nothing else. In these units, the
# derivative of a loss without Lipschitz constant is that much smaller.


@inlined
def in_units_of_target(target, k, p):
    return target[0, k] + np.sqrt(target[1, k]) * p


@inlined
def drop_unit(target, t, divides_by_deviation, g):
    for k in range(g.size):
        if t == 1.0:
            g[k] = 0.0
        elif divides_by_deviation:
            g[k] *= moments.inverse_deviation(target[1, k])


@inlined
def record_target(target, share, past, y, r):
    for k in range(target.shape[1]):
        deviation = y[r, k] - target[0, k]
        target[0, k] = moments.moved_mean(target[0, k], share, deviation)
        target[1, k] = moments.moved_variance(target[1, k], share, past, deviation)


# The sum of the weights so far, of which a row of weight 0 is no part; then the shares
# of the row and of the past in its moments, as if such a row were one of weight 1.


@inlined
def enter(weight_sum, c):
    weight = c if c > 0.0 else 1.0
    total = weight_sum + weight
    return (total if c > 0.0 else weight_sum), weight / total, weight_sum / total


# What a coordinate adds to the sum that learners call `q`.


@inlined
def no_square(learner, s, i, x):
    return 0.0


@inlined
def plain_square(learner, s, i, x):
    return x * x


@inlined
def own_square(learner, s, i, x):
    return learner.square(s, i, x)


# What `update` is told of a row: the derivatives of the loss, one an output, and what a
# learner that goes by rows makes of them, or of the loss itself.


@inlined
def joint_derivatives(loss, lipschitz, y, predictions, r, g):
    g[:] = losses.gradient(loss, y[r], predictions[r])
    for k in range(g.size):
        g[k] /= lipschitz


@inlined
def separate_derivatives(loss, lipschitz, y, predictions, r, g):
    for k in range(g.size):
        g[k] = losses.gradient(loss, y[r, k], predictions[r, k]) / lipschitz


@inlined
def no_derivatives(loss, lipschitz, y, predictions, r, g):
    pass


@inlined
def gradient_steps(learner, loss, h, y, r, c, scale, dots, q, t, g, step):
    for k in range(g.size):
        step[k] = learner.step(h, k, g[k], scale * dots[k], q, t)


@inlined
def implicit_steps(learner, loss, h, y, r, c, scale, dots, q, t, g, step):
    for k in range(g.size):
        step[k] = learner.implicit_step(h, k, loss, y[r, k], c, dots[k], q, t)


@inlined
def no_steps(learner, loss, h, y, r, c, scale, dots, q, t, g, step):
    pass


@inlined
def score(learner, s, k, x, m, scale, t, keeps_weights, w):
    """Sum of weight times value over `m` coordinates; the weights go to `w`."""
    dot = 0.0
    for j in range(m):
        w_j = learner.weight(s, (k, j), scale * x[j], t)
        if keeps_weights:
            w[k, j] = w_j
        dot += w_j * x[j]
    return dot


@expanded
def update_row(learner, s, x, m, scale, g, step, keeps_weights, w, t):
    for k in range(g.size):
        g_k, step_k = g[k], step[k]
        for j in range(m):
            w_j = w[k, j] if keeps_weights else step_k
            learner.update(s, (k, j), scale * x[j], g_k, w_j, t)


@inlined
def average_row(
    learner,
    s,
    fields,
    clock,
    x,
    m,
    t,
    start,
    record,
    sums,
    predictions,
    r,
    standard_target,
    target,
    averaged,
):
    """Predictions of the averaged weights; their sums are brought up to date."""
    n_averaged = t - 1.0 - start
    for k in range(predictions.shape[1]):
        total, last = fields[-2, k], fields[-1, k]
        for j in range(m):
            at_rest = learner.weight(s, (k, j), 0.0, t)
            sums[j] = averaging.sum_before(total, last, j, at_rest, clock[0, k])
            if record:
                averaging.record_sum(total, last, j, sums[j], clock[0, k])
        p = 0.0
        for j in range(m):  # on its own: `total` and `last` are neighbours
            p += sums[j] * x[j]
        averaged[r, k] = p / n_averaged if n_averaged > 0.0 else predictions[r, k]
        if standard_target and n_averaged > 0.0:
            averaged[r, k] = in_units_of_target(target, k, averaged[r, k])


@expanded
def copy_record(source, i, target, j, n_fields, n_outputs):
    """Move the state of coordinate `i` of a record to place `j` of the row's arrays."""
    for k in range(n_outputs):
        for f in range(n_fields):
            target[f, k, j] = source[i, k, f]


@expanded
def store_record(source, j, target, i, n_fields, n_outputs):
    """Undo :func:`copy_record`."""
    for k in range(n_outputs):
        for f in range(n_fields):
            target[i, k, f] = source[f, k, j]


# Factors that have become small go into the state, and sums of weights are recorded
# before their clock restarts, in a pass over all coordinates.


@inlined
def unit_scale(learner, h, k):
    return 1.0


@inlined
def small_scale(learner, h, k):
    return learner.take_scale(h, k)


@jitable
def fold_nothing(learner, s, fields, records, k, scale, clock, average, t):
    pass


@inlined
def fold_coordinate(learner, s, fields, k, j, scale, clock, average, t):
    if average:
        i = k, j
        w = learner.weight(s, i, 0.0, t)
        w_sum = averaging.sum_before(fields[-2], fields[-1], i, w, clock[0, k])
        averaging.record_sum(fields[-2], fields[-1], i, w_sum, 0.0)
    learner.fold(s, (k, j), scale)


@jitable
def fold_fields(learner, s, fields, records, k, scale, clock, average, t):
    for j in range(fields.shape[2]):
        fold_coordinate(learner, s, fields, k, j, scale, clock, average, t)
    clock[:, k] = 0.0


@jitable
def fold_records(learner, s, fields, records, k, scale, clock, average, t):
    for i in range(records.shape[0]):
        copy_record(records, i, fields, 0, fields.shape[0], fields.shape[1])
        fold_coordinate(learner, s, fields, k, 0, scale, clock, average, t)
        store_record(fields, 0, records, i, fields.shape[0], fields.shape[1])
    clock[:, k] = 0.0

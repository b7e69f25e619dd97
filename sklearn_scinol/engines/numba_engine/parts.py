"""What the loop over rows does with a row: the parts that it is put together from."""

from typing import NamedTuple

import numpy as np

from ...learners.bases import averaging
from ...losses import methods
from .compiling import expanded, inlined, jitable


class Working(NamedTuple):
    """The state as the loop takes it."""

    s: tuple  # the learner's arrays by their names, in `fields`
    fields: np.ndarray  # (n_fields, K, m): the state, or room for a sparse row's
    records: np.ndarray | None  # (n_coordinates, K, n_fields), for sparse rows
    shared: tuple | None
    first: np.ndarray
    clock: np.ndarray


class Input(NamedTuple):
    """A block as the loop takes it; arrays that its rows do not have are empty."""

    X: np.ndarray  # dense rows
    data: np.ndarray  # sparse rows
    indices: np.ndarray
    indptr: np.ndarray
    moments: np.ndarray  # of the features, if these are centred or scaled
    weight_sum: np.ndarray
    center: bool
    targets: np.ndarray
    sample_weight: np.ndarray
    target_scale: tuple  # TargetScale
    n_own: int  # number of outputs of a learner, of which there may be a team


class Scratch(NamedTuple):
    """Buffers of a row, uninitialised."""

    x: np.ndarray  # (m,), its values
    w: np.ndarray  # (K, m), weights
    sums: np.ndarray  # (m,), sums of weights


class Row(NamedTuple):
    """What is known of a row once it has been predicted."""

    r: int  # its place in the block
    m: int  # number of its coordinates
    c: float  # its weight
    scale: float  # what it is multiplied by for the learner
    q: float  # sum of the squares of its coordinates, or what the learner takes for it
    t: float  # its number in the stream


# Of a sparse row, the state of its coordinates is gathered, and put back.


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


# A prediction is the sum of weight times value, times the factor of the output.


@inlined
def unit_factor(learner, shared, k, q, t):
    return 1.0


@inlined
def shared_factor(learner, shared, k, q, t):
    return learner.factor(shared, k, q, t)


@inlined
def score(learner, s, k, x, m, scale, t, w, by_row):
    """Sum of weight times value over the `m` coordinates of a row."""
    dot = 0.0
    for j in range(m):
        w_j = learner.weight(s, (k, j), scale * x[j], t)
        if not by_row:
            w[k, j] = w_j
        dot += w_j * x[j]
    return dot


# What `update` is told of a row: the derivatives of the loss, one an output, and what a
# learner that goes by rows makes of them, or of the loss itself. In a team, output `k`
# is that with number `own[k]` of a learner.


@inlined
def joint_derivatives(loss, lipschitz, y, predictions, r, own, team, g):
    n_own = own[-1] + 1
    for k in range(0, g.size, n_own):
        p = predictions[r, k : k + n_own]
        methods.row_gradient(loss, y[r], p, g[k : k + n_own])
    for k in range(g.size):
        g[k] /= lipschitz


@inlined
def separate_derivatives(loss, lipschitz, y, predictions, r, own, team, g):
    for k in range(g.size):
        y_k = y[r, own[k] if team else k]
        g[k] = methods.gradient(loss, y_k, predictions[r, k]) / lipschitz


@inlined
def no_derivatives(loss, lipschitz, y, predictions, r, own, team, g):
    pass


@inlined
def gradient_step(learner, shared, k, loss, y, row, dot, g, own_k):
    return learner.row_step(shared, k, g, row.scale * dot, row.q, row.t)


@inlined
def implicit_step(learner, shared, k, loss, y, row, dot, g, own_k):
    y_k = y[row.r, own_k]
    return learner.implicit_row_step(shared, k, loss, y_k, row.c, dot, row.q, row.t)


@inlined
def no_step(learner, shared, k, loss, y, row, dot, g, own_k):
    return 0.0


# Which learner of a team it is; most are alone.


@inlined
def only(learner, e):
    return learner


@inlined
def member(learners, e):
    return learners[e]


# Averages of weights, whose sums are brought up to date by each row that is learned.


@inlined
def average_row(task, state, scratch, row, answers, target_scale):
    """Predictions of averaged weights; those that are charged while there are none."""
    offset, deviation, standard_target = target_scale
    n_averaged = row.t - 1.0 - task.averaging_starts
    x, sums = scratch.x, scratch.sums
    for k in range(answers.predictions.shape[1]):
        total, last = state.fields[-2, k], state.fields[-1, k]
        for j in range(row.m):
            at_rest = task.learner.weight(state.s, (k, j), 0.0, row.t)
            clock = state.clock[0, k]
            sums[j] = averaging.sum_before(total, last, j, at_rest, clock)
            if row.c > 0.0:
                averaging.record_sum(total, last, j, sums[j], clock)
        p = 0.0
        for j in range(row.m):  # on its own: `total` and `last` are neighbours
            p += sums[j] * x[j]
        p /= max(n_averaged, 1.0)
        if standard_target:
            p = offset[row.r, k] + deviation[row.r, k] * p
        charged = answers.predictions[row.r, k]
        answers.averaged[row.r, k] = p if n_averaged > 0.0 else charged


# Factors that have become small go into the state, and sums of weights are recorded
# before their clock restarts, in a pass over all coordinates.


@inlined
def unit_scale(learner, shared, k):
    return 1.0


@inlined
def small_scale(learner, shared, k):
    return learner.take_scale(shared, k)


@jitable
def pass_fields(learner, state, k, scale, t, average):
    for j in range(state.fields.shape[2]):
        pass_coordinate(learner, state, k, j, scale, t, average)
    state.clock[:, k] = 0.0


@jitable
def pass_records(learner, state, k, scale, t, average):
    n_fields, n_outputs = state.fields.shape[:2]
    for i in range(state.records.shape[0]):
        copy_record(state.records, i, state.fields, 0, n_fields, n_outputs)
        pass_coordinate(learner, state, k, 0, scale, t, average)
        store_record(state.fields, 0, state.records, i, n_fields, n_outputs)
    state.clock[:, k] = 0.0


@inlined
def pass_coordinate(learner, state, k, j, scale, t, average):
    i = k, j
    if average:
        total, last = state.fields[-2], state.fields[-1]
        w = learner.weight(state.s, i, 0.0, t)
        w_sum = averaging.sum_before(total, last, i, w, state.clock[0, k])
        averaging.record_sum(total, last, i, w_sum, 0.0)
    if scale != 1.0:
        learner.fold(state.s, i, scale)


@jitable
def pass_nothing(learner, state, k, scale, t, average):
    pass

"""Parts of the loop over rows: alternatives for each step with a row."""

from typing import NamedTuple

import numpy as np

from ...learners.bases import averaging
from ...losses import methods


class LoopState(NamedTuple):
    """State as the loop takes it; tuples by learner, where several are stacked."""

    s: tuple  # the learner's arrays by their names, in `fields`
    fields: np.ndarray  # (n_fields, K, n_coordinates)
    shared: tuple | None
    first: np.ndarray
    clock: np.ndarray
    numbers: np.ndarray
    weight_scale: np.ndarray


class LoopBlock(NamedTuple):
    """Block as the loop takes it; arrays that its rows do not have are empty."""

    X: np.ndarray  # dense rows
    data: np.ndarray  # sparse rows
    indices: np.ndarray
    indptr: np.ndarray
    moments: np.ndarray  # of the features, if these are centred or scaled
    weight_sum: np.ndarray
    center: bool
    kept: float
    standard: np.ndarray  # see Block
    targets: np.ndarray
    weights: tuple  # RowWeights
    target_scale: tuple  # TargetScale
    largest: float
    n_own: int  # number of outputs of each learner


class Scratch(NamedTuple):
    """Buffers of a row, uninitialised but for places of outputs."""

    at: np.ndarray  # (m,), coordinates of a sparse row
    x: np.ndarray  # (m,), its values
    x_before: np.ndarray  # (m,), values of the row before
    sums: np.ndarray  # (m,), sums of weights
    w: np.ndarray  # (K, m), weights
    s_of_row: tuple  # state of the row's coordinates; of dense rows, of all
    predictions: np.ndarray  # (n, K), of all learners
    of_learner: np.ndarray  # (K,), which learner an output is of
    own: np.ndarray  # (K,), and which of its outputs it is
    g: np.ndarray  # (K,), derivatives of the loss
    step: np.ndarray  # (K,), what learners by rows make of them
    dots: np.ndarray  # (K,), sums of weight times value


class Row(NamedTuple):
    """Row that has been predicted, as the steps of learning take it."""

    r: int  # its place in the block
    m: int  # number of its coordinates
    c: float  # its weight, relative to the stream's first
    learns: bool  # whether it is to be learned
    scale: float  # factor of the row for the learner
    q: float  # sum of the squares of its coordinates, or of `learner.square`
    t: float  # its number in the stream


# Whether the values of a row may be learned, by the sum of their squares.


def in_range(squares, c, learns, largest):
    if learns and largest < np.inf:
        return squares * max(c * c, 1.0) <= largest * largest
    return squares < np.inf or largest == np.inf


# Coordinate of entry `j` of a row: `j` in dense rows, stored in sparse ones.


def own_place(at, j):
    return j


def place_in_row(at, j):
    return at[j]


# A prediction is the sum of weight times value, times the factor of the output; a
# learner that sees the row as a vector computes its own.


def unit_factor(learner, shared, k, q, t):
    return 1.0


def shared_factor(learner, shared, k, q, t):
    return learner.factor(shared, k, q, t)


def times_factor(learner, factor, s, shared, k, dot, q, c, t):
    return dot * factor


def charged(learner, factor, s, shared, k, dot, q, c, t):
    return learner.charged(s, k, dot, c)


# Input of `update` for a row: the derivatives of the loss, one an output, or the
# steps that the learner derives from them, or from the loss itself. If learners are
# stacked, output `k` of all is output `own[k]` of its learner.


def joint_derivatives(loss, lipschitz, y, predictions, r, own, stacked, g):
    n_own = own[-1] + 1
    for k in range(0, g.size, n_own):
        p = predictions[r, k : k + n_own]
        methods.row_gradient(loss, y[r], p, g[k : k + n_own])
    divide(g, lipschitz)


def separate_derivatives(loss, lipschitz, y, predictions, r, own, stacked, g):
    for k in range(g.size):
        y_k = y[r, own[k] if stacked else k]
        g[k] = methods.gradient(loss, y_k, predictions[r, k])
    divide(g, lipschitz)


def divide(g, lipschitz):
    if lipschitz != 1.0:
        for k in range(g.size):
            g[k] /= lipschitz


def no_derivatives(loss, lipschitz, y, predictions, r, own, stacked, g):
    pass


def gradient_step(learner, shared, k, loss, y, row, dot, g, scale):
    return learner.row_step(shared, k, g, row.scale * dot, row.q, row.t)


def implicit_step(learner, shared, k, loss, y, row, dot, g, scale):
    y_k, c, q, t = y[row.r, k], row.c, row.q, row.t
    return learner.implicit_row_step(shared, k, loss, y_k, c, scale, dot, q, t)


def no_step(learner, shared, k, loss, y, row, dot, g, scale):
    return 0.0


# Offset, spread and slope of a target, see the interface of learners.


def scale_of_standard_target(target_scale, task, row, k):
    offset, deviation, slope = target_scale
    return offset[row.r, k], deviation[row.r, k], slope[row.r, k] / task.lipschitz


def scale_as_given(target_scale, task, row, k):
    return 0.0, 1.0, 1.0


# The learner itself, or one of several that are stacked.


def single(learner, e):
    return learner


# Learning of a learner that sees the row as a vector; most do not.


def no_vectors(learner, s, task, y, row, x, dots, g, target_scale):
    pass


def vectors_by_derivatives(learner, s, task, y, row, x, dots, g, target_scale):
    for k in range(dots.size):
        learner.learn(s, k, x, row.scale * g[k], row.t)


def vectors_by_loss(learner, s, task, y, row, x, dots, g, target_scale):
    for k in range(dots.size):
        learner.learn_implicitly(
            s, k, task.loss, y[row.r, k], row.c, (0.0, 1.0, 1.0), dots[k]
        )


def vectors_of_standard_target(learner, s, task, y, row, x, dots, g, target_scale):
    for k in range(dots.size):
        scale = scale_of_standard_target(target_scale, task, row, k)
        learner.learn_implicitly(s, k, task.loss, y[row.r, k], row.c, scale, dots[k])


def vectors_by_joint_loss(learner, s, task, y, row, x, dots, g, target_scale):
    learner.learn_jointly(s, task.loss, y[row.r], row.c, dots)


def no_rest(learner, s):
    pass


def settle(learner, s):
    learner.settle(s)


# Averages of weights, whose sums are brought up to date by each row that is learned.


def average_row(task, state, scratch, row, out, target_scale, place):
    """Predict a row by averaged weights, or as charged while there are none."""
    offset, deviation, standard_target = target_scale
    n_averaged = row.t - 1.0 - task.averaging_starts
    x, sums = scratch.x, scratch.sums
    for k in range(out.predictions.shape[1]):
        total, last = state.fields[-2, k], state.fields[-1, k]
        for j in range(row.m):
            i = place(scratch.at, j)
            at_rest = task.learner.weight(state.s, (k, i), 0.0, row.t)
            clock = state.clock[0, k]
            sums[j] = averaging.sum_before(total, last, i, at_rest, clock)
            if row.learns:
                averaging.record_sum(total, last, i, sums[j], clock)
        p = 0.0
        for j in range(row.m):  # on its own: `total` and `last` are neighbours
            p += sums[j] * x[j]
        p /= max(n_averaged, 1.0)
        if standard_target:
            p = offset[row.r, k] + deviation[row.r, k] * p
        charged = out.predictions[row.r, k]
        out.averaged[row.r, k] = p if n_averaged > 0.0 else charged


# Factors that have become small go into the state, and sums of weights are recorded
# before their clock restarts, in a pass over all coordinates.


def unit_scale(learner, shared, k):
    return 1.0


def small_scale(learner, shared, k):
    return learner.take_scale(shared, k)


def pass_fields(learner, s, of_average, k, scale, t):
    fields, clock, average = of_average
    for j in range(fields.shape[2]):
        i = k, j
        if average:
            total, last = fields[-2], fields[-1]
            w = learner.weight(s, i, 0.0, t)
            w_sum = averaging.sum_before(total, last, i, w, clock[0, k])
            averaging.record_sum(total, last, i, w_sum, 0.0)
        if scale != 1.0:
            learner.fold(s, i, scale)
    clock[:, k] = 0.0


def pass_nothing(learner, s, of_average, k, scale, t):
    pass

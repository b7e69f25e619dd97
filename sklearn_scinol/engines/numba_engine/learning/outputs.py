"""Passes over the coordinates of a row, for one output."""

from typing import NamedTuple

import numpy as np

from ..registers import from_records, load, registers, store, with_known


class Output(NamedTuple):
    """An output of the learner."""

    k: int
    learner: tuple
    s: tuple
    shared: tuple | None
    first: np.ndarray


def output_of(variant, task, state, k):
    """Return output `k`."""
    s = state.s if variant.dense else from_records(state.s, state.fields)
    return Output(k, learner_of(variant, task), s, state.shared, state.first)


def learner_of(variant, task):
    """Return the learner, with the hyperparameters that are known."""
    return with_known(task.learner, variant.known)


def entry(variant, block, scratch, row, j):
    """Return coordinate and value of entry `j` of a row."""
    if variant.dense:
        return j, scratch.x[row.side, j]
    place = row.start + j
    return block.rows.indices[place], block.rows.data[place]


def entry_or_intercept(variant, block, scratch, row, j):
    """Return coordinate and value of entry `j`; the intercept is the last."""
    if variant.dense or j < row.n_values:
        return entry(variant, block, scratch, row, j)
    return row.intercept, 1.0


def predict(variant, output, block, scratch, row):
    """Return the sum of weight times value, and the sum of squares."""
    own, dot, q = registers(output.s), 0.0, 0.0
    for j in range(row.m if variant.dense else row.n_values):
        i, x_j = entry(variant, block, scratch, row, j)
        product, square = _predict_entry(variant, output, own, scratch, row, j, i, x_j)
        dot += product
        q += square
    if not variant.dense and row.m > row.n_values:
        j, i = row.n_values, row.intercept
        product, square = _predict_entry(variant, output, own, scratch, row, j, i, 1.0)
        dot += product
        q += square
    return dot, q


def learn(variant, output, block, scratch, row):
    """Learn from a row that was predicted."""
    own = registers(output.s)
    for j in range(row.m if variant.dense else row.n_values):
        i, x_j = entry(variant, block, scratch, row, j)
        _learn_entry(variant, output, own, scratch, row, j, i, x_j)
    if not variant.dense and row.m > row.n_values:
        j, i = row.n_values, row.intercept
        _learn_entry(variant, output, own, scratch, row, j, i, 1.0)


def learn_and_predict(variant, output, scratch, before, row):
    """Learn from the row before, and predict a row; see :func:`predict`."""
    own, dot, q = registers(output.s), 0.0, 0.0
    x = scratch.x
    for j in range(row.m):
        _learn_entry(variant, output, own, scratch, before, j, j, x[before.side, j])
        product, square = _weigh(
            variant, output, own, scratch, row, j, j, x[row.side, j]
        )
        dot += product
        q += square
    return dot, q


def widen(variant, task, state, block, scratch, row):
    """Learn from how many features a row has, before or after the rest."""
    learner, r = learner_of(variant, task), 0.0
    if learner.widens(row.m, row.t):
        for j in range(row.m):
            i, x_j = entry_or_intercept(variant, block, scratch, row, j)
            r += learner.share(state.s, (0, i), row.scale * x_j)
        for k in range(1 if variant.single_output else scratch.g.size):
            for j in range(row.m):
                i, x_j = entry_or_intercept(variant, block, scratch, row, j)
                learner.widen(state.s, (k, i), row.scale * x_j, r)


def _predict_entry(variant, output, own, scratch, row, j, i, x_j):
    """Predict entry `j`, of coordinate `i`."""
    load(own, output.s, (output.k, i))
    return _weigh(variant, output, own, scratch, row, j, i, x_j)


def _weigh(variant, output, own, scratch, row, j, i, x_j):
    learner, place, square = output.learner, (output.k, i), 0.0
    w_j = learner.weight(own, place, row.scale * x_j, row.t)
    if variant.traits.by_row:
        square = learner.square(own, place, row.scale * x_j)
    else:
        scratch.w[output.k, j] = w_j
    return w_j * x_j, square


def _learn_entry(variant, output, own, scratch, row, j, i, x_j):
    """Learn from entry `j`, of coordinate `i`."""
    k, place = output.k, load(own, output.s, (output.k, i))
    if variant.traits.keeps_first and not variant.dense and own[0][place] == 0.0:
        output.first[i] = np.abs(row.scale * x_j)
    w_j = scratch.step[k] if variant.traits.by_row else scratch.w[k, j]
    output.learner.update(own, place, row.scale * x_j, scratch.g[k], w_j, row.t)
    store(own, output.s, place)

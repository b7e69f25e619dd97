"""Calls of the loops over rows: which loop, and its arguments."""

from functools import cache

import numpy as np

from ....blocks import DenseRows
from ....learners.interface import traits
from ....losses.methods import is_by_output
from ..transforms import transform_rows
from .arguments import LoopState, Scratch, Variant
from .loop import loop_of

# Entries between a buffer of a row and any other array.
MARGIN = 128


def learn_rows(task, state, block, out):
    """Learn from the rows of a block."""
    is_sparse, fields = not isinstance(block.rows, DenseRows), state.fields
    if is_sparse and block.moments is not None:
        rows = transform_rows(block.moments, block.rows, block.weights)
        block = block._replace(rows=rows, moments=None)
    is_single = is_sparse and state.first.size == 1
    if is_single:  # an array of one is of another type
        state = state._replace(fields=np.asfortranarray(np.repeat(fields, 2, axis=2)))
    loop, arguments = learn_call(task, state, block, out)
    in_range = loop(*arguments)
    if is_single:
        fields[:] = state.fields[:, :, :1]
    return in_range


def learn_call(task, state, block, out):
    """The loop for rows that are not sparse and scaled, and its arguments."""
    learner = type(task.learner)
    has, names = traits(learner), learner.State._fields
    dense, moments = isinstance(block.rows, DenseRows), block.moments
    m = state.first.size
    if not dense:
        m = np.diff(block.rows.indptr).max(initial=0) + task.fit_intercept
    n_outputs = out.predictions.shape[1]
    variant = Variant(
        learner,
        type(task.loss),
        is_by_output(task.loss),
        has,
        _infinite(learner, task.learner),
        dense=dense,
        center=moments is not None and moments.center,
        scale=moments is not None and len(moments.values) > 1,
        single_output=n_outputs == 1,
        average=out.averaged is not None,
        standard_target=block.target_scale is not None,
        has_fixed_moments=block.standard is not None,
        sees_means=task.sees_means,
    )
    return loop_of(variant), (
        task,
        LoopState(
            learner.State(*(state.arrays or state.fields[: len(names)])),
            state.fields,
            learner.Shared(*state.shared) if has.by_row else None,
            state.first,
            state.clock,
            state.numbers,
            state.weight_scale,
        ),
        block,
        out,
        _scratch(n_outputs, m),
    )


@cache
def _infinite(kind, learner):
    """Return hyperparameters that are infinite, such as the radius of a ball.

    A loop is compiled without the code for finite values of these. Learners of two
    kinds are equal if their values are.
    """
    return tuple(
        (name, np.inf) for name in kind._fields if getattr(learner, name) == np.inf
    )


def _scratch(n_outputs, m):
    """Buffers of a row, at some distance from each other and from all other arrays.

    A loop that stores is compiled twice: for arrays that may overlap or are neighbours,
    and for all others. The second version is faster and sums in another order, so the
    choice must not depend on where arrays happen to lie.
    """
    sizes = 2 * m, m, n_outputs * m, n_outputs, n_outputs, n_outputs
    room, start, buffers = np.zeros(sum(sizes) + 7 * MARGIN), MARGIN, []
    for size in sizes:
        buffers.append(room[start : start + size])
        start += size + MARGIN
    x, sums, w, *of_outputs = buffers
    x[:] = 1.0  # the value of an intercept
    return Scratch(x.reshape(2, m), sums, w.reshape(n_outputs, m), *of_outputs)

"""Calls of the loops over rows: which loop, and its arguments."""

import numpy as np

from ....blocks import DenseRows, TargetScale
from ....learners.interface import traits
from ..transforms import Records, scale_sparse_rows
from .arguments import LoopBlock, LoopState, Scratch, Variant
from .dense import dense_loop
from .sparse import sparse_loop

# Entries between the buffers of a row and any other array.
MARGIN = 128

NO_ROWS = (
    np.empty((0, 0)),
    np.empty(0),
    np.empty(0, dtype=np.uint32),
    np.empty(0, dtype=np.int32),
)
NO_MOMENTS = np.empty((0, 0)), np.empty(1), False, 1.0
NO_SCALE = TargetScale(*(np.empty((0, 0)) for _ in TargetScale._fields))


def learn_rows(task, state, block, out):
    """Learn from the rows of a block."""
    return learn_stacked([task], [state], block, [out])


def learn_stacked(tasks, states, block, out):
    """Learn the rows of a block with several learners side by side.

    As if they were outputs of one learner: while the processor waits for one of them,
    it goes on with others.
    """
    if not isinstance(block.rows, DenseRows):
        if block.moments is not None:
            _learn_scaled(tasks, states, block, out)
            return True
        if states[0].first.size == 1:  # an array of one is of another type
            fields = [
                np.asfortranarray(np.repeat(state.fields, 2, axis=2))
                for state in states
            ]
            two = [
                state._replace(fields=each)
                for state, each in zip(states, fields, strict=True)
            ]
            in_range = _learn(tasks, two, block, out)
            for state, each in zip(states, fields, strict=True):
                state.fields[:] = each[:, :, :1]
            return in_range
    return _learn(tasks, states, block, out)


def _learn(tasks, states, block, out):
    loop, arguments = learn_call(tasks, states, block, out)
    return loop(*arguments)


def _learn_scaled(tasks, states, block, out):
    """Scale sparse rows and learn them; an interruption undoes both."""
    moments, rows, numbers = block.moments, block.rows, states[0].numbers
    n_learned, weight_sum = numbers[0], moments.weight_sum.copy()
    records = Records.with_room(rows.data.size, len(moments.values))
    try:
        scaled = scale_sparse_rows(moments, rows, block.weights, records)
        scaled_block = block._replace(rows=scaled, moments=None)
        learn_stacked(tasks, states, scaled_block, out)
    except BaseException:
        if numbers[0] == n_learned:
            moments.weight_sum[:] = weight_sum
            records.restore(moments.values)
        raise


def learn_call(tasks, states, block, out):
    """The loop for rows that are not sparse and scaled, and its arguments."""
    task, state, first_out = tasks[0], states[0], out[0]
    learner = type(task.learner)
    has, names = traits(learner), learner.State._fields
    dense, stacked = isinstance(block.rows, DenseRows), len(tasks) > 1
    moments = block.moments
    m = state.first.size
    if not dense:
        m = np.diff(block.rows.indptr).max(initial=0) + task.fit_intercept
    n, n_own = first_out.predictions.shape
    n_outputs = len(tasks) * n_own
    loop_states = [
        LoopState(
            learner.State(*(each.arrays or each.fields[: len(names)])),
            each.fields,
            learner.Shared(*each.shared) if has.by_row else None,
            each.first,
            each.clock,
            each.numbers,
            each.weight_scale,
        )
        for each in states
    ]
    variant = Variant(
        learner,
        type(task.loss),
        has,
        _infinite([each.learner for each in tasks]),
        dense=dense,
        center=moments is not None and moments.center,
        scale=moments is not None and len(moments.values) > 1,
        single_output=n_outputs == 1,
        average=first_out.averaged is not None,
        stacked=stacked,
        standard_target=block.target_scale is not None,
        has_fixed_moments=block.standard is not None,
        sees_means=task.sees_means,
    )
    loop = dense_loop(variant) if dense else sparse_loop(variant)
    if stacked:
        task = task._replace(learner=tuple(each.learner for each in tasks))
    return loop, (
        task,
        _stack_fields(loop_states),
        LoopBlock(
            *((*block.rows, *NO_ROWS[1:]) if dense else (NO_ROWS[0], *block.rows)),
            *(moments or NO_MOMENTS),
            NO_ROWS[0] if block.standard is None else block.standard,
            block.targets,
            block.weights,
            block.target_scale or NO_SCALE,
            block.largest,
            n_own,
        ),
        _stack_fields(out),
        Scratch(
            _buffer(2, m, 1.0),
            _buffer(1, m)[0],
            _buffer(n_outputs, m),
            np.empty((n, n_outputs)) if stacked else first_out.predictions,
            np.arange(n_outputs) // n_own,
            np.arange(n_outputs) % n_own,
            *(np.zeros(n_outputs) for _ in range(3)),
        ),
    )


def _infinite(learners):
    """Return hyperparameters that are infinite, such as the radius of a ball.

    A loop is compiled without the code for finite values of these.
    """
    return tuple(
        (name, np.inf)
        for name in learners[0]._fields
        if all(getattr(learner, name) == np.inf for learner in learners)
    )


def _stack_fields(named):
    """Join NamedTuples field by field; return a single one as it is."""
    return named[0] if len(named) == 1 else type(named[0])(*zip(*named, strict=True))


def _buffer(n_outputs, m, value=0.0):
    """Array of equal values at some distance from all other arrays.

    A loop that stores is compiled twice: for arrays that may overlap or are neighbours,
    and for all others. The second version is faster and sums in another order, so the
    choice must not depend on where arrays happen to lie.
    """
    flat = np.full(n_outputs * m + 2 * MARGIN, value)
    return flat[MARGIN:-MARGIN].reshape(n_outputs, m)

"""The loop over rows, dense and sparse.

What differs between the two is how a row is loaded. The state of a sparse row's
coordinates is copied to where they are neighbours, so that passes over them are
vectorised, and back. A dense row is learned later, by the pass over coordinates that
predicts the next one.
"""

from functools import cache

import numpy as np

from ..._portable import copy_into
from ...blocks import DenseRows, TargetScale
from ...learners.bases import averaging
from ...learners.interface import traits
from ...transforms.moments import add_weight, standardised
from . import parts
from .compiling import compiled
from .losses import joint_losses, running_total, separate_losses
from .registers import load, move, registers, store
from .registers import member as one_of
from .transforms import Records, scale_sparse_rows, update_and_transform, update_moments
from .unowned import unowned

__all__ = ["learn_call", "learn_rows", "learn_stacked"]

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
    n_learned, weight_sum = numbers[0], moments.weight_sum[0]
    records = Records.with_room(rows.data.size)
    try:
        scaled = scale_sparse_rows(moments, rows, block.weights, records)
        scaled_block = block._replace(rows=scaled, moments=None)
        learn_stacked(tasks, states, scaled_block, out)
    except BaseException:
        if numbers[0] == n_learned:
            moments.weight_sum[0] = weight_sum
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
        parts.LoopState(
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
    of_row = [loop_state.s for loop_state in loop_states]
    if not dense:
        shape = len(tasks), len(names), n_own, m
        room = _buffer(len(names) * n_outputs, m).reshape(shape)
        of_row = [learner.State(*each) for each in room]
    loop = _loop(
        learner,
        type(task.loss),
        dense=dense,
        center=moments is not None and moments.center,
        scale=moments is not None and len(moments.values) > 1,
        single_output=n_outputs == 1,
        average=first_out.averaged is not None,
        stacked=stacked,
        standard_target=block.target_scale is not None,
        has_fixed_moments=block.standard is not None,
    )
    if stacked:
        task = task._replace(learner=tuple(each.learner for each in tasks))
    return loop, (
        task,
        _stack_fields(loop_states),
        parts.LoopBlock(
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
        parts.Scratch(
            np.empty(0 if dense else m, dtype=np.intp),
            *(_buffer(1, m)[0] for _ in range(3)),
            _buffer(n_outputs, m),
            tuple(of_row) if stacked else of_row[0],
            np.empty((n, n_outputs)) if stacked else first_out.predictions,
            np.arange(n_outputs) // n_own,
            np.arange(n_outputs) % n_own,
            *(np.empty(n_outputs) for _ in range(3)),
        ),
    )


def _stack_fields(named):
    """Join NamedTuples field by field; return a single one as it is."""
    return named[0] if len(named) == 1 else type(named[0])(*zip(*named, strict=True))


def _buffer(n_outputs, m):
    """Uninitialised array at some distance from all others.

    A loop that stores is compiled twice: for arrays that may overlap or are neighbours,
    and for all others. The second version is faster and sums in another order, so the
    choice must not depend on where arrays happen to lie.
    """
    return np.empty(n_outputs * m + 2 * MARGIN)[MARGIN:-MARGIN].reshape(n_outputs, m)


@cache
def _loop(
    learner,
    loss,
    *,
    dense,
    center,
    scale,
    single_output,
    average,
    stacked,
    standard_target,
    has_fixed_moments,
):
    """The loop for a learner and a loss, put together from its parts."""
    has = traits(learner)
    factor = parts.shared_factor if has.by_row else parts.unit_factor
    derivatives = parts.separate_derivatives
    losses_of = joint_losses if loss.joint else separate_losses
    if has.implicit:
        derivatives = parts.no_derivatives
    elif loss.joint:
        derivatives = parts.joint_derivatives
    report, settle, learn_vectors = parts.times_factor, parts.no_rest, parts.no_vectors
    if has.by_vector:
        learn_vectors = parts.vectors_by_derivatives
        if has.implicit:
            report, settle = parts.charged, parts.settle
            learn_vectors = parts.vectors_by_loss
            if standard_target:
                learn_vectors = parts.vectors_of_standard_target
            if loss.joint:
                learn_vectors = parts.vectors_by_joint_loss
    row_step = parts.no_step
    if has.by_row:
        row_step = parts.implicit_step if has.implicit else parts.gradient_step
    scale_of = parts.scale_as_given
    if standard_target:
        scale_of = parts.scale_of_standard_target
    member = one_of if stacked else parts.single
    place = parts.own_place if dense else parts.place_in_row
    take_scale = parts.small_scale if has.folds else parts.unit_scale
    pass_over = parts.pass_nothing
    if has.folds or (has.by_row and average):
        pass_over = parts.pass_fields
    by_vector, by_row, keeps_first = has.by_vector, has.by_row, has.keeps_first
    weight_in_row = not has.implicit
    keeps_weight_sum = center or scale
    # A dense row is learned by the pass that looks at the next one, so that the state
    # is read and written once a row, unless other code needs the state in between.
    overlaps = dense and not (average or by_vector or has.folds or has.touches_all)

    def learn_rows(task, state, block, out, scratch):
        state, block = unowned(state), unowned(block)
        out, scratch = unowned(out), unowned(scratch)
        loss, fit_intercept = task.loss, task.fit_intercept
        starts = task.averaging_starts
        learner = member(task.learner, 0)
        n_learners = len(state.first) if stacked else 1
        s, first_row = member(state.s, 0), member(scratch.s_of_row, 0)
        fields, first = member(state.fields, 0), member(state.first, 0)
        clock, at = member(state.clock, 0), scratch.at
        own_s, t = registers(first_row), member(state.numbers, 0)[0]
        X, data, indices, indptr = block.X, block.data, block.indices, block.indptr
        y, given = block.targets, block.weights.given
        relative = block.weights.relative
        moments, weight_sum = block.moments, block.weight_sum[0]
        kept = block.kept
        standard = block.standard
        target_scale = block.target_scale
        offset, deviation, slope = target_scale
        predictions = scratch.predictions
        x, x_before, w = scratch.x, scratch.x_before, scratch.w
        n_outputs = 1 if single_output else predictions.shape[1]
        n_own = block.n_own if stacked else n_outputs
        of_learner, own = scratch.of_learner, scratch.own
        g, step, dots = scratch.g, scratch.step, scratch.dots
        for k in range(n_outputs):
            g[k] = step[k] = 0.0
        any_unseen = keeps_first and not dense
        for i in range(first.size if keeps_first and dense else 0):
            any_unseen |= first[i] == 0.0
        start, nnz, share, past = 0, X.shape[1], 0.0, 0.0
        n, last = given.size, first.size - 1  # the intercept's coordinate
        scale_before, t_before = 0.0, t + 1.0
        if overlaps:
            # A row of zeros, which teaches nothing, precedes the first row. A second
            # pass over the last row learns it.
            x[:] = 0.0
            w[:] = 0.0
        for number in range(n + (overlaps and n > 0)):
            r = min(number, n - 1)
            c, learns = relative[r], number < n and given[r] > 0.0
            t += 1.0
            row_scale = task.row_scale * (c if weight_in_row else 1.0)
            if not dense:
                start = indptr[r]
                nnz = indptr[r + 1] - start
                for j in range(nnz):
                    x[j] = data[start + j]
                    at[j] = indices[start + j]
            elif keeps_weight_sum:
                weight_sum, share, past = add_weight(weight_sum, c, learns, kept)
            m = nnz + fit_intercept
            if fit_intercept:
                x[nnz] = 1.0
                if not dense:
                    at[nnz] = last
            for k in range(0 if dense else n_outputs):
                e, k_own = of_learner[k], own[k] if stacked else k
                s_k, row_k = member(state.s, e), member(scratch.s_of_row, e)
                for j in range(m):
                    move(s_k, (k_own, at[j]), row_k, (k_own, j))
            # The first output's pass also loads a dense row, which comes from memory
            # while divisions keep the processor busy, and looks at the squares.
            dot = q = squares = 0.0
            g_k, step_k = g[0], step[0]
            for j in range(nnz):
                i = load(own_s, first_row, (0, j))
                if overlaps:
                    x_j = x[j]
                    w_j = step_k if by_row else w[0, j]
                    learner.update(own_s, i, scale_before * x_j, g_k, w_j, t_before)
                    store(own_s, first_row, (0, j))
                    if not single_output:
                        x_before[j] = x_j
                if dense:
                    x_j = X[r, j]
                    squares += x_j * x_j
                    if has_fixed_moments:
                        update_moments(moments, j, x_j, share, past, learns, scale)
                        x_j = standardised(x_j, standard[0, j], standard[1, j])
                    elif keeps_weight_sum:
                        x_j = update_and_transform(
                            moments, j, x_j, share, past, learns, center, scale, kept
                        )
                    x[j] = x_j
                if by_vector:
                    continue
                x_j = row_scale * x[j]
                w_j = learner.weight(own_s, i, x_j, t)
                if by_row:
                    q += learner.square(own_s, i, x_j)
                else:
                    w[0, j] = w_j
                dot += w_j * x[j]
            if fit_intercept and not by_vector:
                i = load(own_s, first_row, (0, nnz))
                if overlaps:
                    w_j = step_k if by_row else w[0, nnz]
                    learner.update(own_s, i, scale_before, g_k, w_j, t_before)
                    store(own_s, first_row, (0, nnz))
                    x_before[nnz] = 1.0
                w_j = learner.weight(own_s, i, row_scale, t)
                if by_row:
                    q += learner.square(own_s, i, row_scale)
                else:
                    w[0, nnz] = w_j
                dot += w_j
            dots[0] = dot
            if dense and not parts.in_range(squares, c, learns, block.largest):
                return False
            for k in range(0 if by_vector else 1, n_outputs):
                e, k_own = of_learner[k], own[k] if stacked else k
                one, row_k = member(task.learner, e), member(scratch.s_of_row, e)
                own_k = registers(row_k)
                dot, g_k, step_k = 0.0, g[k], step[k]
                if by_vector:
                    dot = one.score(s, k, x[:m], t)
                for j in range(0 if by_vector else m):
                    i = load(own_k, row_k, (k_own, j))
                    if overlaps:
                        w_j = step_k if by_row else w[k, j]
                        x_j = scale_before * x_before[j]
                        one.update(own_k, i, x_j, g_k, w_j, t_before)
                        store(own_k, row_k, (k_own, j))
                    w_j = one.weight(own_k, i, row_scale * x[j], t)
                    if not by_row:
                        w[k, j] = w_j
                    dot += w_j * x[j]
                dots[k] = dot
            if number == n:
                t -= 1.0
                break
            for k in range(n_outputs):
                e, k_own = of_learner[k], own[k] if stacked else k
                one, shared = member(task.learner, e), member(state.shared, e)
                of_output = factor(one, shared, k_own, q, t)
                predictions[r, k] = report(
                    one, of_output, s, shared, k_own, dots[k], q, c, t
                )
            row = parts.Row(r, m, c, learns, row_scale, q, t)
            if standard_target:
                for k in range(n_outputs):
                    k_own = own[k] if stacked else k
                    mean, spread = offset[r, k_own], deviation[r, k_own]
                    predictions[r, k] = mean + spread * predictions[r, k]
            if average:
                scale_of_row = offset, deviation, standard_target
                parts.average_row(task, state, scratch, row, out, scale_of_row, place)
            if not learns:
                t -= 1.0
                scale_before = 0.0
                continue
            if any_unseen:
                for j in range(m):
                    i = place(at, j)
                    if fields[0, 0, i] == 0.0 and first[i] == 0.0:
                        first[i] = np.abs(row_scale * x[j])
                        for e in range(1, n_learners):
                            member(state.first, e)[i] = first[i]
            derivatives(loss, task.lipschitz, y, predictions, r, own, stacked, g)
            if standard_target:
                for k in range(n_outputs):
                    g[k] *= slope[r, own[k] if stacked else k]
            for k in range(n_outputs):
                e, k_own = of_learner[k], own[k] if stacked else k
                one, shared = member(task.learner, e), member(state.shared, e)
                of_target = scale_of(target_scale, task, row, k_own)
                step[k] = row_step(
                    one, shared, k_own, loss, y, row, dots[k], g[k], of_target
                )
            scale_before, t_before = row_scale, t
            if overlaps:
                continue
            learn_vectors(learner, s, task, y, row, x[:m], dots, g, target_scale)
            for k in range(0 if by_vector else n_outputs):
                e, k_own = of_learner[k], own[k] if stacked else k
                one, row_k = member(task.learner, e), member(scratch.s_of_row, e)
                own_k, g_k, step_k = registers(row_k), g[k], step[k]
                for j in range(m):
                    i = load(own_k, row_k, (k_own, j))
                    w_j = step_k if by_row else w[k, j]
                    one.update(own_k, i, row_scale * x[j], g_k, w_j, t)
                    store(own_k, row_k, (k_own, j))
            for k in range(0 if dense else n_outputs):
                e, k_own = of_learner[k], own[k] if stacked else k
                s_k, row_k = member(state.s, e), member(scratch.s_of_row, e)
                for j in range(m):
                    move(row_k, (k_own, j), s_k, (k_own, at[j]))
            for k in range(n_outputs):
                e, k_own = of_learner[k], own[k] if stacked else k
                one, shared = member(task.learner, e), member(state.shared, e)
                taken = take_scale(one, shared, k_own)
                ticks, restarts, at_rest = average and t > starts, False, 1.0
                if ticks:
                    at_rest = factor(one, shared, k_own, 0.0, t + 1.0)
                    restarts = averaging.must_restart(clock, k, at_rest)
                if restarts or taken != 1.0:
                    s_k, of_average = member(state.s, e), (fields, clock, average)
                    pass_over(one, s_k, of_average, k_own, taken, t)
                if ticks:
                    averaging.tick(clock, k, at_rest)
        settle(learner, s)
        if keeps_weight_sum:
            block.weight_sum[0] = weight_sum
            if scale:
                moments[2] = weight_sum
        for e in range(n_learners):
            losses, numbers = member(out.losses, e), member(state.numbers, e)
            reported = member(out.predictions, e)
            for r in range(n if stacked else 0):
                copy_into(predictions[r, e * n_own : (e + 1) * n_own], reported[r])
            losses_of(loss, y, reported, losses)
            numbers[0] = t
            numbers[1] = running_total(losses, given, numbers[1])
            copy_into(block.weights.after, member(state.weight_scale, e))
        return True

    return compiled(learn_rows)

"""The loop over rows."""

from functools import cache

import numpy as np

from ...._portable import larger
from ....transforms.moments import add_weight, standardised
from ..compiling import compiled
from ..transforms import update_and_transform, update_moments
from . import steps
from .arguments import Row
from .outputs import learn, learn_and_predict, output_of, predict, widen


@cache
def loop_of(variant):
    """Return the loop for a variant."""
    has, dense, learns_late = variant.traits, variant.dense, variant.learns_late

    def learn_rows(task, state, block, out, scratch):
        rows, weights, moments = block.rows, block.weights, block.moments
        n_outputs, last = steps.count_outputs(variant, scratch), state.first.size - 1
        n, start, t = weights.given.size, 0, state.numbers[0]
        d = rows.X.shape[1] if dense else 0
        m = d + task.fit_intercept
        weight_sum = moments.weight_sum[0] if variant.keeps_weight_sum else 0.0
        has_unseen = dense and has.keeps_first and any_unseen(variant, state)
        if learns_late:
            start_with_zeros(scratch, d, m, n_outputs)
        scale_before, t_before = 0.0, t + 1.0
        # A second pass over the last row learns it.
        for number in range(n + (learns_late and n > 0)):
            r = min(number, n - 1)
            c, learns = weights.relative[r], number < n and weights.given[r] > 0.0
            own_c = weights.to_mean[r] if variant.sees_means else c
            most = larger(c, own_c) if variant.sees_means else c
            t += 1.0
            scale = steps.row_scale(variant, task, own_c)
            side = number % 2 if learns_late else 0
            if not dense:
                start = rows.indptr[r]
                d = rows.indptr[r + 1] - start
                m = d + task.fit_intercept
            row = Row(r, side, start, d, m, last, own_c, learns, scale, t)
            share = past = q = 0.0
            if variant.keeps_weight_sum:
                weight_sum, share, past = add_weight(
                    weight_sum, c, learns, moments.kept
                )
            if dense:
                squares = load(variant, block, scratch, row, share, past)
                if not steps.in_range(squares, most, learns, block.largest):
                    return False
            for k in range(n_outputs):
                output = output_of(variant, task, state, k)
                if has.by_vector:
                    x = scratch.x[0, :m]
                    dot, square = output.learner.score(output.s, k, x, t), 0.0
                elif learns_late:
                    before = Row(
                        r, 1 - side, 0, d, m, last, own_c, True, scale_before, t_before
                    )
                    dot, square = learn_and_predict(
                        variant, output, scratch, before, row
                    )
                else:
                    dot, square = predict(variant, output, block, scratch, row)
                scratch.dots[k] = dot
                if k == 0:
                    q = square
            if learns_late and number == n:
                t -= 1.0
                break
            steps.report(variant, task, state, block, scratch, out, row, q)
            if variant.average:
                steps.average(variant, task, state, block, scratch, out, row)
            if not learns:
                t -= 1.0
                scale_before = 0.0
                continue
            if has_unseen:
                keep_first_values(variant, state, scratch, row)
            steps.derive(variant, task, state, block, scratch, out, row, q)
            scale_before, t_before = row.scale, t
            if has.widens and dense:
                widen(variant, task, state, block, scratch, row)
            if learns_late:
                continue
            if has.by_vector:
                steps.learn_vector(variant, task, state, block, scratch, row)
            else:
                for k in range(n_outputs):
                    output = output_of(variant, task, state, k)
                    learn(variant, output, block, scratch, row)
            if has.widens and not dense:
                widen(variant, task, state, block, scratch, row)
            if has.folds or variant.average:
                steps.keep_in_range(variant, task, state, scratch, t)
        if variant.keeps_weight_sum:
            moments.weight_sum[0] = weight_sum
            if variant.scale:
                moments.values[2] = weight_sum
        steps.finish(variant, task, state, block, out, t)
        return True

    return compiled(learn_rows)


def start_with_zeros(scratch, d, m, n_outputs):
    """Let a row of zeros, which teaches nothing, precede the first row.

    Buffers that are used again may have NaN of a row that was refused.
    """
    for j in range(d):
        scratch.x[1, j] = 0.0
    for k in range(n_outputs):
        scratch.g[k] = scratch.step[k] = 0.0
        for j in range(m):
            scratch.w[k, j] = 0.0


def any_unseen(variant, state):
    """Whether a coordinate was 0 in all rows."""
    first, found = state.first, False
    for i in range(first.size):
        found |= first[i] == 0.0
    return found


def keep_first_values(variant, state, scratch, row):
    """Keep the absolute values of coordinates that were 0 in all rows before."""
    fields, first = state.fields, state.first
    for j in range(row.m):
        if fields[0, 0, j] == 0.0 and first[j] == 0.0:
            first[j] = np.abs(row.scale * scratch.x[row.side, j])


def load(variant, block, scratch, row, share, past):
    """Load a row, transformed; return the sum of its squares."""
    X, x, side = block.rows.X, scratch.x, row.side
    moments, standard, squares = block.moments, block.standard, 0.0
    center, scale = variant.center, variant.scale
    for j in range(X.shape[1]):
        x_j = X[row.r, j]
        squares += x_j * x_j
        if variant.has_fixed_moments:
            update_moments(moments.values, j, x_j, share, past, row.learns, scale)
            x_j = standardised(x_j, standard[0, j], standard[1, j])
        elif variant.keeps_weight_sum:
            values, kept = moments.values, moments.kept
            x_j = update_and_transform(
                values, j, x_j, share, past, row.learns, center, scale, kept
            )
        x[side, j] = x_j
    return squares

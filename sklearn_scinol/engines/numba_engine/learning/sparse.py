"""The loop over sparse rows, whose coordinates are learned in place."""

from functools import cache

from ..compiling import compiled
from . import steps
from .arguments import Row
from .outputs import learn, output_of, predict, widen


@cache
def sparse_loop(variant):
    """Return the loop for a variant."""
    has = variant.traits

    def learn_rows(task, state, block, out, scratch):
        weights, n_outputs = block.weights, steps.count_outputs(variant, scratch)
        last = state.first.size - 1
        t = state.numbers[0]
        for r in range(weights.given.size):
            c = weights.to_mean[r] if variant.sees_means else weights.relative[r]
            learns = weights.given[r] > 0.0
            t += 1.0
            start, scale = block.rows.indptr[r], steps.row_scale(variant, task, c)
            n_values = block.rows.indptr[r + 1] - start
            m, q = n_values + task.fit_intercept, 0.0
            row = Row(r, 0, start, n_values, m, last, c, learns, scale, t)
            for k in range(n_outputs):
                output = output_of(variant, task, state, k)
                scratch.dots[k], square = predict(variant, output, block, scratch, row)
                if k == 0:
                    q = square
            steps.report(variant, task, state, block, scratch, out, row, q)
            if variant.average:
                steps.average(variant, task, state, block, scratch, out, row)
            if not learns:
                t -= 1.0
                continue
            steps.derive(variant, task, state, block, scratch, out, row, q)
            for k in range(n_outputs):
                output = output_of(variant, task, state, k)
                learn(variant, output, block, scratch, row)
            if has.widens:
                widen(variant, task, state, block, scratch, row)
            if has.folds or variant.average:
                steps.keep_in_range(variant, task, state, scratch, t)
        steps.finish(variant, task, state, block, out, t)
        return True

    return compiled(learn_rows)

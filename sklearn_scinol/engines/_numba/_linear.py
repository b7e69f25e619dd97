"""The loops over dense and sparse rows.

Both end a row with the same lines. In a function of their own, which had to be given
the parts that it calls, these took 50 ns a row more.
"""

from functools import cache

import numpy as np

from ...learners import averaging, moments
from ._compiling import compiled, source_digest
from ._rows import (
    average_row,
    copy_record,
    drop_unit,
    enter,
    fold_fields,
    fold_nothing,
    fold_records,
    gradient_steps,
    implicit_steps,
    in_units_of_target,
    joint_derivatives,
    no_derivatives,
    no_square,
    no_steps,
    own_square,
    plain_square,
    record_target,
    score,
    separate_derivatives,
    shared_factor,
    small_scale,
    store_record,
    unit_factor,
    unit_scale,
    update_row,
)

__all__ = ["learn"]

# Entries between the buffers of a row and any other array.
MARGIN = 128


def learn(model, X, y, sample_weight, predictions, averaged):
    """Learn from the rows of one block: see the NumPy engine's function."""
    sparse = not isinstance(X, np.ndarray)
    kernel = _kernel(
        type(model.learner),
        type(model.loss),
        sparse=sparse,
        center=model.center,
        unit_variance=model.scale,
        standard_target=model.standardize_target,
        single_output=model.n_outputs == 1,
        average=averaged is not None,
    )
    if sparse:
        m = np.diff(X.indptr).max(initial=1) + model.fit_intercept
        fields = np.empty((*model.fields.shape[:2], m))
        rows = (X.data, X.indices, X.indptr, model.fields.T, model.moments.T)
        of_row = [_scratch(1, m)[0] for _ in range(3)]
    else:
        m = model.n_coordinates
        fields = model.fields
        rows = (X,)
        # How many rows these are of is the model's own business.
        of_row = [_scratch(1, m)[0] for _ in range(2)]
        for known, own in zip(of_row, model.moments, strict=False):
            known[: own.size] = own
    t, model.weight_sum = kernel(
        model.learner,
        model.loss,
        model.lipschitz,
        model.row_scale,
        model.state(fields),
        fields,
        model.shared_state(),
        model.clock,
        model.first,
        float(model.t),
        model.weight_sum,
        model.target_moments,
        model.divides_by_deviation,
        float(model.averaging_starts),
        y,
        sample_weight,
        predictions,
        predictions if averaged is None else averaged,
        model.fit_intercept,
        _scratch(1, m)[0],
        _scratch(model.n_outputs, m),
        _scratch(1, m)[0],
        *rows,
        *of_row,
    )
    model.t = int(t)
    if not sparse:
        for known, own in zip(of_row, model.moments, strict=False):
            own[:] = known[: own.size]


def _scratch(n_outputs, m):
    """Uninitialised array at some distance from all others.

    A loop that stores is compiled twice: for arrays that may overlap, also because
    they are neighbours, and for those that do not. The second is faster and sums in
    another order, so which one runs must not depend on where arrays happen to lie.
    """
    return np.empty(n_outputs * m + 2 * MARGIN)[MARGIN:-MARGIN].reshape(n_outputs, m)


@cache
def _kernel(
    learner,
    loss,
    *,
    sparse,
    center,
    unit_variance,
    standard_target,
    single_output,
    average,
):
    by_row = hasattr(learner, "Shared")
    implicit = hasattr(learner, "implicit_step")
    if implicit:
        derivatives, steps = no_derivatives, implicit_steps
    else:
        derivatives = joint_derivatives if loss.joint else separate_derivatives
        steps = gradient_steps if by_row else no_steps
    square = no_square
    if by_row:
        square = own_square if hasattr(learner, "square") else plain_square
    kernel = (_sparse_kernel if sparse else _dense_kernel)(
        factor=shared_factor if by_row else unit_factor,
        square=square,
        derivatives=derivatives,
        steps=steps,
        take_scale=small_scale if by_row else unit_scale,
        fold=(fold_records if sparse else fold_fields) if by_row else fold_nothing,
        n_fields=len(learner.State._fields) + (2 if average else 0),
        keeps_first=learner.keeps_first,
        keeps_weights=not by_row,
        weight_in_row=not implicit,
        center=center,
        unit_variance=unit_variance,
        standard_target=standard_target,
        single_output=single_output,
        average=average,
        digest=source_digest(),
    )
    return compiled(kernel)


def _dense_kernel(
    *,
    factor,
    square,
    derivatives,
    steps,
    take_scale,
    fold,
    n_fields,
    keeps_first,
    keeps_weights,
    weight_in_row,
    center,
    unit_variance,
    standard_target,
    single_output,
    average,
    digest,
):
    def learn_dense(
        learner,
        loss,
        lipschitz,
        row_scale,
        s,
        fields,
        h,
        clock,
        first,
        t,
        weight_sum,
        target,
        divides_by_deviation,
        averaging_starts,
        y,
        sample_weight,
        predictions,
        averaged,
        fit_intercept,
        x,
        w,
        sums,
        X,
        mean,
        variance,
    ):
        digest  # noqa: B018 - see source_digest
        n, d = X.shape
        n_outputs = 1 if single_output else fields.shape[1]
        m = d + fit_intercept
        x[-1] = 1.0  # where there is no intercept, a row goes over it
        g = np.zeros(n_outputs)
        step = np.zeros(n_outputs)
        dots = np.empty(n_outputs)
        any_unseen = keeps_first and first.min() == 0.0
        for r in range(n):
            c = sample_weight[r]
            learns = c > 0.0
            t += 1.0
            scale = row_scale * (c if learns and weight_in_row else 1.0)
            share = recorded_share = past = 0.0
            if center or unit_variance or standard_target:
                weight_sum, share, past = enter(weight_sum, c)
                recorded_share = share if learns else 0.0
            # The first output's pass also reads the row, which comes from memory while
            # the divisions of the weights keep the processor busy.
            dot = q = 0.0
            for j in range(d):
                value = X[r, j]
                if center or unit_variance:
                    deviation = value - mean[j]
                    mean[j] = moments.moved_mean(mean[j], recorded_share, deviation)
                    if center:
                        value = past * deviation
                if unit_variance:
                    moved = moments.moved_variance(variance[j], share, past, deviation)
                    variance[j] = moved if learns else variance[j]
                    value *= moments.inverse_deviation(moved)
                x[j] = value
                w_j = learner.weight(s, (0, j), scale * value, t)
                if keeps_weights:
                    w[0, j] = w_j
                q += square(learner, s, (0, j), scale * value)
                dot += w_j * value
            if fit_intercept:
                w_j = learner.weight(s, (0, d), scale, t)
                if keeps_weights:
                    w[0, d] = w_j
                dot += w_j
                q += square(learner, s, (0, d), scale)
            dots[0] = dot
            p = dot * factor(learner, h, 0, q, t)
            predictions[r, 0] = p
            if standard_target:
                predictions[r, 0] = in_units_of_target(target, 0, p)
            for k in range(1, n_outputs):
                dots[k] = score(learner, s, k, x, m, scale, t, keeps_weights, w)
                p = dots[k] * factor(learner, h, k, q, t)
                predictions[r, k] = p
                if standard_target:
                    predictions[r, k] = in_units_of_target(target, k, p)
            if average:
                average_row(
                    learner,
                    s,
                    fields,
                    clock,
                    x,
                    m,
                    t,
                    averaging_starts,
                    learns,
                    sums,
                    predictions,
                    r,
                    standard_target,
                    target,
                    averaged,
                )
            if not learns:
                t -= 1.0
                continue
            derivatives(loss, lipschitz, y, predictions, r, g)
            if standard_target:
                drop_unit(target, t, divides_by_deviation, g)
                record_target(target, share, past, y, r)
            steps(learner, loss, h, y, r, c, scale, dots, q, t, g, step)
            update_row(learner, s, x, m, scale, g, step, keeps_weights, w, t)
            if any_unseen:
                for j in range(m):
                    if first[j] == 0.0:
                        first[j] = np.abs(scale * x[j])
            for k in range(n_outputs):
                restarts = False
                if average and t > averaging_starts:
                    at_rest = factor(learner, h, k, 0.0, t + 1.0)
                    restarts = averaging.tick(clock, k, at_rest)
                taken = take_scale(learner, h, k)
                if restarts or taken != 1.0:
                    fold(learner, s, fields, None, k, taken, clock, average, t)
        return t, weight_sum

    return learn_dense


def _sparse_kernel(
    *,
    factor,
    square,
    derivatives,
    steps,
    take_scale,
    fold,
    n_fields,
    keeps_first,
    keeps_weights,
    weight_in_row,
    center,
    unit_variance,
    standard_target,
    single_output,
    average,
    digest,
):
    def learn_sparse(
        learner,
        loss,
        lipschitz,
        row_scale,
        s,
        fields,
        h,
        clock,
        first,
        t,
        weight_sum,
        target,
        divides_by_deviation,
        averaging_starts,
        y,
        sample_weight,
        predictions,
        averaged,
        fit_intercept,
        x,
        w,
        sums,
        data,
        indices,
        indptr,
        records,
        known,
        mean,
        variance,
        recorded,
    ):
        digest  # noqa: B018 - see source_digest
        n_outputs = 1 if single_output else fields.shape[1]
        g = np.zeros(n_outputs)
        step = np.zeros(n_outputs)
        dots = np.empty(n_outputs)
        for r in range(indptr.size - 1):
            start = indptr[r]
            nnz = indptr[r + 1] - start
            m = nnz + fit_intercept
            c = sample_weight[r]
            learns = c > 0.0
            t += 1.0
            scale = row_scale * (c if learns and weight_in_row else 1.0)
            waited_until = weight_sum
            share = past = q = 0.0
            if unit_variance or standard_target:
                weight_sum, share, past = enter(weight_sum, c)
            for j in range(nnz):
                x[j] = data[start + j]
                i = indices[start + j]
                copy_record(records, i, fields, j, n_fields, n_outputs)
                if unit_variance:
                    mean[j], variance[j] = known[i, 0], known[i, 1]
                    recorded[j] = known[i, 2]
            if unit_variance:
                for j in range(nnz):
                    before = moments.shares_of_waiting(waited_until, recorded[j])
                    middle = moments.moved_mean(mean[j], before[0], -mean[j])
                    spread = moments.moved_variance(
                        variance[j], before[0], before[1], -mean[j]
                    )
                    deviation = x[j] - middle
                    mean[j] = moments.moved_mean(middle, share, deviation)
                    variance[j] = moments.moved_variance(spread, share, past, deviation)
                    x[j] *= moments.inverse_deviation(variance[j])
            if fit_intercept:
                x[nnz] = 1.0
                copy_record(records, first.size - 1, fields, nnz, n_fields, n_outputs)
            for j in range(m):
                q += square(learner, s, (0, j), scale * x[j])
            for k in range(n_outputs):
                dots[k] = score(learner, s, k, x, m, scale, t, keeps_weights, w)
                p = dots[k] * factor(learner, h, k, q, t)
                predictions[r, k] = p
                if standard_target:
                    predictions[r, k] = in_units_of_target(target, k, p)
            if average:
                average_row(
                    learner,
                    s,
                    fields,
                    clock,
                    x,
                    m,
                    t,
                    averaging_starts,
                    learns,
                    sums,
                    predictions,
                    r,
                    standard_target,
                    target,
                    averaged,
                )
            if not learns:
                t -= 1.0
                continue
            if keeps_first:
                for j in range(m):
                    if fields[0, 0, j] == 0.0:
                        i = indices[start + j] if j < nnz else first.size - 1
                        first[i] = np.abs(scale * x[j])
            derivatives(loss, lipschitz, y, predictions, r, g)
            if standard_target:
                drop_unit(target, t, divides_by_deviation, g)
                record_target(target, share, past, y, r)
            steps(learner, loss, h, y, r, c, scale, dots, q, t, g, step)
            update_row(learner, s, x, m, scale, g, step, keeps_weights, w, t)
            for j in range(nnz):
                i = indices[start + j]
                store_record(fields, j, records, i, n_fields, n_outputs)
                if unit_variance:
                    known[i, 0], known[i, 1] = mean[j], variance[j]
                    known[i, 2] = weight_sum
            if fit_intercept:
                store_record(fields, nnz, records, first.size - 1, n_fields, n_outputs)
            for k in range(n_outputs):
                restarts = False
                if average and t > averaging_starts:
                    at_rest = factor(learner, h, k, 0.0, t + 1.0)
                    restarts = averaging.tick(clock, k, at_rest)
                taken = take_scale(learner, h, k)
                if restarts or taken != 1.0:
                    fold(learner, s, fields, records, k, taken, clock, average, t)
        return t, weight_sum

    return learn_sparse

"""The loops over rows compiled by Numba: one coordinate at a time.

The only module that imports Numba. The formulas of a learner and a loss are compiled
from the same source that NumPy runs: as methods, looked up in the class of the
NamedTuple that a kernel is given. Numba keeps kernels on disk, but does not see when
those methods change, so each kernel also closes over a digest of their source.

What makes the loops fast, each measured: no check for division by zero
(``error_model``); permission to reorder sums, without which they are not vectorised;
one compiled variant for a single output; the state of dense rows as one contiguous
array a field, that of sparse rows as one record a coordinate, gathered into contiguous
buffers for the row and put back after it.
"""

import hashlib
from functools import cache
from importlib.resources import files

import numba
import numpy as np
from numba.core.types import BaseNamedTuple
from numba.extending import (
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
)

from .. import _portable, losses
from ..learners import averaging, hedge, moments

__all__ = ["learn", "learn_combination", "learn_rounds"]

# Everything of "fast math" but the promise that there are no NaN and infinities.
OPTIONS = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}

# For what must be done operation for operation. "fastmath" would be the caller's.
STRICT = {"error_model": "numpy", "fastmath": False}

# What is called for every row becomes part of the kernel. Otherwise references to each
# array that goes in are counted up and down again, which takes as long as a short row.
INLINE = {**OPTIONS, "forceinline": True}

# Entries between the buffers of a row and any other array.
MARGIN = 128


@overload(_portable.larger, jit_options=INLINE)
def _larger(a, b):
    return lambda a, b: b if b > a else a


@overload(_portable.smaller, jit_options=INLINE)
def _smaller(a, b):
    return lambda a, b: b if b < a else a


@overload(_portable.chosen, jit_options=INLINE)
def _chosen(condition, a, b):
    return lambda condition, a, b: a if condition else b


jitable = register_jitable(**OPTIONS)
inlined = register_jitable(**INLINE)
# What the compiler should know the constants of: left to itself it keeps some calls.
expanded = register_jitable(inline="always", **OPTIONS)

for function in _portable.PORTABLE:
    inlined(function)
for function in _portable.EXACT:
    register_jitable(forceinline=True, **STRICT)(function)


def _method(name):
    return overload_method(BaseNamedTuple, name, jit_options=INLINE, strict=False)


def _function(function):
    return overload(function, jit_options=INLINE, strict=False)


# The methods of learners and losses that compiled code calls.
_method("weight")(lambda self, s, i, x, t: self.instance_class.weight)
_method("update")(lambda self, s, i, x, g, w, t: self.instance_class.update)
_method("square")(lambda self, s, i, x: self.instance_class.square)
_method("factor")(lambda self, h, k, q, t: self.instance_class.factor)
_method("step")(lambda self, h, k, g, dot, q, t: self.instance_class.step)
_method("implicit_step")(
    lambda self, h, k, loss, y, c, dot, q, t: self.instance_class.implicit_step
)
_method("take_scale")(lambda self, h, k: self.instance_class.take_scale)
_method("fold")(lambda self, s, i, scale: self.instance_class.fold)

# Those of losses stand behind functions: Numba has no methods of an empty NamedTuple.
_function(losses.value)(lambda loss, y, p: loss.instance_class.value)
_function(losses.gradient)(lambda loss, y, p: loss.instance_class.gradient)
_function(losses.minimiser)(lambda loss, y, p: loss.instance_class.minimiser)
_function(losses.proximal)(lambda loss, y, p, s: loss.instance_class.proximal)


@overload_attribute(BaseNamedTuple, "piecewise_linear")
def _piecewise_linear(loss):
    answer = loss.instance_class.piecewise_linear
    return lambda loss: answer


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


def learn_combination(
    model, gram, f, moments, y, sample_weight, is_new, room, predictions, averaged
):
    """Learn from rows and combinations of them: see the NumPy engine's function."""
    kernel = _combination_kernel(
        type(model.learner), type(model.loss), average=averaged is not None
    )
    increments = np.zeros((len(y), model.n_outputs))
    moment_increments = np.zeros((len(y), model.moment.rows.shape[1]))
    r, t = kernel(
        model.learner,
        model.loss,
        model.lipschitz,
        model.shared_state(),
        model.clock,
        float(model.t),
        float(model.averaging_starts),
        gram,
        f,
        f if moments is None else moments,
        y,
        sample_weight,
        is_new,
        room,
        predictions,
        predictions if averaged is None else averaged,
        increments,
        moment_increments,
        model.coef.rows,
        model.moment.rows,
    )
    model.t = int(t)
    return r, increments, moment_increments


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
        digest=_digest(),
    )
    return _compile(kernel)


@cache
def _combination_kernel(learner, loss, average):
    derivatives = joint_derivatives if loss.joint else separate_derivatives
    return _compile(
        _combination(derivatives=derivatives, average=average, digest=_digest())
    )


def _compile(kernel, options=OPTIONS):
    try:
        return numba.njit(kernel, nogil=True, cache=True, **options)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(kernel, nogil=True, **options)


@cache
def _digest():
    """Of all source that kernels are compiled from, but for this module's."""
    package = files(__package__.rpartition(".")[0])
    sources = [package / "_portable.py", package / "losses.py"]
    sources += sorted(
        (file for file in (package / "learners").iterdir() if file.suffix == ".py"),
        key=lambda file: file.name,
    )
    return hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()


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
        digest  # noqa: B018 - see the module's docstring
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
        digest  # noqa: B018 - see the module's docstring
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


# Combinations of rows.


def _combination(*, derivatives, average, digest):
    def learn_combination(
        learner,
        loss,
        lipschitz,
        h,
        clock,
        t,
        averaging_starts,
        gram,
        f,
        moments,
        y,
        sample_weight,
        is_new,
        room,
        predictions,
        averaged,
        increments,
        moment_increments,
        coef,
        moment,
    ):
        digest  # noqa: B018 - see the module's docstring
        n_outputs, n = f.shape
        g = np.zeros(n_outputs)
        step = np.zeros(n_outputs)
        dots = np.empty(n_outputs)
        r = 0
        while r < n and room > 0:
            c = sample_weight[r]
            learns = c > 0.0
            t += 1.0
            scale = lipschitz * (c if learns else 1.0)
            q = scale * scale * _portable.larger(gram[r, r], 0.0)
            for k in range(n_outputs):
                dots[k] = f[k, r]
                predictions[r, k] = dots[k] * learner.factor(h, k, q, t)
            if average:
                n_averaged = t - 1.0 - averaging_starts
                for k in range(n_outputs):
                    p = predictions[r, k]
                    if n_averaged > 0.0:
                        p = (moments[k, r] + clock[0, k] * dots[k]) / n_averaged
                    averaged[r, k] = p
            if not learns:
                t -= 1.0
                r += 1
                continue
            derivatives(loss, lipschitz, y, predictions, r, g)
            gradient_steps(learner, loss, h, y, r, c, scale, dots, q, t, g, step)
            takes_room = False
            for k in range(n_outputs):
                increment = -scale * step[k]
                if increment == 0.0:
                    continue
                takes_room = is_new[r]
                increments[r, k] = increment
                for j in range(r, n):
                    f[k, j] += increment * gram[r, j]
                if average:
                    moment_increments[r, k] = -clock[0, k] * increment
                    for j in range(r, n):
                        moments[k, j] += moment_increments[r, k] * gram[r, j]
            if takes_room:
                room -= 1
            if average and t > averaging_starts:
                for k in range(n_outputs):
                    at_rest = learner.factor(h, k, 0.0, t + 1.0)
                    if averaging.tick(clock, k, at_rest):
                        for j in range(n):
                            moments[k, j] += clock[0, k] * f[k, j]
                            moment_increments[j, k] += clock[0, k] * increments[j, k]
                        for j in range(coef.shape[0]):
                            moment[j, k] += clock[0, k] * coef[j, k]
                        clock[:, k] = 0.0
            r += 1
        return r, t

    return learn_combination


# Rounds of experts' losses. Their sums are not reordered: exponentials take the time,
# and rounds must give the same numbers wherever arrays happen to lie.


def learn_rounds(losses, smallest, log_K, L, w, totals, Delta, mixture_loss, weights):
    """Learn from rounds of experts' losses in order: see the NumPy engine's."""
    kernel = _hedge_kernel()
    excess = np.empty_like(L)
    return kernel(
        losses, smallest, log_K, L, w, totals, Delta, mixture_loss, weights, excess
    )


@cache
def _hedge_kernel():
    digest = _digest()

    def learn_rounds(
        losses, smallest, log_K, L, w, totals, Delta, mixture_loss, weights, excess
    ):
        digest  # noqa: B018 - see the module's docstring
        n, K = losses.shape
        unit = hedge.unit(Delta, log_K)
        for r in range(n):
            h = 0.0
            rise = np.inf
            for k in range(K):
                weights[r, k] = w[k]
                totals[k] += losses[r, k]
                excess[k] = losses[r, k] - smallest[r]
                h += w[k] * excess[k]
                L[k] += excess[k]
                rise = _portable.smaller(rise, L[k])
            mixture_loss += smallest[r] + h
            for k in range(K):
                L[k] -= rise
            if hedge.is_mild(h, unit):
                spreads = 0.0
                for k in range(K):
                    if w[k] > 0.0:  # in the end that is true of few
                        spreads += hedge.spread(w[k], excess[k], h, unit)
                Delta += hedge.gap_from_spreads(spreads, unit)
            else:
                shares = largest = 0.0
                for k in range(K):
                    shares += hedge.share(L[k], unit)
                    largest = _portable.larger(largest, w[k])
                Delta += hedge.gap_from_shares(h, rise, largest, shares, unit)
            unit = hedge.unit(Delta, log_K)
            shares = 0.0
            for k in range(K):
                w[k] = 0.0 if hedge.is_lost(L[k], unit) else hedge.share(L[k], unit)
                shares += w[k]
            for k in range(K):
                w[k] /= shares
        return Delta, mixture_loss

    return _compile(learn_rounds, STRICT)

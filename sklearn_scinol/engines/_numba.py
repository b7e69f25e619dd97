"""The loops over rows compiled by Numba: one coordinate at a time.

The only module that imports Numba. The formulas of a learner and a loss are compiled
from the same source that NumPy runs. A kernel closes over plain functions, not over
compiled ones, so that Numba can keep it on disk; Numba does not see when those
functions change, so each kernel also closes over a digest of their source.

What makes the loops fast, each measured: no check for division by zero
(``error_model``); permission to reorder sums, without which they are not vectorised;
one compiled variant for a single output; the state of dense rows as one contiguous
array a field, that of sparse rows as one record a coordinate, gathered into contiguous
buffers for the row and put back after it.
"""

import hashlib
import inspect
from functools import cache

import numba
import numpy as np
from numba.extending import overload, register_jitable

from .. import losses
from ..learners import _portable, averaging

__all__ = ["learn"]

# Everything of "fast math" but the promise that there are no NaN and infinities.
OPTIONS = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}


# Entries between the buffers of a row and any other array.
MARGIN = 128


@overload(_portable.larger, jit_options=OPTIONS)
def _larger(a, b):
    return lambda a, b: b if b > a else a


@overload(_portable.smaller, jit_options=OPTIONS)
def _smaller(a, b):
    return lambda a, b: b if b < a else a


jitable = register_jitable(**OPTIONS)
# What the compiler should know the constants of: left to itself it keeps some calls.
inlined = register_jitable(inline="always", **OPTIONS)


def learn(model, X, y, sample_weight, predictions, averaged):
    """Learn from the rows of one block: see the NumPy engine's function."""
    sparse = not isinstance(X, np.ndarray)
    kernel = _kernel(
        type(model.learner),
        type(model.loss),
        sparse=sparse,
        center=model.center,
        single_output=model.n_outputs == 1,
        average=averaged is not None,
    )
    if sparse:
        m = np.diff(X.indptr).max(initial=0) + model.fit_intercept
        fields = np.empty((*model.fields.shape[:2], m))
        rows = (X.data, X.indices, X.indptr, model.fields.T)
    else:
        m = model.n_coordinates
        fields = model.fields
        mean = _scratch(1, model.mean.size)[0]
        mean[:] = model.mean
        rows = (X, mean)
    t, model.weight_sum = kernel(
        model.learner,
        model.loss,
        model.loss.lipschitz,
        model.state(fields),
        fields,
        model.first,
        float(model.t),
        model.weight_sum,
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
    )
    model.t = int(t)
    if not sparse:
        model.mean[:] = mean


def _scratch(n_outputs, m):
    """Uninitialised array at some distance from all others.

    A loop that stores is compiled twice: for arrays that may overlap, also because
    they are neighbours, and for those that do not. The second is faster and sums in
    another order, so which one runs must not depend on where arrays happen to lie.
    """
    return np.empty(n_outputs * m + 2 * MARGIN)[MARGIN:-MARGIN].reshape(n_outputs, m)


@cache
def _kernel(learner, loss, *, sparse, center, single_output, average):
    functions = (learner.weight, learner.update, loss.gradient)
    for function in (*_portable.PORTABLE, *functions):
        _register(function)
    build = _sparse_kernel if sparse else _dense_kernel
    kernel = build(
        *functions,
        derivatives=joint_derivatives if loss.joint else separate_derivatives,
        n_fields=len(learner.State._fields) + (2 if average else 0),
        keeps_first=learner.keeps_first,
        center=center,
        single_output=single_output,
        average=average,
        digest=_digest(inspect.getmodule(learner), losses, _portable, averaging),
    )
    try:
        return numba.njit(kernel, nogil=True, cache=True, **OPTIONS)
    except RuntimeError:  # there is no folder to keep it in
        return numba.njit(kernel, nogil=True, **OPTIONS)


@cache
def _register(function):
    return jitable(function)


def _digest(*modules):
    sources = "".join(map(inspect.getsource, modules))
    return hashlib.sha256(sources.encode()).hexdigest()


@jitable
def score(weight, learner, s, k, x, m, scale, t, w):
    """Prediction of output `k` from `m` coordinates; their weights go to `w`."""
    p = 0.0
    for j in range(m):
        w_j = weight(learner, s, (k, j), scale * x[j], t)
        w[k, j] = w_j
        p += w_j * x[j]
    return p


@jitable
def joint_derivatives(gradient, loss, y, predictions, r, g):
    g[:] = gradient(loss, y[r], predictions[r])


@jitable
def separate_derivatives(gradient, loss, y, predictions, r, g):
    for k in range(g.size):
        g[k] = gradient(loss, y[r, k], predictions[r, k])


@jitable
def average_row(
    weight, learner, s, fields, x, m, t, start, record, sums, predictions, r, averaged
):
    """Predictions of the averaged weights; their sums are brought up to date."""
    n_averaged = t - 1.0 - start
    for k in range(predictions.shape[1]):
        total, last = fields[-2, k], fields[-1, k]
        for j in range(m):
            at_rest = weight(learner, s, (k, j), 0.0, t)
            sums[j] = averaging.sum_before(total, last, j, at_rest, t)
            if record:
                averaging.record_sum(total, last, j, sums[j], t)
        p = 0.0
        for j in range(m):  # on its own: `total` and `last` are neighbours
            p += sums[j] * x[j]
        averaged[r, k] = p / n_averaged if n_averaged > 0.0 else predictions[r, k]


@inlined
def update_row(update, learner, s, x, m, scale, g, lipschitz, w, t):
    for k in range(g.size):
        g_k = g[k] / lipschitz
        for j in range(m):
            update(learner, s, (k, j), scale * x[j], g_k, w[k, j], t)


@inlined
def copy_record(source, i, target, j, n_fields, n_outputs):
    """Move the state of coordinate `i` of a record to place `j` of the row's arrays."""
    for k in range(n_outputs):
        for f in range(n_fields):
            target[f, k, j] = source[i, k, f]


@inlined
def store_record(source, j, target, i, n_fields, n_outputs):
    """Undo :func:`copy_record`."""
    for k in range(n_outputs):
        for f in range(n_fields):
            target[i, k, f] = source[f, k, j]


def _dense_kernel(
    weight,
    update,
    gradient,
    *,
    derivatives,
    n_fields,
    keeps_first,
    center,
    single_output,
    average,
    digest,
):
    def learn_dense(
        learner,
        loss,
        lipschitz,
        s,
        fields,
        first,
        t,
        weight_sum,
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
    ):
        digest  # noqa: B018 - see the module's docstring
        n, d = X.shape
        n_outputs = 1 if single_output else fields.shape[1]
        m = d + fit_intercept
        x[-1] = 1.0  # where there is no intercept, a row goes over it
        g = np.empty(n_outputs)
        any_unseen = keeps_first and first.min() == 0.0
        share = recorded = 0.0
        for r in range(n):
            c = sample_weight[r]
            learns = c > 0.0
            t += 1.0
            scale = lipschitz * (c if learns else 1.0)
            if center:
                # A row of weight 0 is centred as if it counted, and not recorded.
                if learns:
                    weight_sum += c
                    share = recorded = c / weight_sum
                else:
                    share = 1.0 / (weight_sum + 1.0)
                    recorded = 0.0
            # The first output's pass also reads the row, which comes from memory while
            # the divisions of the weights keep the processor busy.
            p = 0.0
            for j in range(d):
                value = X[r, j]
                if center:
                    deviation = value - mean[j]
                    mean[j] += recorded * deviation
                    value = (1.0 - share) * deviation
                x[j] = value
                w_j = weight(learner, s, (0, j), scale * value, t)
                w[0, j] = w_j
                p += w_j * value
            if fit_intercept:
                w[0, d] = weight(learner, s, (0, d), scale, t)
                p += w[0, d]
            predictions[r, 0] = p
            for k in range(1, n_outputs):
                predictions[r, k] = score(weight, learner, s, k, x, m, scale, t, w)
            if average:
                average_row(
                    weight,
                    learner,
                    s,
                    fields,
                    x,
                    m,
                    t,
                    averaging_starts,
                    learns,
                    sums,
                    predictions,
                    r,
                    averaged,
                )
            if not learns:
                t -= 1.0
                continue
            derivatives(gradient, loss, y, predictions, r, g)
            update_row(update, learner, s, x, m, scale, g, lipschitz, w, t)
            if any_unseen:
                for j in range(m):
                    if first[j] == 0.0:
                        first[j] = np.abs(scale * x[j])
        return t, weight_sum

    return learn_dense


def _sparse_kernel(
    weight,
    update,
    gradient,
    *,
    derivatives,
    n_fields,
    keeps_first,
    center,
    single_output,
    average,
    digest,
):
    def learn_sparse(
        learner,
        loss,
        lipschitz,
        s,
        fields,
        first,
        t,
        weight_sum,
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
    ):
        digest  # noqa: B018 - see the module's docstring
        n_outputs = 1 if single_output else fields.shape[1]
        g = np.empty(n_outputs)
        for r in range(indptr.size - 1):
            start = indptr[r]
            nnz = indptr[r + 1] - start
            m = nnz + fit_intercept
            c = sample_weight[r]
            learns = c > 0.0
            t += 1.0
            scale = lipschitz * (c if learns else 1.0)
            for j in range(nnz):
                x[j] = data[start + j]
                i = indices[start + j]
                copy_record(records, i, fields, j, n_fields, n_outputs)
            if fit_intercept:
                x[nnz] = 1.0
                copy_record(records, first.size - 1, fields, nnz, n_fields, n_outputs)
            for k in range(n_outputs):
                predictions[r, k] = score(weight, learner, s, k, x, m, scale, t, w)
            if average:
                average_row(
                    weight,
                    learner,
                    s,
                    fields,
                    x,
                    m,
                    t,
                    averaging_starts,
                    learns,
                    sums,
                    predictions,
                    r,
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
            derivatives(gradient, loss, y, predictions, r, g)
            update_row(update, learner, s, x, m, scale, g, lipschitz, w, t)
            for j in range(nnz):
                i = indices[start + j]
                store_record(fields, j, records, i, n_fields, n_outputs)
            if fit_intercept:
                store_record(fields, nnz, records, first.size - 1, n_fields, n_outputs)
        return t, weight_sum

    return learn_sparse

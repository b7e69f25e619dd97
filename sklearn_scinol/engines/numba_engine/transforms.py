"""Running moments of features, and what they are transformed to."""

from functools import cache

import numpy as np

from ..._portable import chosen, cosine, larger, smaller
from ...blocks import CSRRows, DenseRows
from ...transforms.moments import (
    add_weight,
    decayed,
    inverse_deviation,
    least_variance,
    moved_mean,
    moved_variance,
    shares_of_waiting,
)
from .compiling import compiled, runs_loop


def update_and_transform(moments, j, x, share, past, learns, center, scale, kept):
    """Update the moments of a feature of a dense row; return its transformed value."""
    mean, z = moments[0, j], x
    deviation = x - mean
    moments[0, j] = moved_mean(mean, share if learns else 0.0, deviation)
    if center:
        z = past * deviation
    if scale:
        variance = moments[1, j]
        moved = moved_variance(variance, share, past, deviation)
        moments[1, j] = moved if learns else variance
        least = least_variance(moved_mean(mean, share, deviation), kept)
        z *= inverse_deviation(moved, least)
    return z


def update_moments(moments, j, x, share, past, learns, scale):
    """Update the moments of a feature with its value in a dense row."""
    if learns:
        deviation = x - moments[0, j]
        moments[0, j] = moved_mean(moments[0, j], share, deviation)
        if scale:
            moments[1, j] = moved_variance(moments[1, j], share, past, deviation)


def first_values(seen, rows, weights):
    """First values of features not seen before."""
    room = rows.data.size
    if room >= seen.size:  # a few rows cost less to look at than all features
        room = min(room, seen.size - np.count_nonzero(seen))
    features, values = np.empty(room, np.intp), np.empty(room)
    n_found = _first_values(seen, rows, weights.given, features, values)
    return features[:n_found], values[:n_found]


@compiled
def _first_values(seen, rows, given, features, values):
    n_found = 0
    for r in range(given.size if features.size else 0):
        for j in range(rows.indptr[r], rows.indptr[r + 1]):
            i = rows.indices[j]
            if not seen[i] and rows.data[j] != 0.0 and given[r] > 0.0:
                seen[i] = True
                features[n_found], values[n_found] = i, rows.data[j]
                n_found += 1
    return n_found


@runs_loop
def add_codes(values, bins, features, width):
    """Rows with their values, and ones for their bins."""
    n, d = values.shape
    size = n * d + len(bins) * len(features)
    rows = CSRRows(np.empty(size), np.empty(size, np.uint32), np.empty(n + 1, np.int32))
    values = np.ascontiguousarray(values)
    return _add_codes, (values, bins, features, width, rows), rows


@compiled
def _add_codes(values, bins, features, width, rows):
    data, indices, indptr = rows.data, rows.indices, rows.indptr
    n, d = values.shape
    n_first, at = n - len(bins), 0
    indptr[0] = 0
    for r in range(n):
        for j in range(d):
            data[at + j] = values[r, j]
            indices[at + j] = j
        at += d
        if r >= n_first:
            for k in range(features.size):
                j = features[k]
                data[at + k] = 1.0
                indices[at + k] = d + j * width + bins[r - n_first, j]
            at += features.size
        indptr[r + 1] = at


@runs_loop
def fourier_features(directions, phases, limit, X):
    """Cosines of random directions of rows."""
    z, turns = map(np.empty, directions.shape)
    Z = np.empty((len(X), phases.size))
    return _fourier_features, (directions, phases, limit, X, z, turns, Z), Z


@compiled
def _fourier_features(directions, phases, limit, X, z, turns, Z):
    n_features, n_directions = directions.shape
    factor = np.sqrt(2.0 / larger(phases.size, 1.0))
    rest = n_features % 4
    for r in range(X.shape[0]):
        for j in range(n_features):
            z[j] = larger(smaller(X[r, j], limit), -limit)
        for k in range(n_directions):
            turns[k] = 0.0
        for j in range(rest):
            for k in range(n_directions):
                turns[k] += z[j] * directions[j, k]
        # Four at a time: to load and store sums takes longer than to add to them.
        for j in range(rest, n_features, 4):
            a, b, c, d = z[j], z[j + 1], z[j + 2], z[j + 3]
            for k in range(n_directions):
                turns[k] += (
                    a * directions[j, k]
                    + b * directions[j + 1, k]
                    + c * directions[j + 2, k]
                    + d * directions[j + 3, k]
                )
        for k in range(phases.size):
            Z[r, k] = factor * cosine(turns[k // 2] + phases[k])


@runs_loop
def transform_rows(moments, rows, weights):
    """Centre and scale rows."""
    if isinstance(rows, CSRRows):
        data = np.empty_like(rows.data)
        moments = moments._replace(values=moments.values.T)
        room = tuple(np.empty((3, np.diff(rows.indptr).max(initial=0))))
        arguments = moments, rows, weights, data, room
        return _scale_sparse, arguments, CSRRows(data, rows.indices, rows.indptr)
    Z = np.empty_like(rows.X)
    loop = _dense_loop(moments.center, len(moments.values) > 1)
    return loop, (moments, rows.X, weights, Z), DenseRows(Z)


@cache
def _dense_loop(center, scale):

    def transform_dense(moments, X, weights, Z):
        weight_sum, values = moments.weight_sum[0], moments.values
        kept = moments.kept
        for r in range(X.shape[0]):
            c, learns = weights.relative[r], weights.given[r] > 0.0
            weight_sum, share, past = add_weight(weight_sum, c, learns, kept)
            for j in range(X.shape[1]):
                Z[r, j] = update_and_transform(
                    values, j, X[r, j], share, past, learns, center, scale, kept
                )
        moments.weight_sum[0] = weight_sum
        if scale:
            values[2] = weight_sum

    return compiled(transform_dense)


@compiled
def _scale_sparse(moments, rows, weights, data, room):
    weight_sum, values = moments.weight_sum[0], moments.values
    indices, indptr, of_row = rows.indices, rows.indptr, rows.data
    mean, variance, recorded = room
    kept = moments.kept
    forgets, log_kept = kept < 1.0, np.log(kept)
    n_rows = moments.weight_sum[1] if forgets else 0.0
    for r in range(weights.given.size):
        learns = weights.given[r] > 0.0
        waited_until = weight_sum
        weight_sum, share, past = add_weight(
            weight_sum, weights.relative[r], learns, kept
        )
        start = indptr[r]
        nnz = indptr[r + 1] - start
        x, z = of_row[start : start + nnz], data[start : start + nnz]
        for j in range(nnz):
            i = indices[start + j]
            mean[j], variance[j] = values[i, 0], values[i, 1]
            recorded[j] = values[i, 2]
        for j in range(nnz if forgets else 0):
            missed = n_rows - values[indices[start + j], 3]
            recorded[j] = decayed(recorded[j], missed, log_kept)
        for j in range(nnz):
            waiting = shares_of_waiting(waited_until, recorded[j])
            waited = moved_mean(mean[j], waiting[0], -mean[j])
            spread = moved_variance(variance[j], waiting[0], waiting[1], -mean[j])
            deviation = x[j] - waited
            mean[j] = moved_mean(waited, share, deviation)
            variance[j] = moved_variance(spread, share, past, deviation)
            z[j] = x[j] * inverse_deviation(variance[j])
        for j in range(nnz if forgets else 0):
            least = least_variance(mean[j], kept)
            z[j] = chosen(variance[j] > least, z[j], 0.0)
        if learns:
            n_rows += 1.0
            for j in range(nnz):
                i = indices[start + j]
                values[i, 0], values[i, 1] = mean[j], variance[j]
                values[i, 2] = weight_sum
            for j in range(nnz if forgets else 0):
                values[indices[start + j], 3] = n_rows
    moments.weight_sum[0] = weight_sum
    if forgets:
        moments.weight_sum[1] = n_rows

"""Running moments of features, and what they are transformed to."""

import numpy as np

from ..._portable import cosine
from ...blocks import CSRRows, DenseRows, repeat_to_entries
from ...transforms.moments import (
    add_weight,
    decayed,
    inverse_deviation,
    least_variance,
    moved_mean,
    moved_variance,
    shares_of_waiting,
)


def first_values(seen, rows, weights):
    is_new = ~seen[rows.indices] & (rows.data != 0.0)
    places = np.flatnonzero(is_new & repeat_to_entries(rows, weights.given > 0.0))
    features, first = np.unique(rows.indices[places], return_index=True)
    seen[features] = True
    return features, rows.data[places[first]]


def add_codes(values, bins, features, width):
    n, d = values.shape
    n_last, n_entries = len(bins), d + len(features)
    n_first = n - n_last
    data = np.ones((n_last, n_entries))
    indices = np.empty((n_last, n_entries), np.uint32)
    data[:, :d], indices[:, :d] = values[n_first:], np.arange(d)
    indices[:, d:] = d + features * width + bins[:, features]
    indptr = np.append(
        np.arange(n_first) * d, n_first * d + np.arange(n_last + 1) * n_entries
    )
    data, indices = data.ravel(), indices.ravel()
    if n_first:
        data = np.append(values[:n_first], data)
        indices = np.append(np.tile(np.arange(d, dtype=np.uint32), n_first), indices)
    return CSRRows(data, indices, indptr.astype(np.int32))


def fourier_features(directions, phases, limit, X):
    Z = np.clip(X, -limit, limit)
    turns = np.zeros((len(X), directions.shape[1]))
    # A product of matrices would round differently in chunks of another size.
    for z, direction in zip(Z.T, directions, strict=True):
        turns += z[:, np.newaxis] * direction
    turns = turns.repeat(2, axis=1)[:, : phases.size] + phases
    return np.sqrt(2.0 / max(phases.size, 1)) * cosine(turns)


def transform_rows(moments, rows, weights):
    with np.errstate(all="ignore"):
        if isinstance(rows, DenseRows):
            return _transform_dense(moments, rows, weights)
        return _scale_sparse(moments, rows, weights)


def _transform_dense(moments, rows, weights):
    Z = np.empty_like(rows.X)
    scale, weight_sum = len(moments.values) > 1, moments.weight_sum[0]
    mean, kept = moments.values[0], moments.kept
    for r, (x, given, c) in enumerate(zip(rows.X, *weights[:2], strict=True)):
        weight_sum, share, past = add_weight(weight_sum, c, given > 0.0, kept)
        deviation = x - mean
        Z[r] = past * deviation if moments.center else x
        if scale:
            variance = moved_variance(moments.values[1], share, past, deviation)
            least = least_variance(moved_mean(mean, share, deviation), kept)
            Z[r] *= inverse_deviation(variance, least)
        if given > 0.0:
            mean[:] = moved_mean(mean, share, deviation)
            if scale:
                moments.values[1] = variance
    moments.weight_sum[0] = weight_sum
    if scale:
        moments.values[2] = weight_sum
    return DenseRows(Z)


def _scale_sparse(moments, rows, weights):
    data = np.empty_like(rows.data)
    weight_sum, kept = moments.weight_sum[0], moments.kept
    forgets, log_kept = kept < 1.0, np.log(kept)
    n_rows = moments.weight_sum[1] if forgets else 0.0
    for r, (given, c) in enumerate(zip(*weights[:2], strict=True)):
        entries = slice(rows.indptr[r], rows.indptr[r + 1])
        features, x = rows.indices[entries], rows.data[entries]
        mean, variance, recorded = moments.values[:3, features]
        if forgets:
            missed = n_rows - moments.values[3, features]
            recorded = decayed(recorded, missed, log_kept)
        waiting = shares_of_waiting(weight_sum, recorded)
        variance = moved_variance(variance, *waiting, -mean)
        mean = moved_mean(mean, waiting[0], -mean)
        weight_sum, share, past = add_weight(weight_sum, c, given > 0.0, kept)
        deviation = x - mean
        variance = moved_variance(variance, share, past, deviation)
        mean = moved_mean(mean, share, deviation)
        data[entries] = x * inverse_deviation(variance, least_variance(mean, kept))
        if given > 0.0:
            recorded = np.full_like(mean, weight_sum)
            moments.values[:3, features] = mean, variance, recorded
            if forgets:
                n_rows += 1.0
                moments.values[3, features] = n_rows
    moments.weight_sum[0] = weight_sum
    if forgets:
        moments.weight_sum[1] = n_rows
    return CSRRows(data, rows.indices, rows.indptr)

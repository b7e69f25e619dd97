"""Nearest rows of a stream, a row at a time."""

import numpy as np

from ...blocks import SIDE_BY_SIDE, in_lanes, stored_rows


def learn_neighbors(recent, rows, targets, weights, query):
    n, n_columns = len(targets), query.n_classes or targets.shape[1]
    predictions = np.zeros((query.n_neighbors.size, n, n_columns))
    clipped = np.clip(rows.X, -query.largest, query.largest).astype(np.float32)
    features = in_lanes(clipped)
    most = max(query.n_neighbors.max(), query.n_candidates)
    for r, x in enumerate(stored_rows(recent.signs, clipped)):
        nearest = _nearest(recent, x, features[r], most)
        if nearest.size:
            for k, n_neighbors in enumerate(query.n_neighbors):
                slots = nearest[:n_neighbors]
                found = recent.targets[slots], recent.weights[slots]
                predictions[k, r] = _prediction(*found, query)
        if weights.given[r] > 0.0:
            slot = recent.n_rows[0] % recent.window
            block, place = divmod(slot, SIDE_BY_SIDE)
            recent.rows[block, :, place] = x
            if recent.signs.size:
                recent.features[slot] = features[r]
            recent.targets[slot], recent.weights[slot] = targets[r], weights.to_mean[r]
            recent.n_rows[0] += 1
    return predictions


def _nearest(recent, x, features, most):
    """Return the slots of the nearest rows, in order."""
    count = int(recent.n_rows[0])
    latest_first = np.arange(count - 1, max(count - recent.window, 0) - 1, -1)
    slots = latest_first % recent.window
    n_blocks = -(-slots.size // SIDE_BY_SIDE)
    deviations = recent.rows[:n_blocks] - x[:, np.newaxis]
    deviations *= deviations
    # Features are added up one by one: they are not the last axis.
    distances = np.add.reduce(deviations, axis=1).ravel()
    nearest = np.argsort(distances[slots], kind="stable")[:most]
    if not recent.signs.size:
        return slots[nearest]
    slots = slots[np.sort(nearest)]
    deviations = recent.features[slots] - features
    deviations *= deviations
    lanes = np.add.reduce(deviations, axis=1).T
    return slots[np.argsort(np.add.reduce(lanes), kind="stable")]


def _prediction(targets, weights, query):
    if query.n_classes:
        return np.bincount(targets[:, 0].astype(np.intp), weights, query.n_classes)
    if np.isnan(query.quantiles[0]):
        weights = weights[:, np.newaxis]
        return np.add.reduce(weights * targets) / np.add.reduce(weights)
    pairs = zip(targets.T, query.quantiles, strict=True)
    return [_quantile(y, weights, quantile) for y, quantile in pairs]


def _quantile(y, weights, quantile):
    """Return the middle of the values with the least pinball loss."""
    order = np.argsort(y, kind="stable")
    total = quantile * np.cumsum(weights)[-1]
    masses = np.cumsum(weights[order])
    last = len(y) - 1
    first = min(np.searchsorted(masses, total), last)
    second = min(first + (masses[first] == total), last)
    return 0.5 * (y[order[first]] + y[order[second]])

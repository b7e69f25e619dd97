"""The loop over rows in NumPy: a row at a time, all coordinates and outputs at once."""

import numpy as np

from ..learners.averaging import (
    SMALLEST_AVERAGED_FACTOR,
    SMALLEST_FACTOR,
    record_sum,
    sum_before,
)

__all__ = ["learn"]


def learn(model, X, y, sample_weight, predictions, averaged):
    """Learn from the rows of one block in order.

    Parameters
    ----------
    model : LinearModel
        Changed in place.
    X : ndarray of shape (n, d), or SparseRows
        C-contiguous float64.
    y : ndarray of shape (n, K), or (n,) for a joint loss
        Targets, or indices of classes.
    sample_weight : ndarray of shape (n,)
    predictions : ndarray of shape (n, K)
        Filled with the predictions that the learner is charged for.
    averaged : ndarray of shape (n, K), or None
        Filled with those of the averaged weights before each row.
    """
    # Exponentials that leave the range give 0 or infinity, which is what is meant.
    with np.errstate(all="ignore"):
        rows = _dense_rows if isinstance(X, np.ndarray) else _sparse_rows
        rows(model, X, y, sample_weight, predictions, averaged)


def _dense_rows(model, X, y, sample_weight, predictions, averaged):
    x = np.ones(model.n_coordinates)
    features = x[: model.n_features]
    s = model.state()
    folds = hasattr(model.learner, "fold")
    any_unseen = model.learner.keeps_first and not model.first.all()
    first = model.first if any_unseen else None
    for r in range(X.shape[0]):
        c = sample_weight[r]
        if model.center:
            # A row of weight 0 is centred as if it counted, and not recorded.
            share = (c or 1.0) / (model.weight_sum + (c or 1.0))
            deviation = X[r] - model.mean
            np.multiply(deviation, 1.0 - share, out=features)
            if c > 0:
                model.weight_sum += c
                deviation *= share
                model.mean += deviation
        else:
            features[:] = X[r]
        averaged_r = None if averaged is None else averaged[r]
        predictions[r] = _learn_row(
            model, s, model.fields, first, x, y[r], c, averaged_r
        )
        if folds:
            _fold(model)


def _sparse_rows(model, X, y, sample_weight, predictions, averaged):
    intercept = np.arange(model.n_features, model.n_coordinates)
    ones = np.ones(intercept.size)
    folds = hasattr(model.learner, "fold")
    for r in range(X.indptr.size - 1):
        nonzero = slice(X.indptr[r], X.indptr[r + 1])
        i = np.concatenate([X.indices[nonzero], intercept])
        x = np.concatenate([X.data[nonzero], ones])
        fields = model.fields[:, :, i]
        first = model.first[i] if model.learner.keeps_first else None
        c = sample_weight[r]
        averaged_r = None if averaged is None else averaged[r]
        predictions[r] = _learn_row(
            model, model.state(fields), fields, first, x, y[r], c, averaged_r
        )
        if c > 0:
            model.fields[:, :, i] = fields
            if first is not None:
                model.first[i] = first
            if folds:
                _fold(model)


def _learn_row(model, s, fields, first, x, y, c, averaged):
    """Predict one row, then learn from it; its state is `s`, all arrays of `fields`."""
    learner, loss, h = model.learner, model.loss, model.shared_state()
    t = model.t + 1
    implicit = hasattr(learner, "implicit_step")
    scale = 1.0 if implicit else model.lipschitz * (c or 1.0)
    scaled_x = x if scale == 1.0 else scale * x
    w = learner.weight(s, ..., scaled_x, t)
    # Not a product of BLAS: its threads cost more than they bring in so small a task.
    p = dot = np.add.reduce(w * x, axis=1)
    if h is not None:
        q = np.add.reduce(scaled_x * scaled_x)
        p = learner.factor(h, ..., q, t) * dot
    n_averaged = t - 1 - model.averaging_starts
    if averaged is not None:
        total, last = fields[-2:]
        at_rest, clock = learner.weight(s, ..., 0.0, t), model.clock[:, np.newaxis]
        w_sum = sum_before(total, last, ..., at_rest, clock)
        averaged[:] = (w_sum * x).sum(axis=1) / n_averaged if n_averaged > 0 else p
        if c > 0:
            record_sum(total, last, ..., w_sum, clock)
    if c > 0:
        if implicit:
            g = [
                learner.implicit_step(h, k, loss, y[k], c, dot[k], q, t)
                for k in range(model.n_outputs)
            ]
        else:
            g = loss.gradient(y, p)
            if model.lipschitz != 1.0:
                g = g / model.lipschitz
            if h is not None:
                g = [
                    learner.step(h, k, g[k], scale * dot[k], q, t)
                    for k in range(model.n_outputs)
                ]
        g = np.reshape(g, (-1, 1))
        learner.update(s, ..., scaled_x, g, w, t)
        if first is not None:
            np.copyto(first, np.abs(scaled_x), where=first == 0)
        model.t = t
        if averaged is not None and n_averaged >= 0:
            model.clock += 1.0 if h is None else learner.factor(h, ..., 0.0, t + 1)
    return p


def _fold(model):
    """Take factors that have become small into the state of all coordinates."""
    learner, h = model.learner, model.shared_state()
    s = model.state()
    smallest = SMALLEST_AVERAGED_FACTOR if model.average else SMALLEST_FACTOR
    for k in range(model.n_outputs):
        scale = learner.take_scale(h, k, smallest)
        if scale == 1.0:
            continue
        if model.average:
            total, last = model.fields[-2:]
            at_rest = learner.weight(s, k, 0.0, model.t)
            w_sum = sum_before(total, last, k, at_rest, model.clock[k])
            record_sum(total, last, k, w_sum, 0.0)
            model.clock[k] = 0.0
        learner.fold(s, k, scale)

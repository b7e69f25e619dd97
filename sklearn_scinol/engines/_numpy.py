"""The loop over rows in NumPy: a row at a time, all coordinates and outputs at once."""

import numpy as np

from ..learners import hedge, moments
from ..learners.averaging import record_sum, sum_before, tick

__all__ = ["learn", "learn_combination", "learn_rounds"]


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
        loop = _Loop(model)
        rows = loop.learn_dense if isinstance(X, np.ndarray) else loop.learn_sparse
        rows(X, y, sample_weight, predictions, averaged)


class _Loop:
    """The loop over rows; what holds for all of them is asked of the model once."""

    def __init__(self, model):
        self.model = model
        self.shared = model.shared_state()
        self.implicit = hasattr(model.learner, "implicit_step")
        self.has_square = hasattr(model.learner, "square")
        self.row_scale = model.row_scale
        self.lipschitz = model.lipschitz
        self.divides_by_deviation = model.divides_by_deviation
        self.averaging_starts = model.averaging_starts
        self.keeps_moments = model.keeps_moments

    def learn_dense(self, X, y, sample_weight, predictions, averaged):
        model = self.model
        x = np.ones(model.n_coordinates)
        features = x[: model.n_features]
        s = model.state()
        any_unseen = model.learner.keeps_first and not model.first.all()
        first = model.first if any_unseen else None
        for r in range(X.shape[0]):
            c = sample_weight[r]
            share, past = self._enter(c)
            features[:] = X[r]
            if model.center or model.scale:
                mean = model.moments[0]
                deviation = features - mean
                if model.center:
                    np.multiply(deviation, past, out=features)
                if model.scale:
                    variance = moments.moved_variance(
                        model.moments[1], share, past, deviation
                    )
                    features *= moments.inverse_deviation(variance)
                    if c > 0:
                        model.moments[1] = variance
                if c > 0:
                    mean[:] = moments.moved_mean(mean, share, deviation)
            averaged_r = None if averaged is None else averaged[r]
            predictions[r] = self._learn_row(
                s, model.fields, first, x, y[r], c, (share, past), averaged_r
            )
            if c > 0:
                self._end_trial()

    def learn_sparse(self, X, y, sample_weight, predictions, averaged):
        model = self.model
        intercept = np.arange(model.n_features, model.n_coordinates)
        ones = np.ones(intercept.size)
        for r in range(X.indptr.size - 1):
            nonzero = slice(X.indptr[r], X.indptr[r + 1])
            features, x = X.indices[nonzero], X.data[nonzero]
            c = sample_weight[r]
            waiting_until = model.weight_sum
            share, past = self._enter(c)
            if model.scale:
                mean, variance, recorded = model.moments[:, features]
                shares = moments.shares_of_waiting(waiting_until, recorded)
                variance = moments.moved_variance(variance, *shares, -mean)
                mean = moments.moved_mean(mean, shares[0], -mean)
                deviation = x - mean
                variance = moments.moved_variance(variance, share, past, deviation)
                x = x * moments.inverse_deviation(variance)
                if c > 0:
                    mean = moments.moved_mean(mean, share, deviation)
                    recorded = np.full_like(mean, model.weight_sum)
                    model.moments[:, features] = mean, variance, recorded
            i = np.concatenate([features, intercept])
            x = np.concatenate([x, ones])
            fields = model.fields[:, :, i]
            first = model.first[i] if model.learner.keeps_first else None
            averaged_r = None if averaged is None else averaged[r]
            s = model.state(fields)
            predictions[r] = self._learn_row(
                s, fields, first, x, y[r], c, (share, past), averaged_r
            )
            if c > 0:
                model.fields[:, :, i] = fields
                if first is not None:
                    model.first[i] = first
                self._end_trial()

    def _enter(self, c):
        """Count a row's weight, if there are moments; shares of it and of the past.

        A row of weight 0 is treated as if it were one of weight 1, and not recorded.
        """
        if not self.keeps_moments:
            return 0.0, 1.0
        before = self.model.weight_sum
        total = before + (c or 1.0)
        if c > 0:
            self.model.weight_sum = total
        return (c or 1.0) / total, before / total

    def _learn_row(self, s, fields, first, x, y, c, shares, averaged):
        """Predict a row, then learn from it; `s` names arrays of `fields`."""
        model, h = self.model, self.shared
        learner, loss = model.learner, model.loss
        t = model.t + 1
        scale = 1.0 if self.implicit else self.row_scale * (c or 1.0)
        scaled_x = x if scale == 1.0 else scale * x
        w = learner.weight(s, ..., scaled_x, t)
        # Not a product of BLAS: for small tasks its threads cost more than they bring.
        p = dot = np.add.reduce(w * x, axis=1)
        if h is not None:
            if self.has_square:
                q = np.add.reduce(learner.square(s, 0, scaled_x))
            else:
                q = np.add.reduce(scaled_x * scaled_x)
            p = learner.factor(h, ..., q, t) * dot
        offset, unit = 0.0, 1.0
        if model.standardize_target:
            offset, unit = model.target_moments[0], np.sqrt(model.target_moments[1])
            p = offset + unit * p
        if averaged is not None:
            n_averaged = t - 1 - self.averaging_starts
            total, last = fields[-2:]
            at_rest = learner.weight(s, ..., 0.0, t)
            clock = model.clock[0, :, np.newaxis]
            w_sum = sum_before(total, last, ..., at_rest, clock)
            averaged[:] = p
            if n_averaged > 0:
                averaged[:] = offset + unit * ((w_sum * x).sum(axis=1) / n_averaged)
            if c > 0:
                record_sum(total, last, ..., w_sum, clock)
        if c > 0:
            if self.implicit:
                g = None
                w = [
                    learner.implicit_step(h, k, loss, y[k], c, dot[k], q, t)
                    for k in range(model.n_outputs)
                ]
            else:
                g = loss.gradient(y, p)
                if self.lipschitz != 1.0:
                    g = g / self.lipschitz
                if model.standardize_target and t == 1:
                    g = np.zeros(model.n_outputs)  # there is no deviation yet
                elif self.divides_by_deviation:
                    g = g * moments.inverse_deviation(model.target_moments[1])
                if h is not None:
                    w = _steps(learner, h, g, scale * dot, q, t)
                g = np.reshape(g, (-1, 1))
            if h is not None:
                w = np.reshape(w, (-1, 1))
            learner.update(s, ..., scaled_x, g, w, t)
            if first is not None:
                np.copyto(first, np.abs(scaled_x), where=first == 0)
            if model.standardize_target:
                mean, variance = model.target_moments
                deviation = y - mean
                mean[:] = moments.moved_mean(mean, shares[0], deviation)
                variance[:] = moments.moved_variance(variance, *shares, deviation)
            model.t = t
        return p

    def _end_trial(self):
        """Let the clocks tick; keep them and factors in range, by passes over all."""
        model, h = self.model, self.shared
        averages = model.average and model.t > self.averaging_starts
        if h is None:
            if averages:
                model.clock += 1.0
            return
        learner, s = model.learner, model.state()
        for k in range(model.n_outputs):
            restarts = False
            if averages:
                restarts = tick(model.clock, k, learner.factor(h, k, 0.0, model.t + 1))
            scale = learner.take_scale(h, k)
            if restarts or scale != 1.0:
                if model.average:
                    total, last = model.fields[-2:]
                    at_rest = learner.weight(s, k, 0.0, model.t)
                    w_sum = sum_before(total, last, k, at_rest, model.clock[0, k])
                    record_sum(total, last, k, w_sum, 0.0)
                    model.clock[:, k] = 0.0
                learner.fold(s, k, scale)


def _steps(learner, h, g, dots, q, t):
    return np.array([learner.step(h, k, g[k], dots[k], q, t) for k in range(g.size)])


def learn_combination(
    model, gram, f, moments, y, sample_weight, is_new, room, predictions, averaged
):
    """Learn from rows whose weights are combinations of those rows and of others.

    Parameters
    ----------
    model : KernelModel
        Changed in place, except for the coefficients of the rows.
    gram : ndarray of shape (n, n)
        Inner products of the rows.
    f, moments : ndarray of shape (K, n)
        Products of the rows with the combinations of coefficients ``model.coef`` and
        ``model.moment`` before the first row; changed. `moments` is read with averaging
        only.
    y, sample_weight, predictions, averaged
        See :func:`learn`.
    is_new : ndarray of bool of shape (n,)
        Whether a row takes room when its coefficient changes.
    room : int
        For how many rows there is room. Learning stops when all is taken.

    Returns
    -------
    n_learned : int
    increments, moment_increments : ndarray of shape (n, K)
        Changes of the rows' coefficients. The latter without columns unless averaging.
    """
    learner, loss, h = model.learner, model.loss, model.shared_state()
    clock, starts, lipschitz = model.clock, model.averaging_starts, model.lipschitz
    increments = np.zeros((len(y), model.n_outputs))
    moment_increments = np.zeros((len(y), model.moment.rows.shape[1]))
    r = 0
    with np.errstate(all="ignore"):
        while r < len(y) and room > 0:
            t, c, dot = model.t + 1, sample_weight[r], f[:, r]
            scale = lipschitz * (c or 1.0)
            q = scale * scale * max(gram[r, r], 0.0)
            predictions[r] = p = learner.factor(h, ..., q, t) * dot
            if averaged is not None:
                n = t - 1 - starts
                averaged[r] = (moments[:, r] + clock[0] * dot) / n if n > 0 else p
            if c > 0:
                g = loss.gradient(y[r], p) / lipschitz
                increments[r] = -scale * _steps(learner, h, g, scale * dot, q, t)
                f[:, r:] += increments[r, :, np.newaxis] * gram[r, r:]
                model.t = t
                room -= is_new[r] and increments[r].any()
            if c > 0 and averaged is not None:
                moment_increments[r] = -clock[0] * increments[r]
                moments[:, r:] += moment_increments[r, :, np.newaxis] * gram[r, r:]
                for k in range(model.n_outputs if t > starts else 0):
                    if tick(clock, k, learner.factor(h, k, 0.0, t + 1)):
                        moments[k] += clock[0, k] * f[k]
                        moment_increments[:, k] += clock[0, k] * increments[:, k]
                        model.moment.rows[:, k] += clock[0, k] * model.coef.rows[:, k]
                        clock[:, k] = 0.0
            r += 1
    return r, increments, moment_increments


def learn_rounds(losses, smallest, log_K, L, w, totals, Delta, mixture_loss, weights):
    """Learn from rounds of experts' losses in order, with AdaHedge.

    Parameters
    ----------
    losses : ndarray of shape (n, K)
        C-contiguous float64.
    smallest : ndarray of shape (n,)
        The smallest loss of each round.
    log_K : float
        ln K.
    L, w, totals : ndarrays of shape (K,)
        Cumulative losses less the smallest of them, weights, and cumulative losses as
        they are. Changed in place.
    Delta, mixture_loss : float
        Sum of the mixability gaps, and of the losses of the mixture.
    weights : ndarray of shape (n, K)
        Filled with the weights before each round.

    Returns
    -------
    Delta, mixture_loss : float
        The same after the rounds.
    """
    with np.errstate(all="ignore"):
        unit = hedge.unit(Delta, log_K)
        for r in range(losses.shape[0]):
            weights[r] = w
            totals += losses[r]
            excess = losses[r] - smallest[r]
            h = np.add.reduce(w * excess)
            mixture_loss += smallest[r] + h
            L += excess
            rise = np.minimum.reduce(L)
            L -= rise
            if hedge.is_mild(h, unit):
                spreads = np.add.reduce(hedge.spread(w, excess, h, unit))
                Delta += hedge.gap_from_spreads(spreads, unit)
            else:
                shares = np.add.reduce(hedge.share(L, unit))
                largest = np.maximum.reduce(w)
                Delta += hedge.gap_from_shares(h, rise, largest, shares, unit)
            unit = hedge.unit(Delta, log_K)
            w[:] = hedge.share(L, unit)
            w /= np.add.reduce(w)
    return Delta, mixture_loss

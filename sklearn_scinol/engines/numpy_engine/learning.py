"""The loop over rows, dense and sparse."""

import numpy as np

from ..._portable import ROUNDING_SHARE
from ...blocks import DenseRows
from ...learners.bases.averaging import must_restart, record_sum, sum_before, tick
from ...learners.interface import traits
from ...losses import methods
from ...transforms.moments import standardised
from .losses import compute_losses, norm
from .transforms import transform_rows


def learn_rows(task, state, block, out):
    # Exponentials out of range give 0 or infinity, as intended.
    dense = isinstance(block.rows, DenseRows)
    if dense and block.largest < np.inf:
        largest = block.largest / block.weights.largest(task.sees_means)
        if not norm(block.rows.X) <= largest:  # also for NaN
            return False
    with np.errstate(all="ignore"):
        if block.moments is not None:
            rows = transform_rows(block.moments, block.rows, block.weights)
            if block.standard is not None:
                rows = DenseRows(standardised(block.rows.X, *block.standard))
            block = block._replace(rows=rows)
        loop = (_Dense if dense else _Sparse)(task, state)
        loop.learn(block, out)
    out.losses[:] = compute_losses(task.loss, block, out.predictions, state.numbers)
    state.numbers[0] = loop.t
    state.weight_scale[:] = block.weights.after
    return True


class _Loop:
    """Loop over rows, which subclasses load and store."""

    def __init__(self, task, state):
        self.task, self.state, self.t = task, state, float(state.numbers[0])
        self.traits = traits(type(task.learner))
        self.averages = len(state.fields) > len(task.learner.State._fields)
        outputs, loss = range(state.clock.shape[1]), task.loss
        by_output = methods.is_by_output(loss)
        self.losses = [methods.of_output(loss, k, by_output) for k in outputs]
        self.shared = None
        if self.traits.by_row:
            self.shared = task.learner.Shared(*state.shared)

    def named(self, fields):
        """The learner's state in some fields, by its names."""
        if self.traits.by_vector:
            return self.task.learner.State(*self.state.arrays)
        names = self.task.learner.State._fields
        return self.task.learner.State(*fields[: len(names)])

    def learn(self, block, out):
        scale = block.target_scale
        trials_end = self.averages or self.shared is not None
        loss = self.task.loss
        if has_kinks := methods.has_kinks(loss):
            sizes, targets = np.abs(block.targets), block.targets.tolist()
            if scale is not None:
                sizes = sizes + np.abs(scale.offset) + scale.deviation
            margins = (ROUNDING_SHARE * sizes).tolist()
        given, relative, to_mean, _ = block.weights
        weights = to_mean if self.task.sees_means else relative
        for r, (learns, c) in enumerate(zip(given > 0.0, weights, strict=True)):
            x, s, fields, first = self.load(block, r)
            scaled_x = self.scaled(x, c)
            predictions, dots, q, w = self.score(s, x, scaled_x, c)
            if scale is not None:
                predictions = scale.offset[r] + scale.deviation[r] * predictions
            out.predictions[r] = predictions
            if out.averaged is not None:
                averaged = self.average(s, fields, x, learns)
                if averaged is None:
                    averaged = predictions
                elif scale is not None:
                    averaged = scale.offset[r] + scale.deviation[r] * averaged
                out.averaged[r] = averaged
            if learns:
                y = block.targets[r]
                of_target = None if scale is None else tuple(a[r] for a in scale)
                if self.learns_vectors_implicitly:
                    self.learn_vector(s, c, y, of_target, dots)
                else:
                    for k, p in enumerate(predictions.tolist() if has_kinks else ()):
                        # As `methods.meets`, without the calls.
                        if abs(p - loss.minimiser(targets[r][k], p)) < margins[r][k]:
                            predictions[k] = y[k]
                    charged = y, predictions, of_target
                    self.update(s, scaled_x, c, charged, (dots, q, w))
                self.t += 1.0
                if first is not None:
                    np.copyto(first, np.abs(scaled_x), where=first == 0.0)
                self.store(fields, first)
                if trials_end:
                    self.end_trial()
        if self.learns_vectors_implicitly:
            self.task.learner.settle(self.named(self.state.fields))

    @property
    def learns_vectors_implicitly(self):
        return self.traits.by_vector and self.traits.implicit

    def row_scale(self, c):
        """The factor of rows, for the learner."""
        return 1.0 if self.traits.implicit else self.task.row_scale * c

    def scaled(self, x, c):
        """Scale a row for the learner, unless it takes the scale with derivatives."""
        scale = self.row_scale(c)
        return x if scale == 1.0 or self.traits.by_vector else scale * x

    def score(self, s, x, scaled_x, c):
        """Predictions, sums of weight times value before the factor, `q`, weights."""
        learner, t = self.task.learner, self.t + 1.0
        if self.traits.by_vector:
            outputs = range(self.state.clock.shape[1])
            dots = p = np.array([learner.score(s, k, x, t) for k in outputs])
            if self.traits.implicit:
                p = np.array([learner.charged(s, k, dots[k], c) for k in outputs])
            return p, dots, 0.0, None
        w = learner.weight(s, ..., scaled_x, t)
        # Not a product of BLAS: for small tasks its threads cost more than they bring.
        dots = np.add.reduce(w * x, axis=1)
        if self.shared is None:
            return dots, dots, 0.0, w
        q = np.add.reduce(learner.square(s, 0, scaled_x))
        return learner.factor(self.shared, ..., q, t) * dots, dots, q, w

    def average(self, s, fields, x, learns):
        """Predict by averaged weights, if any; bring sums up to date."""
        n_averaged = self.t - self.task.averaging_starts
        total, last = fields[-2:]
        clock = self.state.clock[0, :, np.newaxis]
        at_rest = self.task.learner.weight(s, ..., 0.0, self.t + 1.0)
        w_sum = sum_before(total, last, ..., at_rest, clock)
        if learns:
            record_sum(total, last, ..., w_sum, clock)
        return (w_sum * x).sum(axis=1) / n_averaged if n_averaged > 0.0 else None

    def learn_vector(self, s, c, y, of_target, dots):
        """Learn from the loss of a row that the learner sees as a vector."""
        learner, loss = self.task.learner, self.task.loss
        if loss.joint:
            learner.learn_jointly(s, loss, y, c, dots)
            return
        for k, dot in enumerate(dots):
            scale = self.scale_of_output(k, of_target)
            learner.learn_implicitly(s, k, self.losses[k], y[k], c, scale, dot)

    def update(self, s, scaled_x, c, charged, scored):
        """Learn from a row, of which (y, predictions, target) and what `score` gave."""
        task, learner, t = self.task, self.task.learner, self.t + 1.0
        (y, predictions, of_target), (dots, q, w) = charged, scored
        g = None
        if self.traits.implicit:
            w = []
            for k, dot in enumerate(dots):
                row = y[k], c, self.scale_of_output(k, of_target), dot, q, t
                rest = self.shared, k, self.losses[k], *row
                w.append(learner.implicit_row_step(*rest))
        else:
            g = derivatives(task.loss, y, predictions)
            if task.lipschitz != 1.0:
                g = g / task.lipschitz
            if of_target is not None:
                g = g * of_target[2]
            if self.shared is not None:
                w = row_steps(learner, self.shared, g, self.row_scale(c) * dots, q, t)
        if self.traits.by_vector:
            for k in range(len(g)):
                learner.learn(s, k, scaled_x, g[k] * self.row_scale(c), t)
            return
        if self.shared is not None:
            w = np.reshape(w, (-1, 1))
        g = None if g is None else np.reshape(g, (-1, 1))
        learner.update(s, ..., scaled_x, g, w, t)
        if self.traits.widens and learner.widens(scaled_x.size, t):
            r = np.add.reduce(learner.share(s, 0, scaled_x))
            learner.widen(s, ..., scaled_x, r)

    def scale_of_output(self, k, of_target):
        """Offset, spread and slope of a target, see the interface of learners."""
        if of_target is None:
            return 0.0, 1.0, 1.0
        offset, spread, slope = (numbers[k] for numbers in of_target)
        return offset, spread, slope / self.task.lipschitz

    def end_trial(self):
        """Advance the clocks; keep clocks and factors in range."""
        starts, clock = self.task.averaging_starts, self.state.clock
        ticks = self.averages and self.t > starts
        if self.shared is None:
            if ticks:
                clock += 1.0
            return
        learner = self.task.learner
        for k in range(clock.shape[1]):
            restarts, scale = False, 1.0
            if self.traits.folds:
                scale = learner.take_scale(self.shared, k)
            if ticks:
                at_rest = learner.factor(self.shared, k, 0.0, self.t + 1.0)
                restarts = must_restart(clock, k, at_rest)
            if restarts or scale != 1.0:
                self.fold(k, scale)
            if ticks:
                tick(clock, k, at_rest)

    def fold(self, k, scale):
        """Bring sums up to date before their clock restarts; fold a factor."""
        learner, fields, clock = self.task.learner, self.state.fields, self.state.clock
        s = self.named(fields)
        if self.averages:
            total, last = fields[-2:]
            at_rest = learner.weight(s, k, 0.0, self.t)
            w_sum = sum_before(total, last, k, at_rest, clock[0, k])
            record_sum(total, last, k, w_sum, 0.0)
            clock[:, k] = 0.0
        if scale != 1.0:
            learner.fold(s, k, scale)


class _Dense(_Loop):
    """Loop over dense rows, which have all coordinates."""

    def __init__(self, task, state):
        super().__init__(task, state)
        self.x = np.ones(state.first.size)
        self.s = self.named(state.fields)
        any_unseen = self.traits.keeps_first and not state.first.all()
        self.first = state.first if any_unseen else None

    def load(self, block, r):
        X = block.rows.X
        self.x[: X.shape[1]] = X[r]
        return self.x, self.s, self.state.fields, self.first

    def store(self, fields, first):
        pass


class _Sparse(_Loop):
    """Loop over sparse rows: gather their coordinates, learn, write them back."""

    def __init__(self, task, state):
        super().__init__(task, state)
        n_coordinates = state.first.size
        self.intercept = np.arange(n_coordinates - task.fit_intercept, n_coordinates)
        self.ones = np.ones(self.intercept.size)

    def load(self, block, r):
        rows = block.rows
        entries = slice(rows.indptr[r], rows.indptr[r + 1])
        self.i = np.concatenate([rows.indices[entries], self.intercept])
        x = np.concatenate([rows.data[entries], self.ones])
        first = self.state.first[self.i] if self.traits.keeps_first else None
        fields = self.state.fields[:, :, self.i]
        return x, self.named(fields), fields, first

    def store(self, fields, first):
        self.state.fields[:, :, self.i] = fields
        if first is not None:
            self.state.first[self.i] = first


def derivatives(loss, y, p):
    """Return derivatives of the loss at a row, one an output."""
    if not loss.joint:
        return loss.gradient(y, p)
    g = np.empty_like(p)
    loss.row_gradient(y, p, g)
    return g


def row_steps(learner, shared, g, dots, q, t):
    """Return what a learner with shared numbers uses instead of derivatives."""
    return np.array(
        [learner.row_step(shared, k, g[k], dots[k], q, t) for k in range(g.size)]
    )

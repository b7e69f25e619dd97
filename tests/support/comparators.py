"""Fixed models, in hindsight, that a learner's regret is measured against."""

import numpy as np
from scipy.optimize import approx_fprime, minimize


class Comparators:
    """The losses of fixed models on a stream and the bounds on the regret to them.

    A model is the flat array of its weights, outputs by columns of `Z`, each times the
    largest value of its column. The last column is that of the intercept.
    """

    def __init__(self, case, estimator, Z, y, sample_weight):
        self.estimator = estimator
        self.radius = estimator.get_params().get("radius")
        self.loss = case.reference_loss()
        self.targets = case.reference_targets(y)
        self.sample_weight = sample_weight
        largest = np.abs(Z).max(axis=0)
        self.units = np.where(largest > 0, largest, 1.0)
        self.Z = Z / self.units
        self.shape = (case.n_outputs, Z.shape[1])

    def total_loss(self, model):
        """Value and gradient."""
        P = (self.Z @ model.reshape(self.shape).T).tolist()
        rows = list(zip(self.targets, P, strict=True))
        values = np.array([self.loss.value(y, p) for y, p in rows])
        gradients = np.array([self.loss.gradient(y, p) for y, p in rows])
        weighted = self.sample_weight[:, np.newaxis] * gradients
        return self.sample_weight @ values, (weighted.T @ self.Z).ravel()

    def bound(self, model):
        u = model.reshape(self.shape) / self.units
        return self.estimator.regret_bound(u[:, :-1], u[:, -1])

    def in_ball(self, model):
        """The model, with each output shortened to what the bound is meant for."""
        if self.radius is None:
            return model
        u = model.reshape(self.shape) / self.units
        norms = np.linalg.norm(u, axis=1, keepdims=True)
        shrink = np.minimum(1.0, self.radius / np.maximum(norms, 1e-300))
        return (u * shrink * self.units).ravel()

    def loss_and_bound(self, model):
        """Value and gradient of the sum."""
        value, gradient = self.total_loss(model)
        if not np.isfinite(self.bound(model)):
            return value, gradient
        bound_gradient = np.nan_to_num(approx_fprime(model, self.bound), posinf=0.0)
        return value + self.bound(model), gradient + bound_gradient

    def check(self, model):
        model = self.in_ball(model)
        loss, bound = self.total_loss(model)[0], self.bound(model)
        of_learner = self.estimator.cumulative_loss_
        rounding = 1e-9 * (loss + abs(bound) + of_learner)
        assert of_learner - loss <= bound + rounding

    def check_hardest(self):
        rng = np.random.default_rng(0)
        size = self.shape[0] * self.shape[1]
        self.check(np.zeros(size))
        for scale in 1e-3, 1.0, 1e3:
            self.check(scale * rng.standard_normal(size))
        best = self.in_ball(self.minimum(self.total_loss, np.zeros(size), maxiter=20))
        self.check(best)
        self.check(self.minimum(self.loss_and_bound, best, maxiter=5))

    @staticmethod
    def minimum(function, start, maxiter):
        options = {"maxiter": maxiter}
        return minimize(function, start, jac=True, options=options).x


class CombinedRows(Comparators):
    """Models in the space of a kernel, combinations of some rows.

    In a budget these are the stored rows, and the intercept the sum of coefficients: no
    more is in their span.
    """

    def __init__(self, case, estimator, X, y, sample_weight, in_span):
        self.in_span = in_span
        self.vectors = estimator.support_vectors_ if in_span else X[:5]
        Z = estimator._model.kernel(X, self.vectors)
        if estimator.fit_intercept:
            Z = Z + 1.0 if in_span else np.column_stack([Z, np.ones(len(X))])
        super().__init__(case, estimator, Z, y, sample_weight)

    def bound(self, model):
        u = model.reshape(self.shape) / self.units
        coef = u[:, : len(self.vectors)]
        if self.in_span:
            intercept = coef.sum(axis=1) * self.estimator.fit_intercept
            return self.estimator.regret_bound(coef, intercept)
        intercept = u[:, len(self.vectors) :].sum(axis=1)
        return self.estimator.regret_bound(coef, intercept, vectors=self.vectors)

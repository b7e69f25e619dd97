"""`regret_bound(pool=...)`: no stream makes the regret against a fixed pool larger."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from support.experts import scripts
from support.naive_pools import log_probabilities
from support.registry import seeds

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    OnlineNewtonClassifier,
    ScInOLClassifier,
    ScInOLRegressor,
    merge_models,
)

N_CLASSES = 2, 3, 5, 12, 40


def script(n_experts, n_classes, **keywords):
    """A mixture of experts whose probabilities are the features, and no others."""
    return HedgeClassifier(scripts(n_experts, n_classes), **keywords)


# Scores of experts: a generator, and the shape (n, n_experts, n_classes).
SCORES = {
    "random": lambda rng, shape: rng.normal(size=shape),
    "sure": lambda rng, shape: 10.0 * rng.normal(size=shape),
    "ties": lambda rng, shape: rng.normal(size=shape)[:, :1],
    "rounding": lambda rng, shape: 1e-14 * rng.normal(size=shape),
    "extreme": lambda rng, shape: -60.0 * rng.integers(2, size=shape),
    "growing": lambda rng, shape: (
        rng.normal(size=shape)
        * np.logspace(-12, 1, shape[0])[:, np.newaxis, np.newaxis]
    ),
    "scales": lambda rng, shape: (
        rng.normal(size=shape) * 10.0 ** rng.integers(-8, 2, size=(shape[0], 1, 1))
    ),
}

WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),
    "exponential": lambda rng, n: rng.exponential(size=n) + 1e-9,
    "records": lambda rng, n: 1.3 ** np.arange(n),
    "falling": lambda rng, n: 1.2 ** -np.arange(n),
    "spikes": lambda rng, n: 10.0 ** (5.0 * (rng.random(n) < 0.05) * rng.random(n)),
    "zeros": lambda rng, n: 1.0 * (rng.random(n) < 0.7),
}


def take_turns(rng, p, y):
    """Make predictions in which experts are right by turns, in runs of rows."""
    n, n_experts, n_classes = p.shape
    run = rng.choice([1, 3, 20])
    is_right = np.arange(n)[:, np.newaxis] // run % n_experts == np.arange(n_experts)
    likely = np.where(is_right, y[:, np.newaxis], (y[:, np.newaxis] + 1) % n_classes)
    p[:] = 0.02 / (n_classes - 1)
    np.put_along_axis(p, likely[..., np.newaxis], 0.98, axis=2)


class Attack:
    """A stream against a mixture, and what a fixed pool loses on it."""

    def __init__(self, seed, c=None):
        rng = np.random.default_rng(seed)
        n, n_experts = rng.choice([3, 30, 80]), rng.integers(1, 6)
        self.n_classes = int(rng.choice(N_CLASSES))
        z = SCORES[rng.choice([*SCORES])](rng, (n, n_experts, self.n_classes))
        p = np.exp(z - z.max(axis=2, keepdims=True)) * np.ones((1, n_experts, 1))
        p /= p.sum(axis=2, keepdims=True)
        self.y = rng.integers(self.n_classes, size=n)
        if rng.random() < 0.2:
            take_turns(rng, p, self.y)
        self.c = WEIGHTS[rng.choice([*WEIGHTS])](rng, n)
        if c is not None:
            self.c[:] = c
        # Before its first row no expert knows anything.
        p[0], self.c[0] = 1.0 / self.n_classes, 1.0
        self.X = p.reshape(n, -1)
        self.model = script(n_experts, self.n_classes)
        adversary = rng.choice(["none", "expert", "worst", "often worst"])
        if adversary == "expert":
            own = p[:, rng.integers(n_experts)]
            self.y = np.array([rng.choice(self.n_classes, p=each) for each in own])
        hostility = {"worst": 1.0, "often worst": 0.5}.get(adversary, 0.0)
        self.learn(self.model, slice(1))
        for r in range(1, n if hostility else 1):
            if rng.random() < hostility:
                self.y[r] = self.model.predict_proba(self.X[r : r + 1]).argmin()
            self.learn(self.model, slice(r, r + 1))
        if not hostility:
            self.learn(self.model, slice(1, n))
        mean = script(n_experts, self.n_classes, exclude=["pools"])
        parts = [self.learn(mean, rows) for rows in (slice(1), slice(1, n))]
        first = np.concatenate(parts)[:, np.newaxis]
        F = log_probabilities(np.concatenate([first, p], axis=1))
        if self.n_classes == 2:  # the log odds are limited, not both probabilities
            odds = F[..., 1:] - F[..., :1]
            F = np.concatenate([0.0 * odds, odds], axis=2)
        self.F = F

    def learn(self, model, rows):
        return model.partial_fit_predict(
            self.X[rows],
            self.y[rows],
            classes=range(self.n_classes),
            sample_weight=self.c[rows],
            method="predict_proba",
        )

    def loss(self, pool):
        """Return the loss of a fixed pool, and its gradient."""
        scores = np.einsum("nek,e->nk", self.F, pool)
        scores -= scores.max(axis=1, keepdims=True)
        odds, rows = np.exp(scores), np.arange(len(self.y))
        total = odds.sum(axis=1, keepdims=True)
        mean = np.einsum("nek,nk->ne", self.F, odds / total)
        losses = np.log(total[:, 0]) - scores[rows, self.y]
        return self.c @ losses, self.c @ (mean - self.F[rows, :, self.y])

    def room(self, pool):
        """Return by how much the regret is below its bound."""
        regret = self.model.cumulative_loss_ - self.loss(pool)[0]
        return self.model.regret_bound(pool=pool) - regret

    def least_room(self, rng):
        """Return the least room of some pools, and of pools around the worst."""
        n = self.F.shape[1]
        first = 1.0 * (np.arange(n) == 0)
        limits = [(-50.0, 50.0)] * n
        best = minimize(self.loss, first, jac=True, method="L-BFGS-B", bounds=limits).x
        pools = [first, 0.0 * first, best, first + 0.3 * (best - first)]
        pools += [10.0 ** rng.integers(-3, 3) * rng.normal(size=n) for _ in range(3)]
        worst = min(pools, key=self.room)
        options = {"maxfev": 50}
        return minimize(self.room, worst, method="Nelder-Mead", options=options).fun


@pytest.mark.cases(6)
@pytest.mark.parametrize("seed", range(250))
@pytest.mark.parametrize("engine", ["numba", "numpy"], indirect=True)
def test_no_stream_passes_the_bound(seed, engine):
    attack = Attack([seed, engine == "numpy"])
    room = attack.least_room(np.random.default_rng(seed))
    assert room >= -1e-9 * attack.c.sum() * (1.0 + np.abs(attack.F).max())


def learned(model, n=60):
    rng = np.random.default_rng(0)
    X, y = (
        rng.dirichlet(np.ones(3), size=(n, 2)).reshape(n, -1),
        rng.integers(3, size=n),
    )
    model.partial_fit(X[:1], y[:1], classes=range(3))
    return model.partial_fit(X[1:], y[1:])


@pytest.mark.cases(3)
@seeds
def test_bound_is_at_most_that_of_theorem(seed):
    """Theorem 3.2, and the price of six levels."""
    rng, attack = np.random.default_rng(seed), Attack(seed, c=1.0)
    (level,) = attack.model._model.levels
    S = np.sqrt(level.betting_pool.state().S2[0] + level.betting_pool.state().M[0] ** 2)
    for _ in range(20):
        u = 10.0 ** rng.integers(-3, 3) * rng.normal(size=attack.F.shape[1])
        total = np.log(30.0) + len(u)
        for u_e, S_e, of_expert in zip(abs(u), S, attack.F.swapaxes(0, 1), strict=True):
            ranges = np.ptp(of_expert, axis=1)
            if ranges.any():
                x = ranges[ranges > 0.0][0]
                total += 2.0 * u_e * S_e * (np.log(3.0 * u_e * S_e**3 / x**2) - 1.0)
        u[0] += 1.0
        assert attack.model.regret_bound(pool=u) <= total * (1.0 + 1e-9)


def test_bound_of_several_labels(engine):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(2, size=(50, 2))
    experts = [("a", ScInOLClassifier()), ("b", OnlineNewtonClassifier())]
    model = HedgeClassifier(experts).partial_fit(X, y, classes=[0, 1])
    pools = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 2.0]])
    single = [
        HedgeClassifier(experts).partial_fit(X, own, classes=[0, 1]) for own in y.T
    ]
    bounds = [m.regret_bound(pool=own) for m, own in zip(single, pools, strict=True)]
    assert_allclose(model.regret_bound(pool=pools), sum(bounds))


def test_bad_pools():
    model = learned(script(2, 3))
    with pytest.raises(ValueError, match=r"pool has shape \(2,\), expected \(3,\)"):
        model.regret_bound(pool=[1.0, 0.0])
    with pytest.raises(ValueError, match="pool contains NaN"):
        model.regret_bound(pool=[1.0, 0.0, np.nan])
    with pytest.raises(ValueError, match="is for n_switches=0"):
        model.regret_bound(1, pool=[1.0, 0.0, 0.0])
    with pytest.raises(AttributeError, match="no pools of experts"):
        learned(script(2, 3, exclude=["pools"])).regret_bound(pool=[1.0, 0.0, 0.0])
    X, y = np.random.default_rng(0).normal(size=(2, 20, 1))
    regressor = HedgeRegressor([("a", ScInOLRegressor())]).partial_fit(X, y[:, 0])
    with pytest.raises(ValueError, match="No bound is known against a pool in regr"):
        regressor.regret_bound(pool=[1.0, 0.0])


def test_without_bound():
    """Merged mixtures have no bound, nor those whose pool learned late labels."""
    parts = [learned(HedgeClassifier([("a", ScInOLClassifier())])) for _ in range(2)]
    with pytest.raises(AttributeError, match="merged from"):
        merge_models(parts).regret_bound(pool=[1.0, 0.0])
    model = script(2, 2)
    model.partial_fit(np.full((1, 4), 0.5), [0], classes=[0, 1])
    equal = np.tile([0.75, 0.25], (2, 2))
    # Experts agree, so that only rounding changes their weights; pools become surer.
    served = model._serve(equal)[1]
    model._partial_fit(equal[:1], np.array([0]), np.ones(1), served=served[:1])
    assert model.regret_bound(pool=[1.0, 0.0, 0.0]) >= 0.0
    model._partial_fit(equal[1:], np.array([0]), np.ones(1), served=served[1:])
    model._model.is_late[:] = 0.0
    assert model.regret_bound() >= 0.0
    with pytest.raises(AttributeError, match="labels that come before the next row"):
        model.regret_bound(pool=[1.0, 0.0, 0.0])

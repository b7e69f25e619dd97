"""Tests of invariances, for estimators that a function `make` returns."""

import numpy as np

from sklearn_scinol.models import transformed
from support.comparisons import assert_close, assert_identical, learned
from support.registry import REPRESENTATIVES

SCALE_INVARIANT = [case for case in REPRESENTATIVES if case.traits.scale_invariant]


def weights(n_samples, seed=1):
    return np.random.default_rng(seed).choice([0.0, 0.1, 1.0, 5.0], size=n_samples)


def assert_chunks_do_not_matter(case, make, container, split, monkeypatch):
    X, y = case.data()
    c = weights(len(y))
    whole = make()
    charged = case.charged(whole, container(X), y, sample_weight=c)

    ends = np.arange(1, len(y))
    if split == "random":
        ends = np.sort(np.random.default_rng(2).choice(ends, size=5, replace=False))
    elif split == "blocks":  # those into which one call is split inside
        monkeypatch.setattr(transformed, "BLOCK_ROWS", 7)
        ends = []
    parts = make()
    of_parts = [
        case.charged(parts, container(X[rows]), y[rows], sample_weight=c[rows])
        for rows in np.split(np.arange(len(y)), ends)
    ]
    assert_identical(np.concatenate(of_parts), charged)
    assert_identical(learned(parts), learned(whole))


def assert_powers_of_two_cancel(case, make, container):
    """Return the two estimators, and the units."""
    X, y = case.data()
    new, _ = case.data(seed=3)
    c = weights(len(y))
    exponents = np.random.default_rng(4).integers(-900, 901, size=X.shape[1])
    exponents[:2] = -900, 900
    units = 2.0**exponents

    plain, scaled = make(), make()
    assert_identical(
        case.charged(scaled, container(X * units), y, sample_weight=c),
        case.charged(plain, container(X), y, sample_weight=c),
    )
    assert_identical(
        case.decision(scaled, container(new * units)),
        case.decision(plain, container(new)),
    )
    if hasattr(plain, "coef_"):
        assert_identical(scaled.coef_ * units, plain.coef_)
        assert_identical(scaled.intercept_, plain.intercept_)
    assert scaled.cumulative_loss_ == plain.cumulative_loss_
    return plain, scaled, units


def assert_change_cancels(case, make, container, change, rows, **given):
    """Learn rows as they are and changed: what is charged and decided is the same.

    Return the two estimators. `rows` are those to learn, their targets, and new ones.
    """
    X, y, new = rows
    plain, changed = make(), make()
    assert_close(
        case.charged(changed, container(change(X)), y, **given),
        case.charged(plain, container(X), y, **given),
        1e-9,
    )
    assert_close(
        case.decision(changed, container(change(new))),
        case.decision(plain, container(new)),
        1e-9,
    )
    return plain, changed


def assert_rows_of_weight_zero_change_nothing(case, make, container):
    X, y = case.data()
    rng = np.random.default_rng(4)
    c = rng.exponential(size=len(y))
    counts = rng.random(len(y)) < 0.6
    counts[0] = False
    c[~counts] = 0.0
    X[~counts] *= 1e6

    all_rows, some_rows = make(), make()
    case.partial_fit(all_rows, container(X), y, sample_weight=c)
    case.partial_fit(
        some_rows, container(X[counts]), y[counts], sample_weight=c[counts]
    )
    assert_identical(learned(all_rows), learned(some_rows))
    case.partial_fit(all_rows, container(1e9 * X), y, sample_weight=np.zeros(len(y)))
    assert_identical(learned(all_rows), learned(some_rows))

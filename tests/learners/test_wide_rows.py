"""ScInOL2 is cautious in wide rows, and unchanged in narrow ones."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from support.comparisons import assert_close
from support.sums import linear

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.estimators import scinol

# `test_naive_agreement.py` has both engines.
pytestmark = pytest.mark.parametrize("engine", ["numpy"], indirect=True)

N_CLASSES = 20


def embeddings(n_features, n_rows=200, seed=0):
    """Rows of classes that overlap, with correlated features, and their classes."""
    rng = np.random.default_rng(seed)
    y = np.r_[:N_CLASSES, rng.integers(N_CLASSES, size=n_rows - N_CLASSES)]
    centres = rng.normal(size=(N_CLASSES, 30))
    hidden = centres[y] + rng.normal(size=(n_rows, 30))
    X = linear(hidden, rng.normal(size=(30, n_features)))
    return X + rng.normal(size=X.shape) + rng.normal(size=n_features), y


def charged(X, y, **parameters):
    model = ScInOLClassifier(**parameters)
    keywords = {"classes": np.unique(y), "method": "decision_function"}
    return model.partial_fit_predict(X, y, **keywords), model


def test_first_rows_of_embeddings(engine, monkeypatch):
    """The published learner loses more than twice what chance does."""
    X, y = embeddings(1500)
    by_chance = np.log(N_CLASSES)
    assert charged(X, y)[1].cumulative_loss_ / len(y) < by_chance
    monkeypatch.setattr(scinol, "MAX_SHARE", np.inf)
    assert charged(X, y)[1].cumulative_loss_ / len(y) > 2 * by_chance


@pytest.mark.parametrize("is_narrow", [True, False])
def test_narrow_rows_are_as_published(is_narrow, engine, monkeypatch):
    X, y = embeddings(127 if is_narrow else 128 + 30)
    as_it_is, _ = charged(X, y)
    monkeypatch.setattr(scinol, "MAX_SHARE", np.inf)
    assert np.array_equal(charged(X, y)[0], as_it_is) == is_narrow


@pytest.mark.parametrize("center", [True, False])
def test_invariances(center, engine):
    """In rows that are wide: units, zeros, absent features, chunks."""
    for seed in range(20):
        X, y = embeddings(200, n_rows=24, seed=seed)
        y %= 3
        rng = np.random.default_rng(seed)
        expected, whole = charged(X, y, center=center)
        scaled = X * 2.0 ** rng.integers(-300, 301, size=200)
        assert_array_equal(charged(scaled, y, center=center)[0], expected)
        absent = np.hstack([X, np.zeros((24, 200))])[:, rng.permutation(400)]
        moved = X * rng.exponential(size=200) + center * 100 * rng.normal(size=200)
        for same in absent, moved:
            assert_close(charged(same, y, center=center)[0], expected, 1e-9)
        if not center:
            assert_close(charged(sparse.csr_array(X), y)[0], expected, 1e-12)
        parts = ScInOLClassifier(center=center)
        for rows in np.split(np.arange(24), np.sort(rng.choice(24, size=3))):
            if rows.size:
                parts.partial_fit(X[rows], y[rows], classes=range(3))
        assert_array_equal(parts.coef_, whole.coef_)

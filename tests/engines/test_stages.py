"""Stages of engines that no estimator shows: buffers, and means of probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from sklearn_scinol.blocks import Predictions, State
from sklearn_scinol.engines import get_engine
from sklearn_scinol.learners import ScInOL2
from sklearn_scinol.losses import Huber
from sklearn_scinol.models.linear import LinearModel
from sklearn_scinol.models.model import Chunk


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("engine", ["uncompiled"], indirect=True)
def test_buffers_of_a_refused_row_may_be_used_again(n_outputs, engine):
    """NaN in them, of a row that was refused, does not reach the next row."""
    from sklearn_scinol.engines.numba_engine.learning import learn_call

    rng, coefs = np.random.default_rng(0), []
    X, y = rng.normal(size=(30, 4)), rng.normal(size=(30, n_outputs))
    for is_used in False, True:
        model = LinearModel(
            ScInOL2(1.0), Huber(0.5), 4, n_outputs, fit_intercept=True, average=0
        )
        model.ensure_layout(X)
        parts = {name: getattr(model, name, None) for name in State._fields}
        state = State(**parts | {"weight_scale": model.weight_scale.numbers})
        out = Predictions(np.empty(y.shape), None, np.empty(y.shape))
        block = model.block(get_engine("numba"), Chunk(X, y, None), slice(0, 30))
        loop, arguments = learn_call(model.task, state, block, out)
        scratch = arguments[-1]
        if is_used:
            for array in scratch.x[:, :4], scratch.w, scratch.g, scratch.step:
                array[:] = np.nan
        assert loop(*arguments)
        coefs.append(model.fields.copy())
    assert np.isfinite(coefs[0]).all()
    assert_array_equal(*coefs)


@pytest.mark.parametrize("n_outputs", [1, 4])
def test_means_of_probabilities(n_outputs, engine):
    """Also of experts who are sure: no probability is 0."""
    loops = get_engine("numpy" if engine == "numpy" else "numba")
    rng = np.random.default_rng(0)
    answers = 10.0 * rng.normal(size=(3, 6, n_outputs))
    answers[0, 0, 0] = 900.0
    weights = rng.dirichlet(np.ones(3), (1, 6))
    scores = answers
    if n_outputs == 1:
        scores = np.concatenate([np.zeros_like(answers), answers], axis=2)
    shares = np.maximum(softmax(scores, axis=2), 1e-300)
    mean = np.log(np.einsum("re,erk->rk", weights[0], shares))
    if n_outputs == 1:
        mixed = loops.mix("log_odds", answers, weights)[:, 0]
        assert_allclose(mixed, mean[:, 1] - mean[:, 0], rtol=1e-12)
    else:
        assert_allclose(loops.mix("softmax", answers, weights), mean, rtol=1e-12)

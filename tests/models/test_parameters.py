"""Values that parameters may not have, in every estimator that has them."""

import numpy as np
import pytest
from support.registry import PUBLIC_ESTIMATORS, has

BAD_VALUES = {
    "a": [0.88, 1.11],
    "additive": ["bins"],
    "clip_deviations": [0.5],
    "coef0": [np.inf],
    "degree": [-1],
    "delta": [0.0, -1.0],
    "dirichlet": [-1.0, 0.0, 1e-11, 1e308],  # of which probabilities round to 0
    "gamma": [-1.0, "large"],
    "kernel": ["unknown", None],
    "kernel_params": [[1]],
    "max_nodes": [0],
    "max_support": [0, 1.5],
    "moment_forgetting": [-0.1, 1.0, np.nan, "much"],
    "n_candidates": [0],
    "n_estimators": [0],
    "n_neighbors": [0],
    "normalizer": ["max"],
    "penalty": [-0.1],
    "random_features": [-1, 2.5, "auto"],
    "step": [0.0],
    "window": [0, 2.5],
}


@pytest.mark.cases(60)
@pytest.mark.parametrize(
    ("estimator", "name", "value"),
    [
        (estimator, name, value)
        for estimator in PUBLIC_ESTIMATORS
        for name, values in BAD_VALUES.items()
        for value in values
        if has(estimator, name)
    ],
)
def test_bad_values(estimator, name, value):
    model = estimator(**{name: value})
    words = f"The {name!r} parameter of {estimator.__name__} must be"
    with pytest.raises(ValueError, match=words):
        model.fit(np.eye(4), [0, 1, 0, 1])
    assert vars(model) == model.get_params()

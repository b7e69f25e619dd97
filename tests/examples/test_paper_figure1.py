"""The experiment of Figure 1 of Kempka, Kotłowski and Warmuth (2019).

21 features with standard deviations 2^-10 .. 2^10, labels drawn from a logistic model,
5,000 training and 100,000 test rows, no intercept, mean of 10 runs. The test rows are
evaluated with the weights as they stand after t training rows.
"""

import numpy as np
import pytest
from support.sums import linear

from sklearn_scinol import ScInOLClassifier

N_RUNS = 10
AFTER = [50, 500, 1000, 2500, 5000]

#: Mean test loss after so many rows, as the authors published it.
AUTHORS = {
    "scinol1": [0.682117, 0.682712, 0.678599, 0.658612, 0.597016],
    "scinol2": [0.565642, 0.466309, 0.402403, 0.320516, 0.290890],
}


def toy_rows(rng, coef, n_samples):
    X = rng.standard_normal((n_samples, coef.size)) / np.abs(coef)
    y = rng.random(n_samples) < 1.0 / (1.0 + np.exp(-linear(X, coef)))
    return X, y.astype(int)


def losses_on_new_rows(run, algorithm):
    rng = np.random.default_rng(run)
    sigma = 2.0 ** (np.arange(1, 22) - 11)
    coef = rng.choice([-1.0, 1.0], size=sigma.size) / sigma
    X, y = toy_rows(rng, coef, 5_000)
    X_test, y_test = toy_rows(rng, coef, 100_000)
    signs = np.where(y_test == 1, 1.0, -1.0)

    model = ScInOLClassifier(algorithm=algorithm, center=False, fit_intercept=False)
    losses = []
    for start, end in zip([0, *AFTER[:-1]], AFTER, strict=True):
        model.partial_fit(X[start:end], y[start:end], classes=[0, 1])
        margins = signs * (X_test @ model.coef_[0])
        losses.append(np.logaddexp(0.0, -margins).mean())
    return losses


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("algorithm", "engine"),
    [("scinol1", "numba"), ("scinol2", "numpy")],
    indirect=["engine"],
)
def test_figure_1(algorithm, engine):
    losses = np.array([losses_on_new_rows(run, algorithm) for run in range(N_RUNS)])
    # The difference of two means of ten runs each: the standard deviation of one run is
    # estimated from ours, and taken to be that of the authors' runs too.
    deviation = losses.std(axis=0, ddof=1)
    standard_error = deviation * np.sqrt(1 / N_RUNS + 1 / N_RUNS)
    difference = losses.mean(axis=0) - AUTHORS[algorithm]
    assert (np.abs(difference) <= 3.0 * standard_error).all(), (
        f"{difference / standard_error} standard errors after {AFTER} rows"
    )

"""Progressive loss of one shuffled pass over real data in raw units.

Everything at its default but the centring, off and on. The figures, from another
implementation of the same formulas, hold to the digits given.
"""

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from support import ROOT
from support.registry import compiled, thoroughly

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

#: Larger sets, where they lie next to the project.
FOLDER = ROOT.parent / "shared" / "data"


def mean_loss(estimator, X, y, order):
    keywords = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    estimator.partial_fit(X[order], y[order], **keywords)
    return estimator.cumulative_loss_ / len(y)


def read(name):
    """Features, strings one-hot without the first level, and target of a file."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    file = FOLDER / f"{name}.csv.gz"
    if not file.exists():
        pytest.skip(f"there is no ../shared/data/{file.name} next to the project")
    # "NA" and "?" are categories there, not missing values.
    frame = pandas.read_csv(file, keep_default_na=False)
    y = frame.pop("target").to_numpy()
    return pandas.get_dummies(frame, drop_first=True).to_numpy(np.float64), y


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    ("load", "center", "expected"),
    [
        (load_breast_cancer, False, 0.456),
        (load_breast_cancer, "auto", 0.144),
        (load_digits, False, 0.451),
        (load_digits, "auto", 0.298),
        (load_wine, False, 0.897),
        (load_wine, "auto", 0.225),
    ],
)
@pytest.mark.parametrize("engine", ["numpy", *thoroughly("numba")], indirect=True)
def test_small_sets(load, center, expected, engine):
    X, y = load(return_X_y=True)
    losses = [
        mean_loss(
            ScInOLClassifier(center=center),
            X,
            y,
            np.random.default_rng(seed).permutation(len(y)),
        )
        for seed in range(5)
    ]
    assert np.mean(losses) == pytest.approx(expected, abs=0.5e-3)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "as_in_the_paper", "centred"),
    [
        ("bank_additional_full", 0.2212, 0.2165),
        *thoroughly(
            ("shuttle", 0.2553, 0.1384),
            ("covtype_sample92962", 0.7722, 0.6739),
            ("census_income_kdd_test", 0.1371, 0.1318),
        ),
    ],
)
@compiled
def test_classification(name, as_in_the_paper, centred, engine):
    X, y = read(name)
    order = np.random.default_rng(0).permutation(len(y))
    loss = mean_loss(ScInOLClassifier(center=False), X, y, order)
    assert loss == pytest.approx(as_in_the_paper, abs=0.5e-4)
    loss = mean_loss(ScInOLClassifier(), X, y, order)
    assert loss == pytest.approx(centred, abs=0.5e-4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "as_in_the_paper", "centred", "standardized", "digit"),
    [
        ("cpusmall", 6.36, 5.61, 4.33, 0.01),
        ("abalone", 1.808, 1.819, 1.737, 0.001),
        ("cal_housing", 62_090.0, 64_840.0, 54_000.0, 10.0),
    ],
)
def test_regression(name, as_in_the_paper, centred, standardized, digit):
    X, y = read(name)
    order = np.random.default_rng(0).permutation(len(y))
    for model, expected in [
        (ScInOLRegressor(center=False), as_in_the_paper),
        (ScInOLRegressor(standardize_target=False), centred),
        (ScInOLRegressor(), standardized),
    ]:
        loss = mean_loss(model, X, y, order)
        assert loss == pytest.approx(expected, abs=0.5 * digit)

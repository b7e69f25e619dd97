"""Data that the scripts of a first hour learn, in place of a user's own."""

import numpy as np
from scipy import sparse
from sklearn.datasets import make_classification, make_regression

#: Factors by which the units of features differ.
UNITS = 10.0 ** np.arange(-2, 3)


def chunks(X, y, size=50):
    """Yield rows and labels, as they would come from a file."""
    for start in range(0, len(y), size):
        yield X[start : start + size], y[start : start + size]


def measurements(n_rows, n_classes=2, n_features=10, n_informative=8):
    """Rows whose features have units of their own, and classes."""
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=n_informative,
        n_redundant=0,
        n_classes=n_classes,
        n_clusters_per_class=1,
        random_state=0,
    )
    return X * np.resize(UNITS, n_features), y


def counts():
    """Sparse rows of how often each of 500 things occurred, some often, and labels."""
    random, k = np.random.default_rng(0), np.arange(500)
    y = random.integers(0, 2, 3000)
    rates = np.exp(0.8 * np.sin(np.outer([1, 2], k))) * 10.0 / (1.0 + k)
    return sparse.csr_matrix(random.poisson(rates[y]).astype(float)), y


def texts():
    """Texts of twelve words on one of two topics."""
    random, k = np.random.default_rng(0), np.arange(400)
    words, y = np.array([f"w{each}" for each in k]), random.integers(0, 2, 2000)
    shares = [np.exp(0.8 * np.sin(k * topic)) / (1.0 + k**0.8) for topic in (1, 2)]
    shares = [each / each.sum() for each in shares]
    return [" ".join(random.choice(words, 12, p=shares[label])) for label in y], y


def targets():
    """Rows, and targets whose noise depends on the row."""
    X, y = make_regression(1500, 10, noise=5.0, random_state=0)
    return X * np.resize(UNITS, 10), y * (1.0 + np.abs(X[:, 0]))


def write_table(path):
    """Write a CSV file with a city, a size, a time and a label; return its frame."""
    import pandas as pd

    random, n = np.random.default_rng(0), 1500
    frame = pd.DataFrame({"city": random.choice([*"abcdefgh"], n)})
    frame["size"] = random.lognormal(3.0, 1.0, n)
    frame["day"] = pd.date_range("2026-01-01", periods=n, freq="h").astype(str)
    odds = (frame["city"] < "d") * 4.0 + np.log(frame["size"]) - 4.5
    frame["y"] = (odds + random.logistic(size=n) > 0.0).astype(int)
    frame.to_csv(path, index=False)
    return frame


def changing():
    """Rows whose labels are the others from the 2001st on."""
    random, n = np.random.default_rng(0), 4000
    X = random.standard_normal((n, 5))
    sign = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    scores = sign * (2 * X[:, 0] - X[:, 1] + X[:, 2] + X[:, 4])
    return X * UNITS, (scores + 0.5 * random.standard_normal(n) > 0.0).astype(int)

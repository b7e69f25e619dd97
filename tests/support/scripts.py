"""Helpers for tests of scripts in `examples/`."""

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from support import ROOT

EXAMPLES = ROOT / "examples"


def caller(example, capsys, *first):
    """A function that calls a script with options; its status, stdout and stderr."""

    def call(*options):
        status = example.main([*map(str, [*first, *options])])
        return status, *capsys.readouterr()

    return call


def write_data_sets(folder, n_amounts, n_three, n_wide=60):
    """Amounts in LIBSVM text, three classes as arrays, two in wide sparse rows."""
    random = np.random.default_rng(0)
    folder.mkdir()
    X = random.normal(size=(n_amounts, 5)) * (random.random((n_amounts, 5)) < 0.5)
    y = 10 * X[:, 0] + random.normal(20, 1, n_amounts)
    dump_svmlight_file(X, y, str(folder / "amounts.svm"))
    X = 100 + random.normal(size=(n_three, 2))
    y = np.argmax(np.c_[X, np.full(n_three, 100)], axis=1)
    np.savez(folder / "three.npz", X=X, y=y)
    X = np.zeros((n_wide, 1200))
    X[np.arange(n_wide), random.integers(20, size=n_wide)] = 1.0
    X[:, -1] = random.normal(size=n_wide)
    dump_svmlight_file(X, np.sign(X[:, -1]), str(folder / "wide.svm"))
    return folder


def frames(n=120):
    """Two tables by the names of their files: people, and texts of two kinds."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    random = np.random.default_rng(0)
    ages = random.integers(20, 70, n)
    cities = random.choice(["Oslo", "Rome", "NA"], n)
    adult = pandas.DataFrame({"age": ages, "city": cities, "gain": ages * 1e3})
    adult.loc[::7, "gain"] = np.nan
    adult["target"] = np.where(ages + 9 * (cities == "Oslo") > 50, ">50K", "<=50K")
    is_spam = random.random(n) < 0.4
    texts = np.where(is_spam, "win a free prize", "see you at home tonight")
    sms = pandas.DataFrame({"text": texts, "target": np.where(is_spam, "spam", "ham")})
    return {"adult_raw.csv.gz": adult, "sms_spam.csv": sms}

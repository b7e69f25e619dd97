"""The ways an estimator is copied, each a function of it and of a path for a file."""

import copy
import pickle

import joblib
import pytest

from sklearn_scinol import persistence


def through_pickle(estimator, path):
    return pickle.loads(pickle.dumps(estimator))


def through_joblib(estimator, path):
    joblib.dump(estimator, path)
    return joblib.load(path)


def mapped(estimator, path):
    """With its arrays in the file, to be read only."""
    joblib.dump(estimator, path)
    return joblib.load(path, mmap_mode="r")


def deep(estimator, path):
    return copy.deepcopy(estimator)


def saved(estimator, path):
    pytest.importorskip("skops", reason="skops is not installed")
    persistence.save(estimator, path)
    return persistence.load(path)


def through_skops(estimator, path):
    """Without what the package adds to it."""
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    io.dump(estimator, path)
    return io.load(path, trusted=persistence.TRUSTED_TYPES)


COPIES = {
    "pickle": through_pickle,
    "joblib": through_joblib,
    "joblib-mapped": mapped,
    "deepcopy": deep,
    "saved": saved,
    "skops": through_skops,
}

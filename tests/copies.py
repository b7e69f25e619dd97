"""The ways an estimator is copied, each a function of it and of a path for a file."""

import copy
import pickle

import joblib


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


COPIES = {
    "pickle": through_pickle,
    "joblib": through_joblib,
    "joblib-mapped": mapped,
    "deepcopy": deep,
}

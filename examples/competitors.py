"""Learners of other packages on raw tables, row by row, as their users have them.

Each gives the mean log loss of the predictions made before each row was learned. What
is not installed is left out by those who call.
"""

import math
import re
from importlib.util import find_spec

import numpy as np
from sklearn.metrics import log_loss

__all__ = ["RIVER", "VW", "losses_at_rates", "river_loss", "vw_line", "vw_loss"]

RIVER, VW = find_spec("river") is not None, find_spec("vowpalwabbit") is not None

#: Rates beside the default one: both packages multiply gradients by them.
RATES = 0.02, 0.1, 0.5, 2.0, 8.0

# What has a meaning in Vowpal Wabbit's text format.
SEPARATORS = re.compile(r"[\s:|]")


def losses_at_rates(loss, *arguments):
    """Log loss at the default rate, and the lowest one of five."""
    return loss(*arguments), min(loss(*arguments, rate=rate) for rate in RATES)


# Vowpal Wabbit


def vw_line(row, label=None):
    """A row, which is a dict, in Vowpal Wabbit's text format."""
    start = "" if label is None else f"{1 if label else -1} "
    return start + "| " + " ".join(filter(None, map(_vw_feature, row, row.values())))


def _vw_feature(name, value):
    name = SEPARATORS.sub("_", name)
    if value is None or value != value:
        return ""
    if isinstance(value, str):
        if " " in value and name == "text":
            return " ".join(re.findall(r"\w+", value.lower()))
        return f"{name}={SEPARATORS.sub('_', value)}"
    return f"{name}:{value:g}"


def vw_loss(rows, y, rate=None):
    """Vowpal Wabbit's logistic regression; of text it takes pairs of words as well."""
    from vowpalwabbit import Workspace

    options = "--quiet --loss_function logistic -b 18"
    if "text" in rows[0]:
        options += " --ngram 2"
    if rate is not None:
        options += f" -l {rate}"
    workspace = Workspace(options)
    try:
        for row, label in zip(rows, y, strict=True):
            workspace.learn(vw_line(row, label))
        return workspace.get_sum_loss() / workspace.get_weighted_examples()
    finally:
        workspace.finish()


# river


def river_model(has_text=False, hashes=False, rate=None):
    """river's logistic regression, after what its guide puts before it."""
    from river.compose import Pipeline, SelectType
    from river.feature_extraction import BagOfWords
    from river.linear_model import LogisticRegression
    from river.optim import SGD
    from river.preprocessing import FeatureHasher, OneHotEncoder, StandardScaler

    learner = LogisticRegression() if rate is None else LogisticRegression(SGD(rate))
    if has_text:
        return Pipeline(BagOfWords(on="text", ngram_range=(1, 2)), learner)
    numbers = SelectType((int, float)) | StandardScaler()
    # One-hot codes have an entry for each category so far, in each row.
    categories = FeatureHasher(2**18) if hashes else OneHotEncoder()
    return (numbers + (SelectType(str) | categories)) | learner


def river_loss(rows, y, rate=None):
    """river's logistic regression; of text it takes pairs of words as well."""
    model = river_model("text" in rows[0], rate=rate)
    said = []
    for row, label in zip(rows, y, strict=True):
        row = {name: value for name, value in row.items() if not _is_gap(value)}
        said.append(model.predict_proba_one(row)[True])
        model.learn_one(row, bool(label))
    return log_loss(y, np.array(said), labels=[False, True])


def _is_gap(value):
    return value is None or (isinstance(value, float) and math.isnan(value))

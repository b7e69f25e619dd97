"""Learners of other packages on raw tables, row by row, as their users have them.

Each learner predicts the probability of the label True for each row, then learns it.
"""

import math
import re
from importlib.util import find_spec

import numpy as np

__all__ = ["COMPETITORS", "RATES", "river_model", "vw_line"]

#: Learning rates to try besides the defaults.
RATES = 0.02, 0.1, 0.5, 2.0, 8.0

# Characters with a meaning in Vowpal Wabbit's text format.
SEPARATORS = re.compile(r"[\s:|]")

#: The column that is split into words; values of other columns are used whole.
TEXT = "text"


def _is_gap(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


# Vowpal Wabbit


def vw_line(row, label=None):
    """Format a dict as a line of Vowpal Wabbit's text format."""
    start = "" if label is None else f"{1 if label else -1} "
    given = (item for item in row.items() if not _is_gap(item[1]))
    return start + "| " + " ".join(_vw_feature(*item) for item in given)


def _vw_feature(name, value):
    if name == TEXT:
        return " ".join(re.findall(r"\w+", value.lower()))
    name = SEPARATORS.sub("_", name)
    if isinstance(value, str):
        return f"{name}={SEPARATORS.sub('_', value)}"
    return f"{name}:{value:g}"


def vowpal_wabbit(rows, y, rate=None):
    """Run Vowpal Wabbit's logistic regression; text gives words and their pairs."""
    from vowpalwabbit import Workspace

    options = "--quiet --loss_function logistic --link logistic -b 18"
    if TEXT in rows[0]:
        options += " --ngram 2"
    if rate is not None:
        options += f" -l {rate}"
    workspace, p = Workspace(options), []
    for row, label in zip(rows, y, strict=True):
        p.append(workspace.predict(vw_line(row)))
        workspace.learn(vw_line(row, label))
    workspace.finish()
    return np.array(p)


# river


def river_model(has_text=False, hashes=False, rate=None):
    """Return river's logistic regression behind the transformers of its guide."""
    from river.compose import Pipeline, SelectType
    from river.feature_extraction import BagOfWords
    from river.linear_model import LogisticRegression
    from river.optim import SGD
    from river.preprocessing import FeatureHasher, OneHotEncoder, StandardScaler

    learner = LogisticRegression() if rate is None else LogisticRegression(SGD(rate))
    if has_text:
        return Pipeline(BagOfWords(on=TEXT, ngram_range=(1, 2)), learner)
    numbers = SelectType((int, float)) | StandardScaler()
    # One-hot codes have an entry for each category so far, in each row.
    categories = FeatureHasher(2**18) if hashes else OneHotEncoder()
    return (numbers + (SelectType(str) | categories)) | learner


def river(rows, y, rate=None):
    """Run river's logistic regression; text gives words and their pairs."""
    model, p = river_model(TEXT in rows[0], rate=rate), []
    for row, label in zip(rows, y, strict=True):
        row = {name: value for name, value in row.items() if not _is_gap(value)}
        p.append(model.predict_proba_one(row)[True])
        model.learn_one(row, bool(label))
    return np.array(p)


#: The installed learners, by name.
COMPETITORS = {
    name: learn
    for name, package, learn in (
        ("Vowpal Wabbit", "vowpalwabbit", vowpal_wabbit),
        ("river", "river", river),
    )
    if find_spec(package)
}

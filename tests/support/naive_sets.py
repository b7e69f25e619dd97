"""Slow reference of sets of labels, in plain Python.

The mean score is taken anew over all rows for each row.
"""

import math

import numpy as np

from .naive_intervals import correct, thirds

RATE = 0.01
STEP = 0.3
LEAST = 1e-6  # smaller probabilities count as this one
MAX_SCORE = math.log(1.0 / LEAST - 1.0)


def score(p):
    """Logarithm of the odds against a label of probability `p`."""
    p = min(max(p, LEAST), 1.0 - LEAST)
    return math.log((1.0 - p) / p)


def mean_score(scores, weights):
    """Mean of scores, whose weights fall with each later row."""
    learned = np.array(weights) > 0.0
    if not learned.any():
        return MAX_SCORE
    decay = (1.0 - RATE) ** np.arange(learned.sum())[::-1]
    return np.average(
        np.array(scores)[learned], weights=np.array(weights)[learned] * decay
    )


def label_sets(probabilities, codes, weights, levels, groups=None):
    """Return the sets before each row, by class and level, and corrections after all.

    Levels are ascending, and groups labels, "auto" (of thirds) or None. Corrections are
    lists by group,
    of all rows with the key None.
    """
    scores = [[score(p) for p in row] for row in probabilities]
    of_labels = [row[code] for row, code in zip(scores, codes, strict=True)]
    if groups == "auto":
        found = thirds([min(row) for row in scores], [c > 0.0 for c in weights])
        groups = [("sure", "medium", "unsure")[third] for third in found]
    has_groups, groups = bool(groups), groups or [None] * len(scores)
    of_groups, heaviest, sets = {}, {}, []
    for r, row in enumerate(scores):
        thresholds = [mean_score(of_labels[:r], weights[:r]) for _ in levels]
        for group in dict.fromkeys([None, groups[r]]):
            corrections = of_groups.setdefault(group, [0.0 for _ in levels])
            pairs = zip(thresholds, corrections, strict=True)
            thresholds = [before + more for before, more in pairs]
            for i in range(1, len(levels)):
                thresholds[i] = max(thresholds[i], thresholds[i - 1])
            if weights[r] > 0.0:
                heaviest[group] = max(heaviest.get(group, 0.0), weights[r])
                step = STEP * (0.2 if has_groups and group is None else 1.0)
                step *= weights[r] / heaviest[group]
                correct(corrections, thresholds, levels, of_labels[r], step)
        sets.append([[s <= t for t in thresholds] for s in row])
    return sets, of_groups

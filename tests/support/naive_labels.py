"""Slow reference of running shares of labels, by sums over all rows, in fractions."""

from fractions import Fraction

import numpy as np

from .naive import relative_to_means


def shares(y, c, classes, forgetting, prior=0.5):
    """Probabilities before each row, by weights that fall with age.

    All classes together have a prior.
    """
    kept, rows, found = 1 - Fraction(forgetting), [], []
    for label, weight in zip(y.tolist(), relative_to_means(c), strict=True):
        counts = dict.fromkeys(classes, Fraction(prior) / len(classes))
        for age, (known, c_row) in enumerate(reversed(rows)):
            counts[known] += kept**age * c_row
        found.append([float(n / sum(counts.values())) for n in counts.values()])
        if weight > 0.0:
            rows.append((label, Fraction(weight)))
    return np.array(found)

"""Forests of trees, a row at a time."""

import numpy as np


def learn_forest(learn_rows, *arguments):
    with np.errstate(all="ignore"):
        return learn_rows(*arguments)

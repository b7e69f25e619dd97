"""
=====================================
Learning on several cores and merging
=====================================

Each part of the rows is learned by a model of its own, in a thread of its own.
:func:`~sklearn_scinol.merge_models` makes one model of them. The more parts, the more
it loses to a model that has learned all rows in order.
"""

import matplotlib.pyplot as plt
import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_scinol import ScInOLClassifier, merge_models

X, y = make_classification(40_000, n_informative=8, flip_y=0.05, random_state=0)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)


def learn(X, y):
    return ScInOLClassifier().partial_fit(X, y, classes=[0, 1])


losses = {}
for n_parts in 1, 2, 4, 8, 16, 32, 64:
    parts = zip(np.array_split(X, n_parts), np.array_split(y, n_parts), strict=True)
    models = Parallel(n_jobs=2, prefer="threads")(
        delayed(learn)(*part) for part in parts
    )
    losses[n_parts] = log_loss(y_test, merge_models(models).predict_proba(X_test))

plt.semilogx(losses.keys(), losses.values(), "o-", base=2)
plt.xlabel("Parts, learned separately and merged")
plt.ylabel("Log loss on new rows")
plt.show()

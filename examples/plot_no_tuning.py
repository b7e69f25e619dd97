"""
==============================
Loss against the learning rate
==============================

The loss of stochastic gradient descent depends on its learning rate, and the best rate
on the scale of the features. :class:`~sklearn_scinol.ScInOLClassifier` and
:class:`~sklearn_scinol.HedgeClassifier` have no learning rate: their losses are flat
lines.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import HedgeClassifier, ScInOLClassifier
from sklearn_scinol.evaluation import progressive_validation

X, y = load_breast_cancer(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
chunks = [(X[i : i + 10], y[i : i + 10]) for i in range(0, len(y), 10)]


def loss(model):
    result = progressive_validation(model, chunks, classes=[0, 1])
    return -result.scores["neg_log_loss"]


def sgd(rate):
    return SGDClassifier(
        loss="log_loss", learning_rate="constant", eta0=rate, random_state=0
    )


rates = np.logspace(-5, 2, 8)
raw = [loss(sgd(rate)) for rate in rates]
scaled = [loss(make_pipeline(StandardScaler(), sgd(rate))) for rate in rates]

plt.loglog(rates, raw, "o-", label="SGD")
plt.loglog(rates, scaled, "s-", label="SGD, standardised")
plt.axhline(loss(ScInOLClassifier()), color="C2", label="ScInOL")
plt.axhline(loss(HedgeClassifier()), color="k", label="Hedge")
plt.xlabel("Learning rate of SGD")
plt.ylabel("Log loss of one pass")
plt.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
plt.show()

"""
==========================================
Implicit updates: when a rate is too large
==========================================

Gradient descent with too large a rate overshoots. An implicit update takes into account
how the loss of the row changes on the way, and stops in time: with
:class:`~sklearn_scinol.AdaImplicitRegressor` too large a ``beta`` costs little.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sklearn_scinol import AdaImplicitRegressor
from sklearn_scinol.baselines import BaselineRegressor

X, y = load_diabetes(return_X_y=True)
betas = 2.0 ** np.arange(-4, 17, 2)


def loss(model):
    return np.abs(model.partial_fit_predict(X, y) - y).mean()


descent = [loss(BaselineRegressor("adaogd", learning_rate=beta)) for beta in betas]
implicit = [loss(AdaImplicitRegressor(beta=beta)) for beta in betas]
plt.loglog(betas, descent, "o-", label="gradient descent (AdaOGD)")
plt.loglog(betas, implicit, "s-", label="implicit updates (AdaImplicit)")
plt.xlabel("Beta")
plt.ylabel("Mean absolute error")
plt.legend()
plt.show()

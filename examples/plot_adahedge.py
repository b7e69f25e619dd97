"""
=========================
Mixing models of your own
=========================

:class:`~sklearn_scinol.experts.AdaHedge` computes weights from losses alone, so the
models may be of any kind. Here they are linear regressions by SGD with different
learning rates. The loss of the mixture stays close to that of the best one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import SGDRegressor

from sklearn_scinol.experts import AdaHedge

X, y = load_diabetes(return_X_y=True)
X *= 20  # about 1
rates = 10.0 ** np.arange(-4, 0)
models = [SGDRegressor(learning_rate="constant", eta0=rate) for rate in rates]
for model in models:
    model.partial_fit(X[:1], y[:1])

hedge, losses, mixed = AdaHedge(len(models)), [], []
for x, target in zip(X[1:, np.newaxis], y[1:, np.newaxis], strict=True):
    predictions = np.array([model.predict(x)[0] for model in models])
    losses.append(np.abs(predictions - target))
    mixed.append(abs(hedge.weights_ @ predictions - target[0]))
    hedge.update(losses[-1])
    for model in models:
        model.partial_fit(x, target)

rows = np.arange(2, len(y) + 1)
for rate, total in zip(rates, np.cumsum(losses, axis=0).T, strict=True):
    plt.plot(rows, total / (rows - 1), label=f"SGD, rate {rate:g}")
plt.plot(rows, np.cumsum(mixed) / (rows - 1), "k", label="mixture")
plt.ylim(0, 180)
plt.xlabel("Rows")
plt.ylabel("Mean absolute error so far")
plt.legend(ncols=2, loc="lower left")
plt.show()

"""
=======================
Mixing several learners
=======================

:class:`~sklearn_scinol.HedgeClassifier` runs several learners, its experts, and mixes
their predictions by weights that it learns. The figure shows the weights along the
stream: those of the experts that predict well grow.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sklearn_scinol import HedgeClassifier

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
model = HedgeClassifier(exclude=["pools"])
p = model.partial_fit_predict(X, y, classes=np.arange(10), method="predict_proba")

model.plot_weights(n_largest=5)
plt.show()

# %%
# Nobody has to know beforehand which expert suits the data. The loss of the mixture is
# close to that of the best one, and often below it.

losses = dict(zip(model.named_estimators_, model.expert_losses_ / len(y), strict=True))
losses["mixture"] = -np.log(p[np.arange(len(y)), y]).mean()
names = sorted(losses, key=losses.get, reverse=True)
colours = ["C3" if name == "mixture" else "C0" for name in names]

plt.figure()
plt.barh(names, [losses[name] for name in names], color=colours)
plt.xlabel("Mean log loss")
plt.show()

"""
===============================
Following a stream that changes
===============================

The rule that decides the label is reversed twice.
:class:`~sklearn_scinol.HedgeClassifier` follows, since some of its experts forget.
:class:`~sklearn_scinol.ScInOLClassifier` remembers all rows, and takes long.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_scinol import HedgeClassifier, ScInOLClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(2400, 5))
is_reversed = np.arange(2400) // 800 == 1
y = (X.sum(axis=1) + 0.5 * rng.normal(size=2400) > 0) ^ is_reversed

for model in ScInOLClassifier(), HedgeClassifier():
    predictions = model.partial_fit_predict(X, y, classes=[False, True])
    errors = np.convolve(predictions != y, np.full(150, 1 / 150), mode="valid")
    plt.plot(np.arange(150, 2401), errors, label=type(model).__name__)
plt.xlabel("Rows")
plt.ylabel("Errors among the last 150")
plt.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
plt.show()

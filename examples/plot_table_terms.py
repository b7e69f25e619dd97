"""
================================
What a table's model has learned
================================

A linear model of an encoded table is a sum of functions, one for each column. They are
plotted with ``plot_terms``: curves of numbers, bars of categories.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

rng = np.random.default_rng(0)
n = 5000
frame = pd.DataFrame(
    {
        "age": rng.uniform(17, 80, n),
        "job": rng.choice(["clerk", "cook", "doctor", "driver"], n),
    }
)
score = 2.0 * (frame["job"] == "doctor") - (frame["job"] == "cook")
score -= ((frame["age"] - 48) / 12) ** 2
y = np.where(score + rng.logistic(size=n) > -1, "yes", "no")

model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
model.partial_fit(frame, y, classes=["no", "yes"])
figure, axes = plt.subplots(1, 2)
model.plot_terms(axes=axes)
plt.show()

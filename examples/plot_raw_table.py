"""
====================
Learning a raw table
====================

A table with numbers, categories, dates and missing values is learned as it is:
:class:`~sklearn_scinol.preprocessing.TableEncoder` encodes its columns while the model
learns, and takes new categories as they come. The more columns the model gets, the
better it predicts.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import ProgressiveValidationDisplay
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

rng = np.random.default_rng(0)
n = 4000
age = rng.normal(45, 15, n)
job = rng.choice(["clerk", "cook", "doctor", "driver"], n)
visited = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.arange(n), "h")
score = (
    3.0 * (job == "doctor") + 2.0 * (visited.day_of_week >= 5) - (age - 45) ** 2 / 200
)
y = score + rng.logistic(size=n) > 0
frame = pd.DataFrame({"age": age, "job": job, "visited": visited})
frame["age"] = frame["age"].mask(rng.random(n) < 0.1)  # missing
frame["job"] = frame["job"].mask(rng.random(n) < 0.1)

figure, ax = plt.subplots()
for columns in ["age"], ["age", "job"], ["age", "job", "visited"]:
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    ProgressiveValidationDisplay.from_estimator(
        model,
        [(frame[columns], y)],
        metrics="accuracy",
        classes=[False, True],
        name=", ".join(columns),
        ax=ax,
    )
ax.set(xlim=(100, n), ylim=(0.55, 0.8))
ax.legend(loc="upper left")
plt.show()

r"""
================================
Intervals that follow the stream
================================

:class:`~sklearn_scinol.OnlineConformalRegressor` puts intervals around the predictions
of any regressor. They have to contain 90 % of the targets, each before it is learned.
Left: the last patients of the diabetes data that come with scikit-learn, ordered by
prediction. Right: a stream whose errors become three times as large at half-way. The
intervals follow, and their level holds::

    python plot_intervals.py
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from sklearn_scinol import OnlineConformalRegressor

X, y = load_diabetes(return_X_y=True)
model = OnlineConformalRegressor(coverage=0.9)  # around HedgeRegressor
predictions, intervals = model.partial_fit_predict(
    X, y, method=["predict", "predict_interval"]
)
print(f"diabetes: {model.coverage_:.3f} of the targets are in their intervals.")

rng = np.random.default_rng(0)
rows = np.arange(4000)
U, deviations = rng.normal(size=(4000, 3)), np.where(rows < 2000, 1.0, 3.0)
means = U.sum(axis=1)
model = OnlineConformalRegressor(coverage=0.9)
lower, upper = model.partial_fit_predict(
    U, means + deviations * rng.normal(size=4000), method="predict_interval"
).T
print(f"stream: {model.coverage_:.3f}, off by at most {model.coverage_bound():.4f}.")

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
last = np.argsort(predictions[-60:]) - 60
left.fill_between(range(60), *intervals[last].T, alpha=0.3, label="interval of 90 %")
left.plot(predictions[last], label="prediction")
left.plot(y[last], "k.", label="target")
left.set(title="Diabetes", xlabel="patient, by prediction", ylabel="progression")
left.legend(loc="upper left")

shown = slice(100, None)
right.plot(rows[shown], (upper - means)[shown], lw=0.8, label="upper end")
right.plot(rows[shown], (lower - means)[shown], lw=0.8, label="lower end")
right.plot(rows[shown], 1.645 * deviations[shown], "k--", label="true quantiles")
right.plot(rows[shown], -1.645 * deviations[shown], "k--")
right.set(title="Errors that grow", xlabel="row", ylabel="end, less the true mean")
right.legend(loc="upper left")
plt.show()

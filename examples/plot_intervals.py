"""
================================
Prediction intervals on a stream
================================

:class:`~sklearn_scinol.OnlineConformalRegressor` puts intervals around the predictions
of any regressor. At half-way the errors become three times as large: the intervals
follow. On any stream the share of targets inside stays within a bound of the level.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_scinol import OnlineConformalRegressor, ScInOLRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 3))
noise = rng.normal(size=4000) * np.where(np.arange(4000) < 2000, 1, 3)
y = X.sum(axis=1) + noise

model = OnlineConformalRegressor(ScInOLRegressor(), confidence_level=0.9)
predictions, intervals = model.partial_fit_predict(
    X, y, method=["predict", "predict_interval"]
)
print(f"inside: {model.coverage_:.3f}, off by at most {model.coverage_bound():.3f}")

lower, upper = intervals.T - predictions
rows = slice(1500, 2500)
plt.plot(np.arange(4000)[rows], (y - predictions)[rows], "k.", ms=3, label="error")
plt.fill_between(
    np.arange(4000)[rows], lower[rows], upper[rows], alpha=0.4, label="interval"
)
plt.xlabel("Row")
plt.ylabel("Target less prediction")
plt.legend(loc="upper left")
plt.show()

"""Predict intervals that hold 90 % of the targets."""

from made_data import chunks, targets

from sklearn_scinol import HedgeRegressor, OnlineConformalRegressor

model, intervals = OnlineConformalRegressor(HedgeRegressor()), []
for rows, y in chunks(*targets()):
    if intervals:
        intervals.append(model.predict_interval(rows))
    else:
        intervals.append([[float("-inf"), float("inf")]] * len(y))
    model.partial_fit(rows, y)

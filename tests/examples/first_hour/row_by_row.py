"""Predict one row at a time in a service, and learn when its label comes."""

from made_data import measurements

from sklearn_scinol import OnlineNewtonClassifier

X, y = measurements(400)
model = OnlineNewtonClassifier().partial_fit(X[:1], y[:1], classes=[0, 1])
service, served = model.row_by_row().with_late_labels(), []
for key in range(1, 400):
    served.append(service.predict_proba_one(X[key], key))
    service.learn_one(key, y[key])

"""Save a model, load it elsewhere, and go on learning there."""

from made_data import chunks, measurements

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.persistence import load, save

X, y = measurements(1500)
model = HedgeClassifier().partial_fit(X[:1000], y[:1000], classes=[0, 1])
save(model, "model.skops")
loaded = load("model.skops")
result = progressive_validation(loaded, chunks(X[1000:], y[1000:]))
loss = -result.scores["neg_log_loss"]

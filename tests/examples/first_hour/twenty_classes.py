"""Learn which of twenty classes a row has."""

from made_data import chunks, measurements

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.evaluation import progressive_validation

X, y = measurements(1000, n_classes=20, n_informative=10)
result = progressive_validation(HedgeClassifier(), chunks(X, y), classes=range(20))
loss = -result.scores["neg_log_loss"]

"""Learn five classes of embeddings of 384 numbers."""

from made_data import chunks, measurements

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.evaluation import progressive_validation

X, y = measurements(1000, n_classes=5, n_features=384, n_informative=60)
slow = ["random_features", "neighbors", "forest", "pools"]
model = HedgeClassifier(exclude=slow)
result = progressive_validation(model, chunks(X, y), classes=range(5))
loss = -result.scores["neg_log_loss"]

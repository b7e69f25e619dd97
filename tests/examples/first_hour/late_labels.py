"""Learn labels that come 100 rows after their rows."""

from made_data import chunks, measurements

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.evaluation import progressive_validation

stream = chunks(*measurements(1500))
result = progressive_validation(HedgeClassifier(), stream, classes=[0, 1], delay=100)
loss = -result.scores["neg_log_loss"]

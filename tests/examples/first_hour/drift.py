"""Learn a stream that changes, and be told when it does."""

from made_data import changing, chunks

from sklearn_scinol import OnlineNewtonClassifier
from sklearn_scinol.evaluation import LossMonitor, progressive_validation

model, monitor = OnlineNewtonClassifier(forgetting=0.01), LossMonitor()
stream = chunks(*changing())
result = progressive_validation(model, stream, classes=[0, 1], monitor=monitor)
loss = -result.scores["neg_log_loss"]

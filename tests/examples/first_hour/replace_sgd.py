"""Learn chunks of a file that does not fit in memory, without scaling them."""

from made_data import chunks, counts
from sklearn.metrics import log_loss

from sklearn_scinol import ScInOLClassifier

X, y = counts()
model = ScInOLClassifier()
for rows, labels in chunks(X[:2000], y[:2000]):
    model.partial_fit(rows, labels, classes=[0, 1])
loss = log_loss(y[2000:], model.predict_proba(X[2000:]))

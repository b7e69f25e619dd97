"""
======================================
Raising an alarm when a stream changes
======================================

:class:`~sklearn_scinol.evaluation.LossMonitor` watches the losses of a model in use and
raises an alarm when they have changed. One model learns 600 digits and is then only
used; the other goes on learning. After 1,500 digits the handwriting changes. Vertical
lines are alarms.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import LossMonitor

X, y = load_digits(return_X_y=True)  # not shuffled: many people wrote them
model = ScInOLClassifier().partial_fit(X[:600], y[:600], classes=range(10))
X, y = X[600:], y[600:]
frozen = model.predict_proba(X)
learning = model.partial_fit_predict(X, y, method="predict_proba")

for p, name in (frozen, "only used"), (learning, "goes on learning"):
    losses = -np.log(p[np.arange(len(y)), y])
    monitor = LossMonitor()
    monitor.update(losses)
    means = np.convolve(losses, np.full(100, 0.01), mode="valid")
    (line,) = plt.plot(700 + np.arange(len(means)), means, label=name)
    for alarm in monitor.alarms_:
        row, change = 600 + alarm.row, 600 + alarm.change
        plt.axvline(row, color=line.get_color(), linestyle="--")
        print(f"{name}: alarm at {row}, change at about {change}")
plt.xlabel("Digits")
plt.ylabel("Log loss of the last 100")
plt.legend(loc="upper left")
plt.show()

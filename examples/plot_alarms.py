"""
==========================================
Raising an alarm when a stream changes
==========================================

:class:`~sklearn_scinol.evaluation.LossMonitor` watches the losses of a model in use and
raises an alarm when they have changed. One model learns 600 digits and is then only
used; the other goes on learning. After 1,500 digits the handwriting changes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import LossMonitor

X, y = load_digits(return_X_y=True)  # not shuffled: many people wrote them
model = ScInOLClassifier().partial_fit(X[:600], y[:600], classes=np.arange(10))
X, y = X[600:], y[600:]
frozen = model.predict_proba(X)
learning = model.partial_fit_predict(X, y, method="predict_proba")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for p, name in (frozen, "learned 600 digits"), (learning, "goes on learning"):
    losses = -np.log(p[np.arange(len(y)), y])
    monitor = LossMonitor()
    monitor.update(losses)
    means = np.convolve(losses, np.full(100, 0.01), mode="valid")
    (line,) = ax.plot(700 + np.arange(len(means)), means, lw=2.5, label=name)
    for alarm in monitor.alarms_:
        row, change = 600 + alarm.row, 600 + alarm.change
        ax.axvline(row, color=line.get_color(), ls="--", lw=2.5)
        print(f"{name}: alarm at {row}, changed at about {change}")
ax.set(xlabel="digits", ylabel="log loss of the last 100", ylim=(0, None))
ax.legend()
plt.show()

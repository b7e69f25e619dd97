"""
================================================
Evaluating a whole stream without a held-out set
================================================

In progressive validation each row is predicted before it is learned. So all rows are
test rows, and all are learned. The curve shows how a model improves. Any estimator with
``partial_fit`` can be scored: those of this package predict each row after learning all
before it; others predict a chunk, then learn it.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import ProgressiveValidationDisplay

X, y = load_digits(return_X_y=True)
chunks = [(X[i : i + 10], y[i : i + 10]) for i in range(0, len(y), 10)]

figure, ax = plt.subplots()
for model in GaussianNB(), SGDClassifier(random_state=0), ScInOLClassifier():
    display = ProgressiveValidationDisplay.from_estimator(
        model, chunks, metrics="accuracy", classes=range(10), ax=ax
    )
    print(f"{display.name}: {display.scores[-1]:.3f} of the digits were right.")
ax.set_xlim(50, len(y))
plt.show()

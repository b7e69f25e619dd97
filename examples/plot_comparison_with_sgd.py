"""
=======================
Replacing SGDClassifier
=======================

:class:`~sklearn_scinol.ScInOLClassifier` has the methods of
:class:`~sklearn.linear_model.SGDClassifier`, and needs neither a scaler nor a grid
search.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_scinol import ScInOLClassifier

sgd = SGDClassifier(loss="log_loss", random_state=0)
scaled = make_pipeline(StandardScaler(), sgd)
grid = {"sgdclassifier__alpha": [1e-5, 1e-4, 1e-3, 1e-2]}
models = {
    "SGD": sgd,
    "SGD, scaled": scaled,
    "SGD, scaled, grid search": GridSearchCV(scaled, grid, scoring="neg_log_loss"),
    "ScInOL": ScInOLClassifier(),
}
data = {"breast cancer": load_breast_cancer, "iris": load_iris, "wine": load_wine}
for k, (name, model) in enumerate(models.items()):
    scores = [
        cross_val_score(model, *load(return_X_y=True), cv=3, scoring="neg_log_loss")
        for load in data.values()
    ]
    losses = -np.mean(scores, axis=1)
    plt.bar(np.arange(3) + 0.2 * k, losses, width=0.18, label=name)
plt.xticks(np.arange(3) + 0.3, data)
plt.yscale("log")
plt.ylabel("Log loss, cross-validated")
plt.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
plt.show()

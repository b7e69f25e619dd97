"""
===================
Kernels on a stream
===================

:class:`~sklearn_scinol.DFEGClassifier` learns classes that no line separates, by a
kernel and without a learning rate. At most 200 rows are stored. Each row is predicted
before it is learned.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.inspection import DecisionBoundaryDisplay

from sklearn_scinol import DFEGClassifier

X, y = make_moons(1000, noise=0.2, random_state=0)
model = DFEGClassifier(kernel="rbf", gamma=5.0, max_support=200)
predicted = model.partial_fit_predict(X, y, classes=[0, 1])
print(f"{(predicted == y).mean():.3f} of the predictions were right.")

figure, ax = plt.subplots()
DecisionBoundaryDisplay.from_estimator(
    model, X, response_method="predict", cmap="coolwarm", alpha=0.3, ax=ax
)
ax.scatter(*X.T, c=y, cmap="coolwarm", s=15)
plt.show()

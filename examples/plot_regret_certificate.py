"""
=======================
Checking a regret bound
=======================

The regret is the total loss less that of the best linear model in hindsight. For ScInOL
it is proved to stay below a bound, on any stream. The bound is known while the model
learns. Dotted is the bound of gradient descent whose learning rates, one for each
feature, are the best in hindsight: not tuning costs at most a logarithmic factor.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from sklearn_scinol import ScInOLRegressor
from sklearn_scinol.evaluation import RegretCurveDisplay

X, y = load_diabetes(return_X_y=True)
model = ScInOLRegressor(center=False)  # the bound is for features as they are
display = RegretCurveDisplay.from_estimator(model, [(X, y)])
print("below the bound at each point:", (display.regret <= display.bound).all())
price = display.bound[-1] / display.tuned_bound[-1]
print(f"price of not tuning: the bound is {price:.2f} times as large")
plt.show()

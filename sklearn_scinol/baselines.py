"""Competitors from the literature as estimators, most of which need a learning rate.

They are here to compare with, under the same conditions: the same loops, losses,
centring, averaging and progressive validation. Only they are worth a grid search.
:class:`LastLabelClassifier` has none, and ignores the features.
"""

from .estimators.baseline import BaselineClassifier, BaselineRegressor
from .estimators.last_label import LastLabelClassifier

__all__ = ["BaselineClassifier", "BaselineRegressor", "LastLabelClassifier"]

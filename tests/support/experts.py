"""Experts of mixtures that several tests mix."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.baselines import BaselineClassifier, BaselineRegressor

#: Three experts whose predictions differ much, of classifiers (True) and regressors.
EXPERTS = {
    True: [
        ("nag", BaselineClassifier("nag", learning_rate=0.3)),
        ("adaogd", BaselineClassifier("adaogd", learning_rate=0.1)),
        ("scinol", ScInOLClassifier()),
    ],
    False: [
        (f"adaogd {rate}", BaselineRegressor("adaogd", learning_rate=rate))
        for rate in (0.01, 0.1, 1.0)
    ],
}


class Script(ClassifierMixin, BaseEstimator):
    """Predicts the probabilities in some columns."""

    def __init__(self, columns=()):
        self.columns = columns

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        self.classes_ = np.arange(len(self.columns))
        return self

    def predict_proba(self, X):
        return X[:, self.columns]


def scripts(n_experts, n_classes):
    """Experts whose probabilities are the features."""
    columns = np.arange(n_experts * n_classes).reshape(n_experts, n_classes)
    return [(f"e{k}", Script(own.tolist())) for k, own in enumerate(columns)]

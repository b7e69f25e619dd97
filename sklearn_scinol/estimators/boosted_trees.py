"""Boosted trees, an expert of mixtures that learn rows several times."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from .._typing import RandomState
from ..models.boosted_trees import MAX_SEED, BoostedTreesModel
from .classifier import OnlineClassifier
from .one_pass import OnePassMixin
from .regressor import OnlineRegressor


class _BoostedTrees(OnePassMixin):
    """Mixin of estimators whose trees grow in the epochs of a mixture.

    Rows that are learned once are predicted only.
    """

    _own_constraints: dict = {"random_state": ["random_state"]}
    _model_types = (BoostedTreesModel,)

    _n_outputs: Any

    def _new_model(self, X, loss):
        seed = int(check_random_state(self.random_state).randint(MAX_SEED))
        return BoostedTreesModel(loss, X.shape[1], self._n_outputs(loss), seed=seed)


class BoostedTreesClassifier(_BoostedTrees, OnlineClassifier):
    """Classifier by boosted trees, see :class:`BoostedTreesModel`."""

    _lacking = {"loss": "log_loss", "class_weight": None}

    def __init__(self, *, random_state: RandomState = None, new_classes: str = "error"):
        self.random_state = random_state
        self.new_classes = new_classes


class BoostedTreesRegressor(_BoostedTrees, OnlineRegressor):
    """Regressor by boosted trees, see :class:`BoostedTreesModel`."""

    _lacking = {"loss": "squared_error"}

    def __init__(self, *, random_state: RandomState = None):
        self.random_state = random_state

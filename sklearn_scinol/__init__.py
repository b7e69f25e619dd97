"""Online learning that needs no tuning, as scikit-learn estimators."""

__version__ = "0.2.0"

import sys
from importlib import import_module

from .config import config_context, get_config, set_config
from .estimators.adaftrl import AdaFTRLClassifier, AdaFTRLRegressor
from .estimators.dfeg import DFEGClassifier, DFEGRegressor
from .estimators.hedge import HedgeClassifier, HedgeRegressor
from .estimators.implicit import AdaImplicitClassifier, AdaImplicitRegressor
from .estimators.online_newton import OnlineNewtonClassifier, OnlineNewtonRegressor
from .estimators.scinol import ScInOLClassifier, ScInOLRegressor
from .merging import merge_models

# Where estimators were before they had a folder: pickles of that time name it.
for _moved in "adaftrl", "dfeg", "hedge", "implicit", "scinol":
    sys.modules[f"{__name__}._{_moved}"] = import_module(
        f".estimators.{_moved}", __name__
    )

__all__ = [
    "AdaFTRLClassifier",
    "AdaFTRLRegressor",
    "AdaImplicitClassifier",
    "AdaImplicitRegressor",
    "DFEGClassifier",
    "DFEGRegressor",
    "HedgeClassifier",
    "HedgeRegressor",
    "OnlineNewtonClassifier",
    "OnlineNewtonRegressor",
    "ScInOLClassifier",
    "ScInOLRegressor",
    "config_context",
    "get_config",
    "merge_models",
    "set_config",
]

"""Online learning that needs no tuning, as scikit-learn estimators."""

from ._adaftrl import AdaFTRLClassifier, AdaFTRLRegressor
from ._config import config_context, get_config, set_config
from ._dfeg import DFEGClassifier, DFEGRegressor
from ._hedge import HedgeClassifier, HedgeRegressor
from ._implicit import AdaImplicitClassifier, AdaImplicitRegressor
from ._scinol import ScInOLClassifier, ScInOLRegressor

__version__ = "0.1.0"

__all__ = [
    "AdaFTRLClassifier",
    "AdaFTRLRegressor",
    "AdaImplicitClassifier",
    "AdaImplicitRegressor",
    "DFEGClassifier",
    "DFEGRegressor",
    "HedgeClassifier",
    "HedgeRegressor",
    "ScInOLClassifier",
    "ScInOLRegressor",
    "config_context",
    "get_config",
    "set_config",
]

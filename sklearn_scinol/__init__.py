"""Online learning that needs no tuning, as scikit-learn estimators."""

from ._config import config_context, get_config, set_config
from ._implicit import AdaImplicitClassifier, AdaImplicitRegressor
from ._scinol import ScInOLClassifier, ScInOLRegressor

__version__ = "0.1.0"

__all__ = [
    "AdaImplicitClassifier",
    "AdaImplicitRegressor",
    "ScInOLClassifier",
    "ScInOLRegressor",
    "config_context",
    "get_config",
    "set_config",
]

"""Online learning that needs no tuning, as scikit-learn estimators."""

from ._version import __version__ as __version__
from .compiling import compile_estimator as compile
from .config import config_context, get_config, set_config
from .conformal.classifier import OnlineConformalClassifier
from .conformal.regressor import OnlineConformalRegressor
from .estimators.adaftrl import AdaFTRLClassifier, AdaFTRLRegressor
from .estimators.dfeg import DFEGClassifier, DFEGRegressor
from .estimators.forest import (
    MondrianForestClassifier,
    MondrianForestRegressor,
    OnlineExtraTreesClassifier,
    OnlineExtraTreesRegressor,
)
from .estimators.implicit import AdaImplicitClassifier, AdaImplicitRegressor
from .estimators.neighbors import OnlineKNeighborsClassifier, OnlineKNeighborsRegressor
from .estimators.online_newton import OnlineNewtonClassifier, OnlineNewtonRegressor
from .estimators.scinol import ScInOLClassifier, ScInOLRegressor
from .merging import merge_models
from .mixtures.classifier import HedgeClassifier
from .mixtures.regressor import HedgeRegressor

__all__ = [
    "AdaFTRLClassifier",
    "AdaFTRLRegressor",
    "AdaImplicitClassifier",
    "AdaImplicitRegressor",
    "DFEGClassifier",
    "DFEGRegressor",
    "HedgeClassifier",
    "HedgeRegressor",
    "MondrianForestClassifier",
    "MondrianForestRegressor",
    "OnlineConformalClassifier",
    "OnlineConformalRegressor",
    "OnlineExtraTreesClassifier",
    "OnlineExtraTreesRegressor",
    "OnlineKNeighborsClassifier",
    "OnlineKNeighborsRegressor",
    "OnlineNewtonClassifier",
    "OnlineNewtonRegressor",
    "ScInOLClassifier",
    "ScInOLRegressor",
    "compile",
    "config_context",
    "get_config",
    "merge_models",
    "set_config",
]

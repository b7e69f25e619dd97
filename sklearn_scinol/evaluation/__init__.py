"""How well estimators do on a stream, and how close that is to what is possible."""

from .comparator import Comparator, best_comparator
from .display import ProgressiveValidationDisplay, RegretCurveDisplay
from .progressive import ProgressiveValidationResult, progressive_validation
from .regret import RegretCurveResult, regret_curve

__all__ = [
    "Comparator",
    "ProgressiveValidationDisplay",
    "ProgressiveValidationResult",
    "RegretCurveDisplay",
    "RegretCurveResult",
    "best_comparator",
    "progressive_validation",
    "regret_curve",
]

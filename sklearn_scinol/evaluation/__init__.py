"""Evaluation on a stream: scores, regret, and the best comparator in hindsight."""

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

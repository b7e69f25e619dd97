"""Evaluation on a stream: scores, alarms, regret, and the best comparator."""

from .comparator import Comparator, best_comparator
from .display import ProgressiveValidationDisplay, RegretCurveDisplay
from .monitor import Alarm, LossMonitor
from .progressive import ProgressiveValidationResult, progressive_validation
from .regret import RegretCurveResult, regret_curve
from .variability import temporal_variability

__all__ = [
    "Alarm",
    "Comparator",
    "LossMonitor",
    "ProgressiveValidationDisplay",
    "ProgressiveValidationResult",
    "RegretCurveDisplay",
    "RegretCurveResult",
    "best_comparator",
    "progressive_validation",
    "regret_curve",
    "temporal_variability",
]

"""Progressive validation: each row of a stream is predicted before it is learned."""

from .display import ProgressiveValidationDisplay
from .progressive import ProgressiveValidationResult, progressive_validation

__all__ = [
    "ProgressiveValidationDisplay",
    "ProgressiveValidationResult",
    "progressive_validation",
]

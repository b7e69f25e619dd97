"""Transformers of features that learn from a stream."""

from .binner import OnlineBinner
from .fourier import RandomFourierFeatures
from .history import OnlineHistory
from .scaler import OnlineScaler
from .table import TableEncoder
from .target_encoder import OnlineTargetEncoder

__all__ = [
    "OnlineBinner",
    "OnlineHistory",
    "OnlineScaler",
    "OnlineTargetEncoder",
    "RandomFourierFeatures",
    "TableEncoder",
]

"""Transformers of features that learn from a stream."""

from .binner import OnlineBinner
from .fourier import RandomFourierFeatures
from .scaler import OnlineScaler
from .table import TableEncoder

__all__ = ["OnlineBinner", "OnlineScaler", "RandomFourierFeatures", "TableEncoder"]

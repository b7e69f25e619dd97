"""Transformers of features that learn from a stream."""

from .binner import OnlineBinner
from .scaler import OnlineScaler
from .table import TableEncoder

__all__ = ["OnlineBinner", "OnlineScaler", "TableEncoder"]

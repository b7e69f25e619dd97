"""Learning from partitions of Dask, on one machine or a cluster."""

from .fitting import fit_dask
from .partitions import partitions
from .predicting import predict_dask

__all__ = ["fit_dask", "partitions", "predict_dask"]

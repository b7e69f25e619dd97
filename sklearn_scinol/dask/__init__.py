"""Data in partitions, on one machine or a cluster, with Dask underneath."""

from .fitting import fit_dask
from .partitions import partitions
from .predicting import predict_dask

__all__ = ["fit_dask", "partitions", "predict_dask"]

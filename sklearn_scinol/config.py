"""Configuration of the package, one for each thread, as in scikit-learn."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from .engines import ENGINES, get_engine

Engine: TypeAlias = Literal["auto", "numba", "numpy"]


class _Local(threading.local):
    def __init__(self):
        self.config = {"engine": "auto"}


_local = _Local()


def current_engine():
    """Return the module of the engine that this thread has asked for."""
    return get_engine(_local.config["engine"])


def get_config() -> dict[str, Any]:
    """Return the configuration of this thread.

    Returns
    -------
    config : dict
        A copy: changing it changes nothing.

    Examples
    --------
    >>> import sklearn_scinol
    >>> sklearn_scinol.get_config()
    {'engine': 'auto'}
    """
    return _local.config.copy()


def set_config(*, engine: Engine | None = None) -> None:
    """Set the configuration of this thread.

    Parameters
    ----------
    engine : {"auto", "numba", "numpy"}, default=None
        What runs the loop over rows: Numba's compiled code, NumPy, or compiled code if
        Numba is installed ("auto"). Results are equal up to rounding. None leaves the
        setting as it is.

    Raises
    ------
    ValueError
        If `engine` is not one of these.

    Examples
    --------
    >>> import sklearn_scinol
    >>> sklearn_scinol.set_config(engine="numpy")
    >>> sklearn_scinol.get_config()
    {'engine': 'numpy'}
    >>> sklearn_scinol.set_config(engine="auto")
    """
    if engine is None:
        return
    if engine not in ENGINES:
        raise ValueError(f"engine must be one of {ENGINES}, got {engine!r} instead.")
    _local.config["engine"] = engine


@contextmanager
def config_context(*, engine: Engine | None = None) -> Iterator[None]:
    """Set the configuration of this thread for a block, and restore it afterwards.

    Parameters
    ----------
    engine : {"auto", "numba", "numpy"}, default=None
        See :func:`set_config`.

    Yields
    ------
    None
        The configuration before is restored after the block.

    Examples
    --------
    >>> import sklearn_scinol
    >>> with sklearn_scinol.config_context(engine="numpy"):
    ...     sklearn_scinol.get_config()
    {'engine': 'numpy'}
    >>> sklearn_scinol.get_config()
    {'engine': 'auto'}
    """
    before = get_config()
    set_config(engine=engine)
    try:
        yield
    finally:
        set_config(**before)

"""Compile what an estimator will need before it learns."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ._typing import Labels
from .conformal.regressor import OnlineConformalRegressor
from .estimators.labels import as_indicators, is_multilabel
from .estimators.online_estimator import OnlineEstimator
from .estimators.rehearsal import compile_loops
from .preprocessing.stream import StreamTransformer

#: Beginning of a warning.
UNSAVED = "Loops are compiled for this process alone"


def compile_estimator(
    estimator: Any, X: Any, y: Any, *, classes: Labels | None = None
) -> bool:
    """Compile the loops that an estimator will need, and keep them on disk.

    For container images and services: the first calls then compile nothing. The
    processors share the work. Copies of the estimator learn and predict a few of the
    rows; the estimator itself does not change.

    Parameters
    ----------
    estimator : estimator or pipeline
        With estimators or transformers of this package, fitted or not.
    X : object
        Rows of the type and width of the stream. The first few are used.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their labels or targets.
    classes : array-like of shape (n_classes,), default=None
        All classes of the stream; by default those of a fitted estimator, or of `y`.
        With ``new_classes="add"`` loops for any number of classes are compiled.

    Returns
    -------
    has_compiled : bool
        False if all was compiled before, in this process or on disk.

    Raises
    ------
    TypeError
        If no part of the estimator is of this package.
    ValueError
        If the engine compiles nothing: it is "numpy", Numba is not installed, or
        ``NUMBA_DISABLE_JIT`` is set.

    Warns
    -----
    RuntimeWarning
        If compiled loops cannot be kept on disk.

    Notes
    -----
    Numba keeps compiled loops in the folder of the package, or in the folder that the
    environment variable ``NUMBA_CACHE_DIR`` names. If none can be written, loops are
    compiled for this process alone.

    Where an estimator compiles as it learns or predicts, and that takes more than 2 s,
    the logger ``sklearn_scinol`` says so at level WARNING, which appears on stderr:
    ``logging.getLogger("sklearn_scinol").setLevel("ERROR")`` silences it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import sklearn_scinol
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = sklearn_scinol.ScInOLClassifier()
    >>> sklearn_scinol.compile(model, X, y)  # doctest: +SKIP
    True
    """
    parts = [estimator, *estimator.get_params().values()]
    own = OnlineEstimator | StreamTransformer | OnlineConformalRegressor
    if not any(isinstance(part, own) for part in parts):
        raise TypeError(
            f"Nothing to compile: no part of {type(estimator).__name__} is an "
            "estimator or transformer of sklearn-scinol."
        )
    if is_multilabel(y):
        y = as_indicators(y)
    elif is_classifier(estimator) and classes is None:
        classes = getattr(estimator, "classes_", None)
        classes = np.unique(y) if classes is None else classes
    reports = compile_loops(estimator, X, y, classes, is_quiet=True)
    if reports is None:
        raise ValueError(
            "Nothing to compile: the engine is 'numpy', Numba is not installed, or "
            "NUMBA_DISABLE_JIT is set."
        )
    for why in {report.unsaved for report in reports} - {""}:
        warnings.warn(f"{UNSAVED}, since {why}.", RuntimeWarning, stacklevel=2)
    return any(report.has_compiled for report in reports)

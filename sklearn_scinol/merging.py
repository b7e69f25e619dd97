"""One model from several that learned different parts of a stream."""

from collections.abc import Sequence
from pickle import PicklingError
from typing import Any

from joblib import hash as hash_of
from sklearn.utils.validation import check_is_fitted

from .estimators.base import OnlineEstimator

__all__ = ["merge_models"]

# Parameters that change nothing about what was learned.
IRRELEVANT = {"n_jobs", "random_state", "verbose"}


def merge_models(models: Sequence[Any], *, start: Any = None) -> Any:
    """Make one model of several that have learned different parts of the data.

    Each part can be learned by another process or machine, for instance, and the models
    merged in any order, a few at a time: that makes no difference but for rounding.

    Parameters
    ----------
    models : sequence of estimators
        Fitted estimators of this package, of the same class and with the same
        parameters. They stay as they are.

    start : estimator, default=None
        What all of them began as, if they are copies of a model that had learned rows
        before. What it has learned is counted once. None stands for models that began
        with no rows.

    Returns
    -------
    model : estimator
        A new one, which predicts and can go on learning.

    Raises
    ------
    NotFittedError
        If a model has learned nothing.
    TypeError
        If one is no estimator of this package, or has experts that are not.
    ValueError
        If there are none, or they do not fit together: other parameters, features,
        targets, or classes without ``new_classes="add"``; some with rows that were
        centred and some without; precomputed kernels.

    Notes
    -----
    *Second order.* What rows say of the weights adds up: the inverse of the posterior
    covariance, and its product with the weights. With the squared error, and rows that
    are learned as they are, the model is the one that all rows in order lead to; so are
    running means and deviations.

    *All others.* Weights are the mean of those of the models, each counting by the rows
    that it learned, in units of the features. So are decision functions of rows within
    the range seen, but those of additive models whose bins differ, which are as near as
    can be. What rows add to, such as sums of squared gradients, adds up.

    *Mixtures.* Experts are merged one by one. How well merged ones predict, no row has
    told yet: weights are the geometric mean of those of the models, and adapt within
    some hundred rows that the mixture learns.

    Averages of models that each saw few rows lag behind one model that saw all. Two
    things help: a `start` that has learned some rows, of which the others are copies,
    and further rows for the merged model. `n_samples_seen_` and `cumulative_loss_` add
    up. A `regret_bound` holds for each of the models, and the merged one has none.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub and R. J. LeVeque (1979). "Updating formulae and a
       pairwise algorithm for computing sample variances". Stanford University.
    .. [2] A. Agarwal, O. Chapelle, M. Dudík and J. Langford (2014). "A reliable
       effective terascale linear learning system". JMLR 15.

    Examples
    --------
    >>> from copy import deepcopy
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import HedgeClassifier, merge_models
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> start = HedgeClassifier().partial_fit(X[:100], y[:100], classes=[0, 1])
    >>> parts = slice(100, 300), slice(300, 500)
    >>> models = [deepcopy(start).partial_fit(X[part], y[part]) for part in parts]
    >>> model = merge_models(models, start=start)
    >>> model.n_samples_seen_
    500
    >>> round(model.score(X[500:], y[500:]), 2)
    0.99
    """
    models = list(models)
    if not models:
        raise ValueError("There must be at least one model to merge.")
    everything = models if start is None else [*models, start]
    for model in everything:
        if not isinstance(model, OnlineEstimator):
            raise TypeError(
                f"{type(model).__name__} cannot be merged: only estimators of this "
                "package can."
            )
        check_is_fitted(model)
        _check_fits(model, models[0])
    return models[0]._merged(models[1:], start)


def _check_fits(model, first):
    """Check that two models are alike but for what they have learned."""
    if type(model) is not type(first):
        raise ValueError(
            f"{type(model).__name__} cannot be merged with {type(first).__name__}."
        )
    own, others = (each.get_params(deep=True) for each in (model, first))
    for name in sorted({*own, *others}):
        if name.rpartition("__")[2] in IRRELEVANT:
            continue
        if name not in own or name not in others or not _same(own[name], others[name]):
            raise ValueError(
                f"Only models with the same parameters can be merged: {name} differs."
            )
    for name in "n_features_in_", "feature_names_in_", "_output_shape":
        mine, theirs = getattr(model, name, None), getattr(first, name, None)
        if not _same(mine, theirs):
            raise ValueError(
                f"Only models of the same features and targets can be merged: one has "
                f"{name.strip('_')}={theirs}, another {mine}."
            )


def _same(a, b):
    if a is b:
        return True
    try:
        return hash_of(a) == hash_of(b)
    except (PicklingError, AttributeError):  # a function without a name
        return bool(a == b)

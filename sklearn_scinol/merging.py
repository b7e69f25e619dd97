"""Merging of models that were trained on disjoint data."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.utils.validation import check_is_fitted

from ._shards import check_can_be_merged, merge
from ._typing import Estimator


def merge_models(
    models: Sequence[Estimator], *, start: Estimator | None = None
) -> Estimator:
    """Merge models that were trained on disjoint data.

    Each part can be learned by another process or machine. The order of models changes
    nothing but rounding, which rows neighbours and kernel models with `max_support`
    keep, and which of equally near rows count. Merge all at once: in steps, weights
    within a `radius` of centred rows, as of AdaFTRL, come out otherwise, and weights
    and wealths of mixtures a little so.

    Parameters
    ----------
    models : sequence of estimators
        Fitted estimators, transformers or pipelines of this package, of the same class
        and with the same parameters. They stay as they are.
    start : estimator, default=None
        The model that all of them are copies of, as it was when it was copied: its rows
        count once. Copies of a model that had learned rows need it. A `start` that has
        learned rows since then would be subtracted wrongly. It is refused if it has
        more rows than a model, or if its `loss_curve_` is not how that of a model
        begins; this cannot be told of transformers, nor after 1,000 calls.

    Returns
    -------
    model : estimator
        A new model, which predicts and can go on learning.

    Raises
    ------
    NotFittedError
        If a model is not fitted.
    TypeError
        If a model is not of this package, or learns with steps or experts that are not.
    ValueError
        If there are no models, some are copies of a model that is not `start`, or not
        copies of `start`, or they do not fit together: other parameters, features,
        kinds of columns, targets, or classes without ``new_classes="add"``; some with
        centred rows and some without;
        precomputed kernels; different transformers from elsewhere; additive models, or
        steps and experts from elsewhere, behind columns that differ between the models;
        interactions of numbers that are coded in another order.

    Notes
    -----
    Sums over rows add up, and other numbers of the models are averaged by their numbers
    of rows: see the user guide on models of parts of the data. Averages of models that
    saw few rows each lag behind one model that saw all. Two things help: a `start` that
    has learned some rows, and further rows for the merged model. `n_samples_seen_` and
    `cumulative_loss_` add up. The merged model has no `regret_bound`.

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
    for model in models if start is None else [*models, start]:
        check_can_be_merged(model)
        check_is_fitted(model)
    return merge(models, start)

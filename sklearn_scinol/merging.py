"""One model from several that learned different parts of a stream."""

from collections.abc import Sequence
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ._shards import check_can_be_merged, merge

__all__ = ["merge_models"]


def merge_models(models: Sequence[Any], *, start: Any = None) -> Any:
    """Make one model of several that have learned different parts of the data.

    Each part can be learned by another process or machine, for instance, and the models
    merged in any order, a few at a time: that makes no difference but for rounding, and
    for which rows kernel models with `max_support` keep.

    Parameters
    ----------
    models : sequence of estimators
        Fitted estimators, transformers or pipelines of this package, of the same class
        and with the same parameters. They stay as they are.

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
        If one is not of this package, or learns with steps or experts that are not.
    ValueError
        If there are none, or they do not fit together: other parameters, features,
        kinds of columns, targets, or classes without ``new_classes="add"``; some with
        rows that were centred and some without; precomputed kernels; transformers from
        elsewhere that differ; additive models, or steps and experts from elsewhere,
        behind columns that are not the same in all models; interactions of numbers that
        are coded in another order.

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

    *Transformers.* Means and deviations of an :class:`~.preprocessing.OnlineScaler` are
    those of all rows. Bins of an :class:`~.preprocessing.OnlineBinner` are those of
    `start`, or else of one of the models. A :class:`~.preprocessing.TableEncoder` gives
    columns of their own to the values that came first in one of the models, as long as
    there are columns; all others are hashed.

    *Pipelines.* They are merged step by step. Values and bins that have other columns
    in each model go to common ones, and what learners know of them goes along: their
    decisions are those of the same rows in common columns. A column that several go to
    has the mean of what is known of those that were seen; a bin that lies in several
    has the mean of these, by how much of it lies in each. Standardised numbers count as
    the same, though each model had its own mean and deviation.

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
    for model in models if start is None else [*models, start]:
        check_can_be_merged(model)
        check_is_fitted(model)
    return merge(models, start)

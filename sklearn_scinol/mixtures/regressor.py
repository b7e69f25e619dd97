"""Mixture of experts for numbers, which needs no tuning."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from .._docstrings import inherit_descriptions
from .._typing import Quantiles, RandomState, RegressionLoss
from ..estimators.parameters import DEFAULT_MAX_ITER, DEFAULT_TOL
from ..estimators.regressor import OnlineRegressor, PredictsDeviations, with_quantiles
from .mixture_estimator import MixtureEstimator


@inherit_descriptions
class HedgeRegressor(PredictsDeviations, MixtureEstimator, OnlineRegressor):
    r"""Regressor as good as the best of several learners, with nothing to tune.

    Several learners, the experts, predict each row. Their predictions are mixed by
    weights that are learned from their losses [1]_. The total loss of the mixture is
    little above that of the best expert, or of the best sequence of experts where the
    stream changes. Pools of experts, which are sums of them with any weights, often
    make it smaller. By default the experts are learners of this package: rescaling or
    shifting a feature changes no prediction, and rescaling or shifting the target does
    the same to the predictions.

    A row costs as much as its experts together, and for pools O(n_experts^2) more.

    Parameters
    ----------
    loss : {%(losses)s}, default="absolute_error"
        Loss of the mixture and of the default experts; for "squared_error" ScInOL is
        left out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weights of the features, if all experts are linear: those of the mixture where
        none of its experts is clipped. Experts whose scaling forgets, or that learn the
        dense view of a table, are left out: then the mean of the others by `weights_`.
    weights_ : ndarray of shape (n_experts,) or (n_outputs, n_experts)
        Weights of the experts at the next row, of sum 1 for each output.

    See Also
    --------
    HedgeClassifier : Mixture of experts for labels.
    ScInOLRegressor : The first of the default experts, at a fraction of the time.
    sklearn_scinol.experts.FixedShare : The weights alone, for losses of any kind.
    sklearn.ensemble.VotingRegressor : Weighs estimators by hand.

    Notes
    -----
    Predictions of experts are clipped to near the range of the targets
    so far, so that an expert that has gone wild costs little more than that range. They
    may be beyond all targets as far as three of the last 32 targets were.
    `regret_bound_` includes what experts were charged more because they were clipped.
    :doc:`/user_guide/mixtures` says how the default experts were chosen, and what is
    guaranteed.

    Standard deviations of targets are the root of the mean squared error of all
    predictions before, but the first, plus the weighted mean of squared differences of
    the experts from the prediction. The experts differ most on rows that are unlike
    those learned. :class:`OnlineConformalRegressor` has intervals that hold their
    level.

    With a list of quantiles each has weights of its own. An expert of one output, for
    instance of another loss, makes the same prediction for all.

    References
    ----------
    .. [1] M. Herbster, M. K. Warmuth. "Tracking the best expert." Machine Learning 32,
       1998.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol import HedgeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HedgeRegressor().partial_fit(X, y)
    >>> losses = model.expert_losses_ / len(y)
    >>> print(f"experts lose {losses.min():.1f} to {losses.max():.1f}")
    experts lose 47.2 to 66.8
    >>> print(f"mixture loses {model.cumulative_loss_ / len(y):.1f}")
    mixture loses 47.2
    """

    def __init__(
        self,
        estimators: list[tuple[str, Any]] | None = None,
        *,
        loss: RegressionLoss = "absolute_error",
        epsilon: float = 0.1,
        quantile: Quantiles = 0.5,
        exclude: str | list[str] | tuple[str, ...] = (),
        clip_ratio: float | None = None,
        max_iter: int = DEFAULT_MAX_ITER,
        tol: float | None = DEFAULT_TOL,
        early_stopping: bool | Literal["auto"] = "auto",
        validation_fraction: float = 0.2,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: RandomState = None,
        n_jobs: int | None = None,
        warm_start: bool = False,
        verbose: bool | int = 0,
    ) -> None:
        self.estimators = estimators
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.exclude = exclude
        self.clip_ratio = clip_ratio
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

    def _new_expert(self, name, estimator, loss):
        estimator = super()._new_expert(name, estimator, loss)
        if (last := with_quantiles(estimator)) is not None:
            are_equal = np.array_equal(last.quantile, self.quantile)
            if not (self._has_quantiles and are_equal):
                raise ValueError(
                    f"The estimator {name!r} has quantile={last.quantile!r}, expected "
                    f"{self.quantile!r} as of the mixture."
                )
        return estimator

    def _decision_and_deviations(self, X):
        deviations = np.empty((X.shape[0], self._model.n_outputs))
        return self._decision_of_validated(X, deviations), deviations

"""Prediction with expert advice: weights for experts, learned from their losses."""

import math
from numbers import Integral

import numpy as np
from sklearn.utils import check_array, check_scalar
from sklearn.utils._optional_dependencies import check_matplotlib_support
from sklearn.utils.validation import check_is_fitted

from ._config import get_config
from .engines import get_engine

__all__ = ["AdaHedge", "ExpertWeightsDisplay"]


class AdaHedge:
    r"""Weights for experts, learned from their losses, with nothing to tune.

    In each round the weights are announced, then the experts' losses come in, and the
    mixture is charged the mean of these losses under the weights. In the end that is
    little more than the loss of the best expert, whatever the losses were [1]_.
    Neither the range of the losses nor the number of rounds is needed beforehand:
    losses in another unit lead to the same weights, to the last bit if its ratio is a
    power of two, and a constant added to all losses of a round changes nothing either.

    A round costs O(n_experts).

    Parameters
    ----------
    n_experts : int
        Number of experts, at least 1.

    Attributes
    ----------
    weights_ : ndarray of shape (n_experts,)
        Weights of the next round, non-negative, of sum 1. Those of the first round are
        equal.

    cumulative_losses_ : ndarray of shape (n_experts,)
        Sum of the losses of each expert, in units of the losses.

    cumulative_loss_ : float
        Sum of the losses that the mixture was charged, in the same units.

    mixability_gap_ : float
        Sum of the mixability gaps, see the notes. The regret, which is
        `cumulative_loss_` less the smallest of `cumulative_losses_`, is at most twice
        that.

    learning_rate_ : float
        Rate of the next round, an inverse loss; infinite while there is no gap.

    regret_bound_ : float
        What the theorem bounds the regret by, in units of the losses; see the notes.

    n_rounds_ : int
        Number of rounds so far.

    See Also
    --------
    sklearn_scinol.HedgeClassifier : Estimators as experts, all in one estimator.

    Notes
    -----
    For cumulative losses :math:`L_k` of `K` experts the weights are :math:`w_k \propto
    e^{-\eta L_k}`. The learning rate is :math:`\eta = \ln K / \Delta`, where
    :math:`\Delta` (`mixability_gap_`) sums over the rounds by how much the loss
    :math:`\langle w, l \rangle` of the mixture exceeded the mix loss :math:`-\frac1\eta
    \ln \sum_k w_k e^{-\eta l_k}`. While :math:`\Delta` is 0, the weight is shared
    equally by the experts of the smallest :math:`L_k`.

    The regret is at most :math:`2 \Delta \le \sqrt{\ln K \sum_t s_t^2} + 2 \max_t s_t`,
    where :math:`s_t` is the difference between the largest and the smallest loss of
    round `t` [1]_ [2]_. The right-hand side is `regret_bound_`.

    Where experts predict and the loss is convex in the prediction, the prediction
    :math:`\sum_k w_k p_k` costs no more than :math:`\langle w, l \rangle`.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen. "Follow the leader
       if you can, hedge if you must." Journal of Machine Learning Research 15, 2014.
       https://jmlr.org/papers/v15/rooij14a.html
    .. [2] W. M. Koolen. "AdaFTRL." 2016. (The bound with these constants.)

    Examples
    --------
    >>> from sklearn_scinol.experts import AdaHedge
    >>> hedge = AdaHedge(n_experts=3)
    >>> hedge.update([0.0, 1.0, 2.0])  # the weights that these losses were charged to
    array([0.33333333, 0.33333333, 0.33333333])
    >>> hedge.weights_.round(2)
    array([0.69, 0.23, 0.08])
    >>> _ = hedge.update([[0.0, 1.0, 2.0], [5.0, 1.0, 2.0], [0.0, 1.0, 2.0]])
    >>> hedge.weights_.round(2)
    array([0.36, 0.54, 0.11])
    >>> hedge.cumulative_losses_
    array([5., 4., 8.])
    >>> regret = hedge.cumulative_loss_ - hedge.cumulative_losses_.min()
    >>> print(f"{regret:.2f} is at most {hedge.regret_bound_:.2f}")
    2.73 is at most 13.55
    """

    def __init__(self, n_experts):
        check_scalar(n_experts, "n_experts", Integral, min_val=1)
        self.n_experts = int(n_experts)
        self.weights_ = np.full(self.n_experts, 1.0 / self.n_experts)
        self.cumulative_losses_ = np.zeros(self.n_experts)
        self.cumulative_loss_ = 0.0
        self.mixability_gap_ = 0.0
        self.n_rounds_ = 0
        self._lead = np.zeros(self.n_experts)  # of the best expert over each
        self._largest_range = 0.0
        self._norm_of_ranges = 0.0

    def __repr__(self):
        return f"{type(self).__name__}(n_experts={self.n_experts})"

    @property
    def learning_rate_(self):
        """Rate of the next round, an inverse loss; infinite while there is no gap."""
        if self.mixability_gap_ == 0.0:
            return math.inf
        return self._log_K / self.mixability_gap_

    @property
    def regret_bound_(self):
        """What the theorem bounds the regret by, in units of the losses."""
        return math.sqrt(self._log_K) * self._norm_of_ranges + 2 * self._largest_range

    @property
    def _log_K(self):
        return math.log(self.n_experts)

    def update(self, losses):
        """Learn from the losses of one round, or of several in order.

        How rounds are divided among calls changes nothing, to the last bit.

        Parameters
        ----------
        losses : array-like of shape (n_experts,) or (n_rounds, n_experts)
            Losses of the experts, in any unit and of any sign. The sum of each expert's
            losses must be finite.

        Returns
        -------
        weights : ndarray of the shape of `losses`
            The weights that each round was charged with: those before it was learned.

        Raises
        ------
        ValueError
            If the losses have another shape, are not all finite, or if sums of them
            are too large for floating-point numbers. Nothing is learned then.
        TypeError
            If they are no array, or a sparse one.
        """
        with np.errstate(all="ignore"):  # scikit-learn's test sums them
            rounds = check_array(
                losses, dtype=np.float64, ensure_2d=False, input_name="losses"
            )
        shape = rounds.shape
        if shape[-1] != self.n_experts:
            raise ValueError(
                f"losses has {shape[-1]} experts, but {type(self).__name__} is "
                f"expecting {self.n_experts} experts as input."
            )
        rounds = rounds.reshape(-1, self.n_experts)
        with np.errstate(over="ignore"):
            smallest = rounds.min(axis=1)
            ranges = rounds.max(axis=1) - smallest
            rounds = np.require(rounds, np.float64, ["C", "W"])
            # One by one, so that the norm does not depend on where blocks begin.
            norms = np.hypot.accumulate(np.append(self._norm_of_ranges, ranges))
        lead, weights = self._lead.copy(), self.weights_.copy()
        totals = self.cumulative_losses_.copy()
        charged = np.empty_like(rounds)
        gap, loss = get_engine(get_config()["engine"]).learn_rounds(
            rounds,
            smallest,
            self._log_K,
            lead,
            weights,
            totals,
            self.mixability_gap_,
            self.cumulative_loss_,
            charged,
        )
        # What has overflowed once is never finite again.
        if not all(np.isfinite(sums).all() for sums in (gap, loss, lead, totals)):
            raise ValueError("The sums of losses are too large for dtype('float64').")
        self._lead, self.weights_, self.cumulative_losses_ = lead, weights, totals
        self.mixability_gap_, self.cumulative_loss_ = float(gap), float(loss)
        self.n_rounds_ += len(rounds)
        self._largest_range = max(self._largest_range, float(ranges.max()))
        self._norm_of_ranges = float(norms[-1])
        return charged.reshape(shape)


class ExpertWeightsDisplay:
    """Plot of the experts' weights over the rows.

    Make it with :meth:`from_estimator`, or the method `plot_weights` of an estimator.

    Parameters
    ----------
    n_samples : ndarray of shape (n_points,)
        Numbers of rows learned.

    weights : ndarray of shape (n_points, n_experts)
        Weights of the next row then.

    names : list of str
        Names of the experts.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the weights are plotted.

    figure_ : matplotlib Figure
        The figure of that.

    areas_ : list of matplotlib PolyCollection
        One for each expert.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import HedgeClassifier
    >>> from sklearn_scinol.experts import ExpertWeightsDisplay
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    >>> display = ExpertWeightsDisplay.from_estimator(model)
    >>> plt.show()
    """

    def __init__(self, *, n_samples, weights, names):
        self.n_samples = n_samples
        self.weights = weights
        self.names = names

    @classmethod
    def from_estimator(cls, estimator, *, output=0, ax=None, **kwargs):
        """Plot the weights of a fitted estimator.

        Parameters
        ----------
        estimator : HedgeClassifier or HedgeRegressor
            Has learned something.

        output : int, default=0
            Which output's weights, where each has its own.

        ax : matplotlib Axes, default=None
            Where to plot; None makes a new figure.

        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.stackplot`.

        Returns
        -------
        display : ExpertWeightsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If the estimator has not learned anything.
        ValueError
            If there is no such output.
        """
        check_matplotlib_support(f"{cls.__name__}.from_estimator")
        check_is_fitted(estimator)
        n_samples, weights = estimator.weights_curve_
        weights = weights.reshape(len(n_samples), -1, weights.shape[-1])
        n_outputs = weights.shape[1]
        check_scalar(output, "output", Integral, min_val=0, max_val=n_outputs - 1)
        names = [*estimator.named_estimators_]
        display = cls(n_samples=n_samples, weights=weights[:, output], names=names)
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Plot the weights as areas on top of each other, which sum to 1.

        The axis of rows is logarithmic, since most is decided early.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to plot; None makes a new figure.

        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.stackplot`.

        Returns
        -------
        display : ExpertWeightsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        check_matplotlib_support(f"{type(self).__name__}.plot")
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots()
        # Row n is predicted with the weights after n - 1 rows.
        rows = np.asarray(self.n_samples) + 1
        kwargs = {"labels": self.names, "step": "post"} | kwargs
        self.areas_ = ax.stackplot(rows, np.transpose(self.weights), **kwargs)
        ax.set(xscale="log", xlabel="row", ylabel="weight", ylim=(0, 1))
        ax.set_xlim(1, max(rows[-1], 2))
        ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), reverse=True)
        self.ax_, self.figure_ = ax, ax.figure
        return self

"""Mixture of experts for numbers, which needs no tuning."""

from typing import Any, Literal

from .._typing import RandomState, RegressionLoss
from ..estimators.base import DEFAULT_MAX_ITER, DEFAULT_TOL
from ..estimators.baseline import BaselineRegressor
from ..estimators.implicit import AdaImplicitRegressor
from ..estimators.online_newton import OnlineNewtonRegressor
from ..estimators.regressor import OnlineRegressor
from ..estimators.scinol import ScInOLRegressor
from .base import MixtureEstimator
from .default_experts import Family

__all__ = ["HedgeRegressor"]


class HedgeRegressor(MixtureEstimator, OnlineRegressor):
    r"""Linear regression as good as the best of several learners, without tuning.

    Several learners, the experts, predict each row, and their predictions are mixed by
    weights that are learned from their losses [1]_. In the end the mixture costs little
    more than the best of the experts, whichever that turns out to be, and little more
    than the best sequence of them where the stream changes; on real data it often costs
    less. The experts are learners of this package, unless others are given: all that
    have `partial_fit`. The predictions of the default ones do not change with the unit
    or the zero of a feature; with those of the target they change as it does.

    A row costs what it costs the experts, and O(n_experts) more.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, default=None
        The experts and their names. They are cloned. An expert that is set to
        ``"drop"`` with :meth:`set_params` is left out. Those of this package, also at
        the end of an :class:`~sklearn_scinol.pipeline.OnlinePipeline`, predict each row
        from all rows before; others predict the rows of a chunk, at most 256, and then
        learn them, and predict 0 until they have learned a chunk.

        None stands for the default experts: :class:`ScInOLRegressor`; on features
        standardised online (sparse ones scaled only) AdaOGD with the rate 1/2 and
        implicit updates with the constant rate 1 (:class:`AdaImplicitRegressor`), on
        dense rows also with ``moment_forgetting=0.03``; and those of `second_order`,
        `additive` and `interactions`. Where one of the first two kinds is missing,
        there is also AdaOGD with the rate 1/8, and without additive ones AdaGrad with
        the rate 1/4. All predict a target that is standardised online. See the
        notes for how they were chosen.

    loss : str, default="absolute_error"
        What predictions are charged, those of the mixture and of the default experts.
        "absolute_error" aims at the median, "quantile" at another quantile;
        "squared_error" is half the square; "huber" the same up to `epsilon` and linear
        beyond; "epsilon_insensitive" ignores errors up to `epsilon`. With
        "squared_error" there is no ScInOL among the default experts, for its slope is
        not bounded.

    epsilon : float, default=0.1
        Threshold of the losses "huber" and "epsilon_insensitive", in units of the
        target, up to 1e100.

    quantile : float, default=0.5
        The quantile of the loss "quantile", between 0 and 1.

    switching : bool, default=True
        Whether the weights can follow an expert that becomes the best later on: they
        are those of :class:`~sklearn_scinol.experts.FixedShare`, and predictions of
        experts are clipped to the range of the targets so far. False leaves the weights
        to :class:`~sklearn_scinol.experts.AdaHedge`, which compares sums of losses over
        all rows.

    additive : {"auto", True, False}, default="auto"
        Whether there are two default experts that learn a function of each feature:
        ScInOL2 and AdaGrad with the rate 1/4, on values and the bins that these fall
        into; see `additive` of :class:`ScInOLRegressor`. "auto" has them for dense rows
        with up to 64 features.

    interactions : {"auto", True, False}, default="auto"
        Whether there are two default experts that learn functions of pairs of features
        as well: ScInOL2 and AdaOGD with the rate 1/2. Their time grows with the square
        of the number of features. "auto" has them where there are additive experts, for
        2 to 16 features.

    second_order : {"auto", True, False}, default="auto"
        Whether there are two default experts of second order beside the others:
        :class:`OnlineNewtonRegressor`, and the same with ``forgetting=0.01``. Their
        time grows with the square of the number of features. "auto" has them for up to
        128 features.

    clip_ratio : float, default=None
        For the default experts: if given, a number above 1. Values of a feature are
        clipped at so many times the largest absolute value that it has had. See
        :class:`ScInOLRegressor`.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update, or with `early_stopping` of held-out rows)
        is not below the best so far by `tol` times that of the first epoch, so that
        units of the loss do not matter. The model is then that of the epoch of the
        lowest loss, at its end. None runs all epochs and keeps the last.

    early_stopping : {"auto", True, False}, default="auto"
        Whether :meth:`fit` holds out `validation_fraction` of the rows
        and stops by their mean loss. In the end it learns them, once. "auto" does so
        where there is an epoch to choose (`tol` is not None, and `max_iter` not 1) and
        at least 10 rows are held out.

    validation_fraction : float, default=0.2
        The fraction of the rows that is held out with `early_stopping`; those of weight
        0 do not count.

    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.

    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.

    random_state : int, RandomState instance or None, default=None
        For the shuffling. An int gives the same result every time.

    n_jobs : int, default=None
        How many experts learn or predict at the same time, in threads, or on the joblib
        backend that is active. None means 1 unless in a :func:`joblib.parallel_config`
        context, -1 all processors. It pays from chunks of some thousand rows on, and
        does not change any number.

    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.

    verbose : int, default=0
        If positive, each epoch prints its mean loss, and that of held-out rows.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted experts, in the order given.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The same by name.

    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weights of the features, if all experts are linear, as they are without
        `additive` and `interactions`: the mean of theirs, by `weights_`. They predict
        what the mixture does where none of its experts is clipped.

    intercept_ : ndarray of shape (1,) or (n_outputs,)
        The same of the intercepts.

    weights_ : ndarray of shape (n_experts,) or (n_outputs, n_experts)
        Weights of the experts at the next row, of sum 1.
        Each of several outputs has weights of its own.

    weights_curve_ : tuple of ndarray
        Numbers of rows that the weights have learned, about a tenth apart, and the
        weights after each. This is what :meth:`plot_weights` shows.

    expert_losses_ : ndarray of shape (n_experts,) or (n_outputs, n_experts)
        Weighted sum of the losses of each expert, of predictions made before the row
        was learned. It is of rows that were new to it, as the weights are: of the first
        epoch of :meth:`fit` and of held-out rows.

    regret_bound_ : float
        Bound on how much more the mixture has been charged than the best expert
        (`cumulative_loss_` less the smallest of `expert_losses_`, as long as no row has
        come twice), in units of the loss: :meth:`regret_bound` without switches.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the input has such.

    n_iter_ : int
        Number of epochs of the last :meth:`fit`, also those after the best one.

    n_samples_seen_ : int
        Number of rows learned, over all epochs (up to the best one) and chunks; those
        of weight 0 excluded.

    t_ : float
        That number plus 1, as in :class:`~sklearn.linear_model.SGDClassifier`.

    cumulative_loss_ : float
        Weighted sum of the losses of the mixture's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, also those after the best one; or each of
        the latest calls of :meth:`partial_fit`, of which 1,000 are kept.

    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if :meth:`fit` held out any.

    See Also
    --------
    HedgeClassifier : The same for labels.
    ScInOLRegressor : The first of the default experts, at a fraction of the time.
    sklearn_scinol.experts.FixedShare : The weights alone, for losses of any kind.
    sklearn.ensemble.VotingRegressor : Weighs estimators by hand.

    Notes
    -----
    The default experts were chosen from 81 candidates, among them ScInOL1 and 2,
    FreeGrad, coin betting, CoCoB, and, at several rates, NAG, AdaGrad, AdaOGD, implicit
    updates and Newton steps, some also as additive models, by the losses of one pass
    over 27 real data sets, of at most 20,000 rows each
    (``examples/benchmarks/experts.py``). The loss of the mixture is 1.006 times that of
    the best candidate in the geometric mean, and at most 1.062 times; at most 1.05
    times that of the best of its experts; and on 23 of the data sets below that of
    stochastic gradient descent with the best rate in hindsight, on features
    standardised in hindsight.

    These are the data sets that the experts were chosen on. Therefore ``experts.py``
    also chooses eleven by a rule, on other data sets than those that it measures them
    on. Chosen on all data sets but the one measured, their mixture's loss is 1.040
    times that of the best candidate, and below that of the tuned gradient descent on
    22. Chosen on one half for the other, it is 1.061 times, and below on 22. At most it
    is 1.48 and 2.48 times, on Elec2: no other data set drifts like it.

    With :math:`w_k` the weights and :math:`p_k` the experts' predictions, the mixture
    predicts :math:`\sum_k w_k p_k`. As losses are convex it is charged at most the mean
    of theirs under the weights. :meth:`regret_bound` bounds that, against the best
    sequence of experts; see :class:`~sklearn_scinol.experts.FixedShare`. With
    `switching`, `expert_losses_` are those of predictions that are clipped to the range
    of the targets in the rows before. An expert that has gone wild costs no more than
    that range, and one that stays inside is not changed.

    New rows are predicted by the experts, mixed with `weights_`.

    If not `switching`, :attr:`regret_bound_` is :math:`\sqrt{\ln K \sum_t s_t^2} + 2
    \max_t s_t` for :math:`K` experts, with :math:`s_t` the difference between the
    largest and the smallest loss of row :math:`t` [2]_ [3]_.

    References
    ----------
    .. [1] M. Herbster, M. K. Warmuth. "Tracking the best expert." Machine Learning 32,
       1998.
    .. [2] S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen. "Follow the leader
       if you can, hedge if you must." Journal of Machine Learning Research 15, 2014.
       https://jmlr.org/papers/v15/rooij14a.html
    .. [3] W. M. Koolen. "AdaFTRL." 2016. (The bound with these constants.)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol import HedgeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HedgeRegressor().partial_fit(X, y)
    >>> for name, loss in zip(model.named_estimators_, model.expert_losses_ / len(y)):
    ...     print(f"{name:19} {loss:.1f}")
    scinol2             49.2
    adaogd-0.5          48.4
    constant            64.1
    constant-forgetting 63.0
    newton              46.9
    newton-forgetting   47.1
    bins-scinol2        52.5
    bins-adagrad-0.25   60.8
    pairs-scinol2       80.4
    pairs-adaogd-0.5    48.2
    >>> print(f"mixture             {model.cumulative_loss_ / len(y):.1f}")
    mixture             46.9
    """

    _parameter_constraints: dict = {
        **OnlineRegressor._parameter_constraints,
        **MixtureEstimator._own_constraints,
    }
    _family = Family(
        ScInOLRegressor,
        BaselineRegressor,
        AdaImplicitRegressor,
        OnlineNewtonRegressor,
        ("loss", "epsilon", "quantile", "clip_ratio"),
    )

    def __init__(
        self,
        estimators: list[tuple[str, Any]] | None = None,
        *,
        loss: RegressionLoss = "absolute_error",
        epsilon: float = 0.1,
        quantile: float = 0.5,
        switching: bool = True,
        additive: bool | Literal["auto"] = "auto",
        interactions: bool | Literal["auto"] = "auto",
        second_order: bool | Literal["auto"] = "auto",
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
        self.switching = switching
        self.additive = additive
        self.interactions = interactions
        self.second_order = second_order
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

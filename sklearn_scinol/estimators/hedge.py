"""Estimators of a mixture of experts that needs no tuning: AdaHedge over learners."""

from contextlib import suppress
from numbers import Integral

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metaestimators import _BaseComposition

from ..experts import ExpertWeightsDisplay
from ..models.mixture import MixtureModel
from .base import DEFAULT_MAX_ITER, DEFAULT_TOL
from .baseline import BaselineClassifier, BaselineRegressor
from .classifier import OnlineClassifier
from .linear import ABOVE_ONE
from .regressor import OnlineRegressor
from .scinol import ScInOLClassifier, ScInOLRegressor

__all__ = ["HedgeClassifier", "HedgeRegressor"]

# Algorithms and rates of the default experts besides ScInOL2, on standardised features.
# Chosen by examples/benchmarks/experts.py.
TUNED = (
    ("adagrad", 1 / 16),
    ("adagrad", 1 / 4),
    ("adaogd", 1 / 8),
    ("adaogd", 1 / 2),
    ("adaogd", 2.0),
)


class _Hedge(_BaseComposition):
    """What the two estimators have in common beyond being online."""

    _own_constraints = {
        "estimators": [list, None],
        "clip_ratio": [ABOVE_ONE, None],
        "n_jobs": [Integral, None],
    }

    def _start(self, X):
        loss = self._make_loss()
        self._model = MixtureModel(
            [(name, clone(estimator)) for name, estimator in self._experts(loss)],
            loss,
            self._n_outputs(),
            len(self.classes_) if is_classifier(self) else None,
        )

    def _default_experts(self, loss):
        scinol, baseline, parameters = self._family
        parameters = {name: getattr(self, name) for name in parameters}
        if not is_classifier(self):
            parameters["standardize_target"] = True
        experts = []
        if np.isfinite(loss.lipschitz):
            experts.append(("scinol2", scinol(**parameters)))
        parameters |= {"center": "auto", "scale": True}
        for algorithm, rate in TUNED:
            expert = baseline(algorithm, learning_rate=rate, **parameters)
            experts.append((f"{algorithm}-{rate:g}", expert))
        return experts

    def _experts(self, loss):
        """The experts to clone, as (name, estimator)."""
        if self.estimators is None:
            return self._default_experts(loss)
        if not self.estimators or not all(
            isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)
            for item in self.estimators
        ):
            raise ValueError(
                "Invalid 'estimators' attribute, 'estimators' should be a non-empty "
                "list of (string, estimator) tuples."
            )
        self._validate_names([name for name, _ in self.estimators])
        experts = [(name, e) for name, e in self.estimators if e != "drop"]
        if not experts:
            raise ValueError(
                "All estimators are dropped. At least one is required to be an "
                "estimator."
            )
        kind, is_kind = (
            ("classifier", is_classifier)
            if is_classifier(self)
            else ("regressor", is_regressor)
        )
        for _, estimator in experts:
            if not is_kind(estimator):
                raise ValueError(
                    f"The estimator {type(estimator).__name__} should be a {kind}."
                )
            if not hasattr(estimator, "partial_fit"):
                raise ValueError(
                    f"The estimator {type(estimator).__name__} should have partial_fit."
                )
        return experts

    def _learn(self, chunk, order=None, again=False):
        self._model.n_jobs = self.n_jobs
        return super()._learn(chunk, order, again)

    def _decision(self, X):
        self._fitted_model().n_jobs = self.n_jobs
        return super()._decision(X)

    # Parameters of the experts are parameters, too.

    def get_params(self, deep=True):
        """Parameters of the estimator, and of the experts that were given.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the experts and their parameters as well.

        Returns
        -------
        params : dict
        """
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params):
        """Set parameters of the estimator, or of the experts that were given.

        Parameters
        ----------
        **params : dict
            Parameters by name; an expert by its name, or ``"drop"`` to leave it out;
            parameters of an expert as ``name__parameter``.

        Returns
        -------
        self : object
        """
        self._set_params("estimators", **params)
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        with suppress(TypeError, ValueError):  # `fit` will say what is wrong with them
            tags.input_tags.sparse = all(
                get_tags(estimator).input_tags.sparse
                for _, estimator in self.estimators or []
                if estimator != "drop"
            )
        return tags

    # What the fitted estimator tells.

    @property
    def estimators_(self):
        """The fitted experts, in order."""
        return [expert.estimator for expert in self._fitted_model().experts]

    @property
    def named_estimators_(self):
        """The fitted experts by name."""
        experts = self._fitted_model().experts
        return Bunch(**{expert.name: expert.estimator for expert in experts})

    @property
    def weights_(self):
        """Weights of the experts at the next row."""
        return self._of_each_output(self._fitted_model().weights)

    @property
    def weights_curve_(self):
        """Numbers of rows, and the weights of the next row after each."""
        model = self._fitted_model()
        points = [*model.points, model.t]
        curve = np.array([*model.curve, model.weights])
        return np.array(points), self._of_each_output(curve.swapaxes(0, 1), 1)

    @property
    def expert_losses_(self):
        """Sum of the losses of each expert."""
        hedges = self._fitted_model().hedges
        return self._of_each_output(np.array([h.cumulative_losses_ for h in hedges]))

    @property
    def regret_bound_(self):
        """Bound on how much more than the best expert's the loss of the mixture is."""
        return sum(hedge.regret_bound_ for hedge in self._fitted_model().hedges)

    def _of_each_output(self, values, axis=0):
        """Drop the axis of outputs where there is one set of weights."""
        return values[0] if len(values) == 1 else values.swapaxes(0, axis)

    def plot_weights(self, *, output=0, ax=None, **kwargs):
        """Plot the weights of the experts over the rows learned.

        Parameters
        ----------
        output : int, default=0
            Which output's weights, in regression with several.
        ax : matplotlib Axes, default=None
            Where to plot; None makes a new figure.
        **kwargs : dict
            Passed on to :meth:`matplotlib.axes.Axes.stackplot`.

        Returns
        -------
        display : sklearn_scinol.experts.ExpertWeightsDisplay

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If nothing was learned yet.
        ValueError
            If there is no such output.
        """
        return ExpertWeightsDisplay.from_estimator(self, output=output, ax=ax, **kwargs)


class HedgeClassifier(_Hedge, OnlineClassifier):
    r"""Classifier as good as the best of several learners, with nothing to tune.

    AdaHedge [1]_ mixes the predictions of experts, by weights that it learns from their
    losses. In the end the mixture costs little more than the best of the experts,
    whichever that turns out to be; on real data it often costs less. The experts are
    learners of this package, at a few learning rates, unless others are given: all that
    have `partial_fit`. The predictions of the default ones do not change with the unit
    or the zero of a feature.

    A row costs what it costs the experts, of which there are six by default, and
    O(n_experts) more.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, default=None
        The experts and their names. They are cloned. An expert that is set to
        ``"drop"`` with :meth:`set_params` is left out. Those of this package predict
        each row from all rows before; others predict the rows of a chunk, at most 256,
        and then learn them, and predict equal probabilities until they have learned a
        chunk. Classes come to them as 0, 1, ...

        None stands for the default experts: :class:`ScInOLClassifier`, and, on features
        standardised online (sparse ones scaled only), AdaGrad with the rates 1/16 and
        1/4 and AdaOGD with the rates 1/8, 1/2 and 2. See the notes for how they were
        chosen.

    loss : {"log_loss", "hinge", "squared_hinge"}, default="log_loss"
        What predictions are charged. With "log_loss" probabilities are mixed; with more
        than two classes it is multinomial. With the others scores are mixed; with more
        than two classes they are one versus rest. With "squared_hinge" there is no
        ScInOL among the default experts, for its slope is not bounded.

    clip_ratio : float, default=None
        For the default experts: if given, a number above 1. Values of a feature are
        clipped at so many times the largest absolute value that it has had. See
        :class:`ScInOLClassifier`.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update) is not below the best so far by `tol` times
        that of the first epoch, so that units of the loss do not matter. None runs all
        epochs.

    n_iter_no_change : int, default=1
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
        If positive, each epoch prints its mean loss.

    class_weight : dict or "balanced", default=None
        Weights of the classes; the weight of a row is multiplied by that of its class.
        "balanced" needs all labels, and so :meth:`fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    estimators_ : list of estimators
        The fitted experts, in the order given.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The same by name.

    weights_ : ndarray of shape (n_experts,)
        Weights of the experts at the next row, of sum 1.

    weights_curve_ : tuple of ndarray
        Numbers of rows learned, about a tenth apart, and the weights after each. This
        is what :meth:`plot_weights` shows.

    expert_losses_ : ndarray of shape (n_experts,)
        Weighted sum of the losses of each expert, of predictions made before the row
        was learned.

    regret_bound_ : float
        Bound on how much more the mixture has been charged than the best expert
        (`cumulative_loss_` less the smallest of `expert_losses_`), in units of the
        loss.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the input has such.

    n_iter_ : int
        Number of epochs of the last :meth:`fit`.

    n_samples_seen_ : int
        Number of rows learned, over all epochs and chunks; those of weight 0 excluded.

    t_ : float
        That number plus 1, as in :class:`~sklearn.linear_model.SGDClassifier`.

    cumulative_loss_ : float
        Weighted sum of the losses of the mixture's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, or each of the latest calls of
        :meth:`partial_fit`, of which 1,000 are kept.

    See Also
    --------
    HedgeRegressor : The same for targets that are numbers.
    ScInOLClassifier : The first of the default experts, at a sixth of the time.
    sklearn_scinol.experts.AdaHedge : The weights alone, for losses of any kind.
    sklearn.ensemble.VotingClassifier : Weighs estimators by hand.

    Notes
    -----
    The default experts were chosen from ScInOL1 and 2, FreeGrad, coin betting, CoCoB,
    and NAG, AdaGrad and AdaOGD at rates that are powers of 2, on raw, centred or
    standardised features, by the losses of one pass over 25 real data sets
    (``examples/benchmarks/experts.py``). On the 18 with classes the log loss of the
    mixture is at most 1.022 times that of the best of its experts. Stochastic gradient
    descent with the best rate in hindsight, on features standardised in hindsight, is
    better on 7 of the 18, by 0.2 % on 2 of these; the other 5 have at most 2,000 rows.

    These are the data sets that the experts were chosen on. The same script therefore
    also chooses six by a rule, on one half of the 25 data sets, and measures them on
    the other half, and the other way round, on at most 20,000 rows of each. On data
    sets that they were not chosen on, the loss of their mixture is 1.017 times that of
    the best of 35 candidates in the geometric mean, at most 1.054 times, and below that
    of the tuned gradient descent on 18. For the default experts, on the data sets that
    they were chosen on, these figures are 1.014, 1.048 and 19.

    With :math:`w_k` the weights and :math:`p_k` the experts' probabilities of the
    label, the mixture is charged :math:`-\ln \sum_k w_k p_k`, which is at most
    :math:`-\sum_k w_k \ln p_k`, the loss that AdaHedge bounds. The same holds for
    scores and a hinge. Probabilities of experts that are not of this package are taken
    to be at least 2e-16.

    New rows are predicted by the experts, mixed with `weights_`.

    :attr:`regret_bound_` is :math:`\sqrt{\ln K \sum_t s_t^2} + 2 \max_t s_t` for
    :math:`K` experts, with :math:`s_t` the difference between the largest and the
    smallest loss of row :math:`t` [1]_ [2]_.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen. "Follow the leader
       if you can, hedge if you must." Journal of Machine Learning Research 15, 2014.
       https://jmlr.org/papers/v15/rooij14a.html
    .. [2] W. M. Koolen. "AdaFTRL." 2016. (The bound with these constants.)

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import HedgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    >>> losses = model.expert_losses_ / len(y)
    >>> for name, loss in zip(model.named_estimators_, losses):
    ...     print(f"{name:15} {loss:.3f}")
    scinol2         0.157
    adagrad-0.0625  0.198
    adagrad-0.25    0.155
    adaogd-0.125    0.279
    adaogd-0.5      0.175
    adaogd-2        0.171
    >>> print(f"mixture         {model.cumulative_loss_ / len(y):.3f}")
    mixture         0.157

    With experts of one's own, of which SGD cannot cope with raw units:

    >>> from sklearn.linear_model import SGDClassifier
    >>> from sklearn_scinol import ScInOLClassifier
    >>> model = HedgeClassifier(
    ...     [
    ...         ("scinol", ScInOLClassifier()),
    ...         ("sgd", SGDClassifier(loss="log_loss", random_state=0)),
    ...     ]
    ... )
    >>> for start in range(0, 569, 100):
    ...     rows = slice(start, start + 100)
    ...     model = model.partial_fit(X[rows], y[rows], classes=[0, 1])
    >>> model.weights_.round(3)
    array([1., 0.])
    """

    _parameter_constraints: dict = {
        **OnlineClassifier._parameter_constraints,
        **_Hedge._own_constraints,
    }
    _family = ScInOLClassifier, BaselineClassifier, ("loss", "clip_ratio")

    def __init__(
        self,
        estimators=None,
        *,
        loss="log_loss",
        clip_ratio=None,
        max_iter=DEFAULT_MAX_ITER,
        tol=DEFAULT_TOL,
        n_iter_no_change=1,
        shuffle=True,
        random_state=None,
        n_jobs=None,
        warm_start=False,
        verbose=0,
        class_weight=None,
    ):
        self.estimators = estimators
        self.loss = loss
        self.clip_ratio = clip_ratio
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose
        self.class_weight = class_weight


class HedgeRegressor(_Hedge, OnlineRegressor):
    r"""Linear regression as good as the best of several learners, without tuning.

    AdaHedge [1]_ mixes the predictions of experts, by weights that it learns from their
    losses. In the end the mixture costs little more than the best of the experts,
    whichever that turns out to be; on real data it often costs less. The experts are
    learners of this package, at a few learning rates, unless others are given: all that
    have `partial_fit`. The predictions of the default ones do not change with the unit
    or the zero of a feature; with those of the target they change as it does.

    A row costs what it costs the experts, of which there are six by default, and
    O(n_experts) more.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, default=None
        The experts and their names. They are cloned. An expert that is set to
        ``"drop"`` with :meth:`set_params` is left out. Those of this package predict
        each row from all rows before; others predict the rows of a chunk, at most 256,
        and then learn them, and predict 0 until they have learned a chunk.

        None stands for the default experts: :class:`ScInOLRegressor`, and, on features
        standardised online (sparse ones scaled only), AdaGrad with the rates 1/16 and
        1/4 and AdaOGD with the rates 1/8, 1/2 and 2, all with a target that is
        standardised online. See the notes for how they were chosen.

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

    clip_ratio : float, default=None
        For the default experts: if given, a number above 1. Values of a feature are
        clipped at so many times the largest absolute value that it has had. See
        :class:`ScInOLRegressor`.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update) is not below the best so far by `tol` times
        that of the first epoch, so that units of the loss do not matter. None runs all
        epochs.

    n_iter_no_change : int, default=1
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
        If positive, each epoch prints its mean loss.

    Attributes
    ----------
    estimators_ : list of estimators
        The fitted experts, in the order given.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The same by name.

    weights_ : ndarray of shape (n_experts,) or (n_outputs, n_experts)
        Weights of the experts at the next row, of sum 1.
        Each of several outputs has weights of its own.

    weights_curve_ : tuple of ndarray
        Numbers of rows learned, about a tenth apart, and the weights after each. This
        is what :meth:`plot_weights` shows.

    expert_losses_ : ndarray of shape (n_experts,) or (n_outputs, n_experts)
        Weighted sum of the losses of each expert, of predictions made before the row
        was learned.

    regret_bound_ : float
        Bound on how much more the mixture has been charged than the best expert
        (`cumulative_loss_` less the smallest of `expert_losses_`), in units of the
        loss.

    n_features_in_ : int
        Number of features.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the input has such.

    n_iter_ : int
        Number of epochs of the last :meth:`fit`.

    n_samples_seen_ : int
        Number of rows learned, over all epochs and chunks; those of weight 0 excluded.

    t_ : float
        That number plus 1, as in :class:`~sklearn.linear_model.SGDClassifier`.

    cumulative_loss_ : float
        Weighted sum of the losses of the mixture's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, or each of the latest calls of
        :meth:`partial_fit`, of which 1,000 are kept.

    See Also
    --------
    HedgeClassifier : The same for labels.
    ScInOLRegressor : The first of the default experts, at a sixth of the time.
    sklearn_scinol.experts.AdaHedge : The weights alone, for losses of any kind.
    sklearn.ensemble.VotingRegressor : Weighs estimators by hand.

    Notes
    -----
    The default experts were chosen from ScInOL1 and 2, FreeGrad, coin betting, CoCoB,
    and NAG, AdaGrad and AdaOGD at rates that are powers of 2, on raw, centred or
    standardised features, by the losses of one pass over 25 real data sets
    (``examples/benchmarks/experts.py``). On the 7 with targets that are numbers the
    absolute error of the mixture is at most 1.019 times that of the best of its
    experts, and on all of them below that of stochastic gradient descent with the best
    rate in hindsight, on features standardised in hindsight.

    These are the data sets that the experts were chosen on. The same script therefore
    also chooses six by a rule, on one half of the 25 data sets, and measures them on
    the other half, and the other way round, on at most 20,000 rows of each. On data
    sets that they were not chosen on, the loss of their mixture is 1.017 times that of
    the best of 35 candidates in the geometric mean, at most 1.054 times, and below that
    of the tuned gradient descent on 18. For the default experts, on the data sets that
    they were chosen on, these figures are 1.014, 1.048 and 19.

    With :math:`w_k` the weights and :math:`p_k` the experts' predictions, the mixture
    predicts :math:`\sum_k w_k p_k`. As losses are convex it is charged at most the mean
    of theirs under the weights, which is what AdaHedge bounds.

    New rows are predicted by the experts, mixed with `weights_`.

    :attr:`regret_bound_` is :math:`\sqrt{\ln K \sum_t s_t^2} + 2 \max_t s_t` for
    :math:`K` experts, with :math:`s_t` the difference between the largest and the
    smallest loss of row :math:`t` [1]_ [2]_.

    References
    ----------
    .. [1] S. de Rooij, T. van Erven, P. D. Grünwald, W. M. Koolen. "Follow the leader
       if you can, hedge if you must." Journal of Machine Learning Research 15, 2014.
       https://jmlr.org/papers/v15/rooij14a.html
    .. [2] W. M. Koolen. "AdaFTRL." 2016. (The bound with these constants.)

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol import HedgeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HedgeRegressor().partial_fit(X, y)
    >>> for name, loss in zip(model.named_estimators_, model.expert_losses_ / len(y)):
    ...     print(f"{name:15} {loss:.1f}")
    scinol2         49.2
    adagrad-0.0625  46.9
    adagrad-0.25    49.4
    adaogd-0.125    47.3
    adaogd-0.5      48.4
    adaogd-2        57.0
    >>> print(f"mixture         {model.cumulative_loss_ / len(y):.1f}")
    mixture         47.1
    """

    _parameter_constraints: dict = {
        **OnlineRegressor._parameter_constraints,
        **_Hedge._own_constraints,
    }
    _parameters = "loss", "epsilon", "quantile", "clip_ratio"
    _family = ScInOLRegressor, BaselineRegressor, _parameters

    def __init__(
        self,
        estimators=None,
        *,
        loss="absolute_error",
        epsilon=0.1,
        quantile=0.5,
        clip_ratio=None,
        max_iter=DEFAULT_MAX_ITER,
        tol=DEFAULT_TOL,
        n_iter_no_change=1,
        shuffle=True,
        random_state=None,
        n_jobs=None,
        warm_start=False,
        verbose=0,
    ):
        self.estimators = estimators
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.clip_ratio = clip_ratio
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.verbose = verbose

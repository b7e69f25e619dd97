"""Mixture of experts for labels, which needs no tuning."""

from typing import Any, Literal

from .._typing import ClassificationLoss, ClassWeight, RandomState
from ..estimators.base import DEFAULT_MAX_ITER, DEFAULT_TOL
from ..estimators.baseline import BaselineClassifier
from ..estimators.classifier import OnlineClassifier
from ..estimators.implicit import AdaImplicitClassifier
from ..estimators.online_newton import OnlineNewtonClassifier
from ..estimators.scinol import ScInOLClassifier
from .base import MixtureEstimator
from .default_experts import MAX_CLASSES, Family

__all__ = ["HedgeClassifier"]


class HedgeClassifier(MixtureEstimator, OnlineClassifier):
    r"""Classifier as good as the best of several learners, with nothing to tune.

    Several learners, the experts, predict each row, and their predictions are mixed by
    weights that are learned from their losses [1]_. In the end the mixture costs little
    more than the best of the experts, whichever that turns out to be, and little more
    than the best sequence of them where the stream changes; on real data it often costs
    less. The experts are learners of this package, unless others are given: all that
    have `partial_fit`. The predictions of the default ones do not change with the unit
    or the zero of a feature.

    A row costs what it costs the experts, and O(n_experts) more.

    Parameters
    ----------
    estimators : list of (str, estimator) tuples, default=None
        The experts and their names. They are cloned. An expert that is set to
        ``"drop"`` with :meth:`set_params` is left out. Those of this package, also at
        the end of an :class:`~sklearn_scinol.pipeline.OnlinePipeline`, predict each row
        from all rows before; others predict the rows of a chunk, at most 256, and then
        learn them, and predict equal probabilities until they have learned a chunk.
        Classes come to them as 0, 1, ..., in the order of `classes_`. With
        ``new_classes="add"`` all must be of this package, with ``loss="log_loss"``, and
        add classes as well.

        None stands for the default experts: :class:`ScInOLClassifier`; on features
        standardised online (sparse ones scaled only) AdaOGD with the rate 1/2 and
        implicit updates with the constant rate 1 (:class:`AdaImplicitClassifier`), on
        dense rows also with ``moment_forgetting=0.03``; and those of `second_order`,
        `additive` and `interactions`. Where one of the first two kinds is missing,
        there is also AdaOGD with the rate 1/8, and without additive ones AdaGrad with
        the rate 1/4. See the notes for how they were chosen.

    loss : {"log_loss", "hinge", "squared_hinge"}, default="log_loss"
        What predictions are charged. With "log_loss" probabilities are mixed; with more
        than two classes it is multinomial. With the others scores are mixed; with more
        than two classes they are one versus rest. With "squared_hinge" there is no
        ScInOL among the default experts, for its slope is not bounded.

    switching : bool, default=True
        Whether the weights can follow an expert that becomes the best later on: they
        are those of :class:`~sklearn_scinol.experts.FixedShare`. With a hinge, scores
        of experts are then clipped to between -1 and 1, which costs nothing. False
        leaves the weights to :class:`~sklearn_scinol.experts.AdaHedge`, which compares
        sums of losses over all rows.

    additive : {"auto", True, False}, default="auto"
        Whether there are two default experts that learn a function of each feature:
        ScInOL2 and AdaGrad with the rate 1/4, on values and the bins that these fall
        into; see `additive` of :class:`ScInOLClassifier`. "auto" has them for dense
        rows with up to 64 features, and up to 256 classes.

    interactions : {"auto", True, False}, default="auto"
        Whether there are two default experts that learn functions of pairs of features
        as well: ScInOL2 and AdaOGD with the rate 1/2. Their time grows with the square
        of the number of features. "auto" has them where there are additive experts, for
        2 to 16 features, and up to 256 classes.

    second_order : {"auto", True, False}, default="auto"
        Whether there are two default experts of second order beside the others:
        :class:`OnlineNewtonClassifier`, and the same with ``forgetting=0.01``. Their
        time grows with the square of the number of features. "auto" has them for up to
        128 features, and up to 256 classes.

    clip_ratio : float, default=None
        For the default experts: if given, a number above 1. Values of a feature are
        clipped at so many times the largest absolute value that it has had. See
        :class:`ScInOLClassifier`.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update, or with `early_stopping` of held-out rows)
        is not below the best so far by `tol` times that of the first epoch, so that
        units of the loss do not matter. The model is then that of the epoch of the
        lowest loss, at its end. None runs all epochs and keeps the last.

    early_stopping : {"auto", True, False}, default="auto"
        Whether :meth:`fit` holds out `validation_fraction` of the rows, stratified,
        and stops by their mean loss. In the end it learns them, once. "auto" does so
        where there is an epoch to choose (`tol` is not None, and `max_iter` not 1) and
        at least 10 rows are held out, each class among them.

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

    class_weight : dict or "balanced", default=None
        Weights of the classes; the weight of a row is multiplied by that of its class.
        "balanced" makes it one over that class's share of the rows, by the number of
        classes: of all rows in :meth:`fit`, in :meth:`partial_fit` of those so far.

    new_classes : {"error", "add"}, default="error"
        What :meth:`partial_fit` does with a label that is none of `classes_`. "add",
        for ``loss="log_loss"`` only, makes it one of them, just before its row is
        predicted; `classes` need not be given then. See :meth:`partial_fit`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.

    estimators_ : list of estimators
        The fitted experts, in the order given.

    named_estimators_ : :class:`~sklearn.utils.Bunch`
        The same by name.

    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Mean of the weights of the features, by `weights_`, over all experts but those
        that are additive, if these have such. It says which features matter, to
        :class:`~sklearn.feature_selection.SelectFromModel` for instance. It is not the
        model: that mixes probabilities.

    intercept_ : ndarray of shape (1,) or (n_classes,)
        The same of the intercepts.

    weights_ : ndarray of shape (n_experts,)
        Weights of the experts at the next row, of sum 1.

    weights_curve_ : tuple of ndarray
        Numbers of rows that the weights have learned, about a tenth apart, and the
        weights after each. This is what :meth:`plot_weights` shows.

    expert_losses_ : ndarray of shape (n_experts,)
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
    HedgeRegressor : The same for targets that are numbers.
    ScInOLClassifier : The first of the default experts, at a fraction of the time.
    sklearn_scinol.experts.FixedShare : The weights alone, for losses of any kind.
    sklearn.ensemble.VotingClassifier : Weighs estimators by hand.

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

    With :math:`w_k` the weights and :math:`p_k` the experts' probabilities of the
    label, the mixture is charged :math:`-\ln \sum_k w_k p_k`. With `switching` the
    weights are those of Bayes' rule, for a prior under which the best expert of a row
    may be another one than that of the row before. The mixture is therefore charged at
    most :math:`\ln 5 K` more than any of its `K` experts, whatever the data and however
    many they are; 3.7 for the eight default experts of up to 64 features. (A sample
    weight multiplies losses as they were given; then it is that times the largest
    weight.) Against sequences of experts see :meth:`regret_bound`, and
    :class:`~sklearn_scinol.experts.FixedShare`. With a hinge scores are mixed, which
    costs at most the mean of the experts' losses. Probabilities of experts that are not
    of this package are taken to be at least 2e-16.

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
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import HedgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    >>> losses = model.expert_losses_ / len(y)
    >>> for name, loss in zip(model.named_estimators_, losses):
    ...     print(f"{name:19} {loss:.3f}")
    scinol2             0.157
    adaogd-0.5          0.175
    constant            0.129
    constant-forgetting 0.160
    newton              0.146
    newton-forgetting   0.132
    bins-scinol2        0.142
    bins-adagrad-0.25   0.143
    >>> print(f"mixture             {model.cumulative_loss_ / len(y):.3f}")
    mixture             0.128

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
    array([0.999, 0.001])
    """

    _parameter_constraints: dict = {
        **OnlineClassifier._parameter_constraints,
        **MixtureEstimator._own_constraints,
    }
    _family = Family(
        ScInOLClassifier,
        BaselineClassifier,
        AdaImplicitClassifier,
        OnlineNewtonClassifier,
        ("loss", "clip_ratio"),
    )

    def __init__(
        self,
        estimators: list[tuple[str, Any]] | None = None,
        *,
        loss: ClassificationLoss = "log_loss",
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
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.estimators = estimators
        self.loss = loss
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
        self.class_weight = class_weight
        self.new_classes = new_classes

    def _check_takes_classes(self, begins=False):
        super()._check_takes_classes(begins)
        if not begins and self.__sklearn_is_fitted__():
            for expert in self._model.experts:
                expert.check_takes_classes()

    def _check_new_classes(self, classes):
        """Refuse new classes for which "auto" would not have had all of the experts."""
        if classes.size <= max(MAX_CLASSES, self.classes_.size):
            return
        estimators = [expert.estimator for expert in self._model.experts]
        additive = [getattr(each, "additive", False) for each in estimators]
        there_are = {
            "second_order": OnlineNewtonClassifier in map(type, estimators),
            "additive": True in additive,
            "interactions": "pairs" in additive,
        }
        names = [
            f"{name}=False"
            for name, is_there in there_are.items()
            if is_there and getattr(self, name) == "auto"
        ]
        if names and self.estimators is None:
            raise ValueError(
                f"{classes.size} classes are too many for the default experts, which "
                f"take up to {MAX_CLASSES} if they are not known from the start: "
                f"name them in `classes`, or set {', '.join(names)}."
            )

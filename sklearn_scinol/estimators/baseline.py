"""Competitors from the literature as estimators, most of which need a learning rate.

They are here to compare with, under the same conditions: the same loops, losses,
centring, averaging and progressive validation. Only they are worth a grid search.
"""

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.utils._param_validation import HasMethods, StrOptions

from .._hyperparameters import is_value, restored, stored, with_numbers
from .._typing import (
    ClassificationLoss,
    ClassWeight,
    KernelLike,
    RandomState,
    RegressionLoss,
)
from ..learners import BASELINES, OnlineNewton
from ..learners.interface import check_is_learner, configured, traits
from ..models.additive import n_columns, new_bins
from .additive import Additive
from .base import DEFAULT_MAX_ITER, DEFAULT_TOL, FORGETTING, POSITIVE, UNITS
from .kernel import KernelMethods
from .linear import LinearClassifier, LinearRegressor

__all__ = ["BaselineClassifier", "BaselineRegressor"]

Algorithm: TypeAlias = Literal[
    "adagrad",
    "adam",
    "adaogd",
    "cocob",
    "code",
    "coin",
    "freegrad",
    "k17",
    "kernel_gd",
    "nag",
    "ogd",
    "sfmd",
    "sgd",
]


class Instance(HasMethods):
    """Constraint on a parameter that may be a learner or a loss itself."""

    def __init__(self, what):
        super().__init__([])
        self.what = what

    def is_satisfied_by(self, val):
        return is_value(val)

    def __str__(self):
        return f"an instance of a {self.what}"


class _Baseline(Additive, KernelMethods):
    """What the two estimators have in common beyond being online."""

    _own_constraints = {
        **Additive._additive_constraints,
        **KernelMethods._kernel_constraints,
        "algorithm": [StrOptions(set(BASELINES)), Instance("learner")],
        "learning_rate": [POSITIVE],
        "moment_forgetting": [FORGETTING],
        "normalizer": [StrOptions({"sum", "mean"})],
        "radius": [UNITS, None],
    }

    # Learners and losses that are passed themselves: their hyperparameters count as
    # parameters, by names such as "algorithm__rate".

    _NESTED = ("algorithm", "loss")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get the parameters of the estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether the hyperparameters of a learner and a loss are among them.

        Returns
        -------
        params : dict
            Parameters by their names.
        """
        params = super().get_params(deep)
        for name in self._NESTED if deep else ():
            if is_value(value := params[name]):
                of_value = value._asdict().items()
                params |= {f"{name}__{field}": number for field, number in of_value}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator.

        Parameters
        ----------
        **params : dict
            Parameters by their names; "algorithm__rate" is the hyperparameter `rate` of
            a learner that is the `algorithm`.

        Returns
        -------
        self : object
            The estimator.
        """
        nested = {name: params.pop(name) for name in [*params] if "__" in name}
        super().set_params(**params)
        valid = self.get_params()
        for name, value in nested.items():
            if name not in valid:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid "
                    f"parameters are: {sorted(valid)!r}."
                )
            owner, _, field = name.partition("__")
            setattr(self, owner, getattr(self, owner)._replace(**{field: value}))
        return self

    def __getstate__(self):
        state = super().__getstate__()
        values = {name: state[name] for name in self._NESTED if is_value(state[name])}
        return state | {name: stored(value) for name, value in values.items()}

    def __setstate__(self, state):
        of_values = {name: restored(state[name]) for name in self._NESTED}
        super().__setstate__(state | of_values)

    @property
    def _learner_type(self):
        if is_value(self.algorithm):
            return type(self.algorithm)
        return BASELINES[self.algorithm]

    @property
    def _bounds_regret(self):
        is_known = isinstance(self.algorithm, str) and self.algorithm in BASELINES
        if not (is_known or is_value(self.algorithm)):
            return False
        return traits(self._learner_type).bounds_regret

    @property
    def _takes_joint_losses(self) -> bool:
        """Whether it learns from derivatives: implicit steps are of one output each."""
        learner = self._learner_type
        return not traits(learner).implicit or hasattr(learner, "learn_jointly")

    def _make_learner(self, lipschitz):
        name, learner = self.algorithm, self._learner_type
        if is_value(name):
            self._check_given_learner()
        has = traits(learner)
        if self.radius is not None and not has.in_ball:
            raise ValueError(f"radius must be None with algorithm={name!r}.")
        if self._has_kernel and not has.takes_kernels:
            raise ValueError(
                f"kernel must be 'linear' with algorithm={name!r}: only 'kernel_gd' "
                "takes others."
            )
        if has.bounded_gradients and not np.isfinite(lipschitz):
            raise ValueError(
                f"loss={self.loss!r} is not supported with algorithm={name!r}, which "
                "needs one with a bounded slope."
            )
        if is_value(name):
            return with_numbers(name)
        n_coordinates = self.n_features_in_
        if self.additive:
            n_coordinates = n_columns(new_bins(n_coordinates), self.additive == "pairs")
        n_coordinates = float(n_coordinates + self.fit_intercept)
        values = {
            "learning_rate": float(self.learning_rate),
            "radius": np.inf if self.radius is None else float(self.radius),
            "n_coordinates": n_coordinates,
            "normalizer": n_coordinates if self.normalizer == "mean" else 1.0,
        }
        return configured(learner, values)

    def _check_given_learner(self):
        """Refuse a learner that lacks something, or that does not fit the others."""
        learner = type(self.algorithm)
        check_is_learner(learner)
        if issubclass(learner, OnlineNewton):
            raise ValueError(
                f"algorithm={self.algorithm!r} is not supported: it is the algorithm "
                "of OnlineNewtonClassifier and OnlineNewtonRegressor."
            )
        if self.radius is not None:
            raise ValueError(
                f"radius must be None with algorithm={self.algorithm!r}, whose "
                "hyperparameters are its own."
            )
        needs = getattr(learner, "loss_methods", ())
        if missing := [name for name in needs if not hasattr(self._make_loss(), name)]:
            raise TypeError(
                f"A loss must declare {' and '.join(missing)} for {learner.__name__}: "
                f"got loss={self.loss!r}."
            )


class BaselineClassifier(_Baseline, LinearClassifier):
    r"""Linear classifier by a competitor from the literature.

    A row costs O(n_features), a sparse row O(non-zeros) but for "adam".

    Parameters
    ----------
    algorithm : str or learner, default="ogd"
        A name, or an instance of a learner such as ``AdaGrad(eta=0.1)``: from
        :mod:`sklearn_scinol.learners` or :doc:`your own </interface>`. "cocob", "k17",
        "freegrad", "coin" and "code" have no learning rate. The predictions of "nag",
        "sfmd", "k17", "freegrad" and "coin" do not change with the unit of a feature.

        - "sgd": stochastic gradient descent with rate :math:`\beta / \sqrt t`;
        - "adagrad": diagonal AdaGrad [1]_, its accumulator starting at 0.1;
        - "adam": Adam [2]_, with the usual :math:`\beta_1 = 0.9`, :math:`\beta_2 =
          0.999`, :math:`\epsilon = 10^{-8}`. Weights move where features are zero,
          too: a sparse row costs O(n_features) and sparse input is made dense, some
          rows at a time;
        - "nag": normalised adaptive gradient [3]_, see `normalizer`;
        - "sfmd": scale-free mirror descent [4]_;
        - "cocob": continuous coin betting [5]_, which does not depend on the unit of
          the loss;
        - "k17": the coordinate-wise algorithm of [6]_;
        - "ogd": "sgd", projected to a ball if there is a `radius` [7]_;
        - "adaogd": the same with rate :math:`\beta / \sqrt{\sum_{s \le t}
          \|g_s\|^2}`, where :math:`g_s` are the gradients [8]_;
        - "kernel_gd": minus the sum of the gradients, times :math:`\beta / (2 \sqrt
          t)` [9]_; learns with kernels as well;
        - "freegrad": FreeGrad for linear models [10]_;
        - "coin": coin betting on features divided by their largest value, as in
          Vowpal Wabbit;
        - "code": coin betting by infinitely many small steps on a row, which never
          overshoot the minimum of the loss's truncated tangent [12]_. It expects
          features of alike scales: pass ``center=True, scale=True`` where they are not.
          More than two classes are learned one versus rest.

        "k17", "freegrad" and "coin" need a loss with a bounded slope.

    loss : {"log_loss", "hinge", "squared_hinge"} or loss, default="log_loss"
        A name, or an instance of a loss, see :doc:`/interface`. "log_loss" is the
        logistic loss; with more than two classes, multinomial cross-entropy. "hinge" is
        the loss of linear support vector machines, "squared_hinge" half its square;
        with more than two classes, one versus rest.

    learning_rate : float, default=1.0
        The rate, which is :math:`\beta` where the list above has one. To be tuned: what
        is right depends on the scales of the features (except for "nag" and "sfmd"),
        the loss and the number of rows. Up to 1e20. Algorithms without a rate ignore
        it.

    normalizer : {"sum", "mean"}, default="sum"
        What "nag" divides by: the sum over coordinates of the squares of features, each
        as a share of its largest, as published; or their mean, which multiplies the
        rate by the root of the number of coordinates and so spares tuning it to that.

    radius : float, default=None
        If given, weights and intercept of each output are projected to the ball of that
        Euclidean norm. With "ogd" and "adaogd" only.

    kernel : str or callable, default="linear"
        "linear", with weights of the features. With "kernel_gd" also a kernel, with
        coefficients of rows: a name that
        :func:`~sklearn.metrics.pairwise.pairwise_kernels` knows, such as "rbf" or
        "poly", a function of two rows that returns a number, or "precomputed". Then `X`
        is the kernel matrix: each row has its kernels with all rows of the stream, in
        the order in which they come to :meth:`partial_fit` or have in :meth:`fit`.
        After as many rows as columns the first is expected once more.

    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
        "scale" is one over the number of features times the variance of `X`, "auto" one
        over the number of features. On a stream, `X` is the first chunk.

    degree : float, default=3
        Degree of the kernel "poly".

    coef0 : float, default=1
        Constant in the kernels "poly" and "sigmoid".

    kernel_params : dict, default=None
        Keywords for a kernel that is a function.

    max_support : int, default=None
        With a kernel, the most rows to store. None stores every row whose loss has a
        slope where it is predicted, so that memory grows with the stream, and the time
        of a row as well. When so many are stored, later rows are projected to the space
        that these span.

    center : {"auto", True, False}, default=False
        Whether each feature is centred at its running mean (the row itself included).
        "auto" centres dense input and not sparse, as decided by the first rows. False
        is the published algorithm.

    scale : bool, default=False
        Whether each feature is divided by its running standard deviation (the row
        itself included), so that units do not matter; with `center` it is standardised,
        as :class:`~sklearn.preprocessing.StandardScaler` would on rows so far. What has
        not varied yet is 0; zeros of sparse rows stay zeros. `coef_` is then for rows
        near the mean, since others take part in their deviation. False is the
        published algorithm.

    clip_ratio : float, default=None
        If given, a number above 1, such as 2: values of a feature are clipped at so
        many times the largest absolute value that it has had, which bounds the damage
        that an outlier does. The limit follows a feature that grows, by that factor at
        each row. With None a value a thousand times too large weakens its feature for
        very long.

    moment_forgetting : float, default=0.0
        What part of its weight in the running means and standard deviations of `center`
        and `scale` a row loses with each later one, below 1: about ``1 /
        moment_forgetting`` rows count, so that features may drift. A feature that stays
        the same then counts as constant once its deviation is below 1e-8 times its
        mean. 0 forgets nothing; nor do sparse rows, where they are learned as such.

    additive : {False, True, "pairs"}, default=False
        Whether the model is additive: a function of each feature instead of a multiple
        of it. Beside the value there is then a one-hot code of the bin that the value
        falls into, with edges from the first 100 rows (see
        :class:`~sklearn_scinol.preprocessing.OnlineBinner`). With "pairs" there is also
        one for each two features, of the cells of a grid. :meth:`plot_terms` shows what
        was learned. A row costs what a sparse one with twice as many values does; with
        "pairs" the cost grows with the square of the number of features. Sparse rows
        are made dense, some at a time. Not with "adam".

    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update, or with `early_stopping` of held-out rows)
        is not below the best so far by `tol` times that of the first epoch, so that
        units of the loss do not matter. The model is then that of the epoch of the
        lowest loss, at its end. None runs all epochs and keeps the last.

    early_stopping : bool, default=False
        Whether :meth:`fit` holds out `validation_fraction` of the rows, stratified,
        and stops by their mean loss. In the end it learns them, once.

    validation_fraction : float, default=0.1
        The fraction of the rows that is held out with `early_stopping`; those of weight
        0 do not count.

    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.

    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.

    random_state : int, RandomState instance or None, default=None
        For the shuffling. An int gives the same result every time.

    average : bool or int, default=False
        Whether predictions are made with the mean of the weights after each row, as in
        averaged stochastic gradient descent. An int is the number of rows learned from
        which on the mean is taken.

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

    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights in the units of the features.

    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.

    support_ : ndarray of shape (n_support,)
        With a kernel, which rows are stored: their number in the stream, or in `X`.

    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Those rows. Without columns if the kernel is precomputed.

    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Their coefficients.

    gamma_ : float
        What `gamma` stands for, with a kernel that has a name.

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
        Weighted sum of the losses of the algorithm's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, also those after the best one; or each of
        the latest calls of :meth:`partial_fit`, of which 1,000 are kept.

    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if :meth:`fit` held out any.

    See Also
    --------
    BaselineRegressor : The same for targets that are numbers.
    sklearn_scinol.ScInOLClassifier : Has nothing to tune.
    sklearn_scinol.AdaImplicitClassifier : Is hardly sensitive to its parameter.

    Notes
    -----
    :meth:`regret_bound`, of "sgd", "ogd", "adaogd" and "kernel_gd" only, is
    :math:`\frac12 (\|u\| + \max_t \|w_t\|)^2 / \eta_T + \sum_t \frac{\eta_t}{2}
    \|g_t\|^2` (equation 3 of [11]_); infinite for a comparator outside the ball. With
    "kernel_gd" it is :math:`\|u\|^2 \sqrt T / \beta + \sum_t \beta \|g_t\|^2 / (4
    \sqrt t)`; with `max_support` against the models that the notes of
    :class:`~sklearn_scinol.DFEGClassifier` name.

    References
    ----------
    .. [1] J. Duchi, E. Hazan, Y. Singer. "Adaptive subgradient methods for online
       learning and stochastic optimization." JMLR 2011.
    .. [2] D. P. Kingma, J. Ba. "Adam: a method for stochastic optimization." ICLR 2015.
       https://arxiv.org/abs/1412.6980
    .. [3] S. Ross, P. Mineiro, J. Langford. "Normalized online learning." UAI 2013.
       https://arxiv.org/abs/1305.6646
    .. [4] F. Orabona, K. Crammer, N. Cesa-Bianchi. "A generalized online mirror descent
       with applications to classification and regression." Machine Learning 2015.
    .. [5] F. Orabona, T. Tommasi. "Training deep networks without learning rates
       through coin betting." NIPS 2017. https://arxiv.org/abs/1705.07795
    .. [6] W. Kotłowski. "Scale-invariant unconstrained online learning." ALT 2017.
    .. [7] M. Zinkevich. "Online convex programming and generalized infinitesimal
       gradient ascent." ICML 2003.
    .. [8] H. B. McMahan, M. J. Streeter. "Adaptive bound optimization for online convex
       optimization." COLT 2010.
    .. [9] F. Orabona. "Dimension-free exponentiated gradient." NIPS 2013.
    .. [10] Z. Mhammedi, W. M. Koolen. "Lipschitz and comparator-norm adaptivity in
       online learning." COLT 2020. https://arxiv.org/abs/2002.12242
    .. [11] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 2020. https://arxiv.org/abs/2006.07503
    .. [12] K. Chen, J. Langford, F. Orabona. "Better parameter-free stochastic
       optimization with ODE updates for coin-betting." AAAI 2022.
       https://arxiv.org/abs/2006.07507

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import maxabs_scale
    >>> from sklearn_scinol.baselines import BaselineClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = maxabs_scale(X)
    >>> for rate in 0.01, 1, 100:
    ...     model = BaselineClassifier("ogd", loss="hinge", learning_rate=rate)
    ...     loss = model.partial_fit(X, y, classes=[0, 1]).cumulative_loss_ / len(y)
    ...     print(f"{rate:>6}: {loss:.2f}")
      0.01: 1.03
         1: 0.31
       100: 6.15
    """

    _parameter_constraints: dict = {
        **LinearClassifier._parameter_constraints,
        **_Baseline._own_constraints,
        "loss": [*LinearClassifier._parameter_constraints["loss"], Instance("loss")],
    }

    def __init__(
        self,
        algorithm: Algorithm | tuple[Any, ...] = "ogd",
        *,
        loss: ClassificationLoss | tuple[Any, ...] = "log_loss",
        learning_rate: float = 1.0,
        normalizer: Literal["sum", "mean"] = "sum",
        radius: float | None = None,
        kernel: KernelLike = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        max_support: int | None = None,
        center: bool | Literal["auto"] = False,
        scale: bool = False,
        clip_ratio: float | None = None,
        moment_forgetting: float = 0.0,
        additive: bool | Literal["pairs"] = False,
        fit_intercept: bool = True,
        max_iter: int = DEFAULT_MAX_ITER,
        tol: float | None = DEFAULT_TOL,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: RandomState = None,
        average: bool | int = False,
        warm_start: bool = False,
        verbose: bool | int = 0,
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.algorithm = algorithm
        self.loss = loss
        self.learning_rate = learning_rate
        self.normalizer = normalizer
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.moment_forgetting = moment_forgetting
        self.additive = additive
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose
        self.class_weight = class_weight
        self.new_classes = new_classes


class BaselineRegressor(_Baseline, LinearRegressor):
    r"""Linear regression by a competitor from the literature.

    A row costs O(n_features), a sparse row O(non-zeros) but for "adam".

    Parameters
    ----------
    algorithm : str or learner, default="ogd"
        A name, or an instance of a learner such as ``AdaGrad(eta=0.1)``: from
        :mod:`sklearn_scinol.learners` or :doc:`your own </interface>`. "cocob", "k17",
        "freegrad", "coin" and "code" have no learning rate. The predictions of "nag",
        "sfmd", "k17", "freegrad" and "coin" do not change with the unit of a feature.

        - "sgd": stochastic gradient descent with rate :math:`\beta / \sqrt t`;
        - "adagrad": diagonal AdaGrad [1]_, its accumulator starting at 0.1;
        - "adam": Adam [2]_, with the usual :math:`\beta_1 = 0.9`, :math:`\beta_2 =
          0.999`, :math:`\epsilon = 10^{-8}`. Weights move where features are zero,
          too: a sparse row costs O(n_features) and sparse input is made dense, some
          rows at a time;
        - "nag": normalised adaptive gradient [3]_, see `normalizer`;
        - "sfmd": scale-free mirror descent [4]_;
        - "cocob": continuous coin betting [5]_, which does not depend on the unit of
          the loss;
        - "k17": the coordinate-wise algorithm of [6]_;
        - "ogd": "sgd", projected to a ball if there is a `radius` [7]_;
        - "adaogd": the same with rate :math:`\beta / \sqrt{\sum_{s \le t}
          \|g_s\|^2}`, where :math:`g_s` are the gradients [8]_;
        - "kernel_gd": minus the sum of the gradients, times :math:`\beta / (2 \sqrt
          t)` [9]_; learns with kernels as well;
        - "freegrad": FreeGrad for linear models [10]_;
        - "coin": coin betting on features divided by their largest value, as in
          Vowpal Wabbit;
        - "code": coin betting by infinitely many small steps on a row, which never
          overshoot the minimum of the loss's truncated tangent [12]_. It expects
          features of alike scales: pass ``center=True, scale=True`` where they are not.

        "k17", "freegrad" and "coin" need a loss with a bounded slope.

    loss : str or loss, default="absolute_error"
        What predictions are charged: a name, or an instance of a loss, see
        :doc:`/interface`. "absolute_error" aims at the median, "quantile" at another
        quantile; "squared_error" is half the square; "huber" the same up to `epsilon`
        and linear beyond; "epsilon_insensitive" ignores errors up to `epsilon`.

    learning_rate : float, default=1.0
        The rate, which is :math:`\beta` where the list above has one. To be tuned: what
        is right depends on the scales of the features (except for "nag" and "sfmd"),
        the loss and the number of rows. Up to 1e20. Algorithms without a rate ignore
        it.

    normalizer : {"sum", "mean"}, default="sum"
        What "nag" divides by: the sum over coordinates of the squares of features, each
        as a share of its largest, as published; or their mean, which multiplies the
        rate by the root of the number of coordinates and so spares tuning it to that.

    radius : float, default=None
        If given, weights and intercept of each output are projected to the ball of that
        Euclidean norm. With "ogd" and "adaogd" only.

    kernel : str or callable, default="linear"
        "linear", with weights of the features. With "kernel_gd" also a kernel, with
        coefficients of rows: a name that
        :func:`~sklearn.metrics.pairwise.pairwise_kernels` knows, such as "rbf" or
        "poly", a function of two rows that returns a number, or "precomputed". Then `X`
        is the kernel matrix: each row has its kernels with all rows of the stream, in
        the order in which they come to :meth:`partial_fit` or have in :meth:`fit`.
        After as many rows as columns the first is expected once more.

    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2".
        "scale" is one over the number of features times the variance of `X`, "auto" one
        over the number of features. On a stream, `X` is the first chunk.

    degree : float, default=3
        Degree of the kernel "poly".

    coef0 : float, default=1
        Constant in the kernels "poly" and "sigmoid".

    kernel_params : dict, default=None
        Keywords for a kernel that is a function.

    max_support : int, default=None
        With a kernel, the most rows to store. None stores every row whose loss has a
        slope where it is predicted, so that memory grows with the stream, and the time
        of a row as well. When so many are stored, later rows are projected to the space
        that these span.

    center : {"auto", True, False}, default="auto"
        Whether each feature is centred at its running mean (the row itself included).
        "auto" centres dense input and not sparse, as decided by the first rows. False
        is the published algorithm.

    scale : bool, default=False
        Whether each feature is divided by its running standard deviation (the row
        itself included), so that units do not matter; with `center` it is standardised,
        as :class:`~sklearn.preprocessing.StandardScaler` would on rows so far. What has
        not varied yet is 0; zeros of sparse rows stay zeros. `coef_` is then for rows
        near the mean, since others take part in their deviation. False is the
        published algorithm.

    clip_ratio : float, default=None
        If given, a number above 1, such as 2: values of a feature are clipped at so
        many times the largest absolute value that it has had, which bounds the damage
        that an outlier does. The limit follows a feature that grows, by that factor at
        each row. With None a value a thousand times too large weakens its feature for
        very long.

    moment_forgetting : float, default=0.0
        What part of its weight in the running means and standard deviations of `center`
        and `scale` a row loses with each later one, below 1: about ``1 /
        moment_forgetting`` rows count, so that features may drift. A feature that stays
        the same then counts as constant once its deviation is below 1e-8 times its
        mean. 0 forgets nothing; nor do sparse rows, where they are learned as such.

    additive : {False, True, "pairs"}, default=False
        Whether the model is additive: a function of each feature instead of a multiple
        of it. Beside the value there is then a one-hot code of the bin that the value
        falls into, with edges from the first 100 rows (see
        :class:`~sklearn_scinol.preprocessing.OnlineBinner`). With "pairs" there is also
        one for each two features, of the cells of a grid. :meth:`plot_terms` shows what
        was learned. A row costs what a sparse one with twice as many values does; with
        "pairs" the cost grows with the square of the number of features. Sparse rows
        are made dense, some at a time. Not with "adam".

    standardize_target : {"auto", True, False}, default="auto"
        Whether a prediction is the running mean of the target plus its running standard
        deviation (of the rows before) times what the algorithm says. `learning_rate`
        and `radius` are then in units of that deviation, and neither the unit nor the
        zero of the target matters. "auto" standardises it where features are centred.

    epsilon : float, default=0.1
        Threshold of the losses "huber" and "epsilon_insensitive", in units of the
        target, up to 1e100; of "huber" up to 1e20, unless `standardize_target`.

    quantile : float, default=0.5
        The quantile of the loss "quantile", between 0 and 1.

    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.

    max_iter : int, default=1000
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update, or with `early_stopping` of held-out rows)
        is not below the best so far by `tol` times that of the first epoch, so that
        units of the loss do not matter. The model is then that of the epoch of the
        lowest loss, at its end. None runs all epochs and keeps the last.

    early_stopping : bool, default=False
        Whether :meth:`fit` holds out `validation_fraction` of the rows
        and stops by their mean loss. In the end it learns them, once.

    validation_fraction : float, default=0.1
        The fraction of the rows that is held out with `early_stopping`; those of weight
        0 do not count.

    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.

    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.

    random_state : int, RandomState instance or None, default=None
        For the shuffling. An int gives the same result every time.

    average : bool or int, default=False
        Whether predictions are made with the mean of the weights after each row, as in
        averaged stochastic gradient descent. An int is the number of rows learned from
        which on the mean is taken.

    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.

    verbose : int, default=0
        If positive, each epoch prints its mean loss, and that of held-out rows.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        Weights in the units of the features.

    intercept_ : ndarray of shape (1,) or (n_outputs,)
        Intercepts.

    support_ : ndarray of shape (n_support,)
        With a kernel, which rows are stored: their number in the stream, or in `X`.

    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Those rows. Without columns if the kernel is precomputed.

    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Their coefficients.

    gamma_ : float
        What `gamma` stands for, with a kernel that has a name.

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
        Weighted sum of the losses of the algorithm's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, also those after the best one; or each of
        the latest calls of :meth:`partial_fit`, of which 1,000 are kept.

    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if :meth:`fit` held out any.

    See Also
    --------
    BaselineClassifier : The same for labels.
    sklearn_scinol.ScInOLRegressor : Has nothing to tune.
    sklearn_scinol.AdaImplicitRegressor : Is hardly sensitive to its parameter.

    Notes
    -----
    :meth:`regret_bound`, of "sgd", "ogd", "adaogd" and "kernel_gd" only, is
    :math:`\frac12 (\|u\| + \max_t \|w_t\|)^2 / \eta_T + \sum_t \frac{\eta_t}{2}
    \|g_t\|^2` (equation 3 of [11]_); infinite for a comparator outside the ball. With
    "kernel_gd" it is :math:`\|u\|^2 \sqrt T / \beta + \sum_t \beta \|g_t\|^2 / (4
    \sqrt t)`; with `max_support` against the models that the notes of
    :class:`~sklearn_scinol.DFEGRegressor` name.

    References
    ----------
    .. [1] J. Duchi, E. Hazan, Y. Singer. "Adaptive subgradient methods for online
       learning and stochastic optimization." JMLR 2011.
    .. [2] D. P. Kingma, J. Ba. "Adam: a method for stochastic optimization." ICLR 2015.
       https://arxiv.org/abs/1412.6980
    .. [3] S. Ross, P. Mineiro, J. Langford. "Normalized online learning." UAI 2013.
       https://arxiv.org/abs/1305.6646
    .. [4] F. Orabona, K. Crammer, N. Cesa-Bianchi. "A generalized online mirror descent
       with applications to classification and regression." Machine Learning 2015.
    .. [5] F. Orabona, T. Tommasi. "Training deep networks without learning rates
       through coin betting." NIPS 2017. https://arxiv.org/abs/1705.07795
    .. [6] W. Kotłowski. "Scale-invariant unconstrained online learning." ALT 2017.
    .. [7] M. Zinkevich. "Online convex programming and generalized infinitesimal
       gradient ascent." ICML 2003.
    .. [8] H. B. McMahan, M. J. Streeter. "Adaptive bound optimization for online convex
       optimization." COLT 2010.
    .. [9] F. Orabona. "Dimension-free exponentiated gradient." NIPS 2013.
    .. [10] Z. Mhammedi, W. M. Koolen. "Lipschitz and comparator-norm adaptivity in
       online learning." COLT 2020. https://arxiv.org/abs/2002.12242
    .. [11] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 2020. https://arxiv.org/abs/2006.07503
    .. [12] K. Chen, J. Langford, F. Orabona. "Better parameter-free stochastic
       optimization with ODE updates for coin-betting." AAAI 2022.
       https://arxiv.org/abs/2006.07507

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol.baselines import BaselineRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> for rate in 0.1, 1, 100:
    ...     model = BaselineRegressor("ogd", learning_rate=rate, scale=True)
    ...     print(f"{rate:>4}: {model.partial_fit(X, y).cumulative_loss_ / len(y):.0f}")
     0.1: 48
       1: 68
     100: 3707
    """

    _parameter_constraints: dict = {
        **LinearRegressor._parameter_constraints,
        **_Baseline._own_constraints,
        "loss": [*LinearRegressor._parameter_constraints["loss"], Instance("loss")],
    }

    def __init__(
        self,
        algorithm: Algorithm | tuple[Any, ...] = "ogd",
        *,
        loss: RegressionLoss | tuple[Any, ...] = "absolute_error",
        learning_rate: float = 1.0,
        normalizer: Literal["sum", "mean"] = "sum",
        radius: float | None = None,
        kernel: KernelLike = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        max_support: int | None = None,
        center: bool | Literal["auto"] = "auto",
        scale: bool = False,
        clip_ratio: float | None = None,
        moment_forgetting: float = 0.0,
        additive: bool | Literal["pairs"] = False,
        standardize_target: bool | Literal["auto"] = "auto",
        epsilon: float = 0.1,
        quantile: float = 0.5,
        fit_intercept: bool = True,
        max_iter: int = DEFAULT_MAX_ITER,
        tol: float | None = DEFAULT_TOL,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 5,
        shuffle: bool = True,
        random_state: RandomState = None,
        average: bool | int = False,
        warm_start: bool = False,
        verbose: bool | int = 0,
    ) -> None:
        self.algorithm = algorithm
        self.loss = loss
        self.learning_rate = learning_rate
        self.normalizer = normalizer
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
        self.moment_forgetting = moment_forgetting
        self.additive = additive
        self.standardize_target = standardize_target
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose

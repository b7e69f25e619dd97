"""Estimators of dimension-free exponentiated gradient, linear and with kernels."""

from numbers import Real
from typing import Any, Literal

from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import ClassWeight, KernelLike, LipschitzLoss, RandomState
from ..learners import DFEG
from ..losses import CLASSIFICATION, REGRESSION, with_bounded_slope
from .base import DEFAULT_MAX_ITER, DEFAULT_TOL, POSITIVE
from .kernel import KernelMethods
from .linear import LinearClassifier, LinearRegressor

__all__ = ["DFEGClassifier", "DFEGRegressor"]

# Weights grow exponentially from next to nothing, so that many epochs may hardly change
# the loss before others do.
DEFAULT_N_ITER_NO_CHANGE = 100


class _DFEG(KernelMethods):
    """What the two estimators have in common beyond being online."""

    _own_constraints = {
        **KernelMethods._kernel_constraints,
        "a": [Interval(Real, 0.882, 1.109, closed="both")],
        "delta": [POSITIVE],
    }

    def _make_learner(self, lipschitz):
        return DFEG(float(self.a), float(self.delta), lipschitz)


class DFEGClassifier(_DFEG, LinearClassifier):
    r"""Classifier without a learning rate, linear or with a kernel.

    Dimension-free exponentiated gradient (DFEG) [1]_ has no learning rate and asks for
    no bound on the weights: its regret against weights :math:`u` is of the order
    :math:`\|u\| \sqrt T \ln(\|u\| T + 1)`, and constant against :math:`u = 0`. All
    that it needs of rows are inner products, so that it learns with kernels as well.
    A row costs O(n_features), a sparse row O(non-zeros); with a kernel, as many kernel
    values as rows are stored.

    It is sensitive to the scales of the features: rows should have norms of about 1.
    Unlike gradient descent it is safe where rows are longer, but then it learns slowly.

    Parameters
    ----------
    loss : {"log_loss", "hinge"}, default="log_loss"
        "log_loss" is the logistic loss; with more than two classes, multinomial
        cross-entropy. "hinge" is that of linear support vector machines; with more than
        two classes, one versus rest.

    a : float, default=0.882
        The paper's factor of the scale that the norm grows on, between 0.882 and 1.109,
        for which the theorem holds. The regret bound grows with it.

    delta : float, default=1.0
        Sum of squares to start from, in units of squared features, up to 1e20. Nothing
        to tune: what it adds to the regret does not grow.

    kernel : str or callable, default="linear"
        "linear", with weights of the features; or a kernel, with coefficients of rows:
        a name that :func:`~sklearn.metrics.pairwise.pairwise_kernels` knows, such as
        "rbf" or "poly", a function of two rows that returns a number, or "precomputed".
        Then `X` is the kernel matrix: each row has its kernels with all rows of the
        stream, in the order in which they come to :meth:`partial_fit` or have in
        :meth:`fit`. After as many rows as columns the first is expected once more.

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
        of a row as well. See the notes for what happens at that number.

    center : {"auto", True, False}, default=False
        Whether each feature is centred at its running mean (the row itself included);
        never with a kernel. "auto" centres dense input and not sparse, as decided by
        the first rows. False is the paper's algorithm to the letter.

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

    n_iter_no_change : int, default=100
        Number of epochs without improvement before :meth:`fit` stops. Weights grow
        exponentially from next to nothing, so that many may come before the others.

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
    DFEGRegressor : The same for targets that are numbers.
    ScInOLClassifier : Is scale-invariant, and has no kernels.
    sklearn.svm.SVC : Kernels without a stream.

    Notes
    -----
    With :math:`\theta` minus the sum of the gradients, :math:`L` the Lipschitz constant
    of the loss and :math:`H_t = \delta + \sum_{s \le t} L^2 \max(\|x_s\|, \|x_s\|^2)`
    the weights are :math:`w_t = \theta_t / \|\theta_t\| \cdot H_t^{-3/2} \exp(\|
    \theta_t\| / (a \sqrt{H_t}))`. Since :math:`H_t` has the row that is predicted,
    predictions of different rows have different multiples of :math:`\theta`; `coef_`,
    `intercept_` and `dual_coef_` are those without a row. A row of sample weight
    :math:`c` is a row :math:`c x`. With several outputs each has its own
    :math:`\theta`.

    :meth:`regret_bound` is Theorem 1: :math:`4 e^{1 + 1/a} / (L \sqrt \delta) + a \|u\|
    \sqrt{H_T} (\ln(H_T^{3/2} \|u\|) - 1)`, for each output.

    With a kernel, rows are evaluated against the stored ones some hundred at a time,
    and see each other's updates exactly. With a precomputed kernel, predictions of new
    rows are made without the row in :math:`H`, for nobody knows its kernel with itself.

    When `max_support` rows are stored, the space that they span is kept, and each later
    row is replaced by its projection to that space, as in the Projectron [2]_. Budgets
    that drop rows would make predictions vanish: :math:`\|\theta\|` would stop growing,
    while :math:`H` goes on. Projections take the memory of a square matrix of that
    size, the time of its decomposition once, and O(`max_support`\ :sup:`2`) a row. What
    is kept are the first rows that had a slope; a stream that moves away later needs
    more room.

    With projections the bound holds against every comparator in that space, which
    predicts the same for a row and for its projection: every combination of the stored
    rows, with the sum of its coefficients as intercept if there is one, for each row
    comes with its constant 1. `dual_coef_` and `intercept_` are of that kind. For any
    other comparator it bounds the regret against what that would predict if later rows
    were replaced by their projections. On the rows themselves such a comparator may be
    better by any amount.

    References
    ----------
    .. [1] F. Orabona. "Dimension-free exponentiated gradient." NIPS 2013.
    .. [2] F. Orabona, J. Keshet, B. Caputo. "Bounded kernel-based online learning."
       Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_scinol import DFEGClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DFEGClassifier(kernel="rbf").partial_fit(X, y, classes=range(10))
    >>> round(model.score(X, y), 1)
    0.9
    """

    _parameter_constraints: dict = {
        **LinearClassifier._parameter_constraints,
        **_DFEG._own_constraints,
        "loss": [StrOptions(with_bounded_slope(CLASSIFICATION))],
    }

    def __init__(
        self,
        loss: Literal["log_loss", "hinge"] = "log_loss",
        *,
        a: float = 0.882,
        delta: float = 1.0,
        kernel: KernelLike = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        max_support: int | None = None,
        center: bool | Literal["auto"] = False,
        scale: bool = False,
        clip_ratio: float | None = None,
        fit_intercept: bool = True,
        max_iter: int = DEFAULT_MAX_ITER,
        tol: float | None = DEFAULT_TOL,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = DEFAULT_N_ITER_NO_CHANGE,
        shuffle: bool = True,
        random_state: RandomState = None,
        average: bool | int = False,
        warm_start: bool = False,
        verbose: bool | int = 0,
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.loss = loss
        self.a = a
        self.delta = delta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # On long rows, or with weights of rows far from 1, it may not be there yet when
        # an accuracy is asked for.
        tags.classifier_tags.poor_score = True
        return tags


class DFEGRegressor(_DFEG, LinearRegressor):
    r"""Regression without a learning rate, linear or with a kernel.

    Dimension-free exponentiated gradient (DFEG) [1]_ has no learning rate and asks for
    no bound on the weights: its regret against weights :math:`u` is of the order
    :math:`\|u\| \sqrt T \ln(\|u\| T + 1)`, and constant against :math:`u = 0`. All
    that it needs of rows are inner products, so that it learns with kernels as well.
    A row costs O(n_features), a sparse row O(non-zeros); with a kernel, as many kernel
    values as rows are stored.

    It is sensitive to the scales of the features: rows should have norms of about 1.
    Unlike gradient descent it is safe where rows are longer, but then it learns slowly.

    Parameters
    ----------
    loss : str, default="absolute_error"
        What predictions are charged: "absolute_error", "huber", "epsilon_insensitive"
        or "quantile", each with a bounded derivative, which the theory asks for.
        "absolute_error" aims at the median, "quantile" at another quantile;
        "huber" is half the squared error up to `epsilon` and linear beyond;
        "epsilon_insensitive" ignores errors up to `epsilon`.

    a : float, default=0.882
        The paper's factor of the scale that the norm grows on, between 0.882 and 1.109,
        for which the theorem holds. The regret bound grows with it.

    delta : float, default=1.0
        Sum of squares to start from, in units of squared features, up to 1e20. Nothing
        to tune: what it adds to the regret does not grow.

    kernel : str or callable, default="linear"
        "linear", with weights of the features; or a kernel, with coefficients of rows:
        a name that :func:`~sklearn.metrics.pairwise.pairwise_kernels` knows, such as
        "rbf" or "poly", a function of two rows that returns a number, or "precomputed".
        Then `X` is the kernel matrix: each row has its kernels with all rows of the
        stream, in the order in which they come to :meth:`partial_fit` or have in
        :meth:`fit`. After as many rows as columns the first is expected once more.

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
        of a row as well. See the notes for what happens at that number.

    center : {"auto", True, False}, default=False
        Whether each feature is centred at its running mean (the row itself included);
        never with a kernel. "auto" centres dense input and not sparse, as decided by
        the first rows. False is the paper's algorithm to the letter.

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

    standardize_target : {"auto", True, False}, default="auto"
        Whether a prediction is the running mean of the target plus its running standard
        deviation (of the rows before) times what the algorithm says. Neither the unit
        nor the zero of the target matters then. "auto" standardises it where features
        are centred: with ``center=False`` alone the algorithm is the paper's to the
        letter.

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

    n_iter_no_change : int, default=100
        Number of epochs without improvement before :meth:`fit` stops. Weights grow
        exponentially from next to nothing, so that many may come before the others.

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
    DFEGClassifier : The same for labels.
    ScInOLRegressor : Is scale-invariant, and has no kernels.
    sklearn.svm.SVR : Kernels without a stream.

    Notes
    -----
    With :math:`\theta` minus the sum of the gradients, :math:`L` the Lipschitz constant
    of the loss and :math:`H_t = \delta + \sum_{s \le t} L^2 \max(\|x_s\|, \|x_s\|^2)`
    the weights are :math:`w_t = \theta_t / \|\theta_t\| \cdot H_t^{-3/2} \exp(\|
    \theta_t\| / (a \sqrt{H_t}))`. Since :math:`H_t` has the row that is predicted,
    predictions of different rows have different multiples of :math:`\theta`; `coef_`,
    `intercept_` and `dual_coef_` are those without a row. A row of sample weight
    :math:`c` is a row :math:`c x`. With several outputs each has its own
    :math:`\theta`.

    :meth:`regret_bound` is Theorem 1: :math:`4 e^{1 + 1/a} / (L \sqrt \delta) + a \|u\|
    \sqrt{H_T} (\ln(H_T^{3/2} \|u\|) - 1)`, for each output.

    With a kernel, rows are evaluated against the stored ones some hundred at a time,
    and see each other's updates exactly. With a precomputed kernel, predictions of new
    rows are made without the row in :math:`H`, for nobody knows its kernel with itself.

    When `max_support` rows are stored, the space that they span is kept, and each later
    row is replaced by its projection to that space, as in the Projectron [2]_. Budgets
    that drop rows would make predictions vanish: :math:`\|\theta\|` would stop growing,
    while :math:`H` goes on. Projections take the memory of a square matrix of that
    size, the time of its decomposition once, and O(`max_support`\ :sup:`2`) a row. What
    is kept are the first rows that had a slope; a stream that moves away later needs
    more room.

    With projections the bound holds against every comparator in that space, which
    predicts the same for a row and for its projection: every combination of the stored
    rows, with the sum of its coefficients as intercept if there is one, for each row
    comes with its constant 1. `dual_coef_` and `intercept_` are of that kind. For any
    other comparator it bounds the regret against what that would predict if later rows
    were replaced by their projections. On the rows themselves such a comparator may be
    better by any amount.

    References
    ----------
    .. [1] F. Orabona. "Dimension-free exponentiated gradient." NIPS 2013.
    .. [2] F. Orabona, J. Keshet, B. Caputo. "Bounded kernel-based online learning."
       Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol import DFEGRegressor
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(1000, 1))
    >>> y = np.sin(X[:, 0])
    >>> model = DFEGRegressor(kernel="rbf").partial_fit(X, y)
    >>> round(model.score(X, y), 1)
    0.9
    """

    _parameter_constraints: dict = {
        **LinearRegressor._parameter_constraints,
        **_DFEG._own_constraints,
        "loss": [StrOptions(with_bounded_slope(REGRESSION))],
    }

    def __init__(
        self,
        loss: LipschitzLoss = "absolute_error",
        *,
        a: float = 0.882,
        delta: float = 1.0,
        kernel: KernelLike = "linear",
        gamma: float | Literal["scale", "auto"] = "scale",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        max_support: int | None = None,
        center: bool | Literal["auto"] = False,
        scale: bool = False,
        clip_ratio: float | None = None,
        standardize_target: bool | Literal["auto"] = "auto",
        epsilon: float = 0.1,
        quantile: float = 0.5,
        fit_intercept: bool = True,
        max_iter: int = DEFAULT_MAX_ITER,
        tol: float | None = DEFAULT_TOL,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = DEFAULT_N_ITER_NO_CHANGE,
        shuffle: bool = True,
        random_state: RandomState = None,
        average: bool | int = False,
        warm_start: bool = False,
        verbose: bool | int = 0,
    ) -> None:
        self.loss = loss
        self.a = a
        self.delta = delta
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
        self.center = center
        self.scale = scale
        self.clip_ratio = clip_ratio
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

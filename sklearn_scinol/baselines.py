"""Competitors from the papers, which need a learning rate, as estimators.

They are here to compare with, under the same conditions: the same loops, losses,
centring, averaging and progressive validation. Only they are worth a grid search.
"""

from numbers import Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._base import DEFAULT_MAX_ITER, DEFAULT_TOL, OnlineClassifier, OnlineRegressor
from ._kernels import KernelMethods
from .learners import ALGORITHMS

__all__ = ["BaselineClassifier", "BaselineRegressor"]


class _Baseline(KernelMethods):
    """What the two estimators have in common beyond being online."""

    _own_constraints = {
        **KernelMethods._kernel_constraints,
        "algorithm": [StrOptions({"ogd", "adaogd", "kernel_gd"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "radius": [Interval(Real, 0, None, closed="neither"), None],
    }

    def _make_learner(self, loss):
        rate = float(self.learning_rate)
        if self.algorithm == "kernel_gd":
            if self.radius is not None:
                raise ValueError("radius must be None with algorithm='kernel_gd'.")
            return ALGORITHMS[self.algorithm](rate)
        if self._has_kernel:
            raise ValueError(
                f"kernel must be 'linear' with algorithm={self.algorithm!r}: only "
                "'kernel_gd' takes others."
            )
        radius = np.inf if self.radius is None else float(self.radius)
        return ALGORITHMS[self.algorithm](rate, radius)


class BaselineClassifier(_Baseline, OnlineClassifier):
    r"""Linear classifier by gradient descent, to be compared with.

    A row costs O(n_features), a sparse row O(non-zeros).

    Parameters
    ----------
    algorithm : {"ogd", "adaogd", "kernel_gd"}, default="ogd"
        "ogd" is projected online gradient descent with steps :math:`\eta_t = \beta /
        \sqrt t` [1]_. "adaogd" has :math:`\eta_t = \beta / \sqrt{\sum_{s \le t}
        \|g_s\|^2}` with :math:`g_s` the gradients [2]_. "kernel_gd" predicts with minus
        the sum of the gradients, times :math:`\beta / (2 \sqrt t)` [4]_, and learns
        with kernels as well.

    loss : {"log_loss", "hinge", "squared_hinge"}, default="log_loss"
        "log_loss" is the logistic loss; with more than two classes, multinomial
        cross-entropy. "hinge" is the loss of linear support vector machines,
        "squared_hinge" half its square; with more than two classes, one versus rest.

    learning_rate : float, default=1.0
        The :math:`\beta` of these, to be tuned. What is right hangs on the units of the
        features, the loss and the number of rows.

    radius : float, default=None
        If given, weights and intercept of each output are projected to the ball of that
        Euclidean norm. Not with "kernel_gd".

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

    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.

    max_iter : int, default=100
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update) is not below the best so far by `tol` times
        that of the first epoch, so that units of the loss do not matter. None runs all
        epochs.

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
        If positive, each epoch prints its mean loss.

    class_weight : dict or "balanced", default=None
        Weights of the classes; the weight of a row is multiplied by that of its class.
        "balanced" needs all labels, and so :meth:`fit`.

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
        Number of epochs of the last :meth:`fit`.

    n_samples_seen_ : int
        Number of rows learned, over all epochs and chunks; those of weight 0 excluded.

    t_ : float
        That number plus 1, as in :class:`~sklearn.linear_model.SGDClassifier`.

    cumulative_loss_ : float
        Weighted sum of the losses of the algorithm's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, or each call of :meth:`partial_fit`.

    See Also
    --------
    BaselineRegressor : The same for targets that are numbers.
    sklearn_scinol.ScInOLClassifier : Has nothing to tune.
    sklearn_scinol.AdaImplicitClassifier : Is hardly sensitive to its parameter.

    Notes
    -----
    :meth:`regret_bound` is :math:`\frac12 (\|u\| + \max_t \|w_t\|)^2 / \eta_T +
    \sum_t \frac{\eta_t}{2} \|g_t\|^2` (equation 3 of [3]_); infinite for a comparator
    outside the ball. With "kernel_gd" it is :math:`\|u\|^2 \sqrt T / \beta + \sum_t
    \beta \|g_t\|^2 / (4 \sqrt t)`.

    References
    ----------
    .. [1] M. Zinkevich. "Online convex programming and generalized infinitesimal
       gradient ascent." ICML 2003.
    .. [2] H. B. McMahan, M. J. Streeter. "Adaptive bound optimization for online convex
       optimization." COLT 2010.
    .. [3] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 2020. https://arxiv.org/abs/2006.07503
    .. [4] F. Orabona. "Dimension-free exponentiated gradient." NIPS 2013.

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
        **OnlineClassifier._parameter_constraints,
        **_Baseline._own_constraints,
    }

    def __init__(
        self,
        algorithm="ogd",
        *,
        loss="log_loss",
        learning_rate=1.0,
        radius=None,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        max_support=None,
        center=False,
        fit_intercept=True,
        max_iter=DEFAULT_MAX_ITER,
        tol=DEFAULT_TOL,
        n_iter_no_change=5,
        shuffle=True,
        random_state=None,
        average=False,
        warm_start=False,
        verbose=0,
        class_weight=None,
    ):
        self.algorithm = algorithm
        self.loss = loss
        self.learning_rate = learning_rate
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
        self.center = center
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose
        self.class_weight = class_weight


class BaselineRegressor(_Baseline, OnlineRegressor):
    r"""Linear regression by gradient descent, to be compared with.

    A row costs O(n_features), a sparse row O(non-zeros).

    Parameters
    ----------
    algorithm : {"ogd", "adaogd", "kernel_gd"}, default="ogd"
        "ogd" is projected online gradient descent with steps :math:`\eta_t = \beta /
        \sqrt t` [1]_. "adaogd" has :math:`\eta_t = \beta / \sqrt{\sum_{s \le t}
        \|g_s\|^2}` with :math:`g_s` the gradients [2]_. "kernel_gd" predicts with minus
        the sum of the gradients, times :math:`\beta / (2 \sqrt t)` [4]_, and learns
        with kernels as well.

    loss : str, default="absolute_error"
        What predictions are charged. "absolute_error" aims at the median, "quantile" at
        another quantile; "squared_error" is half the square; "huber" the same up to
        `epsilon` and linear beyond; "epsilon_insensitive" ignores errors up to
        `epsilon`.

    learning_rate : float, default=1.0
        The :math:`\beta` of these, to be tuned. What is right hangs on the units of the
        features, the loss and the number of rows.

    radius : float, default=None
        If given, weights and intercept of each output are projected to the ball of that
        Euclidean norm. Not with "kernel_gd".

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

    epsilon : float, default=0.1
        Threshold of the losses "huber" and "epsilon_insensitive", in units of the
        target.

    quantile : float, default=0.5
        The quantile of the loss "quantile", between 0 and 1.

    fit_intercept : bool, default=True
        Whether there is an intercept: a constant feature 1 with its own coordinate.

    max_iter : int, default=100
        Most epochs of :meth:`fit`. :meth:`partial_fit` is always one.

    tol : float, default=1e-3
        :meth:`fit` stops after `n_iter_no_change` epochs in a row whose mean loss (of
        predictions made before each update) is not below the best so far by `tol` times
        that of the first epoch, so that units of the loss do not matter. None runs all
        epochs.

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
        If positive, each epoch prints its mean loss.

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
        Number of epochs of the last :meth:`fit`.

    n_samples_seen_ : int
        Number of rows learned, over all epochs and chunks; those of weight 0 excluded.

    t_ : float
        That number plus 1, as in :class:`~sklearn.linear_model.SGDClassifier`.

    cumulative_loss_ : float
        Weighted sum of the losses of the algorithm's predictions, each made before its
        row was learned.

    loss_curve_ : list of float
        Mean of those losses for each epoch, or each call of :meth:`partial_fit`.

    See Also
    --------
    BaselineClassifier : The same for labels.
    sklearn_scinol.ScInOLRegressor : Has nothing to tune.
    sklearn_scinol.AdaImplicitRegressor : Is hardly sensitive to its parameter.

    Notes
    -----
    :meth:`regret_bound` is :math:`\frac12 (\|u\| + \max_t \|w_t\|)^2 / \eta_T +
    \sum_t \frac{\eta_t}{2} \|g_t\|^2` (equation 3 of [3]_); infinite for a comparator
    outside the ball. With "kernel_gd" it is :math:`\|u\|^2 \sqrt T / \beta + \sum_t
    \beta \|g_t\|^2 / (4 \sqrt t)`.

    References
    ----------
    .. [1] M. Zinkevich. "Online convex programming and generalized infinitesimal
       gradient ascent." ICML 2003.
    .. [2] H. B. McMahan, M. J. Streeter. "Adaptive bound optimization for online convex
       optimization." COLT 2010.
    .. [3] N. Campolongo, F. Orabona. "Temporal variability in implicit online
       learning." NeurIPS 2020. https://arxiv.org/abs/2006.07503
    .. [4] F. Orabona. "Dimension-free exponentiated gradient." NIPS 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_scinol.baselines import BaselineRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> for rate in 1, 100, 10000:
    ...     model = BaselineRegressor("ogd", learning_rate=rate).partial_fit(X, y)
    ...     print(f"{rate:>6}: {model.cumulative_loss_ / len(y):.0f}")
         1: 126
       100: 64
     10000: 489
    """

    _parameter_constraints: dict = {
        **OnlineRegressor._parameter_constraints,
        **_Baseline._own_constraints,
    }

    def __init__(
        self,
        algorithm="ogd",
        *,
        loss="absolute_error",
        learning_rate=1.0,
        radius=None,
        kernel="linear",
        gamma="scale",
        degree=3,
        coef0=1,
        kernel_params=None,
        max_support=None,
        center=False,
        epsilon=0.1,
        quantile=0.5,
        fit_intercept=True,
        max_iter=DEFAULT_MAX_ITER,
        tol=DEFAULT_TOL,
        n_iter_no_change=5,
        shuffle=True,
        random_state=None,
        average=False,
        warm_start=False,
        verbose=0,
    ):
        self.algorithm = algorithm
        self.loss = loss
        self.learning_rate = learning_rate
        self.radius = radius
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.max_support = max_support
        self.center = center
        self.epsilon = epsilon
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.n_iter_no_change = n_iter_no_change
        self.shuffle = shuffle
        self.random_state = random_state
        self.average = average
        self.warm_start = warm_start
        self.verbose = verbose

"""Estimators of dimension-free exponentiated gradient, linear and with kernels."""

from __future__ import annotations

from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from .._docstrings import inherit_descriptions
from .._typing import ClassWeight, KernelLike, LipschitzLoss, Quantiles, RandomState
from ..learners import DFEG
from ..losses import CLASSIFICATION, REGRESSION, with_bounded_slope
from .kernel import KernelMethods
from .linear import LinearClassifier, LinearRegressor
from .parameters import DEFAULT_MAX_ITER, DEFAULT_TOL, POSITIVE

# Weights grow exponentially from nearly 0: many epochs may hardly change the loss.
DEFAULT_N_ITER_NO_CHANGE = 100


class _DFEG(KernelMethods):
    r"""Parameters and learner of the classifier and the regressor.

    Parameters
    ----------
    n_iter_no_change : int, default=100
        Number of epochs without improvement before :meth:`fit` stops. Weights grow
        exponentially from next to nothing, so that many may come before the others.
    kernel : str or callable, default="linear"
        "linear", "precomputed", a function of two rows, or a name that
        :func:`~sklearn.metrics.pairwise.pairwise_kernels` knows.
    a : float, default=0.882
        The paper's scale of the norm's growth, between 0.882 and 1.109.
    delta : float, default=1.0
        Sum of squared features to start from. Nothing to tune.

    Description
    -----------
    Dimension-free exponentiated gradient (DFEG) [1]_ has no learning rate and asks for
    no bound on the weights: its regret against weights :math:`u` is of the order
    :math:`\|u\| \sqrt T \ln(\|u\| T + 1)`, and constant against :math:`u = 0`. All
    that it needs of rows are inner products, so that it learns with kernels as well.
    A row costs O(n_features), a sparse row O(non-zeros); with a kernel, as many kernel
    values as rows are stored.

    It is sensitive to the scales of the features: rows should have norms of about 1.
    Unlike gradient descent it is safe where rows are longer, but then it learns slowly.

    Notes
    -----
    Weights depend on the norm of the row that is predicted: `coef_`, `intercept_` and
    `dual_coef_` assume a zero row. :doc:`/user_guide/dfeg` has the formulas, the
    bound, precomputed kernels, and the projections of `max_support` [2]_.

    References
    ----------
    .. [1] F. Orabona. "Dimension-free exponentiated gradient." NIPS 2013.
    .. [2] F. Orabona, J. Keshet, B. Caputo. "Bounded kernel-based online learning."
       Journal of Machine Learning Research 10, 2009.
    """

    _own_constraints: dict = {
        "a": [Interval(Real, 0.882, 1.109, closed="both")],
        "delta": [POSITIVE],
    }

    def _make_learner(self, lipschitz):
        largest = float(np.max(lipschitz))
        shares = tuple((lipschitz / largest).tolist()) if np.ndim(lipschitz) else 1.0
        return DFEG(float(self.a), float(self.delta), largest, shares)


@inherit_descriptions
class DFEGClassifier(_DFEG, LinearClassifier):
    r"""Classifier without a learning rate, linear or with a kernel.

    See Also
    --------
    DFEGRegressor : Regression with the same algorithm.
    ScInOLClassifier : Is scale-invariant, and has no kernels.
    sklearn.svm.SVC : Kernels without a stream.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_scinol import DFEGClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DFEGClassifier(kernel="rbf").partial_fit(X, y, classes=range(10))
    >>> round(model.score(X, y), 1)
    0.9
    """

    _own_constraints: dict = {"loss": [StrOptions(with_bounded_slope(CLASSIFICATION))]}

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
        # Long rows, or weights of rows far from 1, may slow learning down too much for
        # the accuracy that scikit-learn's checks require.
        tags.classifier_tags.poor_score = True
        return tags


@inherit_descriptions
class DFEGRegressor(_DFEG, LinearRegressor):
    r"""Regression without a learning rate, linear or with a kernel.

    See Also
    --------
    DFEGClassifier : Classification with the same algorithm.
    ScInOLRegressor : Is scale-invariant, and has no kernels.
    sklearn.svm.SVR : Kernels without a stream.

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

    _own_constraints: dict = {"loss": [StrOptions(with_bounded_slope(REGRESSION))]}

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
        quantile: Quantiles = 0.5,
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

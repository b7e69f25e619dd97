"""Mixture of experts for labels, which needs no tuning."""

from __future__ import annotations

from typing import Any, Literal

from .._docstrings import inherit_descriptions
from .._typing import ClassificationLoss, ClassWeight, RandomState
from ..estimators.classifier import OnlineClassifier
from ..estimators.online_newton import OnlineNewtonClassifier
from ..estimators.parameters import DEFAULT_MAX_ITER, DEFAULT_TOL
from .default_experts import MAX_CLASSES
from .mixture_estimator import MixtureEstimator


@inherit_descriptions
class HedgeClassifier(MixtureEstimator, OnlineClassifier):
    r"""Classifier as good as the best of several learners, with nothing to tune.

    Several learners, the experts, predict each row. Their predictions are mixed by
    weights that are learned from their losses [1]_. The total loss of the mixture is
    little above that of the best expert, or of the best sequence of experts where the
    stream changes. Pools of experts, which multiply powers of their probabilities [2]_,
    often make it far smaller. By default the experts are learners of this package, and
    rescaling or shifting a feature changes no prediction.

    A row costs as much as its experts together, and for pools
    O(n_experts^2 n_classes) more.

    Parameters
    ----------
    loss : {%(losses)s}, default="log_loss"
        Loss of the mixture and of the default experts. With "log_loss" probabilities
        are mixed, otherwise scores. For "squared_hinge" ScInOL is left out.

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Mean by `weights_` of the weights of the features in linear experts, to see
        which features matter; experts whose scaling forgets are left out. Do not
        predict with `coef_`: the model mixes probabilities, of other experts too, and
        multiplies them in pools.
    weights_ : ndarray of shape (n_experts,) or (n_labels, n_experts)
        Weights of the experts at the next row, of sum 1. Several labels a row have
        weights of their own.

    See Also
    --------
    HedgeRegressor : Mixture of experts for numbers.
    ScInOLClassifier : The first of the default experts, at a fraction of the time.
    sklearn_scinol.experts.FixedShare : The weights alone, for losses of any kind.
    sklearn.ensemble.VotingClassifier : Weighs estimators by hand.

    Notes
    -----
    With log loss the mean of `K` experts is charged at most :math:`\ln 5 K` more than
    any of them, and the mixture with pools :math:`\ln 10` more than that mean, whatever
    the data: 6.6 in sum for 14 experts. With a hinge, scores of experts are clipped to
    between -1 and 1. :doc:`/user_guide/mixtures` says how the default experts were
    chosen, and what is guaranteed.

    References
    ----------
    .. [1] M. Herbster, M. K. Warmuth. "Tracking the best expert." Machine Learning 32,
       1998.
    .. [2] C. Mattern. "Linear and geometric mixtures – analysis." Data Compression
       Conference, 2013. https://arxiv.org/abs/1302.2820

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import HedgeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = HedgeClassifier().partial_fit(X, y, classes=[0, 1])
    >>> losses = model.expert_losses_ / len(y)
    >>> print(f"experts lose {losses.min():.3f} to {losses.max():.3f}")
    experts lose 0.132 to 1.856
    >>> print(f"mixture loses {model.cumulative_loss_ / len(y):.3f}")
    mixture loses 0.110

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

    def __init__(
        self,
        estimators: list[tuple[str, Any]] | None = None,
        *,
        loss: ClassificationLoss = "log_loss",
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
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.estimators = estimators
        self.loss = loss
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
        self.class_weight = class_weight
        self.new_classes = new_classes

    def _check_takes_classes(self, begins=False):
        super()._check_takes_classes(begins)
        if not begins and self.__sklearn_is_fitted__():
            for expert in self._model.experts:
                expert.check_takes_classes()

    def _check_new_classes(self, classes):
        """Refuse new classes for which a mixture would not have had all its experts."""
        if classes.size <= max(MAX_CLASSES, self.classes_.size):
            return
        estimators = [expert.estimator for expert in self._model.experts]
        of_newton = [
            each.random_features
            for each in estimators
            if isinstance(each, OnlineNewtonClassifier)
        ]
        there_are = {
            "second_order": None in of_newton,
            "random_features": any(of_newton),
            "additive": any(getattr(each, "additive", False) for each in estimators),
            "pools": bool(self._model.levels),
        }
        names = [name for name, is_there in there_are.items() if is_there]
        if names and self.estimators is None:
            raise ValueError(
                f"{classes.size} classes are too many for the default experts, which "
                f"take up to {MAX_CLASSES} if they are not known from the start: "
                f"name them in `classes`, or set exclude={names}."
            )

"""Mixture of experts for labels, which needs no tuning."""

from typing import Any, Literal

from .._typing import ClassificationLoss, ClassWeight, RandomState
from ..estimators.baseline import BaselineClassifier
from ..estimators.classifier import OnlineClassifier
from ..estimators.forest import MondrianForestClassifier
from ..estimators.implicit import AdaImplicitClassifier
from ..estimators.neighbors import OnlineKNeighborsClassifier
from ..estimators.online_newton import OnlineNewtonClassifier
from ..estimators.parameters import DEFAULT_MAX_ITER, DEFAULT_TOL
from ..estimators.scinol import ScInOLClassifier
from .base import MixtureEstimator
from .default_experts import MAX_CLASSES, Family


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
    estimators : list of (str, estimator) tuples, default=None
        Names and experts, which are cloned: any that have `partial_fit`. ``"drop"``
        leaves one out. None stands for the default experts, see
        :doc:`/user_guide/mixtures`.
    loss : {"log_loss", "hinge", "squared_hinge"}, default="log_loss"
        Loss of the mixture and of the default experts. With "log_loss" probabilities
        are mixed, otherwise scores. For "squared_hinge" ScInOL is left out.
    switching : bool, default=True
        Whether the weights follow an expert that becomes the best later on, as those of
        :class:`~sklearn_scinol.experts.FixedShare`. False compares sums of losses over
        all rows, as :class:`~sklearn_scinol.experts.AdaHedge`.
    additive : {"auto", True, False}, default="auto"
        Whether a default expert learns a function of each feature; "auto": for dense
        rows with up to 64 features, and up to 256 classes.
    interactions : {"auto", True, False}, default="auto"
        Whether a default expert learns functions of pairs of features as well, and for
        up to 10 features another one finer functions after 1,000 rows; "auto": where
        there are additive experts, for 2 to 24 features.
    second_order : {"auto", True, False}, default="auto"
        Whether two default experts make Newton steps, one of which forgets, and for
        dense rows a third ignores all features; "auto": for up to 128 features, and up
        to 256 classes.
    random_features : {"auto", True, False}, default="auto"
        Whether some default experts make Newton steps on random features of Gaussian
        kernels, drawn by `random_state`, with None by 0; "auto": for dense rows with
        up to 64 features, and up to 64 classes.
    neighbors : {"auto", True, False}, default="auto"
        Whether three default experts predict from the 1, 3 and 10 nearest of the last
        1,000 rows; "auto": if pooled, for dense rows with up to 64 features.
    forest : {"auto", True, False}, default="auto"
        Whether a default expert is a forest of five trees, in regression ten, of at
        most 8,192 nodes each, drawn by `random_state`, with None by 0; "auto": if
        pooled, for dense rows with up to 64 features and 256 classes, unless the loss
        is "quantile".
    pooling : {"auto", True, False}, default="auto"
        Whether pools of the experts, whose weights may have any sum and sign, are mixed
        with their mean; "auto": for up to 64 experts and 256 classes, not with a hinge.
    clip_ratio : float, default=None
        In the default experts, clip values to ±`clip_ratio` × the feature's largest
        absolute value so far; neighbours clip at four deviations in any case, and the
        forest never.
    max_iter : int, default=1000
        Maximum number of epochs of :meth:`fit`. :meth:`partial_fit` is always one.
    tol : float, default=1e-3
        Least improvement, relative to the first epoch's loss; None runs all epochs.
    early_stopping : {"auto", True, False}, default="auto"
        Whether :meth:`fit` stops by the loss of held-out rows, and learns them last;
        "auto": if there are epochs to choose from and 10 rows to hold out.
    validation_fraction : float, default=0.2
        Share of the rows that `early_stopping` holds out.
    n_iter_no_change : int, default=5
        Number of epochs without improvement before :meth:`fit` stops.
    shuffle : bool, default=True
        Whether :meth:`fit` shuffles the rows before each epoch.
    random_state : int, RandomState instance or None, default=None
        Seed of the shuffling and of the choice of held-out rows.
    n_jobs : int, default=None
        Number of experts that learn or predict at once; -1 uses all processors, None
        means 1 unless in a :func:`joblib.parallel_config` context. Changes no number.
    warm_start : bool, default=False
        Whether :meth:`fit` goes on from where the last call ended.
    verbose : int, default=0
        If positive, print the mean loss of each epoch.
    class_weight : dict or "balanced", default=None
        Weights of the classes; "balanced": inverse to their shares of the rows so far.
    new_classes : {"error", "add"}, default="error"
        What :meth:`partial_fit` does with new labels; "add" needs ``loss="log_loss"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes; with several labels a row, the numbers of the labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if X has them.
    n_iter_ : int
        Number of epochs of the last :meth:`fit`, including epochs after the best one.
    loss_curve_ : list of float
        Mean loss of each epoch, or of each of the latest 1,000 calls of `partial_fit`.
    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if any were held out.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Mean by `weights_` of the weights of the features, in experts that have them, to
        see which features matter. Do not predict with `coef_`: the model mixes
        probabilities, of other experts too, and multiplies them in pools.
    expert_kinds_ : dict of {str: str}
        Names of the experts of each kind, or "none: " and the reason. Behind a
        :class:`~sklearn_scinol.preprocessing.TableEncoder`, kinds by view of the table.
    weights_ : ndarray of shape (n_experts,) or (n_labels, n_experts)
        Weights of the experts at the next row, of sum 1. Several labels a row have
        weights of their own.
    weights_curve_ : tuple of ndarray
        Numbers of rows, about a tenth apart, and the weights after each.
    level_weights_ : ndarray of shape (4,) or (n_outputs, 4)
        With pools, weights of the mean of experts, of the pool of all rows, and of two
        that forget, at the next row; of sum 1.
    level_weights_curve_ : tuple of ndarray
        Numbers of rows, as in `weights_curve_`, and `level_weights_` after each.
    pool_coef_ : ndarray of shape (3, 1 + n_experts) or (n_outputs, 3, 1 + n_experts)
        Weights of the mean of experts, and of each expert, in the three pools.
    expert_losses_ : ndarray of shape (n_experts,) or (n_outputs, n_experts)
        Weighted sum of the losses of each expert as it is, not clipped, on rows that
        were new to it.
    regret_bound_ : float
        Bound on `cumulative_loss_` less the smallest of `expert_losses_`.
    estimators_
    named_estimators_
    intercept_
    multilabel_
    n_samples_seen_
    t_
    cumulative_loss_

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
    the data: 6.7 in sum for 16 experts. With a hinge, scores of experts are clipped to
    between -1 and 1 if `switching`. :doc:`/user_guide/mixtures` says how the default
    experts were chosen, and what is guaranteed.

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
    experts lose 0.129 to 0.650
    >>> print(f"mixture loses {model.cumulative_loss_ / len(y):.3f}")
    mixture loses 0.118

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
        OnlineKNeighborsClassifier,
        MondrianForestClassifier,
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
        random_features: bool | Literal["auto"] = "auto",
        neighbors: bool | Literal["auto"] = "auto",
        forest: bool | Literal["auto"] = "auto",
        pooling: bool | Literal["auto"] = "auto",
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
        self.random_features = random_features
        self.neighbors = neighbors
        self.forest = forest
        self.pooling = pooling
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
        with_functions = [
            each for each in estimators if getattr(each, "_learns_functions", False)
        ]
        of_pairs = [each._learns_pairs for each in with_functions]
        of_newton = [
            each.random_features
            for each in estimators
            if isinstance(each, OnlineNewtonClassifier)
        ]
        there_are = {
            "second_order": None in of_newton,
            "random_features": any(of_newton),
            "additive": False in of_pairs,
            "interactions": True in of_pairs,
            "pooling": bool(self._model.levels),
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

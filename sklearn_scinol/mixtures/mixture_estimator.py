"""Base of the classifier and the regressor that mix experts."""

from __future__ import annotations

import logging
from contextlib import suppress
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Bunch, check_array, get_tags
from sklearn.utils._param_validation import Interval, InvalidParameterError, StrOptions
from sklearn.utils.metaestimators import _BaseComposition

from .._docstrings import described_as
from ..estimators.additive import Additive
from ..estimators.classifier import OnlineClassifier
from ..estimators.linear import ABOVE_ONE, check_learned_in_order
from ..estimators.rehearsal import is_rehearsal
from ..losses.methods import is_by_output
from ..models.additive import AdditiveModel
from ..models.linear import MAX_FLOAT, LinearModel
from ..models.local import LocalModel
from ..models.random_features import RandomFeaturesModel
from .default_experts import (
    EXCLUDED,
    KINDS,
    MAX_CLASSES,
    FoundKind,
    default_experts,
)
from .display import ExpertWeightsDisplay
from .mixture_model import MixtureModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

logger = logging.getLogger("sklearn_scinol.mixtures")

# Models without weights of the features themselves.
OF_FUNCTIONS = AdditiveModel, LocalModel, RandomFeaturesModel

# Kinds of default experts, and pools.
EXCLUDABLE = *KINDS, "pools"

# Maximum number of experts of a pool.
MAX_POOLED = 64

# In the first of several epochs, the number of rows after which experts repeat all rows
# so far, and again each time there are twice as many; and how often they do.
N_BEFORE_REPEATS = 256
N_REPEATS = 3


class MixtureEstimator(Additive, _BaseComposition):
    """Base of the estimators of mixtures: experts, their weights, and how they mix.

    Parameters
    ----------
    clip_ratio : float, default=None
        In the default experts, clip values to ±`clip_ratio` × the feature's largest
        absolute value so far. Neighbours clip at four deviations instead, above 64
        features at 1.5, and trees never.
    early_stopping : {"auto", True, False}, default="auto"
        Whether :meth:`fit` stops by the loss of held-out rows, and learns them last;
        "auto": if there are epochs to choose from and 10 rows to hold out.
    validation_fraction : float, default=0.2
        Share of the rows that `early_stopping` holds out.
    estimators : list of (str, estimator) tuples, default=None
        Names and experts, which are cloned: any that have `partial_fit`. ``"drop"``
        leaves one out. None stands for the default experts, see
        :doc:`/user_guide/mixtures`.
    exclude : str, list or tuple of str, default=()
        Kinds of default experts to leave out, see :doc:`/user_guide/mixtures`:
        "second_order", "random_features", "neighbors", "forest", "extra_trees",
        "boosted_trees", "additive" and "last_label"; "pools" leaves out the pools of
        experts, of which `estimators` may be any.
    n_jobs : int, default=None
        Number of experts that learn or predict at once, and of boosted trees that grow;
        -1 uses all processors, None means 1 unless in a :func:`joblib.parallel_config`
        context. Changes no number.

    Attributes
    ----------
    validation_loss_curve_ : list of float
        Mean loss of the held-out rows after each epoch, if any were held out.
    intercept_
    expert_kinds_ : dict of {str: str}
        Names of the experts of each kind, or "none: " and the reason. Behind a
        :class:`~sklearn_scinol.preprocessing.TableEncoder`, kinds by view of the table.
    weights_curve_
    pool_weights_ : ndarray of shape (4,) or (n_outputs, 4)
        With pools, weights of the mean of experts and of three pools at the next row;
        of sum 1. Newton steps learn the first pool, and a third one that forgets; the
        second one is learned by ScInOL2 or, in regression, forgets slowly.
    pool_weights_curve_
    pool_coef_ : ndarray of shape (3, n) or (n_outputs, 3, n)
        Weights in the three pools of the mean of experts, of each expert, and in
        regression of the mean of the targets.
    expert_losses_ : ndarray of shape (n_experts,) or (n_outputs, n_experts)
        Weighted sum of the losses of each expert as it is, not clipped, on rows that
        were new to it.
    regret_bound_
    estimators_
    named_estimators_
    """

    _own_constraints: dict = {
        "estimators": [list, None],
        "early_stopping": ["boolean", StrOptions({"auto"})],
        "exclude": [str, list, tuple],
        "clip_ratio": [ABOVE_ONE, None],
        "n_jobs": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Integral, None, -1, closed="right"),
            None,
        ],
    }

    @property
    def _takes_dense_view(self):
        """Whether default experts learn the dense view of :class:`TableRows`."""
        return self.estimators is None

    @property
    def _model_types(self) -> tuple[type, ...]:
        return (MixtureModel,)

    def _start(self, X, n_epochs=1):
        loss = self._make_loss()
        experts, found = self._experts(loss, X, n_epochs)
        no_pools = self._why_no_pools(loss, len(experts))
        pools = "" if no_pools else f"of {len(experts)} experts"
        found = [*found, FoundKind("", "pools", pools, no_pools)]
        self.expert_kinds_ = {
            f"{each.view}, {each.kind}" if each.view else each.kind: each.names
            or f"none: {each.reason}"
            for each in found
        }
        self._model = MixtureModel(
            [
                (name, self._new_expert(name, e, loss), *view)
                for name, e, *view in experts
            ],
            loss,
            self._n_outputs(loss),
            max(self._n_classes, 2) if is_classifier(self) else None,
            pooling=no_pools is None,
        )
        if self.estimators is None and not is_rehearsal():
            name, n = type(self).__name__, len(experts)
            logger.info("%s has %d experts%s.", name, n, _without(found))
        if self._experts_add_classes:
            self._check_takes_classes()

    def _learn_first(self, chunk, order, random_state):
        """Learn from new rows; repeat those so far each time these have doubled.

        So weights and pools learn from experts that have had epochs, on rows that are
        new to them.
        """
        order = np.arange(len(chunk)) if order is None else order
        model, start, stop, loss = self._model, 0, N_BEFORE_REPEATS, 0.0
        while start < len(order):
            loss_before = model.cumulative_loss
            yield from self._learn_rows(chunk, order[start:stop], start > 0)
            loss += model.cumulative_loss - loss_before
            seen = order[:stop]
            for _ in range(N_REPEATS if stop < len(order) else 0):
                again = random_state.permutation(seen) if self.shuffle else seen
                yield from self._learn_rows(chunk, again, True, False)
            start, stop = stop, 2 * stop
        loss_before = model.cumulative_loss - loss
        self._record_call(loss_before, chunk.total_weight(order))

    @property
    def _experts_add_classes(self):
        """Whether classes may come later."""
        return is_classifier(self) and self._adds_classes

    def _new_expert(self, name, estimator, loss):
        """Return a clone of an estimator, for a mixture with a loss."""
        estimator = clone(estimator)
        if self._experts_add_classes and isinstance(estimator, OnlineClassifier):
            estimator.set_params(new_classes="add")
        return estimator

    def _why_no_pools(self, loss, n_experts):
        """Return why there is no second level; None if there is one."""
        if "pools" in self._excluded:
            return EXCLUDED
        if is_classifier(self) and not hasattr(loss, "log_probabilities"):
            return "the loss has no probabilities"
        if n_experts > MAX_POOLED:
            return f"more than {MAX_POOLED} experts"
        has_many = is_classifier(self) and self.classes_.size > MAX_CLASSES
        return f"more than {MAX_CLASSES} classes" if has_many else None

    def _experts(self, loss, X, n_epochs):
        """The experts to clone, as for :class:`MixtureModel`, and their kinds."""
        unknown = [kind for kind in self._excluded if kind not in EXCLUDABLE]
        if unknown:
            raise InvalidParameterError(
                f"The 'exclude' parameter of {type(self).__name__} must have names "
                f"among {EXCLUDABLE}. Got {unknown[0]!r} instead."
            )
        if self.estimators is None:
            return default_experts(self, loss, X, n_epochs)
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
        kind = "classifier" if is_classifier(self) else "regressor"
        for _, estimator in experts:
            if get_tags(estimator).estimator_type != kind:
                raise ValueError(
                    f"The estimator {type(estimator).__name__} should be a {kind}."
                )
            if not hasattr(estimator, "partial_fit"):
                raise ValueError(
                    f"The estimator {type(estimator).__name__} should have partial_fit."
                )
            has_labels = is_classifier(self) and self._output_shape
            if has_labels and not _takes_labels(estimator):
                raise ValueError(
                    f"The estimator {type(estimator).__name__} does not take several "
                    "labels: use sklearn.multioutput.MultiOutputClassifier of the "
                    f"{type(self).__name__} instead."
                )
        names = ", ".join(name for name, _ in experts)
        return experts, [FoundKind("", "given", names)]

    @property
    def _excluded(self):
        return (self.exclude,) if isinstance(self.exclude, str) else self.exclude

    def _configured_model(self):
        self._model.n_jobs = self.n_jobs
        return self._model

    def _invariants(self):
        yield from super()._invariants()
        if not self.__sklearn_is_fitted__():
            return
        has_classes = self._model.mixing_scale.n_classes is not None
        yield "only classifiers have classes", has_classes == is_classifier(self)
        for expert in self._model.experts:
            if expert.model is None or expert.sees_dense_view:
                continue
            n_features = expert.estimator.n_features_in_
            yield "the number of features fits", n_features == self.n_features_in_

    # Parameters of the experts are parameters, too.

    @described_as(BaseEstimator.get_params)
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get parameters of the estimator, and of the experts that were given."""
        return self._get_params("estimators", deep=deep)

    @described_as(BaseEstimator.set_params)
    def set_params(self, **params: Any) -> Self:
        """Set parameters of the estimator, or experts or their parameters by name.

        ``"drop"`` leaves an expert out.
        """
        self._keep_parameters(params)
        return self._set_params("estimators", **params)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        with suppress(TypeError, ValueError):  # `fit` will raise a better error
            given = [each for _, each in self.estimators or [] if each != "drop"]
            tags.input_tags.sparse = all(
                get_tags(each).input_tags.sparse for each in given
            )
            if tags.classifier_tags is not None:
                tags.classifier_tags.multi_label = all(map(_takes_labels, given))
        return tags

    # Fitted attributes.

    @property
    def estimators_(self) -> list[Any]:
        """The fitted experts, in order."""
        return [expert.estimator for expert in self._fitted_model().experts]

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted experts by name."""
        experts = self._fitted_model().experts
        return Bunch(**{expert.name: expert.estimator for expert in experts})

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weights of the experts at the next row."""
        return self._squeeze_outputs(self._fitted_model().weights)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Mean of the experts' weights of the features."""
        return self._mean_of_coefficients("coef_")

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Mean of the experts' intercepts."""
        return self._mean_of_coefficients("intercept_")

    def _mean_of_coefficients(self, attribute):
        """Mix the coefficients of experts, whose first axis may be the outputs."""
        experts = self._fitted_model().experts
        of_experts, lacking = [None] * len(experts), []
        for k, expert in enumerate(experts):
            if expert.sees_dense_view:
                continue
            found = getattr(expert.estimator, attribute, None)
            of_experts[k] = None if _forgets_moments(expert) else found
            # The mean of probabilities is not linear in any case.
            may_lack = is_classifier(self) and isinstance(expert.model, OF_FUNCTIONS)
            if found is None and not may_lack:
                lacking.append(expert)
        if lacking or all(found is None for found in of_experts):
            name = (lacking or experts)[0].name
            raise AttributeError(
                f"This {type(self).__name__!r} has no attribute {attribute!r}, since "
                f"its expert {name!r} has none that describes its predictions."
            )
        if attribute == "coef_" and is_by_output(self._model.loss):
            of_experts = [None if w is None else np.atleast_2d(w) for w in of_experts]
        mean = self._mean_of_experts(of_experts)
        if attribute == "intercept_" and all(each is not None for each in of_experts):
            mean = mean + self._squeeze_outputs(self._model.part_of_targets)
        return np.clip(mean, -MAX_FLOAT, MAX_FLOAT)

    def _mean_of_experts(self, of_experts, axis=0):
        """Mean by the experts' weights of what experts have; None is left out.

        In regression it is that of the mixture if nothing is left out. Where outputs
        have weights of their own, `axis` is that of outputs.
        """
        there = [k for k, each in enumerate(of_experts) if each is not None]
        values = [of_experts[k] for k in there]
        weights = self._model.weights_in_mean
        if len(there) < len(of_experts):
            weights = self._model.weights[:, there]
            weights = weights / weights.sum(axis=1, keepdims=True)
        if is_by_output(self._model.loss):  # some experts have one output
            values = [
                each if each.shape[axis] > 1 else np.repeat(each, len(weights), axis)
                for each in values
            ]
        values = np.stack(values)
        if len(weights) == 1:
            return np.tensordot(weights[0], values, 1)
        values = np.moveaxis(values, axis + 1, 0)
        mean = np.einsum("oe,oe...->o...", weights, values)
        return np.moveaxis(mean, 0, axis)

    # Functions of features.

    @property
    def _is_additive(self):
        # Before the first rows it is not known.
        return not self.__sklearn_is_fitted__() or bool(self._additive_models)

    @property
    def _additive_models(self):
        experts = self._fitted_model().experts
        models = [each.model for each in experts if not each.sees_dense_view]
        return [model for model in models if isinstance(model, AdditiveModel)]

    @property
    def _additive_model(self):
        return self._additive_models[0]

    def _term(self, feature, values):
        terms = [
            expert.model.term(feature, values) if _has_terms(expert) else None
            for expert in self._fitted_model().experts
        ]
        return self._mean_of_experts(terms, axis=1)

    @property
    def _not_in_terms(self):
        """Names of experts that have no terms, and of pools if they are not linear."""
        return self._names_without(_has_terms)

    @property
    def _not_in_coef(self):
        """Names of experts without coefficients, and of pools if not linear."""
        return self._names_without(
            lambda e: hasattr(e.estimator, "coef_") and not _forgets_moments(e)
        )

    def _names_without(self, has_part):
        model = self._fitted_model()
        names = [
            expert.name
            for expert in model.experts
            if not (expert.sees_dense_view or has_part(expert))
        ]
        names += ["dense view"] * model.has_dense_view
        return names + ["pools"] * (is_classifier(self) and bool(model.levels))

    @property
    def weights_curve_(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Numbers of rows, about a tenth apart, and the weights after each."""
        return self._curve(self._fitted_model(), 1)

    @property
    def pool_weights_(self) -> NDArray[np.float64]:
        """Weights of the mean of experts, and of each pool, at the next row."""
        return self._squeeze_outputs(self._pooling_model().level_weights)

    @property
    def pool_weights_curve_(self) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Numbers of rows, as in `weights_curve_`, and `pool_weights_` after each."""
        return self._curve(self._pooling_model(), 2)

    def _curve(self, model, place):
        """Return numbers of rows, and what points of the curve have at a place."""
        curve = [*model.curve, model.curve_point(model.n_rounds)]
        weights = np.stack([point[place] for point in curve], axis=1)
        return np.array([n for n, *_ in curve]), self._squeeze_outputs(weights, 1)

    @property
    def pool_coef_(self) -> NDArray[np.float64]:
        """Weights of the mean, of experts, and of the mean of the targets, in pools."""
        return self._squeeze_outputs(self._pooling_model().pool_coefficients)

    def _pooling_model(self):
        """Return the model, which has pools."""
        model = self._fitted_model()
        if not model.levels:
            raise AttributeError(
                f"This {type(self).__name__!r} has no pools of experts: "
                "`expert_kinds_` says why."
            )
        return model

    @property
    def expert_losses_(self) -> NDArray[np.float64]:
        """Sum of the losses of each expert."""
        return self._squeeze_outputs(self._fitted_model().expert_losses)

    @property
    def regret_bound_(self) -> float:
        """Bound on `cumulative_loss_` less the smallest of `expert_losses_`."""
        return self.regret_bound()

    def regret_bound(
        self, n_switches: int = 0, *, pool: ArrayLike | None = None
    ) -> float:
        r"""Bound on the regret against the best sequence of experts, or a fixed pool.

        The bound is on `cumulative_loss_` less the weighted sum of the losses of the
        experts in the sequence, in units of the loss. For log loss, equal weights of
        rows and a single expert it is ln 5 K for K experts, and with pools ln 10 more,
        times that weight, whatever the data. A row that weighs more than all before on
        which experts differed adds what the mixture, which could not know, is charged
        for it above a mixture that could. In regression what experts are charged more
        because they are clipped adds to the bound, too.

        With the log loss, `pool` gives the bound against a pool of fixed weights
        :math:`\beta`: on `cumulative_loss_` less the weighted sum of the losses of
        :math:`p(k) \propto \prod_e \max(p_e(k), 10^{-6})^{\beta_e}`, where
        :math:`p_0` is the mean of the experts and :math:`p_e` is an expert. ScInOL2
        learns how far the weights of one of the pools are from :math:`(1, 0, \ldots,
        0)`. Its losses are convex, so that their derivatives, which its state sums up,
        bound the regret. Theorem 3.2 of its paper limits that bound for any data, where
        the range of :math:`\ln p_e` over the classes stands for the absolute value of
        a feature. The weights of levels add ln 30 if all rows weigh 1.

        The bound is for one pass, as by `partial_fit`: later epochs of `fit` add to
        `cumulative_loss_`, but not to the losses of the experts and pools.

        Parameters
        ----------
        n_switches : int, default=0
            How often the expert changes in the sequence; with several outputs that are
            numbers, in the sequence of each. With 0 the bound is that against the best
            expert.
        pool : array-like of shape (..., 1 + n_experts), default=None
            Weights of the mean of the experts and of each expert, of each label if
            rows have several, as in `pool_coef_`; 0 for experts in the mean only.

        Returns
        -------
        bound : float
            In units of the loss.

        Raises
        ------
        NotFittedError
            If nothing was learned yet.
        AttributeError
            If it was merged from other models, labels came late, or it has no pools.
        ValueError
            If `pool` has the wrong shape or weighs an expert that is in the mean only,
            or comes with switches or in regression.
        """
        model = self._fitted_model()
        check_learned_in_order(self)
        if pool is not None:
            return self._bound_against_pool(pool, n_switches)
        bounds = [hedge.regret_bound(n_switches) for hedge in model.hedges]
        bounds += [level.regret_bound for level in model.levels]
        return sum(bounds) + float(model.clipping[:, 0].sum())

    def _bound_against_pool(self, pool, n_switches):
        """Bound the regret against pools of fixed weights."""
        if not is_classifier(self):
            raise ValueError(
                "No bound is known against a pool in regression: pass no `pool`."
            )
        if n_switches != 0:
            raise ValueError("The bound against a `pool` is for n_switches=0.")
        model = self._pooling_model()
        for level in model.levels:
            check_learned_in_order(self, level.betting_pool)
        weights = check_array(
            pool, ensure_2d=False, dtype=np.float64, input_name="pool"
        )
        shape = self.pool_coef_[..., 0, :].shape
        if weights.shape != shape:
            raise ValueError(f"pool has shape {weights.shape}, expected {shape}.")
        pairs = zip(model.levels, np.atleast_2d(weights), strict=True)
        return sum(level.bound_against(of_level) for level, of_level in pairs)

    def _squeeze_outputs(self, values, axis=0):
        """Drop the axis of outputs if there is a single set of weights."""
        return values[0] if len(values) == 1 else values.swapaxes(0, axis)

    @described_as(ExpertWeightsDisplay.from_estimator)
    def plot_weights(
        self,
        *,
        output: int = 0,
        n_largest: int | None = 9,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> ExpertWeightsDisplay:
        """Plot the weights of experts and pools over the rows learned."""
        return ExpertWeightsDisplay.from_estimator(
            self, output=output, n_largest=n_largest, ax=ax, **kwargs
        )


def _takes_labels(estimator):
    """Whether an estimator declares that it takes several labels."""
    classifier_tags = get_tags(estimator).classifier_tags
    return classifier_tags is not None and classifier_tags.multi_label


def _without(found):
    """Say which kinds of experts there are in no view, and why."""
    there = {each.kind for each in found if each.names}
    reasons = {each.kind: each.reason for each in found if each.kind not in there}
    kinds: dict = {}
    lacking = []
    for kind, reason in reasons.items():
        kinds.setdefault(reason, []).append(kind)
    for reason, (*first, last) in kinds.items():
        names = f"{', '.join(first)} and {last}" if first else last
        lacking.append(f"{names} ({reason})")
    return f", without {', '.join(lacking)}" if lacking else ""


def _forgets_moments(expert):
    """Whether an expert scales features by moments that forget.

    Then its coefficients do not describe its predictions: the deviation of a feature
    that stays 0 falls without end.
    """
    return isinstance(expert.model, LinearModel) and expert.model.features.decays


def _has_terms(expert):
    is_linear = isinstance(expert.model, LinearModel) and not expert.sees_dense_view
    return is_linear and not isinstance(expert.model, RandomFeaturesModel)

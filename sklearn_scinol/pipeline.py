"""Pipelines that learn from a stream."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, _name_estimators
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import check_is_fitted

from ._docstrings import LinkedToPages, described_as
from ._locks import SharedByThreads, learns, reads
from ._rollback import learn_as_last_step, rollback_on_error
from ._shards import Origins, origins_of
from ._steps import (
    NOTHING_GIVEN,
    PipelineRows,
    ShowsProgress,
    adds_rollbacks,
    can_learn,
    checkpoint_step,
    follow_step,
    learn_labels,
    learn_step,
    learns_labels,
    merge_steps,
)
from ._typing import Labels, Method, SampleWeight, _fit_context, available_if
from .estimators.labels import as_indicators, is_multilabel
from .estimators.row_by_row import RowByRow
from .estimators.waiting import Waiting
from .inspection import TermsDisplay
from .preprocessing import TableEncoder
from .tables.dense import Targets
from .tables.frames import check_not_missing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OnlinePipeline", "make_online_pipeline"]


def _can_partial_fit(pipeline):
    if not pipeline.steps:
        raise AttributeError("The pipeline has no steps.")
    final = pipeline._final_estimator
    if can_learn(final) or pipeline._can_transform():
        return True
    raise AttributeError(f"The last step, {final!r}, has no partial_fit.")


def _has_table_terms(pipeline):
    steps = [step for _, step in pipeline.steps]
    missing = f"This {type(pipeline).__name__!r} has no attribute 'plot_terms', since "
    encoder = steps[-2] if len(steps) > 1 else None
    if not (isinstance(encoder, TableEncoder) and encoder.sparse_output):
        raise AttributeError(
            f"{missing}there is no TableEncoder before the last step that gives sparse "
            "rows."
        )
    try:
        check_is_fitted(steps[-1])
        getattr(steps[-1], "_explained", steps[-1]).coef_  # noqa: B018
    except NotFittedError:
        return True  # the plot says so
    except AttributeError as error:
        raise AttributeError(
            f"{missing}its last step has no coefficients: {error}"
        ) from error
    return True


def _last_step_has(method):
    return lambda pipeline: can_learn(pipeline._final_estimator, method)


def _locked_method(name):
    """Make a method of scikit-learn's Pipeline read all steps after the same rows."""
    method = vars(Pipeline)[name]
    return available_if(method.check)(reads(method.fn))


class OnlinePipeline(SharedByThreads, LinkedToPages, ShowsProgress, Pipeline):
    """A :class:`~sklearn.pipeline.Pipeline` that learns from a stream.

    :meth:`partial_fit` takes the next rows of the stream through the steps: each
    transformer that has `partial_fit` learns the features and then transforms them, and
    the last step learns the result. Steps before it get no labels, but for those with
    `learn_labels`, which learn the label of a row after they have transformed it: so
    :meth:`partial_fit_predict` predicts each row before its label is used. All else is
    as in scikit-learn.

    Parameters
    ----------
    steps : list of (str, estimator) tuples
        The names of the steps and the steps, in order. All but the last are
        transformers, or ``"passthrough"``. For :meth:`partial_fit`, transformers
        without `partial_fit` must be stateless, such as
        :class:`~sklearn.preprocessing.FunctionTransformer`, or fitted beforehand, and
        learn nothing then: also :class:`~sklearn.compose.ColumnTransformer` and
        :class:`~sklearn.pipeline.FeatureUnion`, whatever is in them. To
        keep a fitted one when the pipeline is cloned, wrap it in a
        :class:`~sklearn.frozen.FrozenEstimator`, which never learns.
    transform_input : list of str, default=None
        Names of metadata to transform by the steps before the step that takes it, with
        metadata routing only.
    memory : str or object with the joblib.Memory interface, default=None
        Where :meth:`fit` caches fitted transformers; :meth:`partial_fit` does not.
    verbose : bool, default=False
        Whether :meth:`fit` prints the time of each step.

    Attributes
    ----------
    named_steps : :class:`~sklearn.utils.Bunch`
        The steps by name.
    classes_ : ndarray of shape (n_classes,)
        The classes, if the last step is a classifier.
    n_features_in_ : int
        Number of features, if the first step has it.
    feature_names_in_ : ndarray of shape (n_features,)
        Feature names, if the first step has them.
    n_samples_seen_ : int
        Number of rows learned, if the last step has it.
    cumulative_loss_ : float
        Weighted sum of the losses of the predictions made before each update, if the
        last step has it.
    loss_curve_ : list of float
        Mean losses of calls of :meth:`partial_fit` or epochs of :meth:`fit`, if the
        last step has it.

    See Also
    --------
    make_online_pipeline : Make a pipeline of steps without names.
    sklearn_scinol.evaluation.progressive_validation : Scores along a stream.

    Notes
    -----
    *Chunks.* Transformers of this package, and others with a method
    `partial_fit_transform`, go row by row: the size of chunks changes no prediction.
    Other transformers see the features of a whole chunk before its first row is
    predicted. :meth:`fit` shows transformers the features of all rows first, as in
    scikit-learn.

    *Failures.* If :meth:`partial_fit` or :meth:`partial_fit_predict` fails or is
    interrupted, all steps are unchanged. For this, steps of other packages are copied
    before each chunk.

    *Metadata.* With ``enable_metadata_routing=True`` steps get what they have requested
    for `partial_fit`, for instance by ``set_partial_fit_request(sample_weight=True)``,
    also from :meth:`partial_fit_predict`. Otherwise `sample_weight` goes to the last
    step, and ``name__parameter`` to the `partial_fit` of a step.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.pipeline import OnlinePipeline
    >>> from sklearn_scinol.preprocessing import OnlineBinner
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> steps = [("bins", OnlineBinner()), ("learn", ScInOLClassifier())]
    >>> model = OnlinePipeline(steps)
    >>> for start in range(0, len(y), 50):
    ...     rows = slice(start, start + 50)
    ...     predicted = model.partial_fit_predict(X[rows], y[rows], classes=[0, 1])
    >>> model.n_samples_seen_
    569
    >>> round(model.cumulative_loss_ / model.n_samples_seen_, 2)
    0.23
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    _adds_rollbacks = True

    # For the steps, not for this class to request.
    __metadata_request__partial_fit = {"classes": UNUSED, "sample_weight": UNUSED}

    @available_if(_can_partial_fit)
    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        classes: Labels | None = None,
        sample_weight: SampleWeight = None,
        **params: Any,
    ) -> Self:
        """Learn the next rows with each step.

        Only available if the last step has `partial_fit`, or is a transformer.

        Parameters
        ----------
        X : object
            The next rows of the stream, as the first step takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets, for the last step.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, for the last step. A classifier needs them at the
            first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of rows, for the last step; with metadata routing for the steps that
            request them.
        **params : dict
            Parameters of the steps' `partial_fit` as ``name__parameter``; with metadata
            routing what steps request.

        Returns
        -------
        self : object
            The pipeline, whose steps have learned.

        Raises
        ------
        NotFittedError
            If a step can neither learn from a stream nor transform unfitted.
        TypeError
            If a step but the last is not a transformer, or with metadata routing no
            step takes a parameter.
        ValueError
            If no step has a parameter, or a step refuses the rows. All steps are then
            unchanged.
        """
        with rollback_on_error(self) as rollbacks:
            X, given = self._learn_features(
                X, y, classes, sample_weight, params, rollbacks
            )
            final = self._final_estimator
            if can_learn(final):
                learn_as_last_step(final, rollbacks, final.partial_fit, X, y, **given)
            return self

    @available_if(_last_step_has("partial_fit_predict"))
    @learns
    @_fit_context(prefer_skip_nested_validation=False)
    @described_as(partial_fit)
    def partial_fit_predict(
        self,
        X: Any,
        y: ArrayLike,
        *,
        classes: Labels | None = None,
        sample_weight: SampleWeight = None,
        method: Method = "predict",
        **params: Any,
    ) -> NDArray[Any]:
        """Predict each row, then let the last step learn from it.

        Only available if the last step has `partial_fit_predict`, as all estimators of
        this package do. With others predict a chunk, then learn it.

        Parameters
        ----------
        method : str, default="predict"
            The method of the last step to predict with.
        **params : dict
            See :meth:`partial_fit`.

        Returns
        -------
        predictions : ndarray
            Predictions made before each row's label was used. Some transformers have
            seen the features of the whole chunk, see the notes.

        Raises
        ------
        NotFittedError, TypeError, ValueError
            As for :meth:`partial_fit`, or if the last step lacks the method.
        """
        with rollback_on_error(self) as rollbacks:
            X, given = self._learn_features(
                X, y, classes, sample_weight, params, rollbacks
            )
            final = self._final_estimator
            learn, given = final.partial_fit_predict, {"method": method, **given}
            return learn_as_last_step(final, rollbacks, learn, X, y, **given)

    @available_if(lambda self: any(can_learn(s, "observe") for _, s in self.steps))
    @learns
    @described_as(partial_fit)
    def observe(self, X: Any) -> Self:
        """Learn rows whose labels are not known, by all steps but the last.

        Only available if a step has `observe`, as transformers of this package do.
        Others learn by `partial_fit`. It is for rows whose labels will never come:
        `row_by_row().with_late_labels()` observes rows and learns their labels later.

        Returns
        -------
        self : object
            The pipeline, whose last step has learned nothing, unless it is a
            transformer.

        Raises
        ------
        NotFittedError
            If nothing was learned yet: a first row needs its label.
        ValueError
            If a step refuses the rows. All steps are then unchanged.
        """
        check_is_fitted(self._final_estimator)
        with rollback_on_error(self) as rollbacks:
            X, _ = self._observe_features(X, rollbacks)
            if self._can_transform():
                final = self._final_estimator
                learn_step(final, X, NOTHING_GIVEN, rollbacks, observes=True)
            return self

    @available_if(_last_step_has("row_by_row"))
    @_fit_context(prefer_skip_nested_validation=False)
    def row_by_row(self, *, classes: Labels | None = None) -> RowByRow:
        """Learn and predict one row at a time, at little cost a call.

        Only available if the last step has it, as all estimators of this package do.
        With others use :meth:`partial_fit` with chunks of one row.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, for an unfitted classifier.

        Returns
        -------
        rows : RowByRow
            With methods `learn_one`, `predict_one`, `predict_learn_one`,
            `predict_proba_one`, `decision_function_one`, `observe_one` and
            `with_late_labels`, of rows as the first step
            takes them: dicts, arrays or sequences. The steps learn each row as by
            :meth:`partial_fit`, to the last bit, or if one fails none does.

        Raises
        ------
        ValueError
            If a parameter of a step is not valid, or `classes` are missing.

        See Also
        --------
        sklearn_scinol.ScInOLClassifier.row_by_row : Which estimators are fast.

        Examples
        --------
        >>> from sklearn_scinol import ScInOLClassifier
        >>> from sklearn_scinol.pipeline import make_online_pipeline
        >>> from sklearn_scinol.preprocessing import TableEncoder
        >>> model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
        >>> rows = model.row_by_row(classes=["let", "sold"])
        >>> rows = rows.learn_one({"city": "Oslo", "rooms": 2}, "let")
        >>> rows = rows.learn_one({"city": "Rome", "rooms": 3}, "sold")
        >>> print(rows.predict_learn_one({"city": "Rome"}, "sold"))
        sold
        >>> model.n_samples_seen_
        3
        """
        return PipelineRows(self, classes)

    @available_if(_last_step_has("predict_interval"))
    @reads
    def predict_interval(
        self, X: Any, confidence_level: float | Sequence[float] | None = None
    ) -> NDArray[np.float64]:
        """Predict intervals that contain the targets with a given probability.

        Only available if the last step is an
        :class:`~sklearn_scinol.OnlineConformalRegressor`.

        Parameters
        ----------
        X : object
            Rows, as the first step takes them.
        confidence_level : float or list of float, default=None
            One or several of the levels that the last step has learned. None stands for
            all of them.

        Returns
        -------
        intervals : ndarray
            Of the last step, for the transformed rows.
        """
        X = self._transformed(X)
        return self._final_estimator.predict_interval(X, confidence_level)

    @available_if(_last_step_has("predict_set"))
    @reads
    @described_as(predict_interval)
    def predict_set(
        self, X: Any, confidence_level: float | Sequence[float] | None = None
    ) -> NDArray[np.bool_]:
        """Predict sets that contain the labels with a given probability.

        Only available if the last step is an
        :class:`~sklearn_scinol.OnlineConformalClassifier`.

        Returns
        -------
        sets : ndarray of bool
            Of the last step, for the transformed rows.
        """
        X = self._transformed(X)
        return self._final_estimator.predict_set(X, confidence_level)

    def _transformed(self, X):
        """Return rows as the last step takes them."""
        for _, _, step in self._iter(with_final=False):
            X = step.transform(X)
        return X

    @available_if(_has_table_terms)
    @reads
    @described_as(TermsDisplay.from_estimator)
    def plot_terms(
        self,
        features: Sequence[str] | None = None,
        *,
        output: int = 0,
        axes: Sequence[Axes] | NDArray[Any] | None = None,
    ) -> TermsDisplay:
        """Plot what a linear model has learned of each column of a table.

        Only available if the last step has coefficients, and the step before it is a
        :class:`~sklearn_scinol.preprocessing.TableEncoder`.

        Raises
        ------
        AttributeError
            If the last step has no coefficients, or there is no encoder before it.
        ImportError
            If matplotlib is not installed.
        NotFittedError
            If nothing was learned yet.
        ValueError
            If a column or the output does not exist, or a column had no values yet.
        """
        return TermsDisplay.from_estimator(self, features, output=output, axes=axes)

    def fit(self, X: Any, y: ArrayLike | None = None, **params: Any) -> Self:
        """Fit all steps, one after the other.

        As :meth:`Pipeline.fit <sklearn.pipeline.Pipeline.fit>`. A step that learns
        labels as well, such as a :class:`~sklearn_scinol.preprocessing.TableEncoder`,
        is told the classes and weights.

        Parameters
        ----------
        X : object
            Training rows, as the first step takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets, for all steps.
        **params : dict
            `sample_weight` for the last step, and parameters of the steps' `fit` as
            ``name__parameter``; with metadata routing what steps request.

        Returns
        -------
        self : object
            The pipeline, whose steps are fitted.
        """
        last, is_routed = self._final_estimator, _routing_enabled()
        check_not_missing(y)  # before a step has learned
        has_classes = is_classifier(last) and not is_multilabel(y)
        if is_classifier(last) and not has_classes:
            y = as_indicators(y)
        c = None if is_routed else params.pop("sample_weight", None)
        for name, step in self.steps[:-1]:
            is_told = hasattr(step, "_wants_targets") and learns_labels(step, last)
            if is_told and not (y is None or is_routed):
                classes = params.get(key := f"{name}__classes")
                if classes is None and has_classes:
                    classes = unique_labels(y)
                params[key] = self._targets_of(step, y, classes, c)
        if c is not None:
            params[f"{self.steps[-1][0]}__sample_weight"] = c
        super().fit(X, y, **params)
        self._origins_of_fit = Origins([token_hex(8)])
        return self

    predict = _locked_method("predict")
    predict_proba = _locked_method("predict_proba")
    predict_log_proba = _locked_method("predict_log_proba")
    decision_function = _locked_method("decision_function")
    score_samples = _locked_method("score_samples")
    score = _locked_method("score")
    transform = _locked_method("transform")
    inverse_transform = _locked_method("inverse_transform")

    def _learn_features(self, X, y, classes, sample_weight, params, rollbacks):
        """Learn rows in all steps but the last; return the last step's arguments."""
        self._validate_steps()
        self._check_transformers()
        if sample_weight is not None:
            params = {**params, "sample_weight": sample_weight}
        routed = self._route(params)

        def of_step(index, name):
            return self._get_metadata_for_step(
                step_idx=index, step_params=routed[name], all_params=params
            )

        for index, name, step in self._iter(with_final=False):
            targets = self._targets_of(step, y, classes, sample_weight)
            X = learn_step(step, X, of_step(index, name), rollbacks, targets)
        name, final = self.steps[-1]
        if not can_learn(final):
            return X, {}
        if not adds_rollbacks(final):
            rollbacks.append(checkpoint_step(final))
        given = of_step(len(self) - 1, name)["partial_fit"]
        return X, given if classes is None else {**given, "classes": classes}

    # Rows that come, and are learned when their labels come; see `Waiting`.

    @learns
    def _come(self, X, methods):
        check_is_fitted(self._final_estimator)
        final = self._final_estimator
        with rollback_on_error(self) as rollbacks:
            X, inputs = self._observe_features(X, rollbacks)
            call = final, rollbacks, final._come, X, methods
            predictions, waiting = learn_as_last_step(*call)
            return predictions, self._waiting(waiting, inputs)

    @learns
    def _learn_waiting(self, waiting, y, sample_weight=None):
        with rollback_on_error(self) as rollbacks:
            for step, X in self._steps_of(waiting):
                targets = self._targets_of(step, y, None, sample_weight)
                learn_labels(step, X, rollbacks, targets)
            final = self._final_estimator
            rows = waiting.X, y, self._weights_of_last(sample_weight)
            learn_as_last_step(final, rollbacks, final._learn_waiting, *rows)

    @learns
    def _follow(self, X, methods, waiting, y, sample_weight, is_label):
        with rollback_on_error(self) as rollbacks:
            late = dict(waiting.inputs), y, sample_weight, is_label
            X, inputs = self._observe_features(X, rollbacks, *late)
            final, c = self._final_estimator, self._weights_of_last(sample_weight)
            rows = X, methods, waiting.X, y, c, is_label
            call = final, rollbacks, final._follow, *rows
            predictions, waiting = learn_as_last_step(*call)
            return predictions, self._waiting(waiting, inputs)

    def _observe_features(
        self, X, rollbacks, late=None, y=None, sample_weight=None, is_label=None
    ):
        """Learn rows in all steps but the last, before their labels come.

        Return the rows for the last step, and of steps that learn labels the rows that
        these were given. Labels of other rows, which these steps were given before, may
        come in between, see :meth:`LearnsLate._follow`.
        """
        self._validate_steps()
        self._check_transformers()
        inputs: tuple[Any, ...] = ()
        for _, name, step in self._iter(with_final=False):
            before = X
            if late and name in late:
                targets = self._targets_of(step, y, None, sample_weight)
                X = follow_step(step, X, late[name], targets, is_label, rollbacks)
            else:
                X = learn_step(step, X, NOTHING_GIVEN, rollbacks, observes=True)
            if learns_labels(step, self._final_estimator):
                inputs += ((name, before),)
        return X, inputs

    def _waiting(self, X, inputs):
        """Return rows that wait as the steps before the last have encoded them."""
        return Waiting(X, inputs, origins=self._origins_of_encoding())

    def _origins_of_encoding(self):
        """Return where the steps before the last began, or the pipeline by `fit`."""
        own = vars(self).get("_origins_of_fit", Origins())
        return own.union(*(origins_of(step) for _, step in self.steps[:-1]))

    def _steps_of(self, waiting):
        """Return the steps that learn labels, each with the rows that it was given."""
        if waiting.origins != self._origins_of_encoding():
            raise ValueError(
                "A row waits as it was encoded before this pipeline was fitted anew: "
                "let it wait again under its key, as it came, by `keep_one`."
            )
        steps, last = dict(self.steps), self._final_estimator
        given = [(steps.get(name), X) for name, X in waiting.inputs]
        return [(step, X) for step, X in given if learns_labels(step, last)]

    def _weights_of_last(self, sample_weight):
        """Return weights of rows for the last step."""
        if sample_weight is None or not _routing_enabled():
            return sample_weight
        routed = self._route({"sample_weight": sample_weight})
        return routed[self.steps[-1][0]].partial_fit.get("sample_weight")

    def _targets_of(self, step, y, classes, sample_weight):
        """Return the targets that a step before the last learns, or None."""
        last = self._final_estimator
        if y is None or not learns_labels(step, last):
            return None
        c = None if sample_weight is None else np.ravel(sample_weight)
        if is_multilabel(y) and is_classifier(last):  # means of zeros and ones
            return Targets(as_indicators(y), None, c, False)
        if classes is None:
            classes = getattr(last, "classes_", None)
        are_labels = None
        if is_regressor(last) or is_classifier(last):
            are_labels = is_classifier(last)
        return Targets(y, classes, c, are_labels)

    def _check_transformers(self):
        """Refuse a step that neither learns nor transforms as it is."""
        last = self._final_estimator
        for _, name, step in self._iter():
            for _, inner in () if step is last else getattr(step, "steps", ()):
                if learns_labels(inner, last):
                    raise ValueError(
                        f"The step {name!r} is a pipeline, and its "
                        f"{type(inner).__name__} would get no targets: let its steps "
                        "be steps of this pipeline."
                    )
            if can_learn(step):
                continue
            try:
                check_is_fitted(step)
            except NotFittedError as error:
                raise NotFittedError(
                    f"The step {name!r} has no partial_fit and is not fitted: "
                    f"{type(step).__name__} must be fitted to first rows before the "
                    "pipeline learns from a stream. Wrapped in a FrozenEstimator, it "
                    "stays fitted when the pipeline is cloned."
                ) from error

    def _route(self, params):
        """Return the metadata of each step, for each of its methods."""
        if not params or _routing_enabled():
            return process_routing(self, "partial_fit", **params)
        routed = {name: Bunch(partial_fit={}, transform={}) for name, _ in self.steps}
        for key, value in params.items():
            name, has_name, parameter = key.partition("__")
            if key == "sample_weight":
                name, parameter = self.steps[-1][0], key
            elif not has_name:
                raise ValueError(
                    f"OnlinePipeline.partial_fit does not accept the {key} parameter. "
                    "You can pass parameters to specific steps of your pipeline using "
                    "the stepname__parameter format, e.g. `OnlinePipeline.partial_fit("
                    "X, y, standardscaler__sample_weight=sample_weight)`."
                )
            if not can_learn(self.named_steps.get(name)):
                raise ValueError(
                    f"The parameter {key} is for a step {name!r} with partial_fit, "
                    f"which the pipeline of {[*self.named_steps]} does not have."
                )
            routed[name].partial_fit[parameter] = value
        return routed

    @described_as(Pipeline.get_metadata_routing)
    def get_metadata_routing(self) -> MetadataRouter:
        """Get metadata routing of this object, of :meth:`partial_fit` as well."""
        router = super().get_metadata_routing()
        last = self.steps[-1][0]
        for name, (mapping, _) in router:
            if can_learn(self.named_steps[name]):
                mapping.add(caller="partial_fit", callee="partial_fit")
            if name != last:
                mapping.add(caller="partial_fit", callee="transform")
        return router

    def _invariants(self):
        yield "steps are a list", isinstance(self.steps, list | tuple)
        yield "there are steps", len(self.steps) > 0
        is_pair = [isinstance(each, tuple) and len(each) == 2 for each in self.steps]
        yield "steps are pairs", all(is_pair)
        yield "steps have names", all(isinstance(name, str) for name, _ in self.steps)

    # Merging.

    _equal_attributes = ()  # the steps check their attributes

    def _merged(self, others, start):
        """Merge this pipeline and others step by step."""
        return self._merged_with_placements(others, start)[0]

    def _merged_with_placements(self, others, start):
        """Return the merged pipeline, and placements of the columns of each.

        These are columns of transformed rows, if all steps are transformers.
        """
        pipelines = [self, *others, *([] if start is None else [start])]
        merged, placements = copy(self), [None for _ in pipelines]
        merged.steps = []
        for name, _ in self.steps:
            steps = [each.named_steps[name] for each in pipelines]
            first = None if start is None else steps.pop()
            step, placements = merge_steps(name, steps, first, placements)
            merged.steps.append((name, step))
        return merged, placements

    def _checkpoint(self):
        """Return a function that restores all steps."""
        steps = [step for _, _, step in self._iter() if can_learn(step)]
        rollbacks = [*map(checkpoint_step, steps)]
        return lambda: [rollback() for rollback in rollbacks]

    @property
    def _learner(self):
        return self._final_estimator

    @property
    def input_report_(self) -> dict[str, dict[str, float]]:
        """Shares of missing, unseen and other values, of the step that has them.

        See :class:`~sklearn_scinol.preprocessing.TableEncoder`.
        """
        for _, step in self.steps:
            if hasattr(type(step), "input_report_"):
                return step.input_report_
        raise AttributeError("No step of the pipeline has input_report_.")


def make_online_pipeline(
    *steps: Any,
    memory: str | Memory | None = None,
    transform_input: list[str] | None = None,
    verbose: bool = False,
) -> OnlinePipeline:
    """Make an `OnlinePipeline` of steps, named by their types in lower case.

    Parameters
    ----------
    *steps : estimators
        The steps in order.
    memory : str or object with the joblib.Memory interface, default=None
        See :class:`OnlinePipeline`.
    transform_input : list of str, default=None
        See :class:`OnlinePipeline`.
    verbose : bool, default=False
        See :class:`OnlinePipeline`.

    Returns
    -------
    pipeline : OnlinePipeline
        The pipeline, which has learned nothing.

    See Also
    --------
    sklearn.pipeline.make_pipeline : Make a pipeline for data in memory.

    Examples
    --------
    >>> from sklearn.linear_model import SGDRegressor
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_scinol.pipeline import make_online_pipeline
    >>> model = make_online_pipeline(StandardScaler(), SGDRegressor(random_state=0))
    >>> for chunk in ([[0.0], [1000.0]], [0.0, 1.0]), ([[500.0]], [0.5]):
    ...     model = model.partial_fit(*chunk)
    >>> model["standardscaler"].mean_
    array([500.])
    """
    return OnlinePipeline(
        _name_estimators(steps),
        memory=memory,
        transform_input=transform_input,
        verbose=verbose,
    )

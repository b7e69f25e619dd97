"""Pipelines that learn from a stream."""

from copy import copy, deepcopy
from typing import Any, Self

import numpy as np
from joblib import Memory
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, _name_estimators
from sklearn.utils import Bunch
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metadata_routing import (
    UNUSED,
    MetadataRouter,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted

from ._locks import SharedByThreads, learns, locks_of, reads
from ._rollback import learn_as_last_step, rollback_on_error
from ._shards import are_same, check_alike, check_can_be_merged, columns_differ
from ._typing import Labels, Method, SampleWeight, _fit_context, available_if
from .estimators.base import OnlineEstimator
from .estimators.rows import RowByRow, chunk_of, row_of
from .preprocessing.stream import StreamTransformer

__all__ = ["OnlinePipeline", "make_online_pipeline"]


def _learns(step, method="partial_fit"):
    """Whether a step learns from a stream; a frozen one does not."""
    return hasattr(step, method) and not isinstance(step, FrozenEstimator)


def _can_partial_fit(pipeline):
    return _learns(pipeline._final_estimator) or pipeline._can_transform()


def _can_partial_fit_predict(pipeline):
    return _learns(pipeline._final_estimator, "partial_fit_predict")


def _has_rows(pipeline):
    return _learns(pipeline._final_estimator, "row_by_row")


def _reads(name):
    """Make a method of scikit-learn's Pipeline see all steps as between two calls.

    Else a step might have learned more rows than the next one.
    """
    method = vars(Pipeline)[name]
    return available_if(method.check)(reads(method.fn))


class OnlinePipeline(SharedByThreads, Pipeline):
    """A :class:`~sklearn.pipeline.Pipeline` that learns from a stream.

    :meth:`partial_fit` takes the next rows of the stream through the steps: each
    transformer that has `partial_fit` learns their features and then transforms them,
    and the last step learns from what comes out. Labels go to the last step alone, so
    that :meth:`partial_fit_predict` predicts each row before its label was used.
    Everything else is as in scikit-learn.

    Parameters
    ----------
    steps : list of (str, estimator) tuples
        The names of the steps and the steps, in order. All but the last are
        transformers, or ``"passthrough"``. For :meth:`partial_fit` those without a
        `partial_fit` of their own must be stateless, such as
        :class:`~sklearn.preprocessing.FunctionTransformer`, or fitted beforehand. Of
        these, :func:`~sklearn.base.clone` keeps what is wrapped in a
        :class:`~sklearn.frozen.FrozenEstimator`, which never learns.

    transform_input : list of str, default=None
        Names of metadata that the steps before transform for the step that takes it,
        with metadata routing only.

    memory : str or object with the joblib.Memory interface, default=None
        Where :meth:`fit` caches fitted transformers. On a stream each chunk is a new
        one, and nothing is cached.

    verbose : bool, default=False
        Whether :meth:`fit` prints the time that each step takes.

    Attributes
    ----------
    named_steps : :class:`~sklearn.utils.Bunch`
        The steps by name.

    classes_ : ndarray of shape (n_classes,)
        The classes, if the last step is a classifier.

    n_features_in_ : int
        Number of features, if the first step has it.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, if the first step has them.

    n_samples_seen_ : int
        Number of rows learned, if the last step has it.

    cumulative_loss_ : float
        Weighted sum of the losses of the predictions made before each update, if the
        last step has it.

    loss_curve_ : list of float
        Mean of those losses for each call of :meth:`partial_fit` or each epoch of
        :meth:`fit`, if the last step has it.

    See Also
    --------
    make_online_pipeline : The same without names.
    sklearn_scinol.evaluation.progressive_validation : Scores along a stream.

    Notes
    -----
    *Chunks.* Transformers of this package, and others that have a method
    `partial_fit_transform`, go row by row: how rows are cut into chunks changes no
    prediction. Any other sees the features of a whole chunk before its first row is
    predicted, and transforms them by slightly later statistics than one row at a time.
    :meth:`fit` shows transformers the features of all rows first, as in scikit-learn.

    *Failures.* If a step fails in :meth:`partial_fit` or :meth:`partial_fit_predict`,
    or the user interrupts them, all steps are as they were before. For this, steps of
    other packages that learn are copied before each chunk; of those of this package,
    only what the chunk may change.

    *Metadata.* As in scikit-learn, where ``enable_metadata_routing=True`` steps get
    what they have requested for `partial_fit`, by
    ``set_partial_fit_request(sample_weight=True)`` for instance, also from
    :meth:`partial_fit_predict`. Otherwise `sample_weight` goes to the last step, and
    ``name__parameter`` to the `partial_fit` of a step.

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

    # They are passed on, and not for this class to request.
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
        """Let each step learn the next rows.

        Only available if the last step has `partial_fit`, or is a transformer.

        Parameters
        ----------
        X : object
            The next rows of the stream, as the first step takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Their targets, for the last step.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, for the last step. A classifier needs them at the
            first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the last step; with metadata routing for the steps
            that request them.
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
            If a step can neither learn from a stream nor transform without having been
            fitted.
        TypeError
            If a step but the last is no transformer, or with metadata routing no step
            takes a parameter.
        ValueError
            If a parameter is that of no step. What a step does not accept raises its
            own errors. All steps are then as they were.
        """
        with rollback_on_error(self) as rollbacks:
            X, given = self._learn_features(
                X, classes, sample_weight, params, rollbacks
            )
            final = self._final_estimator
            if _learns(final):
                learn_as_last_step(final, rollbacks, final.partial_fit, X, y, **given)
            return self

    @available_if(_can_partial_fit_predict)
    @learns
    @_fit_context(prefer_skip_nested_validation=False)
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
        this package have it. With others predict a chunk, then learn it.

        Parameters
        ----------
        X : object
            The next rows of the stream, as the first step takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets, for the last step.
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, for the last step. A classifier needs them at the
            first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, for the last step; with metadata routing for the steps
            that request them.
        method : str, default="predict"
            Which answer of the last step to return.
        **params : dict
            Parameters of the steps' `partial_fit` as ``name__parameter``; with metadata
            routing what steps request for it.

        Returns
        -------
        predictions : ndarray
            As the method would give, each row's made before its label was used. Some
            transformers have seen the features of the whole chunk, see the notes.

        Raises
        ------
        NotFittedError, TypeError, ValueError
            As :meth:`partial_fit`, or if the last step has no such method.
        """
        with rollback_on_error(self) as rollbacks:
            X, given = self._learn_features(
                X, classes, sample_weight, params, rollbacks
            )
            final = self._final_estimator
            learn, given = final.partial_fit_predict, {"method": method, **given}
            return learn_as_last_step(final, rollbacks, learn, X, y, **given)

    @available_if(_has_rows)
    @_fit_context(prefer_skip_nested_validation=False)
    def row_by_row(self, *, classes: Labels | None = None) -> RowByRow:
        """Learn and predict one row at a time, at little cost a call.

        Only available if the last step has it, as all estimators of this package do;
        with a last step from elsewhere use :meth:`partial_fit` with chunks of one.

        Parameters
        ----------
        classes : array-like of shape (n_classes,), default=None
            All classes of the stream, where a classifier has learned nothing yet; not
            in regression.

        Returns
        -------
        rows : RowByRow
            With methods `learn_one`, `predict_one`, `predict_learn_one`,
            `predict_proba_one` and `decision_function_one`, of rows as the first step
            takes them: dicts, arrays or sequences. What they learn is learned by the
            steps of this pipeline: as by :meth:`partial_fit` with each row, to the last
            bit, or if a step fails by none.

        Raises
        ------
        ValueError
            If a parameter of a step is not usable, or `classes` are missing.

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

    predict = _reads("predict")
    predict_proba = _reads("predict_proba")
    predict_log_proba = _reads("predict_log_proba")
    decision_function = _reads("decision_function")
    score_samples = _reads("score_samples")
    score = _reads("score")
    transform = _reads("transform")
    inverse_transform = _reads("inverse_transform")

    def _learn_features(self, X, classes, sample_weight, params, rollbacks):
        """Let all steps but the last learn rows; give these and more for the last."""
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
            X = _learn_step(step, X, of_step(index, name), rollbacks)
        name, final = self.steps[-1]
        if not _learns(final):
            return X, {}
        if not isinstance(final, OnlineEstimator | OnlinePipeline):
            rollbacks.append(_checkpoint(final))
        given = of_step(len(self) - 1, name)["partial_fit"]
        return X, given if classes is None else {**given, "classes": classes}

    def _check_transformers(self):
        """Refuse a step that neither learns nor transforms as it is."""
        for _, name, step in self._iter():
            if _learns(step):
                continue
            try:
                check_is_fitted(step)
            except NotFittedError as error:
                raise NotFittedError(
                    f"The step {name!r} has no partial_fit and is not fitted: "
                    f"{type(step).__name__} must be fitted before the pipeline learns "
                    "from a stream."
                ) from error

    def _route(self, params):
        """What each step is given besides rows, for each of its methods."""
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
            if not _learns(self.named_steps.get(name)):
                raise ValueError(
                    f"The parameter {key} is for a step {name!r} with partial_fit, "
                    f"which the pipeline of {[*self.named_steps]} does not have."
                )
            routed[name].partial_fit[parameter] = value
        return routed

    def get_metadata_routing(self) -> MetadataRouter:
        """Get metadata routing of this object.

        That of :class:`~sklearn.pipeline.Pipeline`, and of :meth:`partial_fit`.

        Returns
        -------
        routing : MetadataRouter
            A :class:`~sklearn.utils.metadata_routing.MetadataRouter` encapsulating
            routing information.
        """
        router = super().get_metadata_routing()
        last = self.steps[-1][0]
        for name, (mapping, _) in router:
            if _learns(self.named_steps[name]):
                mapping.add(caller="partial_fit", callee="partial_fit")
            if name != last:
                mapping.add(caller="partial_fit", callee="transform")
        return router

    def _invariants(self):
        """What holds between two calls, see :mod:`sklearn_scinol._invariants`."""
        yield "steps are a list", isinstance(self.steps, list | tuple)
        yield "there are steps", len(self.steps) > 0
        yield (
            "steps are pairs",
            all(isinstance(step, tuple) and len(step) == 2 for step in self.steps),
        )
        yield "steps have names", all(isinstance(name, str) for name, _ in self.steps)

    # Merging.

    _same_in_all = ()  # The steps look at that.

    def _merged(self, others, start):
        """A pipeline of the merged steps of this and others; see `merge_models`."""
        return self._merged_and_placed(others, start)[0]

    def _merged_and_placed(self, others, start):
        """The same, and where the columns of each lie in those of the merged one.

        They are transformed rows, which only a pipeline of transformers has.
        """
        everything = [self, *others, *([] if start is None else [start])]
        merged, placements = copy(self), [None for _ in everything]
        merged.steps = []
        for name, _ in self.steps:
            steps = [pipeline.named_steps[name] for pipeline in everything]
            of_start = None if start is None else steps.pop()
            step, placements = _merged_steps(name, steps, of_start, placements)
            merged.steps.append((name, step))
        return merged, placements

    def _checkpoint(self):
        """How to take all steps back to what they are now."""
        rollbacks = [_checkpoint(step) for _, _, step in self._iter() if _learns(step)]

        def restore():
            for checkpoint in rollbacks:
                checkpoint()

        return restore

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned, if the last step has it."""
        return self._final_estimator.n_samples_seen_

    @property
    def cumulative_loss_(self) -> float:
        """Weighted sum of the losses before each update, if the last step has it."""
        return self._final_estimator.cumulative_loss_

    @property
    def loss_curve_(self) -> list[float]:
        """Mean losses of calls or epochs, if the last step has them."""
        return self._final_estimator.loss_curve_


class PipelineRows(RowByRow):
    """See :class:`RowByRow`; of a pipeline."""

    def __init__(self, pipeline, classes):
        super().__init__(pipeline, classes)
        self._checked = []
        self._rows_of_last = pipeline._final_estimator.row_by_row(classes=classes)
        self._steps()

    @property
    def _last(self):
        """The rows of the last step, which may be another by now."""
        last = self.estimator._final_estimator
        if last is not self._rows_of_last.estimator:
            self._rows_of_last = last.row_by_row(classes=self._classes)
        return self._rows_of_last

    def _check_method(self, method):
        self._last._check_method(method)

    def _learn_locked(self, x, y, sample_weight, method):
        pipeline, last = self.estimator, self._last
        with rollback_on_error(pipeline) as rollbacks:
            if sample_weight is not None and _routing_enabled():
                c = np.reshape(sample_weight, 1)
                X, given = pipeline._learn_features(chunk_of(x), None, c, {}, rollbacks)
                x, (sample_weight,) = row_of(X), given.get("sample_weight", [None])
            else:
                for step in self._steps():
                    x = _learn_row(step, x, rollbacks)
            row = x, y, sample_weight, method
            return learn_as_last_step(last.estimator, rollbacks, last._learn, *row)

    def _predict_locked(self, x, method):
        for step in self._steps():
            if _takes_rows(step):
                x = step._of_row(x, learns=False)
            else:
                x = row_of(step.transform(chunk_of(x)))
        return self._last._predict(x, method)

    def _steps(self):
        """Steps before the last; checked, if they are not those of the last call."""
        pipeline = self.estimator
        steps = [step for _, _, step in pipeline._iter(with_final=False)]
        if steps != self._checked:
            pipeline._validate_steps()
            pipeline._check_transformers()
            for step in steps:
                if isinstance(step, StreamTransformer):
                    step._validate_params()
            self._checked = steps
        return steps


def _learn_row(step, x, rollbacks):
    """Let a step learn a row that comes alone; return what becomes of it."""
    if not _takes_rows(step):
        nothing = {"partial_fit": {}, "transform": {}}
        return row_of(_learn_step(step, chunk_of(x), nothing, rollbacks))
    rollbacks.append(step._checkpoint())
    locks = locks_of(step)
    with locks.state:
        locks.wait_for_readers()
        return step._of_row(x, learns=True)


def _merged_steps(name, steps, start, placements):
    """One step of several, given where columns before it are, and where those after.

    Parameters
    ----------
    name : str
    steps : list of estimators
    start : estimator or None
        What they began as.
    placements : list of Placement or None
        For each of them, and for `start` if there is one.

    Returns
    -------
    step : estimator
    placements : list of Placement or None
    """
    everything = steps if start is None else [*steps, start]
    first = everything[0]
    if isinstance(first, OnlineEstimator):
        check_alike(everything)
        return first._merged(steps[1:], start, placements), placements
    if any(placement is not None for placement in placements):
        raise columns_differ(f"The step {name!r}")
    if hasattr(first, "_merged_and_placed"):
        check_alike(everything)
        return first._merged_and_placed(steps[1:], start)
    if _learns(first) and hasattr(first, "predict"):
        check_can_be_merged(first)
    if not all(are_same(step, first) for step in everything):
        raise ValueError(
            f"The step {name!r} cannot be merged: {type(first).__name__} is not of "
            "this package, and differs between the models."
        )
    return deepcopy(first), placements


def _takes_rows(step):
    """Whether a step takes rows that come alone, and may do so by now."""
    if not isinstance(step, StreamTransformer) or not step.__sklearn_is_fitted__():
        return False
    return _get_output_config("transform", step)["dense"] == "default"


def _learn_step(step, X, given, rollbacks):
    """Let a step learn rows, if it does; return what becomes of them."""
    if _learns(step):
        rollbacks.append(_checkpoint(step))
        if hasattr(step, "partial_fit_transform"):
            return step.partial_fit_transform(X, **given["partial_fit"])
        step.partial_fit(X, **given["partial_fit"])
    return step.transform(X, **given["transform"])


def _checkpoint(step):
    """How to take a step back to what it is now.

    A step that knows a cheaper way than a copy of all it has tells it by a method
    `_checkpoint`.
    """
    if hasattr(step, "_checkpoint"):
        return step._checkpoint()
    before = deepcopy(vars(step))

    def restore():
        vars(step).clear()
        vars(step).update(before)

    return restore


def make_online_pipeline(
    *steps: Any,
    memory: str | Memory | None = None,
    transform_input: list[str] | None = None,
    verbose: bool = False,
) -> OnlinePipeline:
    """Make an :class:`OnlinePipeline` of steps, named by their types in lower case.

    Parameters
    ----------
    *steps : estimators
        The steps in order.

    memory : str or object with the joblib.Memory interface, default=None
        Where `fit` caches fitted transformers.

    transform_input : list of str, default=None
        Names of metadata that the steps before transform for the step that takes it.

    verbose : bool, default=False
        Whether `fit` prints the time that each step takes.

    Returns
    -------
    pipeline : OnlinePipeline
        The pipeline of these steps.

    See Also
    --------
    sklearn.pipeline.make_pipeline : The same for data that are there at once.

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

"""Steps of pipelines: how they learn chunks and rows, and are merged."""

from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metadata_routing import _routing_enabled
from sklearn.utils.validation import _num_samples, check_is_fitted

from ._locks import locks_of
from ._rollback import learn_as_last_step, rollback_on_error
from ._shards import are_same, check_alike, check_can_be_merged, columns_differ
from ._state import Part, checkpoint, restore_attributes
from ._validation import without_names
from .estimators.row_by_row import RowByRow, chunk_of, row_of
from .estimators.waiting import join_rows, runs, take_rows
from .preprocessing.stream import StreamTransformer

# Metadata of a step that is given none.
NOTHING_GIVEN: dict = {"partial_fit": {}, "transform": {}}


class ShowsProgress:
    """Attributes of the estimator that learns, `_learner`, if it has them."""

    _learner: Any

    @property
    def n_samples_seen_(self) -> int:
        """Number of rows learned."""
        return self._learner.n_samples_seen_

    @property
    def cumulative_loss_(self) -> float:
        """Weighted sum of the losses of predictions made before each update."""
        return self._learner.cumulative_loss_

    @property
    def loss_curve_(self) -> list[float]:
        """Mean losses of calls of `partial_fit`, or of epochs."""
        return self._learner.loss_curve_


def can_learn(step, method="partial_fit"):
    """Whether a step learns from a stream; a frozen one does not."""
    return hasattr(step, method) and not isinstance(step, FrozenEstimator)


def adds_rollbacks(step):
    """Whether a step learns row by row under its own rollbacks, as our estimators."""
    return getattr(step, "_adds_rollbacks", False)


def learns_labels(step, last):
    """Whether a step before the last learns labels, perhaps later than their rows."""
    if not can_learn(step, "learn_labels"):
        return False
    return not hasattr(step, "_wants_targets") or step._wants_targets(last)


class PipelineRows(RowByRow):
    """A pipeline that learns one row at a time, see :class:`RowByRow`."""

    _observes = True

    def __init__(self, pipeline, classes=None, n_features=None):
        super().__init__(pipeline, classes, n_features)
        self._checked = []
        self._rows_of_last = pipeline._final_estimator.row_by_row(classes=classes)
        self._transformers()

    @property
    def _last(self):
        """Rows of the last step, which may have been replaced."""
        last = self.estimator._final_estimator
        if last is not self._rows_of_last.estimator:
            self._rows_of_last = last.row_by_row(classes=self._classes)
        return self._rows_of_last

    def _check_method(self, method):
        self._last._check_method(method)

    def _learn_locked(self, x, y, sample_weight, method, served=None):
        pipeline, last = self.estimator, self._last
        x = self._read(x)
        with rollback_on_error(pipeline) as rollbacks:
            if sample_weight is not None and _routing_enabled():
                c = np.reshape(sample_weight, 1)
                X, given = pipeline._learn_features(
                    chunk_of(x), [y], self._classes, c, {}, rollbacks
                )
                x, (sample_weight,) = row_of(X), given.get("sample_weight", [None])
            else:
                known = [y], self._classes, sample_weight
                for _, step in self._transformers():
                    targets = pipeline._targets_of(step, *known)
                    x = _learn_row(step, x, rollbacks, targets)
            row = x, y, sample_weight, method
            return learn_as_last_step(last.estimator, rollbacks, last._learn, *row)

    def _predict_locked(self, x, method):
        x = self._read(x)
        for _, step in self._transformers():
            if _takes_rows(step):
                x = step._transform_row(x)
            else:
                with without_names(step):
                    x = row_of(step.transform(chunk_of(x)))
        return self._last._predict(x, method)

    def _come_locked(self, x, method):
        pipeline, last, inputs = self.estimator, self._last, ()
        check_is_fitted(last.estimator)
        x = self._read(x)
        with rollback_on_error(pipeline) as rollbacks:
            for name, step in self._transformers():
                if learns_labels(step, last.estimator):
                    inputs += ((name, x),)
                x = _learn_row(step, x, rollbacks, observes=True)
            row = last.estimator, rollbacks, last._come, x, method
            prediction, waiting = learn_as_last_step(*row)
            return prediction, pipeline._waiting(waiting, inputs)

    def _learn_waiting_locked(self, waiting, y, sample_weight, method):
        pipeline, last = self.estimator, self._last
        with rollback_on_error(pipeline) as rollbacks:
            known = [y], self._classes, sample_weight
            for step, x in pipeline._steps_of(waiting):
                _learn_label(step, x, rollbacks, pipeline._targets_of(step, *known))
            if sample_weight is not None and _routing_enabled():
                c = pipeline._weights_of_last([sample_weight])
                sample_weight = None if c is None else c[0]
            row = waiting.X, y, sample_weight, method
            learn_as_last_step(last.estimator, rollbacks, last._learn, *row)

    def _transformers(self):
        """Return names and steps before the last; check replaced ones."""
        pipeline = self.estimator
        steps = [each[1:] for each in pipeline._iter(with_final=False)]
        if steps != self._checked:
            pipeline._validate_steps()
            pipeline._check_transformers()
            for _, step in steps:
                if isinstance(step, StreamTransformer):
                    step._validate_params()
            self._checked = steps
        return steps


def _learn_row(step, x, rollbacks, targets=None, observes=False):
    """Learn a single row by a step; return the transformed row."""
    if not _takes_rows(step):
        given = NOTHING_GIVEN, rollbacks, targets, observes
        with without_names(step):
            return row_of(learn_step(step, chunk_of(x), *given))
    locks = locks_of(step)
    with locks.state:
        locks.wait_for_readers()
        return step._learn_row(x, rollbacks, targets)


def _learn_label(step, x, rollbacks, targets):
    """Learn the label of a single row by a step that has observed the row."""
    if not _takes_rows(step):
        return learn_labels(step, chunk_of(x), rollbacks, targets)
    locks = locks_of(step)
    with locks.state:
        locks.wait_for_readers()
        step._learn_label(x, rollbacks, targets)


def merge_steps(name, steps, start, placements):
    """Merge the steps of several pipelines, and their start if there is one.

    Given the placements of the columns before each step, and before the start, return
    the merged step and the placements of the columns after it.
    """
    all_steps = steps if start is None else [*steps, start]
    first = all_steps[0]
    if adds_rollbacks(first) and not hasattr(first, "_merged_with_placements"):
        check_alike(all_steps)
        return first._merged(steps[1:], start, placements), placements
    if any(placement is not None for placement in placements):
        raise columns_differ(f"The step {name!r}")
    if hasattr(first, "_merged_with_placements"):
        check_alike(all_steps)
        return first._merged_with_placements(steps[1:], start)
    if can_learn(first) and hasattr(first, "predict"):
        check_can_be_merged(first)
    if not all(are_same(step, first) for step in all_steps):
        raise ValueError(
            f"The step {name!r} cannot be merged: {type(first).__name__} is not of "
            "this package, and differs between the models."
        )
    return deepcopy(first), placements


def _takes_rows(step):
    """Whether a step can transform single rows fast."""
    if not isinstance(step, StreamTransformer) or not step.__sklearn_is_fitted__():
        return False
    if step._learned_with:  # which is checked, or read, with chunks
        return False
    return _get_output_config("transform", step)["dense"] == "default"


def learn_step(step, X, given, rollbacks, targets=None, observes=False):
    """Learn rows by a step, if it can learn; return the transformed rows.

    It may learn targets, each after its row is transformed. With `observes` these come
    later, and each row is transformed before the next one is learned.
    """
    if can_learn(step):
        rollbacks.append(checkpoint_step(step))
        if observes and hasattr(step, "observe_transform"):
            return step.observe_transform(X)
        if targets is not None:
            if not isinstance(step, StreamTransformer):
                y, classes = targets.y, targets.classes
                return step.partial_fit_transform(X, y, classes=classes)
            step._validate_params()
            return step._learn_and_transform(X, targets, step._is_first)
        if hasattr(step, "partial_fit_transform"):
            return step.partial_fit_transform(X, **given["partial_fit"])
        if observes and _num_samples(X) > 1:
            rows = [take_rows(X, slice(i, i + 1)) for i in range(_num_samples(X))]
            return join_rows([step.partial_fit(x).transform(x) for x in rows])
        step.partial_fit(X, **given["partial_fit"])
    return step.transform(X, **given["transform"])


def learn_labels(step, X, rollbacks, targets):
    """Learn the labels of rows by a step that has observed the rows."""
    rollbacks.append(checkpoint_step(step))
    if isinstance(step, StreamTransformer):
        step._learn_late(X, targets)
    else:
        step.learn_labels(X, targets.y, classes=targets.classes)


def follow_step(step, X, late, targets, is_label, rollbacks):
    """Observe rows by a step, which learns labels of others in between.

    See :meth:`LearnsLate._follow`; `late` are the rows of the labels.
    """
    rollbacks.append(checkpoint_step(step))
    if isinstance(step, StreamTransformer):
        return step._follow(X, late, targets, is_label)
    transformed = []
    for is_learned, rows in runs(is_label):
        if is_learned:
            y, classes = targets.y[rows], targets.classes
            step.learn_labels(take_rows(late, rows), y, classes=classes)
        else:
            transformed.append(step.observe_transform(take_rows(X, rows)))
    return join_rows(transformed)


def checkpoint_step(step):
    """Return a function that restores a step, by its parts or by a copy."""
    if isinstance(step, Part):
        return checkpoint(step)
    if hasattr(step, "_checkpoint"):  # of a pipeline
        return step._checkpoint()
    return partial(restore_attributes, step, deepcopy(vars(step)))

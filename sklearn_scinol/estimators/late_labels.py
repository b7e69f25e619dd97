"""Rows that are predicted when they come, and learned when their labels come."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from itertools import groupby, islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, check_scalar

from .._locks import locks_of
from .._rollback import finish, learn_as_last_step, roll_back
from .._typing import Prediction
from .._validation import is_fitted
from .waiting import Waiting, take_rows

if TYPE_CHECKING:
    from .row_by_row import RowByRow, RowLike


class RowOfBlock(NamedTuple):
    """A row of several that came at once."""

    block: Waiting
    place: int


class LateLabels:
    """Predict rows when they come, and learn each when its label comes.

    Made by `with_late_labels` of the object that `row_by_row` returns. Each row has a
    key, under which it waits; :meth:`learn_one` names the key. What a row tells is
    learned once, when it is known:

    - When a row comes, the steps of a pipeline learn it and encode it: they `observe`
      it, or learn it by `partial_fit`. Its encoding waits, and what was predicted.
    - When its label comes, the steps learn the label, and the last step learns the
      encoding that waited. Losses, weights of experts, and corrections of intervals and
      sets are those of the predictions that were made when the row came.

    An estimator alone learns nothing when a row comes. A row that was only kept counts
    with what would have been predicted.

    Before anything is learned a row is stored as it is. Once the first label has come,
    and the row with it is learned, the rows stored by then come in their order.

    A label may never come. So at most `max_waiting` rows wait: one more drops the
    oldest, which is not learned. If no label is a label as well, as no complaint within
    a month, learn it under the key when the time is over.

    The keys that wait are a collection: ``len(late)``, ``key in late``, and
    ``list(late)`` with the oldest first; :meth:`items` has their rows. Pickles have the
    rows that wait; :func:`~sklearn_scinol.persistence.save` saves the estimator alone.

    Parameters
    ----------
    rows : RowByRow
        Learns and predicts single rows.
    max_waiting : int
        Maximum number of rows that wait.

    Attributes
    ----------
    n_dropped : int
        Number of rows that were dropped without being learned: the oldest ones, when
        too many waited, and those whose key came again.

    Examples
    --------
    >>> from sklearn_scinol import ScInOLClassifier
    >>> model = ScInOLClassifier().partial_fit([[0.0], [1.0]], [0, 1], classes=[0, 1])
    >>> late = model.row_by_row().with_late_labels(max_waiting=2)
    >>> for key, x in {"a": [0.1], "b": [0.9], "c": [0.8]}.items():
    ...     label = late.predict_one(x, key)
    >>> list(late), late.n_dropped
    (['b', 'c'], 1)
    >>> late = late.learn_one("c", 1).learn_one("b", 1)
    >>> print(len(late), model.n_samples_seen_)
    0 4
    """

    def __init__(self, rows: RowByRow, max_waiting: int) -> None:
        check_scalar(max_waiting, "max_waiting", Integral, min_val=1)
        self.rows = rows
        self.max_waiting = int(max_waiting)
        self.n_dropped = 0
        self._waiting: OrderedDict[Hashable, Any] = OrderedDict()
        self._early: set[Hashable] = set()  # keys of rows that were not observed yet

    def __getstate__(self):
        with locks_of(self).state:
            copies = {"_waiting": self._waiting.copy(), "_early": self._early.copy()}
            return vars(self) | copies

    def __repr__(self) -> str:
        estimator = type(self.rows.estimator).__name__
        return (
            f"LateLabels({estimator}, waiting={len(self)}, "
            f"max_waiting={self.max_waiting}, n_dropped={self.n_dropped})"
        )

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._waiting

    def __iter__(self) -> Iterator[Hashable]:
        with locks_of(self).state:
            return iter([*self._waiting])

    def items(self) -> list[tuple[Hashable, Any]]:
        """Return the keys that wait with their rows, the oldest first.

        To store them beside a model: :meth:`keep_one` lets each wait again.

        Returns
        -------
        items : list of (key, row)
            A row is an object with its encoding and predictions, which can be pickled;
            one that came before anything was learned is as it was given.
        """
        with locks_of(self).state:
            return [*self._waiting.items()]

    def predict_one(self, x: RowLike, key: Hashable) -> Prediction:
        """Predict the label or the target of a row, which then waits for it.

        Parameters
        ----------
        x : array-like of shape (n_features,), tuple of two ndarray, or dict
            The row. A copy of it waits.
        key : hashable
            Stands for the row until it is learned. If another row waits under the key,
            it is dropped.

        Returns
        -------
        prediction : label, float or ndarray of shape (n_outputs,)

        Raises
        ------
        NotFittedError
            If nothing was learned yet. The row does not wait; see :meth:`keep_one`.
        ValueError
            If the row is not usable. It does not wait.
        """
        return self._predict("predict", x, key)

    def decision_function_one(
        self, x: RowLike, key: Hashable
    ) -> float | NDArray[np.float64]:
        """Predict the scores of a row, which then waits; of classifiers only."""
        return self._predict("decision_function", x, key)

    def predict_proba_one(self, x: RowLike, key: Hashable) -> NDArray[np.float64]:
        """Predict the probabilities of the classes of a row, which then waits."""
        return self._predict("predict_proba", x, key)

    def predict_interval_one(self, x: RowLike, key: Hashable) -> NDArray[np.float64]:
        """Predict intervals for a row, which then waits; of regressors with them."""
        return self._predict("predict_interval", x, key)

    def predict_set_one(self, x: RowLike, key: Hashable) -> NDArray[np.bool_]:
        """Predict a set of labels for a row, which then waits."""
        return self._predict("predict_set", x, key)

    def predict_many(
        self, X: Any, keys: Iterable[Hashable], *, method: str = "predict"
    ) -> NDArray[Any]:
        """Predict several rows, which then wait: less work than one after the other.

        Parameters
        ----------
        X : object
            The rows, as `partial_fit` takes them. A copy of them waits, and is kept
            until none of them does.
        keys : iterable of hashable
            A key for each, see :meth:`predict_one`.
        method : str, default="predict"
            The method of the estimator to predict with.

        Returns
        -------
        predictions : ndarray of shape (n_samples,) or (n_samples, n_columns)

        Raises
        ------
        NotFittedError, ValueError
            As :meth:`predict_one`, or if keys are not as many as rows, or repeated. No
            row waits then.
        """
        self.rows._check_method(method)
        given = _different(keys)
        check_consistent_length(X, given)
        if len(given) > self.max_waiting:
            n_rows = len(given)
            raise ValueError(f"Only {self.max_waiting} rows can wait, not {n_rows}.")
        come = self.rows.estimator._come
        return self._observe(given, come, deepcopy(X), [method])[0]

    def keep_one(self, x: RowLike, key: Hashable) -> Self:
        """Store a row until its label comes, without returning a prediction.

        Parameters
        ----------
        x, key
            See :meth:`predict_one`. Or a row of :meth:`items`, which waits as before.

        Returns
        -------
        self : LateLabels

        Raises
        ------
        ValueError
            If the row is not usable. It does not wait. Before anything is learned, rows
            are checked when they are learned.
        """
        if isinstance(x, (Waiting, RowOfBlock)):
            self._keep({key: x})
        elif is_fitted(self.rows.estimator):
            self._come(_copied(x), key, "predict")
        else:
            with locks_of(self).state:
                self._keep({key: _copied(x)})
                self._early.add(key)
        return self

    def learn_one(
        self, key: Hashable, y: Any, sample_weight: float | None = None
    ) -> Self:
        """Learn from a row that waits.

        Parameters
        ----------
        key : hashable
            Key of the row.
        y : label, float or array-like of shape (n_outputs,)
            Its label or target.
        sample_weight : float, default=None
            Non-negative weight of its loss. None stands for 1.

        Returns
        -------
        self : LateLabels

        Raises
        ------
        KeyError
            If no row waits under the key.
        ValueError
            If the row, the label or the weight is not usable, or the pipeline that
            encoded the row was fitted anew since. The estimator is then as it was, and
            the row goes on waiting.
        """
        c = None if sample_weight is None else [sample_weight]
        return self._learn([key], [y], c)

    def learn_many(
        self,
        keys: Iterable[Hashable],
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from several rows that wait, in this order, or from none.

        Less work than one after the other for rows that came by :meth:`predict_many`.

        Parameters
        ----------
        keys : iterable of hashable
            Keys of the rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their labels or targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Non-negative weights of their losses. None stands for 1.

        Returns
        -------
        self : LateLabels

        Raises
        ------
        KeyError, ValueError
            As :meth:`learn_one`, or if labels are not as many as keys, or keys are
            repeated. No row is learned then, and all go on waiting.
        """
        keys, y = _different(keys), np.asarray(y)
        c = None if sample_weight is None else np.asarray(sample_weight)
        check_consistent_length(keys, y, c)
        return self._learn(keys, y, c)

    def _learn(self, keys, y, sample_weight):
        """Learn rows that wait, or none of them."""
        estimator, rollbacks = self.rows.estimator, list[Any]()
        locks = locks_of(estimator)
        # None drops a row meanwhile. An interruption may come once all are learned.
        with locks.learning, locks.state, locks_of(self).state:
            for key in keys:
                self._row_of(key)
            self._observe_early()
            rows = [*map(self._row_of, keys)]
            try:
                for learn, x, part in self._runs(rows):
                    c = None if sample_weight is None else sample_weight[part]
                    learn_as_last_step(estimator, rollbacks, learn, x, y[part], c)
                finish(partial(self._forget, keys))
            except BaseException:
                if any(key in self._waiting for key in keys):
                    finish(partial(roll_back, rollbacks))
                raise
            self._observe_early()
        return self

    def _row_of(self, key):
        """Return the row that waits under a key."""
        try:
            return self._waiting[key]
        except KeyError:
            raise KeyError(
                f"No row waits under the key {key!r}: none came, it was learned, "
                f"or it was dropped as the oldest of more than {self.max_waiting}."
            ) from None

    def _runs(self, rows):
        """Yield how to learn rows that are learned together, them, and their places."""

        def block_of(i):  # the same for rows that came at once
            return id(rows[i].block) if isinstance(rows[i], RowOfBlock) else -1 - i

        for _, run in groupby(range(len(rows)), block_of):
            first, *others = run
            x = rows[first]
            if isinstance(x, RowOfBlock):
                places = [rows[i].place for i in (first, *others)]
                part = slice(first, first + len(places))
                yield self._learn_block, take_rows(x.block, places), part
            else:
                yield self.rows.learn_one, x, first

    def _learn_block(self, waiting, y, sample_weight):
        c = None if sample_weight is None else np.asarray(sample_weight)
        self.rows.estimator._learn_waiting(waiting, np.asarray(y), c)

    def _forget(self, keys):
        for key in keys:
            self._waiting.pop(key, None)
            self._early.discard(key)

    def _predict(self, method, x, key):
        self.rows._check_method(method)
        return self._come(_copied(x), key, method)

    def _come(self, x, key, method):
        """Predict a row, and let it wait; observe it before."""
        hash(key)
        if self.rows._observes:
            return self._observe([key], self.rows._come, x, method)
        prediction, waiting = self.rows._come(x, method)
        self._keep({key: waiting})
        return prediction

    def _observe(self, keys, come, x, method):
        """Predict a row, or a block of rows by a list of methods; let them wait."""
        estimator, rollbacks = self.rows.estimator, list[Any]()
        locks, waiting = locks_of(estimator), dict.fromkeys(keys, ())
        with locks.learning, locks.state, locks_of(self).state:
            self._observe_early()
            try:
                row = come, x, method
                prediction, come_in = learn_as_last_step(estimator, rollbacks, *row)
                waiting = dict.fromkeys(keys, come_in)
                if isinstance(method, list):
                    waiting = {
                        key: RowOfBlock(come_in, i) for i, key in enumerate(keys)
                    }
                self._keep(waiting)
            except BaseException:
                if any(self._waiting.get(key) is not waiting[key] for key in waiting):
                    finish(partial(roll_back, rollbacks))
                raise
        return prediction

    def _observe_early(self):
        """Observe the rows that came before anything was learned.

        One that cannot be observed stays as it is: it is checked when it is learned.
        """
        if not self._early or not is_fitted(self.rows.estimator):
            return
        for key in [key for key in self._waiting if key in self._early]:
            rollbacks, x = list[Any](), self._waiting[key]
            estimator, row = self.rows.estimator, (self.rows._come, x, "predict")
            try:
                _, waiting = learn_as_last_step(estimator, rollbacks, *row)
                self._waiting[key] = waiting
            except (ValueError, TypeError, AttributeError):
                pass
            except BaseException:
                if self._waiting[key] is x:
                    finish(partial(roll_back, rollbacks))
                raise
            self._early.discard(key)

    def _keep(self, rows):
        """Store rows that wait, by their keys; drop the oldest of too many."""
        with locks_of(self).state:
            dropped = [key for key in rows if key in self._waiting]
            n_left = len(self._waiting) - len(dropped)
            others = (key for key in self._waiting if key not in rows)
            dropped += islice(others, max(n_left + len(rows) - self.max_waiting, 0))
            finish(partial(self._exchange, dropped, self.n_dropped, rows))

    def _exchange(self, dropped, n_before, rows):
        """Drop rows, or none, and let others wait; perhaps again."""
        self._forget(dropped)
        self.n_dropped = n_before + len(dropped)
        self._waiting.update(rows)


def _different(keys):
    """Return keys as a list, of which none is repeated."""
    keys = [*keys]
    if len({*keys}) < len(keys):
        raise ValueError("A key is repeated.")
    return keys


def _copied(x):
    """Copy a row, so that it stays as it is predicted."""
    if type(x) is np.ndarray and x.dtype != object:
        return x.copy()
    return deepcopy(dict(x) if isinstance(x, Mapping) else x)

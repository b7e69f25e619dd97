"""Rows that are predicted when they come, and learned when their labels come."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator, Mapping
from copy import deepcopy
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar

from .._locks import locks_of
from .._rollback import finish, learn_as_last_step, roll_back

if TYPE_CHECKING:
    from .row_by_row import RowByRow, RowLike
    from .served import Served


class ServedRow(NamedTuple):
    """Row that waits for its label, with what it was served."""

    x: Any  # the row as it was given
    served: Served


class LateLabels:
    """Predict rows when they come, and learn each when its label comes.

    Made by `with_late_labels` of the object that `row_by_row` returns. Each row has a
    key, under which a copy of it waits; :meth:`learn_one` names the key. Rows are
    learned in the order of their labels, each as `learn_one(x, y)` would learn it then,
    to the last bit. Predicting changes nothing that was learned.

    An estimator with intervals or sets of labels is corrected by, and counts in its
    `coverage_`, those that it had when it predicted a row, by any method here. A row
    that was only kept has those of the time when its label comes.

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

    def __getstate__(self):
        with locks_of(self).state:
            return vars(self) | {"_waiting": self._waiting.copy()}

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
            A row that was served an interval or a set is an object whose `x` is the
            row. It can be pickled.
        """
        with locks_of(self).state:
            return [*self._waiting.items()]

    def predict_one(self, x: RowLike, key: Hashable) -> Any:
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

    def keep_one(self, x: RowLike, key: Hashable) -> Self:
        """Store a row until its label comes, without predicting it.

        The row is checked when it is learned.

        Parameters
        ----------
        x, key
            See :meth:`predict_one`.

        Returns
        -------
        self : LateLabels
        """
        self._keep(_copied(x), key)
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
            If the row, the label or the weight is not usable. The estimator is then as
            it was, and the row goes on waiting.
        """
        estimator, rollbacks = self.rows.estimator, list[Any]()
        locks = locks_of(estimator)
        # None drops the row meanwhile. An interruption may come once it is learned.
        with locks.learning, locks.state, locks_of(self).state:
            try:
                x = self._waiting[key]
            except KeyError:
                raise KeyError(
                    f"No row waits under the key {key!r}: none came, it was learned, "
                    f"or it was dropped as the oldest of more than {self.max_waiting}."
                ) from None
            try:
                row = x, y, sample_weight
                learn_as_last_step(estimator, rollbacks, self.rows.learn_one, *row)
                del self._waiting[key]
            except BaseException:
                if key in self._waiting:
                    finish(partial(roll_back, rollbacks))
                raise
        return self

    def _predict(self, method, x, key):
        x = _copied(x)
        if self.rows._serves:
            self.rows._check_method(method)
            predictions, served = self.rows._predict(x, "serve")
            prediction, x = predictions[method], served._replace(x=x)
        else:
            prediction = getattr(self.rows, f"{method}_one")(x)
        self._keep(x, key)
        return prediction

    def _keep(self, x, key):
        with locks_of(self).state:
            dropped = [key] if key in self._waiting else []
            if not dropped and len(self._waiting) >= self.max_waiting:
                dropped = [next(iter(self._waiting))]
            finish(partial(self._exchange, dropped, self.n_dropped, key, x))

    def _exchange(self, dropped, n_before, key, x):
        """Drop a row, or none, and let another wait; perhaps again."""
        for each in dropped:
            self._waiting.pop(each, None)
        self.n_dropped = n_before + len(dropped)
        self._waiting[key] = x


def _copied(x):
    """Copy a row, so that it stays as it is predicted."""
    if type(x) is np.ndarray and x.dtype != object:
        return x.copy()
    return deepcopy(dict(x) if isinstance(x, Mapping) else x)

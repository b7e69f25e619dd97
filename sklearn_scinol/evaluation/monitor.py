"""Alarms when losses are no longer what they were."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils._param_validation import Interval

from .._docstrings import LinkedToPages
from .._validation import check_has_values
from .betting import BLOCK_ROWS, Bets, TieBreaker, orders
from .ranks import Ranks, ordered_keys


@dataclass(frozen=True)
class Alarm:
    """Alarm of a :class:`~sklearn_scinol.evaluation.LossMonitor`.

    Rows are counted from 1: the number of rows so far.

    Parameters
    ----------
    row : int
        Row whose loss raised the alarm, the last of a block of 16 rows.
    change : int
        Estimate of the first row after the change, the first of a block.
    direction : {"rise", "fall"}
        Whether losses have risen or fallen.
    """

    row: int
    change: int
    direction: Literal["rise", "fall"]


class LossMonitor(LinkedToPages, BaseEstimator):
    """Raise an alarm when losses are no longer what they were.

    While nothing changes, an alarm comes after `1 / false_alarm` rows or later in the
    mean: a bound that holds for losses in any unit and from any distribution, bounded
    or not, if the hash that breaks ties is taken for random. There is no other
    threshold and no window. After an alarm the monitor starts afresh: the losses from
    there on are what later ones are compared with.

    The mean loss of each block of 16 rows is ranked among those of all blocks since the
    last alarm, and bets are made against the ranks being uniform [1]_. Each row brings
    new wealth of 1, once means differ; the alarm is raised when all wealth has reached
    `1 / false_alarm`, which is an e-detector [2]_. Rises get two thirds of the wealth,
    falls one third.

    Parameters
    ----------
    false_alarm : float, default=1e-4
        Bound on the rate of false alarms per row. If the losses are exchangeable, as
        independent losses from one distribution are, the mean number of rows up to the
        first alarm, and from one alarm to the next, is at least `1 / false_alarm`, and
        the probability of an alarm among the first n of them at most
        `n * false_alarm`.

    Attributes
    ----------
    n_samples_seen_ : int
        Number of losses so far.
    alarms_ : list of Alarm
        All alarms so far, each with the `row` at which it was raised, an estimate of
        the first row after the `change`, and its `direction`, "rise" or "fall".

    See Also
    --------
    progressive_validation : Its parameter `monitor` watches the losses of a model.

    Notes
    -----
    Losses that depend on each other, such as those of rows sorted by customer, are not
    exchangeable, and alarms may come more often. Those of a model that still learns
    fall, which is a change.

    Time and memory per row are constant: up to 1,024 different means are
    distinguished, more are rounded until that many are left. Random numbers for equal
    means are a hash of the order of the losses within blocks: the same losses, in any
    unit, give the same alarms.

    References
    ----------
    .. [1] V. Vovk, I. Nouretdinov, A. Gammerman (2003). "Testing exchangeability
       on-line". ICML. Theorem 1.
    .. [2] J. Shin, A. Ramdas, A. Rinaldo (2022). "E-detectors: a nonparametric
       framework for sequential change detection". arXiv:2203.03532.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_scinol.evaluation import LossMonitor
    >>> rng = np.random.default_rng(6)
    >>> is_wrong = rng.random(5000) < np.where(np.arange(5000) < 3000, 0.1, 0.2)
    >>> monitor = LossMonitor(false_alarm=1e-4)
    >>> monitor.update(is_wrong)
    array([3103])
    >>> monitor.alarms_
    [Alarm(row=3104, change=3025, direction='rise')]
    """

    _parameter_constraints: dict = {
        "false_alarm": [Interval(Real, 0, 1, closed="neither")]
    }

    alarms_: list[Alarm]
    n_samples_seen_: int
    _watch: Watch

    def __init__(self, false_alarm: float = 1e-4) -> None:
        self.false_alarm = false_alarm

    def update(self, losses: ArrayLike) -> np.ndarray:
        """Take in further losses.

        Parameters
        ----------
        losses : array-like of shape (n_samples,)
            Losses of the next rows, in order, or any other numbers. In how many calls
            they come changes nothing.

        Returns
        -------
        places : ndarray of shape (n_alarms,)
            Places among `losses` at which an alarm is raised, counted from 0: each at
            the end of a block of 16 rows.

        Raises
        ------
        ValueError
            If `losses` has another shape, NaN or infinity, or is not numeric. The
            monitor stays as it was.
        """
        self._validate_params()
        check_has_values(losses=losses)
        with np.errstate(all="ignore"):  # of the sum, by which NaN is found
            losses = check_array(
                losses,
                dtype=np.float64,
                ensure_2d=False,
                ensure_min_samples=0,
                estimator=self,
                input_name="losses",
            )
        losses = column_or_1d(losses)
        watch = self._watch.copy() if hasattr(self, "alarms_") else Watch()
        n_before = watch.n_samples
        alarms = watch.add(losses, self.false_alarm)
        all_alarms = [*getattr(self, "alarms_", []), *alarms]
        # At once, for an interruption may come at any time.
        new = {"alarms_": all_alarms, "n_samples_seen_": watch.n_samples}
        self.__dict__.update(new, _watch=watch)
        return np.array([alarm.row - 1 - n_before for alarm in alarms], dtype=np.intp)


class Watch:
    """State of a monitor since its last alarm."""

    def __init__(self):
        self.n_samples = 0
        self.pending = np.empty(0)  # the last losses, fewer than a block
        self.ties = TieBreaker()
        self.ranks, self.bets = Ranks(), Bets()

    def copy(self):
        copied = copy(self)
        copied.ties, copied.bets = copy(self.ties), copy(self.bets)
        copied.ranks = self.ranks.copy()
        return copied

    def add(self, losses, false_alarm):
        """Return the alarms that further losses raise."""
        row = self.n_samples - self.pending.size  # at the end of the last block
        self.n_samples += losses.size
        losses = np.concatenate([self.pending, losses])
        n_whole = losses.size - losses.size % BLOCK_ROWS
        self.pending = losses[n_whole:].copy()  # a view would keep all
        blocks, alarms = losses[:n_whole].reshape(-1, BLOCK_ROWS), []
        keys = ordered_keys(_means(blocks)).tolist()
        for key, order in zip(keys, orders(blocks), strict=True):
            row += BLOCK_ROWS
            self.ties.add(order)
            self.bets.add(*self.ranks.add(key), self.ties.number())
            change = self.bets.change(false_alarm)
            if change is not None:
                start, is_rise = change
                age = self.bets.n_blocks - start
                direction = "rise" if is_rise else "fall"
                alarms.append(Alarm(row, row - age * BLOCK_ROWS + 1, direction))
                self.ranks, self.bets = Ranks(), Bets()
        return alarms


def _means(blocks):
    """Return the means of rows, which do not depend on how many there are."""
    means = np.zeros(len(blocks))
    for column in blocks.T:
        means += column / BLOCK_ROWS
    return means

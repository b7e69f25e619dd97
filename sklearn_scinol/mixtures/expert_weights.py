"""Base of the weights of experts, which are learned from their losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import deepcopy
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_scalar
from sklearn.utils.validation import _check_sample_weight

from .._invariants import is_count, same_structure
from .._state import Part
from ..config import current_engine


class ExpertWeights(Part, ABC):
    """Weights for experts, learned round by round.

    Engines change the arrays of the state in place. Its fields `totals`, `loss` and
    `gap` are the cumulative losses of the experts, that of the mixture, and the sum of
    the mixability gaps.
    """

    #: Fields of the state that are sums of losses, of which none may overflow.
    _sums: tuple[str, ...] = ("totals", "loss", "gap")

    def __init__(self, n_experts: int) -> None:
        check_scalar(n_experts, "n_experts", Integral, min_val=1)
        self.n_experts = int(n_experts)
        self._state = self._initial_state(self.n_experts)

    @abstractmethod
    def _initial_state(self, K):
        """Return a NamedTuple that engines know, for `K` experts."""

    @abstractmethod
    def _bound(self, n_switches, n_copies=1):
        """Return the bound on the regret against sequences with `n_switches`.

        With `n_copies`, of experts of which there are that many equal ones.
        """

    @property
    def n_rounds_(self) -> int:
        """Number of rounds so far; those of sample weight 0 do not count."""
        return int(self._state.t)

    @property
    def weights_(self) -> NDArray[np.float64]:
        """Weights of the next round, of sum 1; equal at first: shape (n_experts,)."""
        return self._state.weights

    @property
    def cumulative_losses_(self) -> NDArray[np.float64]:
        """Sum of the losses of each expert, in their units: shape (n_experts,)."""
        return self._state.totals

    @property
    def cumulative_loss_(self) -> float:
        """Sum of the losses of the mixture, in units of the losses."""
        return self._state.loss

    @property
    def mixability_gap_(self) -> float:
        """Sum of the mixability gaps."""
        return self._state.gap

    def regret_bound(self, n_switches: int = 0) -> float:
        """Bound on the regret against the best sequence of experts.

        Parameters
        ----------
        n_switches : int, default=0
            How often the expert changes in the sequence. With 0 the bound is that
            against the best expert, which is the only one that AdaHedge has.

        Returns
        -------
        bound : float
            `cumulative_loss_` exceeds the losses of any of these sequences by no more,
            in units of the losses; see the notes.
        """
        check_scalar(n_switches, "n_switches", Integral, min_val=0)
        return self._bound(n_switches)

    def update(
        self, losses: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Learn from the losses of one round, or of several in order.

        How rounds are divided among calls changes nothing, to the last bit.

        Parameters
        ----------
        losses : array-like of shape (n_experts,) or (n_rounds, n_experts)
            Losses of the experts, in any unit and of any sign. The sum of each expert's
            losses must be finite.
        sample_weight : array-like of shape (n_rounds,), default=None
            What the losses of each round are multiplied by. None stands for ones.

        Returns
        -------
        weights : ndarray of the shape of `losses`
            Weights before each round, which the loss of the round was charged with.

        Raises
        ------
        ValueError
            If the losses have another shape, are not all finite, or if sums of them
            are too large for floating-point numbers; if a sample weight is negative.
            Nothing is learned then.
        TypeError
            If they are no array, or a sparse one.
        """
        with np.errstate(all="ignore"):  # scikit-learn's test sums them
            rounds = check_array(
                losses, dtype=np.float64, ensure_2d=False, input_name="losses"
            )
        shape = rounds.shape
        if shape[-1] != self.n_experts:
            raise ValueError(
                f"losses has {shape[-1]} experts, but {type(self).__name__} is "
                f"expecting {self.n_experts} experts as input."
            )
        rounds = rounds.reshape(-1, self.n_experts)
        c = _check_sample_weight(
            sample_weight, rounds, dtype=np.float64, ensure_non_negative=True
        )
        weights, before = np.empty(rounds.shape), self._state
        engine, rounds = current_engine(), np.array(rounds.T, order="C")
        try:
            self._state = deepcopy(before)  # others may have the arrays
            engine.learn_rounds(self._state, rounds[..., np.newaxis], c, weights)
            self._check_finite()
        except BaseException:
            self._state = before
            raise
        return weights.reshape(shape)

    def _check_finite(self):
        """Raise ValueError if the sums of losses are too large."""
        sums = [getattr(self._state, name) for name in self._sums]
        if not all(np.isfinite(each).all() for each in sums):
            raise ValueError("The sums of losses are too large for dtype('float64').")

    @classmethod
    def _merged(cls, shards):
        """Merge weights that learned disjoint rounds.

        Each has learned how well its own experts do, and not the merged ones: together
        they count as the evidence of one of them.
        """
        merged = deepcopy(shards.start)
        merged._state = merged._merged_state(shards._state)
        return merged

    @abstractmethod
    def _merged_state(self, shards):
        """Return the state that stands for several."""

    def _invariants(self):
        state, K = self._state, self.n_experts
        yield "n_experts is a number of experts", is_count(K, 1)
        yield "t is a number of rounds", state.t >= 0.0 and state.t % 1 == 0.0
        yield "each expert has a weight", state.weights.shape == (K,)
        yield from same_structure(state, self._initial_state(K), "state")
        for name, value in zip(state._fields, state, strict=True):
            yield f"{name} is finite", np.isfinite(value)

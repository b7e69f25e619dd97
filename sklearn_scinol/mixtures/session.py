"""A few rows at a time for a mixture, see :mod:`sklearn_scinol.models.session`."""

from functools import partial
from math import isfinite

import numpy as np

from ..models.local import LocalModel
from ..models.session import LossCalls, Session, append_losses
from .second_level import standardised_differences


class MixtureSession(Session):
    """A mixture with the calls by which its experts learn some rows.

    The mixture itself learns as it does from any block, with :class:`MixingCalls` as
    its engine.
    """

    def _linear_models(self):
        return [expert.model for expert in self.model.experts]

    def _models_of_views(self):
        experts = self.model.experts
        of_rows = [each.model for each in experts if not each.sees_dense_view]
        of_dense = [each.model for each in experts if each.sees_dense_view]
        return [of_rows, of_dense] if of_dense else [of_rows]

    def _record_calls(self, recorder):
        model, rows = self.model, self.rows
        blocks = model.shared_blocks(recorder, rows, rows.all)
        self._block = model.block(blocks[0])
        self._experts, written = [None] * len(model.experts), []
        for own, places in model.groups():
            models = [self._models[place] for place in places]
            expert = model.experts[places[0]]
            shared = blocks[expert.sees_dense_view]
            if isinstance(own, LocalModel):
                self._record_local(recorder, shared, models, places)
                continue
            predictions = own.learn_block(recorder, shared.for_model(own))
            self._experts[places[0]] = expert, predictions
            written += [predictions.predictions, predictions.reported]
        self._numbers = [each.numbers for each in self._models]
        self._read = [self._reader(*each) for each in self._experts]
        n_experts = len(model.experts)
        self._mixing = MixingCalls(
            recorder, model, model.hedges, n_experts, self._block
        )
        self._mixing.levels = [
            LevelSession(self._engine, level, model.output_of_block(self._block, k))
            for k, level in enumerate(model.levels)
        ]
        return written

    def _record_local(self, recorder, shared, models, places):
        """Record what local models find for the rows, by one call."""
        first, block = models[0], shared.for_model(models[0])
        y = first.record_targets(recorder, block)
        found = first.learn_rows(recorder, models, block, y)
        for place, of_model in zip(places, found, strict=True):
            expert = self.model.experts[place]
            losses = LossCalls(recorder, expert.model.loss, block, first.n_outputs)
            read = partial(_read_found, expert, losses, block, of_model)
            self._experts[place] = expert, read

    def _reader(self, expert, predictions):
        """Return an expert's predictions and losses, or a function that gives them."""
        if callable(predictions):
            return predictions
        if expert.shares_mixture_loss(predictions):
            return predictions.reported, predictions.losses
        return partial(expert.mixture_predictions, predictions, self._block)

    def _rollbacks(self):
        model = self.model
        hedges = [*model.hedges, *(level.hedge for level in model.levels)]
        weights = [vars(hedge).copy() for hedge in hedges]
        target_range = model.target_range and vars(model.target_range).copy()
        n_points, n_of_levels = len(model.points), len(model.level_curve)

        def restore():
            for hedge, before in zip(hedges, weights, strict=True):
                vars(hedge).update(before)
            if model.target_range is not None:
                vars(model.target_range).update(target_range)
            del model.points[n_points:], model.curve[n_points:]
            del model.level_curve[n_of_levels:]

        return [*super()._rollbacks(), restore]

    def _learn_rows(self):
        self._losses_before = [numbers.item(1) for numbers in self._numbers]
        if not super()._learn_rows():
            return False
        read = [each() if callable(each) else each for each in self._read]
        predictions, losses = zip(*read, strict=True)
        mixing = self._mixing
        np.concatenate(predictions, out=mixing.predictions_in_turn)
        np.concatenate(losses, out=mixing.losses_in_turn)
        self.reported = self.model.learn_predictions(
            mixing,
            self._block,
            mixing.predictions,
            mixing.losses,
            self.rows.total_weight > 0.0,
        )
        numbers = self.reported.ravel().tolist()
        return all(map(isfinite, numbers)) and isfinite(self.model.cumulative_loss)

    def _add_to_expert_curves(self, rollbacks):
        c, entries = self.rows.total_weight, []
        if c == 0.0:
            return
        for (expert, _), numbers, before in zip(
            self._experts, self._numbers, self._losses_before, strict=True
        ):
            own, loss = expert.estimator, (numbers.item(1) - before) / c
            entries.append((own.loss_curve_, loss, own._max_curve))
        append_losses(entries, rollbacks)

    def estimators(self, own):
        return [own, *(expert.estimator for expert in self.model.experts)]


def _read_found(expert, losses, block, found):
    """Return the predictions of an expert for the rows, and their losses."""
    predictions = expert.model.predictions_of(losses, block, found)
    return expert.mixture_predictions(predictions, block)


class MixingCalls(LossCalls):
    """An engine that mixes the predictions for some rows, by calls that were prepared.

    Parameters
    ----------
    recorder : Recorder
    model : MixtureModel or SecondLevel
        Whose predictions are mixed.
    hedges : list of FixedShare or AdaHedge
    n_predictions : int
        Number of predictions to mix.
    block : Block
        Of the rows.

    Attributes
    ----------
    predictions : ndarray of shape (n_predictions, n, n_outputs)
        Of the experts for the rows.
    losses : ndarray of shape (n_predictions, n, n_outputs or 1)
        Of these predictions.
    predictions_in_turn, losses_in_turn : ndarray
        The same ones, of one expert after the other: (n_predictions n, ...).
    levels : list of LevelSession
        For the second level.
    """

    def __init__(self, recorder, model, hedges, n_predictions, block):
        scale = model.mixing_scale
        n_outputs = scale.n_outputs if scale.shares_weights else len(hedges)
        super().__init__(recorder, scale.loss, block, n_outputs)
        n = len(block.weights.given)
        self._rounds = np.empty((n, hedges[0].n_experts))
        self._learn_rounds, self._weights_of_round = recorder.learn_rounds(
            hedges[0]._copied_state(), self._rounds, block.weights.given
        )
        self.predictions = np.empty((n_predictions, n, n_outputs))
        self.predictions_in_turn = self.predictions.reshape(-1, n_outputs)
        n_losses = 1 if scale.loss.joint else n_outputs
        self.losses = np.empty((n_predictions, n, n_losses))
        self.losses_in_turn = self.losses.reshape(-1, n_losses)
        self._weights = np.empty((len(hedges), n, n_predictions))
        self._mix = recorder.mix(scale.kind, self.predictions, self._weights)
        self.levels = []

    def learn_rounds(self, state, losses, c):
        """Learn from the experts' losses; see :class:`Engine`."""
        self._rounds[:] = losses
        return self._learn_rounds(state), self._weights_of_round.copy()

    def mix(self, kind, predictions, weights):
        """Return the mean of predictions; see :class:`Engine`."""
        if predictions is not self.predictions:  # they were clipped
            self.predictions[:] = predictions
        self._weights[:] = weights
        return self._mix()


class LevelSession:
    """The second level of a mixture, with the calls by which it learns some rows.

    Parameters
    ----------
    engine : Engine
    level : SecondLevel
    block : Block
        Of the rows.
    """

    def __init__(self, engine, level, block):
        self.level, self._engine, self._block = level, engine, block
        self._mixing = MixingCalls(
            engine.Recorder(), level, [level.hedge], 1 + len(level.pools), block
        )
        self._calls = []
        if level.mixing_scale.loss.joint:
            return
        recorder, scale, n = engine.Recorder(), None, len(block.weights.given)
        if level.errors is not None:
            self._first, self._errors = np.empty((2, n, 1))
            scale = level.errors.learn(recorder, self._errors, block.weights)
            scale = self._scale = scale._replace(offset=self._first)
            (self._learn_errors,) = recorder.calls
            recorder.calls = []
        self._F = np.empty((n, level.pools[0].n_features))
        learned = [p.learn_scores(recorder, self._F, block, scale) for p in level.pools]
        self._pooled = [each.predictions for each in learned]
        self._losses = [each.losses for each in learned]
        self._calls = recorder.calls

    def learn(self, engine, block, predictions, first, clip=None):
        """Predict the rows, then learn them; see :class:`SecondLevel`."""
        first = self.level.normalised(first)
        pooled, losses = self._learn_pools(block, predictions, first)
        levels = [first, *pooled]
        return self.level.learn_levels(self._mixing, block, levels, losses, clip)

    def predict(self, engine, predictions, first, clip=None):
        """Predict the rows, which have weight 0; see :class:`SecondLevel`."""
        first = self.level.normalised(first)
        pooled, _ = self._learn_pools(self._block, predictions, first)
        return self.level.mix_levels(self._mixing, [first, *pooled], clip)

    def _learn_pools(self, block, predictions, first):
        """Predict the rows by the pools, which learn them if they have weights."""
        if self.level.mixing_scale.loss.joint:
            return self.level.learn_pools(self._engine, block, predictions, first)
        self._load(predictions, first)
        for call in self._calls:
            call()
        return self._pooled, self._losses

    def _load(self, predictions, first):
        """Write the features of the pools for the rows."""
        if self.level.errors is None:
            self._F[:] = self.level.log_probabilities(predictions, first)
            return
        self._errors[:] = self.level.errors_of(self._block, first)
        self._learn_errors()
        self._first[:] = first
        self._F[:] = standardised_differences(predictions, first, self._scale.deviation)

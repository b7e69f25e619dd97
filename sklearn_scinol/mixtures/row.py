"""One row at a time for a mixture, see :mod:`sklearn_scinol.models.row`."""

from functools import partial
from math import isfinite

import numpy as np

from ..blocks import Block
from ..models.linear import LinearModel
from ..models.row import ONE, PreparedModel
from .expert import learn_block
from .shared_block import SharedBlock

__all__ = ["PreparedMixture"]


class PreparedMixture(PreparedModel):
    """A mixture with the calls by which its experts and weights learn a dense row."""

    def _linear_models(self):
        return [expert.model for expert in self.model.experts]

    def _parts(self):
        yield from (self.model, self.model.weight_scale, *self.model.hedges)
        yield from super()._parts()

    def _note_calls(self, recorder):
        model, row = self.model, self.row
        shared = SharedBlock(recorder, row, ONE, model.weight_scale)
        self._block = Block((), None, shared.targets(model), shared.weights, None)
        self._experts, said = [None] * len(model.experts), []
        for function, places, arguments in model.calls(shared, row.X, None):
            models = [self._models[place] for place in places]
            is_shared = function is learn_block
            if not is_shared:
                arguments = (models[0].block(recorder, row, ONE),)
            learned = LinearModel.learn_stacked(recorder, models, *arguments)
            for place, answers in zip(places, learned, strict=True):
                expert = model.experts[place]
                self._experts[place] = expert, answers, is_shared
                said += [answers.predictions, answers.reported]
        self._read = [self._reader(recorder, *each) for each in self._experts]
        self._note_mixing(recorder)
        return said

    def _note_mixing(self, recorder):
        """Make ready what is done with the experts' answers."""
        model, E = self.model, len(self._experts)
        c = self._block.weights.given
        for hedge in model.hedges:
            hedge.ensure_layout()
        self._rounds = [np.empty((1, E)) for _ in model.hedges]
        self._learn_rounds, weights = zip(
            *(
                recorder.learn_rounds(hedge._state, rounds, c)
                for hedge, rounds in zip(model.hedges, self._rounds, strict=True)
            ),
            strict=True,
        )
        self._weights_of_hedges = weights
        self._weights = np.empty((len(weights), 1, E))
        self._answers = np.empty((E, 1, model.n_outputs))
        self._mix = recorder.mix(model.mixing_scale.kind, self._answers, self._weights)
        self.reported = np.empty((1, model.n_outputs))
        _, self._charge = recorder.charge(model.loss, self._block, self.reported, 0.0)
        self._arrays_of_hedges = [hedge._state.weights for hedge in model.hedges]

    def _reader(self, recorder, expert, answers, is_shared):
        """What an expert said and its losses, or a function that gives these."""
        if is_shared:
            if expert.shares_mixture_loss(answers):
                return answers.reported, answers.losses
            return partial(expert.mixture_predictions, answers, self._block)
        mixing_scale = expert.mixing_scale
        if mixing_scale.kind == "softmax":
            return partial(expert.read_decision, answers.reported, self._block)
        losses, charge = recorder.charge(
            mixing_scale.loss, self._block, answers.reported, 0.0
        )
        recorder.calls.append(charge)
        return answers.reported, losses

    @property
    def is_current(self):
        hedges = zip(self.model.hedges, self._arrays_of_hedges, strict=True)
        return super().is_current and all(
            hedge._state.weights is weights for hedge, weights in hedges
        )

    def _rollbacks(self):
        model = self.model
        hedges = [vars(hedge).copy() for hedge in model.hedges]
        limits = model.target_range and model.target_range.limits
        n_points = len(model.points)

        def restore():
            for hedge, before in zip(model.hedges, hedges, strict=True):
                vars(hedge).update(before)
            if model.target_range is not None:
                model.target_range.limits = limits
            del model.points[n_points:], model.curve[n_points:]

        return [*super()._rollbacks(), restore]

    def _go(self):
        self._losses_before = [
            expert.model.cumulative_loss for expert, *_ in self._experts
        ]
        if not super()._go():
            return False
        model, block = self.model, self._block
        read = [each() if callable(each) else each for each in self._read]
        answers, losses = zip(*read, strict=True)
        np.concatenate(answers, out=self._answers[:, 0])
        losses = np.concatenate(losses)[:, np.newaxis]
        if model.target_range is not None:
            clipped = model.clip(self._engine, block, self._answers, losses)
            self._answers[:], losses = clipped
        model.weight_scale.learned(block.weights)
        self._learn_weights(losses)
        self.reported[:] = self._mix()
        model.cumulative_loss += self._charge()
        return bool(
            np.isfinite(self.reported).all()
            and isfinite(model.cumulative_loss)
            and all(hedge.is_finite for hedge in model.hedges)
        )

    def _learn_weights(self, losses):
        """Let the weights be those before the row, and learn it if it counts."""
        model, c = self.model, self.row.given
        if c == 0.0:
            self._weights[:, 0] = model.weights
            return
        for k, hedge in enumerate(model.hedges):
            with np.errstate(all="ignore"):
                np.multiply(
                    model.mixing_scale.of_hedge(k, losses).T, c, self._rounds[k]
                )
            hedge._state = self._learn_rounds[k](hedge._state)
            hedge.n_rounds_ += 1
            self._weights[k] = self._weights_of_hedges[k]
        model.record_weights(self._weights, self._block.weights.given)
        model.t += 1

    def _add_to_curves(self, estimator, loss_before, rollbacks):
        super()._add_to_curves(estimator, loss_before, rollbacks)
        c = self.row.given
        for (expert, _, is_shared), before in zip(
            self._experts, self._losses_before, strict=True
        ):
            if is_shared:
                expert.estimator._record_row(before, c, rollbacks)
            else:
                super()._add_to_curves(expert.estimator, before, rollbacks)

    def estimators(self, own):
        return [own, *(expert.estimator for expert in self.model.experts)]

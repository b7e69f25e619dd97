"""A few rows at a time for a mixture, see :mod:`sklearn_scinol.models.session`."""

from ..models.session import Session
from .expert import of_block


class MixtureSession(Session):
    """A mixture with the calls by which it and its experts learn some rows."""

    @staticmethod
    def models_of_views(model):
        of_rows = [each.model for each in model.experts if not each.sees_dense_view]
        of_dense = [each.model for each in model.experts if each.sees_dense_view]
        return [of_rows, of_dense] if of_dense else [of_rows]

    def _record_calls(self, recorder):
        model, rows = self.model, self.rows
        blocks = model.shared_blocks(recorder, rows, rows.all)
        found, written = [None] * len(model.experts), []
        served, of_mixture = model.split_served(self.served)
        calls = model.calls(model.groups(), blocks, None, served, True)
        for _, places, block, own, _ in calls:
            experts = [model.experts[place] for place in places]
            of_experts = of_block(recorder, experts, block, own)
            for place, (predicted, *mixed) in zip(places, of_experts, strict=True):
                found[place] = mixed
                written += [predicted.predictions, predicted.reported]
        predictions, losses = zip(*found, strict=True)
        self.reported = model.learn_predictions(
            recorder, model.block(blocks[0]), predictions, losses, of_mixture
        )
        return [*written, self.reported]

    def _divergent_arrays(self):
        yield from super()._divergent_arrays()
        yield self.model.numbers
        for hedge in self.model._all_hedges:
            yield from (hedge._state.totals, hedge._state.numbers)

    def _rollbacks(self):
        model = self.model
        target_range = model.target_range and vars(model.target_range).copy()
        n_points = len(model.curve)

        def restore():
            if model.target_range is not None:
                vars(model.target_range).update(target_range)
            del model.curve[n_points:]

        rollbacks = super()._rollbacks()
        rollbacks.append(restore)
        return rollbacks

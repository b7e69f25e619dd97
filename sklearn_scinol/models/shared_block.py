"""Block of rows for several models, which computes shared parts once."""

from functools import cached_property

from ..blocks import Block


class SharedBlock:
    """Block of rows for several models, which computes shared parts once.

    It has what models ask a :class:`Chunk` for. All models have one weight scale.
    """

    def __init__(self, engine, chunk, rows, scale):
        self.engine, self.X, self.rows = engine, chunk.X, rows
        self.chunk = chunk
        self.row_weights = chunk.weights(scale, rows)
        self._cache = {}

    @cached_property
    def part(self):
        """Chunk of the rows, for experts that learn untransformed rows."""
        return self.chunk.part(self.rows)

    def is_within(self, largest, weights):
        """See :class:`Chunk`."""
        return self._cached(largest, lambda: self.chunk.is_within(largest, weights))

    def for_model(self, model):
        """Return the block for a model, with rows that its transforms have learned."""
        if not model.shares_rows:
            return model.block(self.engine, self, self.rows)
        y = self.targets(model.loss, model.n_outputs, self.rows)
        transformed = model.learn_transforms(
            self.engine, self, self.rows, self.row_weights, self._cached
        )
        scale = model.target_scale(self.engine, y, self.row_weights, self._cached)
        return Block(transformed, None, y, self.row_weights, scale)

    def targets(self, loss, n_outputs, rows):
        """See :class:`Chunk`."""
        return self._cached(
            (loss.joint, n_outputs), lambda: self.chunk.targets(loss, n_outputs, rows)
        )

    def weights(self, scale, rows):
        """See :class:`Chunk`."""
        return self.row_weights

    def _cached(self, key, make):
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

"""Block of rows for several models, which computes shared parts once."""

from functools import cached_property

from ..blocks import Block


class SharedBlock:
    """Block of rows for several models, which computes shared parts once."""

    def __init__(self, engine, chunk, rows, scale):
        self.engine, self.X, self.rows = engine, chunk.X, rows
        self.chunk = chunk
        self.weights = chunk.weights(scale, rows)
        self._cache = {}

    @cached_property
    def part(self):
        """Chunk of the rows, for experts that learn untransformed rows."""
        return self.chunk.part(self.rows)

    def for_model(self, model):
        """Return the block for a model, with rows that its transforms have learned."""
        y = self.targets(model)
        transformed = model.learn_transforms(
            self.engine, self.X, self.rows, self.weights, self._cached
        )
        scale = None
        if model.target is not None:
            scale = self._cached(
                id(model.target),
                lambda: model.target.learn(self.engine, y, self.weights),
            )
        return Block(transformed, None, y, self.weights, scale)

    def targets(self, model):
        """Return targets in the form that the loss of a model or mixture takes."""
        return self._cached(
            model.loss.joint,
            lambda: self.chunk.targets(model.loss, model.n_outputs, self.rows),
        )

    def _cached(self, key, make):
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

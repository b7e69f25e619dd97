"""A block of rows for several models, which is made ready once."""

from functools import cached_property

from ..blocks import Block

__all__ = ["SharedBlock"]


class SharedBlock:
    """A block of rows for several models: what they share is made once."""

    def __init__(self, engine, chunk, rows, scale):
        self.engine, self.X, self.rows = engine, chunk.X, rows
        self.chunk = chunk
        self.weights = chunk.weights(scale, rows)
        self._cache = {}

    @cached_property
    def part(self):
        """The rows as a chunk of their own, for experts that learn rows as they are."""
        return self.chunk.part(self.rows)

    def for_model(self, model):
        """The block for a model; the transforms learn it the first time."""
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
        """Targets as the loss of a model takes them; of mixtures, too."""
        return self._cached(
            model.loss.joint,
            lambda: self.chunk.targets(model.loss, model.n_outputs, self.rows),
        )

    def _cached(self, key, make):
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

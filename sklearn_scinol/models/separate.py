"""Local models of several labels, each of which has a memory of its own."""

from copy import copy

import numpy as np

from .local import LocalModel


class SeparateModels(LocalModel):
    """Local models of several labels, each of which has a memory of its own.

    What a memory stores is about one label: trees, for instance, do not split a node of
    rows with the same label. All labels share the transform of rows.

    The models are of two classes, and have learned nothing at first. Their memories
    learn; rows and losses are counted here.
    """

    n_classes = 2

    def __init__(self, loss, n_features, n_outputs, *, models, features):
        self.models = models
        super().__init__(loss, n_features, n_outputs, features=features)

    @property
    def features(self):
        """Transform of rows, the same one of all models."""
        return self.models[0].features

    @features.setter
    def features(self, features):
        for model in self.models:
            model.features = features

    @property
    def memories(self):
        return [model.memory for model in self.models]

    @property
    def n_targets(self):
        return self.n_outputs

    # Learning.

    @property
    def memory_key(self):
        key = self.models[0].memory_key
        return None if key is None else ("labels", *key)

    def _share_memories(self, shared):
        for k, model in enumerate(self.models):
            model.memory = shared.setdefault((k, *self.memory_key), model.memory)

    def learn_rows(self, engine, models, block, y):
        found = []
        for k, first in enumerate(self.models):
            own = [model.models[k] for model in models]
            of_label = np.empty((len(y), 1))
            engine.run(np.copyto, of_label, y[:, k : k + 1])
            found.append(first.learn_rows(engine, own, block, of_label))
        return [*zip(*found, strict=True)]

    def _decision(self, found):
        pairs = zip(self.models, found, strict=True)
        return np.hstack([model._decision(of_label) for model, of_label in pairs])

    def add_classes(self, loss, is_new):
        raise TypeError("Labels have two classes each.")

    # Merging.

    @property
    def _options(self):
        return {"models": [model.fresh() for model in self.models]}

    def with_columns(self, placement):
        model = copy(self)
        model.n_features = placement.n_columns
        model.models = [each.with_columns(placement) for each in self.models]
        model.features = self.features.with_columns(placement)
        return model

    def _merge_memories(self, shards, scales):
        for k, model in enumerate(self.models):
            own = shards.map(lambda part, k=k: part.models[k])
            model._merge_memories(own, scales)

    def _parameters(self):
        yield "each label has a model", len(self.models) == self.n_outputs
        are_of_two = [model.n_outputs == 1 for model in self.models]
        yield "models are of two classes", all(are_of_two)

"""Models that predict by boosted trees, which grow when rows are learned again."""

import numpy as np
from scipy.special import expit, softmax
from sklearn.tree import ExtraTreeRegressor

from .._invariants import floats, is_count
from .._parallel import run_in_turn
from ..config import current_engine
from ..learners.boosted_trees import add_trees
from ..transforms.features import FeatureTransform
from ..transforms.targets import TargetTransform
from .local import LocalModel
from .model import dense_rows

# Trees of a stage, stages that grow each time rows are learned again, and all of them.
N_TREES = 5
N_STAGES = 3
MAX_STAGES = 100

# Factor of what a stage predicts.
SHRINKAGE = 0.3

# Seeds are less than this.
MAX_SEED = 2**31 - 1

# Minimum number of rows of a leaf, and maximum number of leaves.
MIN_LEAF = 8
MAX_LEAVES = 256

# Maximum number of rows that a stage grows from, where they are not wide, of their
# entries, and of the values of all nodes (128 MB).
MAX_GROWN = 2**14
MAX_ENTRIES = 2**24
MAX_VALUES = 2**24

# Number of features that each node may try at least, and their number times the rows.
MIN_TRIED = 64
MAX_TRIES = 2**19

# Minimum of a second derivative, and number of rows that each class has in advance.
MIN_CURVATURE = 0.01
PRIOR_ROWS = 0.5


class BoostedTreesModel(LocalModel):
    r"""Predict by stages of extremely randomised trees, each grown from residuals.

    Stages grow when rows are learned again: a row that is learned for the first time is
    predicted by trees that have not seen it. If there are more or fewer rows than the
    last time, all stages grow anew. The loss is log loss, or squared error. Before the
    first tree, means of earlier targets are predicted, or equal probabilities.

    A stage learns the negative gradients of the loss, divided by its second derivatives
    :math:`h`, from rows that weigh :math:`h` times their weight (Friedman, Hastie and
    Tibshirani, 2000). With several outputs :math:`h` is the largest of theirs.

    Attributes
    ----------
    start : ndarray of shape (n_outputs,)
        Predictions before the first tree, grown from all rows.
    links : ndarray of int32 of shape (n_nodes, 3)
        See :func:`add_trees`, as for `thresholds`, `roots` and `depths`.
    values : ndarray of shape (n_nodes, n_outputs)
        What each node adds to the prediction if it is a leaf.
    n_grown : int
        Number of rows that the stages were grown for.
    """

    shares_rows = False
    _replaced = "start", "roots", "depths", "links", "thresholds", "values", "n_grown"
    _by_output = ("values",)

    def __init__(self, loss, n_features, n_outputs, *, seed, features=None):
        features = features or FeatureTransform(n_features)
        super().__init__(loss, n_features, n_outputs, features=features)
        self.seed = seed
        self.n_grown = 0
        self.start = np.zeros(n_outputs)
        if not self.n_classes:
            self.target = TargetTransform(n_outputs, unit_free=False)
        self._remove_trees()

    def _remove_trees(self):
        self.links = np.zeros((0, 3), np.int32)
        self.roots, self.depths = np.zeros((2, 0), np.int32)
        self.thresholds = np.zeros(0)
        self.values = np.zeros((0, self.n_outputs))

    @property
    def n_targets(self):
        return 1 if self.loss.joint else self.n_outputs

    @property
    def n_stages(self):
        """Number of stages."""
        return len(self.roots) // N_TREES

    # Growing.

    def look_back(self, chunk, order=None, run=run_in_turn):
        rows = np.arange(len(chunk)) if order is None else order
        if chunk.sample_weight is not None:
            rows = rows[chunk.sample_weight[rows] > 0.0]
        n_stages = N_STAGES
        if len(rows) != self.n_grown:
            n_stages = max(n_stages, self.n_stages)
            self._remove_trees()
            self.n_grown = len(rows)
        of_stage = N_TREES * 2 * MAX_LEAVES * self.n_outputs
        largest = min(MAX_STAGES, max(MAX_VALUES // of_stage, 1))
        n_stages = min(n_stages, largest - self.n_stages)
        most = min(MAX_GROWN, max(MAX_ENTRIES // self.n_features, MAX_LEAVES))
        while len(rows) and n_stages > 0:
            n_more = n_stages if len(rows) <= most else min(n_stages, N_STAGES)
            self._grow(chunk, rows, most, n_more, run)
            n_stages -= n_more

    def _grow(self, chunk, rows, most, n_stages, run):
        """Grow stages from some rows, of which at most so many are drawn."""
        rng = np.random.RandomState([self.seed, self.n_stages])
        if len(rows) > most:
            rows = rows[rng.choice(len(rows), most, replace=False)]
        c = np.ones(len(rows))
        if chunk.sample_weight is not None:
            c = chunk.sample_weight[rows] / chunk.sample_weight[rows].max()
            c /= c.mean()  # equal weights are ones, to the last bit
        X = dense_rows(chunk.X, rows).X
        y = self._targets(chunk.targets(self.loss, self.n_outputs, rows))
        if not len(self.roots):
            self.start = self._start(y, c)
        Z = np.empty(X.shape, np.float32)
        grid = [_Grid(x, places) for x, places in zip(X.T, Z.T, strict=True)]
        predicted = self._predict(current_engine(), X, self.start)
        n_tried = min(max(MAX_TRIES // len(y), MIN_TRIED), self.n_features)
        trees, values = [], []
        for _ in range(n_stages):
            gradients, curvature = self._derivatives(y, predicted)
            steps, weights = -gradients / curvature, c * curvature[:, 0]
            unit = self._unit(steps)
            share = SHRINKAGE / N_TREES * unit
            seeds = rng.randint(MAX_SEED, size=N_TREES)
            data = Z, steps / unit, weights
            for tree, of_rows in run([(_grow_tree, *data, n_tried, s) for s in seeds]):
                predicted += share * of_rows.reshape(steps.shape)
                trees.append(tree)
                values.append(share * tree.value[..., 0])
        self._add(trees, values, grid)

    def _targets(self, y):
        """Return numbers, or 1 for the class or labels of each row and 0 for others."""
        if self.loss.joint:
            return (y[:, np.newaxis] == np.arange(self.n_outputs)).astype(np.float64)
        return (y > 0.0).astype(np.float64) if self.n_classes else y

    def _start(self, y, c):
        """Return means of the targets, or log odds."""
        if not self.n_classes:
            return np.average(y, axis=0, weights=c)
        counts, others = (c @ each + PRIOR_ROWS for each in (y, 1.0 - y))
        return np.log(counts) if self.loss.joint else np.log(counts / others)

    def _derivatives(self, y, predicted):
        """Return gradients, and second derivatives of shape (n, 1)."""
        if not self.n_classes:
            return predicted - y, np.ones((len(y), 1))
        p = softmax(predicted, axis=1) if self.loss.joint else expit(predicted)
        largest = (p * (1.0 - p)).max(axis=1, keepdims=True)
        return p - y, np.maximum(largest, MIN_CURVATURE)

    def _unit(self, steps):
        """Return units of steps, in regression those of the targets.

        Trees take what is small by itself for nothing.
        """
        if self.n_classes:
            return 1.0
        unit = np.abs(steps).mean(axis=0)
        return np.where(unit > 0.0, unit, 1.0)

    def _add(self, trees, values, grid):
        """Add trees of scikit-learn, whose nodes have values."""
        sizes, n_before = [tree.node_count for tree in trees], len(self.links)
        roots = n_before + np.cumsum([0, *sizes[:-1]])

        def joined(name):
            return np.concatenate([getattr(tree, name) for tree in trees])

        feature, thresholds = joined("feature"), joined("threshold")
        root, nodes = np.repeat(roots, sizes), n_before + np.arange(sum(sizes))
        is_leaf = feature < 0
        children = joined("children_left"), joined("children_right")
        links = np.column_stack([feature, *(root + each for each in children)])
        links[is_leaf] = np.column_stack([0 * nodes, nodes, nodes])[is_leaf]
        for f in np.unique(feature[~is_leaf]):
            thresholds[feature == f] = grid[f].values_at(thresholds[feature == f])
        thresholds[is_leaf] = np.inf
        depths = [tree.max_depth for tree in trees]
        self.roots = np.append(self.roots, roots).astype(np.int32)
        self.depths = np.append(self.depths, depths).astype(np.int32)
        self.links = np.vstack([self.links, links]).astype(np.int32)
        self.thresholds = np.append(self.thresholds, thresholds)
        self.values = np.vstack([self.values, *values])

    # Predicting.

    def learn_transforms(self, engine, chunk, rows, weights, once):
        self.check_finite(chunk, rows, weights)
        return dense_rows(chunk.X, rows)

    def learn_rows(self, engine, models, block, y):
        start, scale = self.start, block.target_scale
        if not (self.n_classes or len(self.roots)):  # the mean of earlier targets
            start = self.target.moments[0] if scale is None else scale.offset
        return [self._predict(engine, block.rows.X, start)]

    def _predict(self, engine, X, start):
        out = np.empty((X.shape[0], self.n_outputs))
        starts = np.arange(len(X)) * self.n_features
        nodes = np.empty(len(X), np.int32)
        engine.run(np.copyto, out, start)
        trees = self.roots, self.depths, self.links, self.thresholds, self.values
        engine.run_loop(add_trees, *trees, X.reshape(-1), starts, nodes, out)
        return out

    def _decision(self, found):
        return found

    def transform(self, X):
        return X.astype(np.float64, copy=False)

    def add_classes(self, loss, is_new):
        self.loss, self.n_outputs = loss, is_new.size
        of_known = []
        for values in (self.values, self.start[np.newaxis]):
            if values.shape[1] == 1:
                values = np.hstack([np.zeros_like(values), values])
            of_known.append(np.zeros((len(values), is_new.size)))
            of_known[-1][:, ~is_new] = values
        self.values, (self.start,) = of_known
        rest = self.start[~is_new].min() - np.log(1.0 + 2.0 * self.n_grown)
        self.start[is_new] = rest

    # Merging.

    @property
    def _options(self):
        return {"seed": self.seed}

    def with_columns(self, placement):
        model = super().with_columns(placement)
        forward = placement.forward.tocsc()
        places = np.full(self.n_features, -1)
        is_placed = np.diff(forward.indptr) > 0
        places[is_placed] = forward.indices[forward.indptr[:-1][is_placed]]
        model.links, model.thresholds = self.links.copy(), self.thresholds.copy()
        model.links[:, 0] = places[self.links[:, 0]]
        is_gone = model.links[:, 0] < 0  # rows have 0 there
        model.links[is_gone, 0] = 0
        goes_left = self.thresholds[is_gone] >= 0.0
        model.thresholds[is_gone] = np.where(goes_left, np.inf, -np.inf)
        return model

    def _merge_memories(self, shards, scales):
        most = max(shards.members, key=lambda model: model.n_grown)
        vars(self).update({name: getattr(most, name) for name in self._replaced})

    def _parameters(self):
        n, n_trees = len(self.links), len(self.roots)
        yield "seed is a number", is_count(self.seed)
        yield "n_grown is a number of rows", is_count(self.n_grown)
        yield from floats("start", self.start, (self.n_outputs,))
        yield "nodes have thresholds", self.thresholds.shape == (n,)
        yield "thresholds are numbers", ~np.isnan(self.thresholds)
        yield from floats("values", self.values, (n, self.n_outputs))
        yield "links have three columns", self.links.shape == (n, 3)
        for name in "roots", "depths", "links":
            array = getattr(self, name)
            yield f"{name} are of int32", array.dtype == np.int32
            yield f"{name} are not negative", array >= 0
        yield "stages are whole", n_trees % N_TREES == 0
        yield "trees have depths", self.depths.shape == self.roots.shape == (n_trees,)
        yield "depths are less than numbers of nodes", self.depths < max(n, 1)
        yield "roots are nodes", self.roots < n
        yield "splits are of features", self.links[:, 0] < self.n_features
        yield "children are nodes", self.links[:, 1:] < n


def _grow_tree(Z, steps, weights, n_tried, seed):
    """Return a tree of scikit-learn, and what it predicts for the rows."""
    tree = ExtraTreeRegressor(
        min_samples_leaf=max(MIN_LEAF, len(Z) // MAX_LEAVES),
        max_features=n_tried,
        random_state=seed,
    )
    tree = tree.fit(Z, steps, weights, check_input=False).tree_
    return tree, tree.predict(Z)


class _Grid:
    """Values of a feature as trees see them: by rank and by size, half and half.

    Trees draw thresholds at random between the least and the largest. Neither units nor
    a few large values change what they draw from.
    """

    def __init__(self, x, places):
        """Fill the places of values among all."""
        self._values, ranks = np.unique(x, return_inverse=True)
        half = 0.5 * self._values
        sizes = (half - half[0]) / max(half[-1] - half[0], np.finfo(float).tiny)
        by_rank = np.arange(half.size) / max(half.size - 1, 1)
        self._grid = (sizes + by_rank).astype(np.float32)
        places[:] = self._grid[ranks]

    def values_at(self, places):
        """Return the values at places, between those of neighbouring values."""
        k = np.searchsorted(self._grid, places, "right") - 1
        start, stop = self._grid[k].astype(np.float64), self._grid[k + 1]
        share = (places - start) / (stop - start)
        least, above = self._values[k], self._values[k + 1]
        values = (1.0 - share) * least + share * above
        return np.clip(values, least, np.nextafter(above, least))  # rounded, too

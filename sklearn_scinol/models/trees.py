"""Trees of a forest, in arrays that grow."""

from copy import copy

import numpy as np

from .._invariants import floats, is_count
from .._state import NeedsRoom, RecordsChanges, as_writable
from ..blocks import Tree, TreeLog, TreeRoom
from ..learners.mondrian_tree import (
    BOXES,
    FEATURE,
    IS_BROKEN,
    IS_FULL,
    LEFT,
    MAX_ODDS,
    MAX_SPLITS,
    NODES,
    PARENT,
    RIGHT,
    ROWS,
    SAVED,
    SIZE,
    THRESHOLD,
    TIME,
    WEIGHT,
    unmark_saved,
)

# Number of slots of a tree at first, and the factor by which it grows.
MIN_SLOTS, GROWTH = 2 * MAX_SPLITS, 4


class Forest(RecordsChanges):
    """Trees of a forest, in arrays that grow.

    A node takes 16 bytes for each feature, and in classification 52 and 8 for each
    class, in regression 44 and 16 for each target. When a tree needs more slots, their
    number grows by a factor of four. Operating systems provide memory for a slot when
    it is first used.

    Parameters
    ----------
    n_features, n_columns : int
        Numbers of features, and of classes or targets.
    n_classes : int
        Number of classes; 0 in regression.
    seeds : ndarray of uint64 of shape (n_trees, 1)
        First states of the generators of random numbers.
    max_nodes : int
        Maximum number of nodes of a tree.

    Attributes
    ----------
    boxes, numbers, odds, sums, links, place, state : ndarray
        Of all trees, see :class:`Tree`. Without slots before the first row.
    """

    _BY_NODE = "numbers", "odds", "sums", "links", "boxes"

    _replaced = "_logs", "seeds"
    _undone = *_BY_NODE, "place", "state"

    #: Rows may need any number of slots: :func:`_check_room` finds out.
    n_free = np.inf

    def __init__(self, n_features, n_columns, n_classes, seeds, max_nodes):
        super().__init__()
        self.n_classes, self.seeds, self.max_nodes = n_classes, seeds, max_nodes
        n_trees = len(seeds)
        self.boxes = np.zeros((n_trees, 0, 2, n_features))
        self.numbers = np.zeros((n_trees, 0, 3))
        self.odds = np.zeros((n_trees, 0, 1 if n_classes else n_columns))
        self.sums = np.zeros((n_trees, 0, n_columns))
        self.links = np.zeros((n_trees, 0, 5), np.int32)
        self.place = np.zeros((n_trees, 3), np.int64)
        self.state = seeds.copy()

    @property
    def sizes(self):
        """Number of nodes of each tree."""
        return self.place[:, SIZE]

    @property
    def n_slots(self):
        """Number of nodes that each tree has room for."""
        return self.links.shape[1]

    def learn(self, engine, nodes, rows, targets, weights, deviations):
        """Predict rows in order, each before it is learned.

        Returns
        -------
        out : ndarray of shape (n, n_classes or n_targets)
            Probabilities, or targets.
        """
        n, n_columns = len(targets), self.sums.shape[2]
        if not self.n_slots:
            if not weights.given.any():
                prior = 1.0 / self.n_classes if self.n_classes else 0.0
                return np.full((n, n_columns), prior)
            self._plant()
        n_features, n_odds = self.boxes.shape[3], self.odds.shape[2]
        out = np.empty((n, n_columns))
        room = TreeRoom(*np.empty((3, n_features)), np.empty(n), np.empty(n_odds))
        block = rows, targets, weights, deviations
        if hasattr(engine, "calls"):  # which are recorded
            log = self._room_for_log(True)
            engine.run(self._begin, log)
            engine.learn_forest(nodes, self._trees(), *block, room, log, out, 0)
            engine.run(self._end, log)
            engine.run(_check_room, log)
            return out
        start, stop = 0, len(self.links) * n
        while True:
            log = self._room_for_log(weights.given.any() and self._is_recorded)
            arguments = *block, room, log, out, start
            self._begin(log)
            start = engine.learn_forest(nodes, self._trees(), *arguments)
            self._end(log)
            if start == stop:
                return out
            self._grow(GROWTH * self.n_slots)

    def _trees(self):
        """Return the state in the form that engines take.

        Arrays that are mapped from disk are copied, for predictions.
        """
        arrays = [getattr(self, name) for name in Tree._fields[:-1]]
        if not self.links.flags.writeable:
            arrays = [as_writable(array, "C") for array in arrays]
        return Tree(*arrays, self.max_nodes)

    def _plant(self):
        """Begin each tree with a leaf without rows."""
        self._grow(MIN_SLOTS)
        self.numbers[:, 0, TIME] = np.inf
        self.odds[:, 0] = 1.0
        self.links[:, 0, :SAVED] = -1
        self.place = self.place.copy()
        self.place[:, SIZE] = 1

    def _grow(self, n_slots):
        """Add slots to each tree, up to a number."""
        n_slots = max(min(n_slots, self.max_nodes), self.n_slots)
        for name in self._BY_NODE:
            array = getattr(self, name)
            n_trees, n_before, *shape = array.shape
            more = np.zeros((n_trees, n_slots, *shape), array.dtype)
            more[:, :n_before] = array
            setattr(self, name, more)

    def forget(self, features):
        """Set all values of features so far to 0.

        All arrays are new then, and checkpoints need not know what will change in them.
        """
        self._logs = []
        for name in self._BY_NODE:
            setattr(self, name, getattr(self, name).copy())
        self.boxes[..., features] = 0.0
        self.numbers[np.isin(self.links[..., FEATURE], features), THRESHOLD] = 0.0

    def _room_for_log(self, is_needed):
        """Return arrays for engines to save all nodes in; few may be used."""
        counts = np.array([0, 0, is_needed, 0, 0], np.int64)
        n = self.links.shape[0] * self.n_slots if is_needed else 0
        nodes, of_boxes = np.empty((2, n, 2), np.int32)
        arrays = [getattr(self, name) for name in self._BY_NODE]
        saved = [np.empty((n, *each.shape[2:]), each.dtype) for each in arrays]
        return TreeLog(counts, nodes, *saved[:-1], of_boxes, saved[-1])

    def _begin(self, log):
        """Tell all checkpoints that an engine is about to fill a log."""
        of_checkpoints = [each for ref in self._logs if (each := ref()) is not None]
        for each in of_checkpoints:
            self._keep(each)
        log.counts[NODES] = log.counts[BOXES] = 0
        log.counts[IS_BROKEN] = log.counts[IS_FULL] = 0
        for each in of_checkpoints:
            each.pending = log

    def _end(self, log):
        """Refuse trees that are none."""
        if log.counts[IS_BROKEN]:
            raise RuntimeError(
                "The forest is damaged: links between its nodes make no tree. Load it "
                "again, or fit it."
            )

    def _keep(self, log):
        """Copy what an engine has saved for a checkpoint: its next call saves more."""
        if (saved := log.pending) is None:
            return
        n, n_boxes, *_ = saved.counts
        places, of_boxes = saved.nodes[:n].T.copy(), saved.of_boxes[:n_boxes].T.copy()
        saved.links[:n, SAVED] = 0
        kept = [
            (name, tuple(places), getattr(saved, name)[:n].copy())
            for name in self._BY_NODE[:-1]
        ]
        kept.append(("boxes", tuple(of_boxes), saved.boxes[:n_boxes].copy()))
        log.append(kept)
        log.pending = None

    def _undo(self, X):
        before, place, state = vars(self).copy(), self.place.copy(), self.state.copy()
        log = self._new_log()

        def restore():
            if log.pending is not None:
                unmark_saved(self, log.pending)  # perhaps the engine was interrupted
                self._keep(log)
            vars(self).update(before)  # arrays are replaced where they grow
            for kept in reversed(log):
                for name, (trees, slots), values in kept:
                    there = slots < place[trees, SIZE]  # others are new
                    before[name][trees[there], slots[there]] = values[there]
            self.place[:], self.state[:] = place, state
            is_free = np.arange(self.n_slots) >= place[:, SIZE, np.newaxis]
            for name in self._BY_NODE:
                before[name][is_free] = 0

        return restore

    def add_classes(self, is_new):
        """Add columns for new classes."""
        if is_new.size > self.n_classes:
            sums = np.zeros((*self.sums.shape[:2], is_new.size))
            known = np.flatnonzero(~is_new)
            sums[..., known] = self.sums[..., : known.size]
            self.sums, self.n_classes = sums, is_new.size

    # Merging.

    def fresh(self):
        """Return trees of these sizes and seeds, before the first row."""
        sizes = self.boxes.shape[3], self.sums.shape[2], self.n_classes
        return Forest(*sizes, self.seeds, self.max_nodes)

    def with_columns(self, placement):
        """Return a copy for rows with other columns; see :class:`Placement`."""
        other = copy(self)
        shape = *self.boxes.shape[:3], placement.n_columns
        boxes = self.boxes.reshape(-1, self.boxes.shape[3])
        other.boxes = np.ascontiguousarray(placement.rows(boxes)).reshape(shape)
        columns = placement.forward.tocoo()
        places = np.zeros(self.boxes.shape[3], np.int32)
        places[columns.col] = columns.row
        other.links = self.links.copy()
        is_split = self.links[..., FEATURE] >= 0
        other.links[is_split, FEATURE] = places[self.links[is_split, FEATURE]]
        return other

    @classmethod
    def merged(cls, shards, scales):
        """Put the trees of several forests together.

        Rows of a common start are in the trees of each.
        """
        merged = shards.start.fresh()
        members = zip(shards.members, shards.units, scales, strict=True)
        parts = [part._in_units(*factors) for part, *factors in members if part.n_slots]
        if not parts:
            return merged
        n_slots = max(part.n_slots for part in parts)
        for part in parts:
            part._grow(n_slots)
        for name in *cls._BY_NODE, "place", "state", "seeds":
            joined = np.concatenate([getattr(part, name) for part in parts])
            setattr(merged, name, joined)
        return merged

    def _in_units(self, unit, scale):
        """Return a copy in other units of rows and features."""
        part = copy(self)
        part.boxes = self.boxes * scale
        part.numbers, part.sums = self.numbers.copy(), unit * self.sums
        is_split = self.links[..., FEATURE] >= 0
        part.numbers[is_split, THRESHOLD] *= scale[self.links[is_split, FEATURE]]
        part.numbers[..., WEIGHT] *= unit
        return part

    def invariants(self):
        """Yield what holds between two calls."""
        yield "max_nodes is a number of nodes", is_count(self.max_nodes, 1)
        yield "n_classes is a number of classes", is_count(self.n_classes)
        n_trees, n_slots, *_ = self.links.shape
        yield "there are trees", n_trees >= 1
        for name in "seeds", "state":
            array = getattr(self, name)
            yield f"{name} has a number for each tree", array.shape == (n_trees, 1)
            yield f"{name} is of uint64", array.dtype == np.uint64
        yield "links are of int32", self.links.dtype == np.int32
        yield "links have five columns", self.links.shape == (n_trees, n_slots, 5)
        yield "no node is saved", self.links[..., SAVED] == 0
        yield "place has three columns", self.place.shape == (n_trees, 3)
        yield "place is of int64", self.place.dtype == np.int64
        yield "numbers of rows are not negative", self.place[:, ROWS] >= 0
        yield "nodes are in slots", (self.sizes >= 0) & (self.sizes <= n_slots)
        shape = n_trees, n_slots, 2, *self.boxes.shape[3:4]
        yield from floats("boxes", self.boxes, shape)
        for name in "odds", "sums":
            array = getattr(self, name)
            yield from floats(name, array, (n_trees, n_slots, *array.shape[2:3]))
        yield "numbers are of float64", self.numbers.dtype == np.float64
        yield "numbers have three columns", self.numbers.shape == (n_trees, n_slots, 3)
        if not n_slots:
            return
        yield "trees have a root", self.sizes >= 1
        is_node = np.arange(n_slots) < self.sizes[:, np.newaxis]
        low, high = np.moveaxis(self.boxes, 2, 0)
        yield "boxes are not empty", low <= high
        odds = self.odds[is_node]
        yield "odds are positive", (odds >= 1.0 / MAX_ODDS) & (odds <= MAX_ODDS)
        if self.n_classes:
            yield "weights of classes are not negative", self.sums >= 0.0
        for tree in range(n_trees):
            yield from self._invariants_of_links(tree)

    def _invariants_of_links(self, k):
        """Yield that the links make a tree, in which times ascend."""
        root, n, _ = self.place[k]
        links, (time, threshold, weight) = self.links[k, :n], self.numbers[k, :n].T
        yield "thresholds are finite", np.isfinite(threshold)
        yield "weights are finite", np.isfinite(weight)
        yield "weights are positive", weight > 0.0
        nodes = links[:, [LEFT, RIGHT, PARENT]]
        yield "links lead to nodes", (nodes >= -1) & (nodes < n)
        is_leaf = links[:, LEFT] < 0
        yield "nodes have two children or none", is_leaf == (links[:, RIGHT] < 0)
        yield "splits have a feature", (links[:, FEATURE] >= 0) == ~is_leaf
        yield "splits are of features", links[:, FEATURE] < self.boxes.shape[3]
        yield "leaves do not split", np.isinf(time) == is_leaf
        yield "times are not negative", time >= 0.0
        yield "the root is a node", 0 <= root < n
        has_parent = np.arange(n) != root
        yield "nodes but the root have parents", (links[:, PARENT] >= 0) == has_parent
        splits = np.flatnonzero(~is_leaf)
        children = links[splits][:, [LEFT, RIGHT]]
        yield "children differ", children[:, 0] != children[:, 1]
        parents = links[children, PARENT]
        yield "children have their parents", parents == splits[:, np.newaxis]
        yield "nodes are children of their parents", children.size == n - 1
        yield "children split later", time[children] >= time[splits, np.newaxis]


def _check_room(log):
    """Refuse what an engine has learned if it had no room for some rows."""
    if log.counts[IS_FULL]:
        raise NeedsRoom

"""Trees of a forest, in arrays that grow."""

from collections.abc import Callable
from copy import copy

import numpy as np

from .._invariants import floats, is_count, is_number
from .._state import NeedsRoom, RecordsChanges, as_writable, restore_attributes
from ..blocks import ExtraTree, MondrianTree, SplitRoom, TreeLog, TreeRoom
from ..learners import extra_tree, mondrian_tree
from ..learners.extra_tree import (
    FIRST_TRY,
    LAST,
    MAX_ROWS,
    N_THRESHOLDS,
    NEXT_TRY,
    CodeLengthGain,
    VarianceGain,
)
from ..learners.mondrian_tree import MAX_SPLITS, TIME
from ..learners.trees import (
    BOXES,
    FEATURE,
    IS_BROKEN,
    IS_FULL,
    LEFT,
    MIN_SHARE,
    NODES,
    PARENT,
    RIGHT,
    ROOT,
    ROWS,
    SAVED,
    SIZE,
    THRESHOLD,
    WEIGHT,
)
from .recent import RecentRows

#: Maximum number of trees of a merged forest, unless a part of it has more.
MAX_MERGED_TREES = 64

# Number of slots of a tree at first, and the factor by which it grows.
MIN_SLOTS, GROWTH = 2 * MAX_SPLITS, 4


class Forest(RecordsChanges):
    """Trees of a forest, in arrays that grow.

    When a tree needs more slots, their number grows by a factor of four. Operating
    systems provide memory for a slot when it is first used.

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
    numbers, shares, sums, links, place, state : ndarray
        Of all trees, see :class:`MondrianTree`. Without slots before the first row.
    """

    # To be defined by subclasses.

    _tree: type
    _learn_rows: Callable

    #: First number of a leaf without rows, and how many numbers a node has.
    _first_number: float
    _n_numbers = 3

    #: Arrays by nodes of each tree, as :class:`TreeLog` has them.
    _BY_NODE: tuple[str, ...] = ("numbers", "shares", "sums", "links")

    #: Smaller arrays that learning changes in place.
    _SMALL: tuple[str, ...] = ("place", "state")

    _replaced = "_log", "seeds"
    _by_output = ("sums",)
    _undone: tuple[str, ...] = (*_BY_NODE, *_SMALL)

    #: Arrays of all trees that :meth:`merged` joins.
    _JOINED: tuple[str, ...] = (*_BY_NODE, "place", "state", "seeds")

    #: Further arguments of the constructor.
    _options: tuple = ()

    def __init__(self, n_features, n_columns, n_classes, seeds, max_nodes):
        super().__init__()
        self.n_features, self.n_classes = n_features, n_classes
        self.seeds, self.max_nodes = seeds, max_nodes
        n_trees = len(seeds)
        self.numbers = np.zeros((n_trees, 0, self._n_numbers))
        n_shares = 2 if n_classes else 2 * n_columns
        self.shares = np.zeros((n_trees, 0, n_shares))
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

    def learn(self, engine, nodes, rows, targets, weights, *of_kind):
        """Predict rows in order, each before it is learned.

        `of_kind` is what trees of a kind need besides. Returns probabilities, or
        targets.
        """
        n, n_columns = len(targets), self.sums.shape[2]
        if not self.n_slots:
            if not weights.given.any():
                prior = 1.0 / self.n_classes if self.n_classes else 0.0
                return np.full((n, n_columns), prior)
            self._plant()
        self._reserve(int(np.count_nonzero(weights.given)))
        out, room = np.empty((n, n_columns)), self._room(n)
        block = rows, targets, weights, *of_kind, room
        start, is_done = 0, False
        is_replayed = hasattr(engine, "calls")  # which are recorded
        while not is_done:
            may_be_undone = weights.given.any() and self._current_log is not None
            log = self._room_for_log(is_replayed or may_be_undone)
            engine.run(self._begin, log)
            arguments = nodes, self._trees(), *block, log, out, start
            start = engine.run_loop(self._learn_rows, *arguments)
            engine.run(self._end, log)
            is_done = is_replayed or not log.counts[IS_FULL]
            if not is_done:
                self._grow(GROWTH * self.n_slots)
        if is_replayed:
            engine.run(_check_room, log)
        return out

    def _reserve(self, n_rows):
        """Make room for rows that all trees see."""

    def _trees(self):
        """Return the state in the form that engines take.

        Arrays that are mapped from disk are copied, for predictions.
        """
        values = []
        for name in self._tree._fields:
            value = getattr(self, name)
            if isinstance(value, RecentRows):
                value = value.state()
            elif isinstance(value, np.ndarray) and not value.flags.writeable:
                value = as_writable(value, "C")
            values.append(value)
        return self._tree(*values)

    def _plant(self):
        """Begin each tree with a leaf without rows."""
        self._grow(MIN_SLOTS)
        self.numbers[:, 0, 0] = self._first_number
        self.shares[:, 0] = 0.5
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

        All arrays are new then: what changes in them need not be undone.
        """
        self._log = []
        for name in self._BY_NODE:
            setattr(self, name, getattr(self, name).copy())
        self.numbers[np.isin(self.links[..., FEATURE], features), THRESHOLD] = 0.0

    def _room_for_log(self, is_needed):
        """Return arrays for engines to save all nodes in; few may be used."""
        counts = np.array([0, 0, is_needed, 0, 0], np.int64)
        n = self.links.shape[0] * self.n_slots if is_needed else 0
        nodes, of_boxes = np.empty((2, n, 2), np.int32)
        arrays = {name: getattr(self, name) for name in self._BY_NODE}
        saved = {
            name: np.empty((n, *array.shape[2:]), array.dtype)
            for name, array in arrays.items()
        }
        boxes = saved.pop("boxes", np.empty((0, 2, 0)))
        return TreeLog(counts, nodes, **saved, of_boxes=of_boxes, boxes=boxes)

    def _begin(self, log):
        """Keep that an engine is about to fill a log, if changes may be undone."""
        undo_log = self._current_log
        self._keep(undo_log)
        log.counts[NODES] = log.counts[BOXES] = 0
        log.counts[IS_BROKEN] = log.counts[IS_FULL] = 0
        if undo_log is not None:
            undo_log.pending = log

    def _end(self, log):
        """Refuse trees that are none."""
        if log.counts[IS_BROKEN]:
            raise RuntimeError(
                "The forest is damaged: links between its nodes make no tree. Load it "
                "again, or fit it."
            )

    def _keep(self, log):
        """Copy what an engine has saved for a log: its next call saves more."""
        if log is None or (saved := log.pending) is None:
            return
        n, n_boxes, *_ = saved.counts
        saved.links[:n, SAVED] = 0
        kept = []
        for name in self._BY_NODE:
            places, count = saved.nodes, n
            if name == "boxes":
                places, count = saved.of_boxes, n_boxes
            values = getattr(saved, name)[:count].copy()
            kept.append((name, tuple(places[:count].T.copy()), values))
        log.append(kept)
        log.pending = None

    def _undo(self, X):
        self._keep(self._current_log)
        log, start = self._begin_log()
        before, place = vars(self).copy(), self.place.copy()
        small = {name: before[name].copy() for name in self._SMALL}

        def restore():
            self._keep(log)
            restore_attributes(self, before)  # arrays are replaced where they grow
            self.links[..., SAVED] = 0  # perhaps the engine was interrupted
            for kept in reversed(log[start:]):
                for name, (trees, slots), values in kept:
                    there = slots < place[trees, SIZE]  # others are new
                    before[name][trees[there], slots[there]] = values[there]
            for name, values in small.items():
                before[name][:] = values
            is_free = np.arange(self.n_slots) >= place[:, SIZE, np.newaxis]
            for name in self._BY_NODE:
                before[name][is_free] = 0
            del log[start:]

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
        sizes = self.n_features, self.sums.shape[2], self.n_classes
        return type(self)(*sizes, self.seeds, self.max_nodes, *self._options)

    def with_columns(self, placement):
        """Return a copy for rows with other columns; see :class:`Placement`."""
        other = copy(self)
        other.n_features = placement.n_columns
        columns = placement.forward.tocoo()
        places = np.zeros(self.n_features, np.int32)
        places[columns.col] = columns.row
        other.links = self.links.copy()
        is_split = self.links[..., FEATURE] >= 0
        other.links[is_split, FEATURE] = places[self.links[is_split, FEATURE]]
        return other

    @classmethod
    def merged(cls, shards, scales):
        """Put the trees of several forests together, or as many as are kept.

        Those are from all forests in turn. Rows of a common start are in the trees of
        each.
        """
        merged = shards.start.fresh()
        members = zip(shards.members, shards.units, scales, strict=True)
        members = [member for member in members if member[0].n_slots]
        if not members:
            return merged
        n_trees = np.array([len(part.links) for part, *_ in members])
        turns = np.argsort(np.concatenate([*map(np.arange, n_trees)]), kind="stable")
        is_kept = np.zeros(turns.size, dtype=bool)
        is_kept[turns[: max(MAX_MERGED_TREES, n_trees.max())]] = True
        of_parts = np.split(is_kept, np.cumsum(n_trees)[:-1])
        parts = [
            part._with_trees(kept)._in_units(*factors)
            for (part, *factors), kept in zip(members, of_parts, strict=True)
        ]
        n_slots = max(part.n_slots for part in parts)
        for part in parts:
            part._grow(n_slots)
        for name in cls._JOINED:
            joined = np.concatenate([getattr(part, name) for part in parts])
            setattr(merged, name, joined)
        return merged

    def _with_trees(self, kept):
        """Return a copy of some trees."""
        part = copy(self)
        vars(part).update((name, getattr(self, name)[kept]) for name in self._JOINED)
        return part

    def _in_units(self, unit, scale):
        """Return a copy in other units of rows and features."""
        part = copy(self)
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
        yield "n_features is a number of features", is_count(self.n_features, 1)
        for name in "shares", "sums":
            array = getattr(self, name)
            n_columns = max(array.shape[2], 1)
            yield from floats(name, array, (n_trees, n_slots, n_columns))
        yield "numbers are of float64", self.numbers.dtype == np.float64
        shape = n_trees, n_slots, self._n_numbers
        yield "numbers have their columns", self.numbers.shape == shape
        if not n_slots:
            return
        yield "trees have a root", self.sizes >= 1
        is_node = np.arange(n_slots) < self.sizes[:, np.newaxis]
        shares = self.shares[is_node]
        yield "shares are positive", (shares >= MIN_SHARE) & (shares <= 1.0)
        if self.n_classes:
            yield "weights of classes are not negative", self.sums >= 0.0
        for tree in range(n_trees):
            yield from self._invariants_of_links(tree)

    def _invariants_of_links(self, k):
        """Yield that the links make a tree."""
        root, n, _ = self.place[k]
        links, numbers = self.links[k, :n], self.numbers[k, :n].T
        threshold, weight = numbers[THRESHOLD], numbers[WEIGHT]
        yield "thresholds are finite", np.isfinite(threshold)
        yield "weights are finite", np.isfinite(weight)
        yield "weights are positive", weight > 0.0
        nodes = links[:, [LEFT, RIGHT, PARENT]]
        yield "links lead to nodes", (nodes >= -1) & (nodes < n)
        is_leaf = links[:, LEFT] < 0
        yield "nodes have two children or none", is_leaf == (links[:, RIGHT] < 0)
        yield "splits have a feature", (links[:, FEATURE] >= 0) == ~is_leaf
        yield "splits are of features", links[:, FEATURE] < self.n_features
        yield "the root is a node", 0 <= root < n
        has_parent = np.arange(n) != root
        yield "nodes but the root have parents", (links[:, PARENT] >= 0) == has_parent
        splits = np.flatnonzero(~is_leaf)
        children = links[splits][:, [LEFT, RIGHT]]
        yield "children differ", children[:, 0] != children[:, 1]
        parents = links[children, PARENT]
        yield "children have their parents", parents == splits[:, np.newaxis]
        yield "nodes are children of their parents", children.size == n - 1


class MondrianTrees(Forest):
    """Trees of a Mondrian forest.

    A node takes 16 bytes for each feature, and in classification 60 and 8 for each
    class, in regression 44 and 24 for each target.

    Attributes
    ----------
    boxes : ndarray
        See :class:`MondrianTree`.
    """

    _tree, _learn_rows = MondrianTree, staticmethod(mondrian_tree.learn_rows)
    _first_number = np.inf  # the time of a split
    _BY_NODE = (*Forest._BY_NODE, "boxes")
    _undone = (*Forest._undone, "boxes")
    _JOINED = (*Forest._JOINED, "boxes")

    #: Rows may need any number of slots: :func:`_check_room` finds out.
    n_free = np.inf

    def __init__(self, n_features, n_columns, n_classes, seeds, max_nodes):
        super().__init__(n_features, n_columns, n_classes, seeds, max_nodes)
        self.boxes = np.zeros((len(seeds), 0, 2, n_features))

    def _room(self, n):
        """Return memory for a number of rows."""
        n_columns, n_outputs = self.sums.shape[2], self.shares.shape[2] // 2
        of_features = np.empty((3, self.n_features))
        memory = (np.empty(size) for size in (n, n_columns, n_outputs))
        return TreeRoom(*of_features, *memory)

    def forget(self, features):
        super().forget(features)
        self.boxes[..., features] = 0.0

    def with_columns(self, placement):
        other = super().with_columns(placement)
        boxes = self.boxes.reshape(-1, self.n_features)
        shape = *self.boxes.shape[:3], placement.n_columns
        other.boxes = np.ascontiguousarray(placement.rows(boxes)).reshape(shape)
        return other

    def _in_units(self, unit, scale):
        part = super()._in_units(unit, scale)
        part.boxes = self.boxes * scale
        return part

    def invariants(self):
        yield from super().invariants()
        n_trees, n_slots, *_ = self.links.shape
        shape = n_trees, n_slots, 2, self.n_features
        yield from floats("boxes", self.boxes, shape)
        is_node = np.arange(n_slots) < self.sizes[:, np.newaxis]
        low, high = np.moveaxis(self.boxes, 2, 0)
        yield "boxes are not empty", low <= high
        times, links = self.numbers[is_node, TIME], self.links[is_node]
        yield "leaves do not split", np.isinf(times) == (links[:, LEFT] < 0)
        yield "times are not negative", times >= 0.0
        for k in range(n_trees):
            of_tree = self.numbers[k, : self.sizes[k], TIME]
            links = self.links[k, : self.sizes[k]]
            splits = np.flatnonzero(links[:, LEFT] >= 0)
            children = links[splits][:, [LEFT, RIGHT]]
            yield "children split later", of_tree[children] >= of_tree[splits, None]


class ExtraTrees(Forest):
    """Extra trees, which share the last rows of the stream.

    A node takes 68 bytes and in classification 8 for each class, in regression 52 and
    24 for each target; a row of the window 8 for each feature, and 4 for each tree.

    Parameters
    ----------
    penalty : float
        See :class:`CodeLengthGain`.
    window : int
        Number of rows to store.

    Attributes
    ----------
    recent : RecentRows
        The last rows.
    gaps, errors : ndarray
        See :class:`ExtraTree`.
    """

    _tree, _learn_rows = ExtraTree, staticmethod(extra_tree.learn_rows)
    _first_number, _n_numbers = FIRST_TRY, 4
    _SMALL = (*Forest._SMALL, "gaps", "errors")
    _undone = (*Forest._BY_NODE, *_SMALL)
    _JOINED = (*Forest._JOINED, "errors")

    def __init__(
        self, n_features, n_columns, n_classes, seeds, max_nodes, penalty, window
    ):
        super().__init__(n_features, n_columns, n_classes, seeds, max_nodes)
        self.penalty, n_targets = penalty, 1 if n_classes else n_columns
        sizes = n_features, n_targets, window, n_classes
        self.recent = RecentRows(*sizes, dtype=np.float64)
        self.gaps = np.zeros((len(seeds), 0), np.int32)
        n_errors = 0 if n_classes else n_columns
        self.errors = np.zeros((len(seeds), 1 + n_errors))

    @property
    def _options(self):
        return self.penalty, self.recent.window

    @property
    def rule(self):
        """How leaves choose splits."""
        return (CodeLengthGain if self.n_classes else VarianceGain)(self.penalty)

    def learn(self, engine, nodes, rows, targets, weights):
        return super().learn(engine, nodes, rows, targets, weights, self.rule)

    def _reserve(self, n_rows):
        self.recent._reserve(n_rows)
        n_more = len(self.recent.weights) - self.gaps.shape[1]
        if n_more > 0:
            more = np.zeros((len(self.gaps), n_more), np.int32)
            self.gaps = np.concatenate([self.gaps, more], axis=1)

    @property
    def n_free(self):
        """Number of rows that there is room for."""
        return self.recent.n_free

    def _room(self, n):
        n_columns, n_outputs = self.sums.shape[2], self.errors.shape[1] - 1
        n_groups = max(MAX_ROWS, n_outputs)
        return SplitRoom(
            np.empty(self.shares.shape[2] // 2),
            np.empty(n_columns),
            np.empty(len(self.links), np.int64),
            np.empty(n_outputs),
            np.arange(self.n_features),
            np.empty(self.n_features, np.int64),
            np.empty(MAX_ROWS, np.int64),
            np.empty(1, np.int64),
            np.empty(MAX_ROWS),
            np.empty(n_groups),
            np.empty((n_groups, MAX_ROWS)),
            np.empty(MAX_ROWS),
            np.empty(N_THRESHOLDS),
            np.empty(n_groups),
            code_lengths(max(self.n_classes, 1)),
        )

    def _find_rows(self):
        """Find the rows of all leaves in the window; return last rows and gaps."""
        count, window = int(self.recent.n_rows[0]), self.recent.window
        rows = np.arange(max(count - window, 0), count)
        slots = rows % window
        X, last = self.recent.at(slots), np.zeros(self.links.shape[:2])
        gaps = np.zeros_like(self.gaps)
        for k, (links, numbers) in enumerate(
            zip(self.links, self.numbers, strict=True)
        ):
            nodes = np.full(rows.size, self.place[k, ROOT])
            for _ in links:  # a way through a damaged tree may have no end
                inner = np.flatnonzero(links[nodes, LEFT] >= 0)
                if not inner.size:
                    break
                of_inner = nodes[inner]
                x = X[inner, links[of_inner, FEATURE]]
                is_right = x > numbers[of_inner, THRESHOLD]
                nodes[inner] = links[of_inner, LEFT + is_right]
            order = np.argsort(nodes, kind="stable")
            in_order = rows[order] + 1
            is_first = np.diff(nodes[order], prepend=-1) > 0
            gaps[k, slots[order]] = np.where(
                is_first, window, np.diff(in_order, prepend=0)
            )
            np.maximum.at(last[k], nodes, rows + 1.0)
        return last, gaps

    def _renew_rows(self):
        """Find the rows of all leaves in the window anew."""
        self.numbers = self.numbers.copy()
        self.numbers[..., LAST], self.gaps = self._find_rows()

    def forget(self, features):
        super().forget(features)
        self.recent.rows = self.recent.rows.copy()
        self.recent.rows[:, features] = 0.0
        self._renew_rows()

    def with_columns(self, placement):
        other = super().with_columns(placement)
        other.recent = self.recent.with_columns(placement)
        return other

    def _in_units(self, unit, scale):
        part = super()._in_units(unit, scale)
        part.numbers[..., NEXT_TRY] *= unit
        part.errors = unit * self.errors
        return part

    @classmethod
    def merged(cls, shards, scales):
        merged = super().merged(shards, scales)
        recents = shards.map(lambda each: each.recent)
        merged.recent = RecentRows.merged(recents, scales)
        if merged.n_slots:
            merged.gaps = np.zeros((len(merged.links), 0), np.int32)
            merged._reserve(0)
            merged._renew_rows()
        return merged

    def add_classes(self, is_new):
        super().add_classes(is_new)
        self.recent.add_classes(is_new)

    def invariants(self):
        yield from super().invariants()
        yield "penalty is a number", is_number(self.penalty, float)
        n_trees, n_outputs = len(self.links), self.errors.shape[1] - 1
        yield from floats("errors", self.errors, (n_trees, 1 + n_outputs))
        yield "errors are not negative", self.errors >= 0.0
        yield "gaps are of int32", self.gaps.dtype == np.int32
        shape = n_trees, len(self.recent.weights)
        yield "rows of the window have gaps", self.gaps.shape == shape
        numbers = self.numbers[..., NEXT_TRY]
        yield "leaves try to split at positive weights", numbers >= 0.0
        has_classes = self.recent.n_classes == self.n_classes
        yield "rows of the window have the classes", has_classes
        yield from self.recent.invariants()
        yield from self._invariants_of_rows()

    def _invariants_of_rows(self):
        """Yield that leaves lead to their rows in the window, and to no others."""
        count, window = int(self.recent.n_rows[0]), self.recent.window
        last, gaps = self._find_rows()
        is_leaf = self.links[..., LEFT] < 0
        given = self.numbers[..., LAST]
        yield "numbers of rows are not negative", given >= 0.0
        given = np.where(is_leaf & (given > count - window), given, 0.0)
        yield "leaves know their last rows", given == last
        rows = np.arange(max(count - window, 0), count)
        given, gaps = (each[:, rows % window] for each in (self.gaps, gaps))
        is_end = rows + 1 - given <= max(count - window, 0)
        yield "gaps are positive", given > 0
        yield "rows are in their leaves", np.where(is_end, window, given) == gaps


def code_lengths(n_classes):
    """Return sums of logarithms by counts of a class, and by counts of all rows."""
    counts = np.arange(MAX_ROWS)
    steps = np.log([counts + 0.5, counts + 0.5 * n_classes])
    return np.hstack([np.zeros((2, 1)), np.cumsum(steps, axis=1)])


def _check_room(log):
    """Refuse what an engine has learned if it had no room for some rows."""
    if log.counts[IS_FULL]:
        raise NeedsRoom

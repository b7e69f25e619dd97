"""The dense view of a table: numbers, parts of dates, and means of targets."""

from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import unique_labels

from .._invariants import floats, is_number
from .._state import Part
from ..transforms.placement import Moves
from ..transforms.target_means import TargetMeans
from .column_group import keys_of_values
from .columns import GROUPS
from .frames import check_not_missing
from .strings import offsets_of, unique

#: Maximum number of classes, or of outputs, whose means there are.
MAX_TARGETS = 8

#: Number of rows that the mean of all targets counts for, in the mean of a category.
SMOOTH = 20.0

# Number of such rows in the mean of a word: fewer, since a text has many words.
SMOOTH_WORDS = 2.0

# Larger numbers count as this one in the means that stand for missing numbers.
MAX_IN_MEANS = 1e290

# Shares nearer to 0 and 1 count as these in the evidence of texts.
MIN_SHARE = 1e-6


class Targets(NamedTuple):
    """Labels or targets of rows, for means of them."""

    y: Any
    classes: Any = None  # None for numbers, or labels not known beforehand
    sample_weight: Any = None
    are_labels: bool | None = None  # as the classes and the type of y tell

    def validated(self, n_rows):
        """Return targets as arrays of this number of rows."""
        check_not_missing(self.y)
        y, c = np.asarray(self.y), self.sample_weight
        are_labels = self.are_labels
        if are_labels is None:
            are_labels = self.classes is not None or y.dtype.kind not in "fiu"
        if not are_labels:
            y = _as_numbers(y, "y")
        elif y.ndim != 1:
            y = column_or_1d(y)
        c = None if c is None else _as_numbers(c, "sample_weight")
        if c is not None and len(c) == 1:  # a scalar is the weight of each row
            c = np.repeat(c, n_rows)
        if len(y) != n_rows or (c is not None and len(c) != n_rows):
            check_consistent_length(np.empty(n_rows), y, c)
        return Targets(y, self.classes, c, are_labels)

    def part(self, rows):
        """Return the targets of some rows."""
        c = self.sample_weight
        c = None if c is None else c[rows]
        return self._replace(y=self.y[rows], sample_weight=c)

    def columns(self):
        """Return the labels of columns for means, and the number of columns."""
        if not self.are_labels:
            return None, min(self.y[:1].size, MAX_TARGETS)
        classes = self.classes
        if classes is None and self.y.dtype.kind == "b":
            classes = False, True
        if classes is None:
            return [], MAX_TARGETS
        labels = unique_labels(classes)[1:][:MAX_TARGETS].tolist()
        return labels, max(len(labels), 1)

    def as_numbers(self, n, labels, n_targets):
        """Return labels, targets of `n` rows as numbers, and the weights of rows.

        Labels become shares of `labels`, to which new ones are added while there are
        fewer than `n_targets`; None stands for targets that are numbers.
        """
        y, c = self.y, self.sample_weight
        c = np.ones(n) if c is None else c
        if labels is None:
            y = _as_numbers(y, "y") if self.are_labels else y
            y = y.reshape(n, -1)
            if n_targets and min(y.shape[1], MAX_TARGETS) != n_targets:
                raise ValueError(
                    f"The number of outputs of y is {y.shape[1]}, but means of "
                    f"{n_targets} are learned."
                )
            return None, np.ascontiguousarray(y[:, :n_targets]), c
        if y.ndim != 1:
            y = column_or_1d(y)
        if len(labels) < n_targets:
            new = [each for each in dict.fromkeys(y.tolist()) if each not in labels]
            labels = [*labels, *new][:n_targets]
        shares = np.zeros((n, n_targets))
        for k, label in enumerate(labels):
            shares[:, k] = y == label
        return labels, shares, c


def names_of_targets(labels, n_targets):
    """Return ends of names for columns of each target: of a single one it is empty."""
    if n_targets == 1:
        return [""]
    labels = [*(labels or ())]
    labels += range(len(labels), n_targets)
    return [f"_{label}" for label in labels]


class PlacedKeys(NamedTuple):
    """Keys of rows, and their places among the means."""

    rows: np.ndarray  # the row of each key
    sizes: list[int]  # how many keys all rows have, and how many each text
    order: Any  # the keys, row by row
    places: np.ndarray
    indptr: np.ndarray  # where the keys of each row begin, in this order
    smooth: np.ndarray

    def encode(self, engine, means, targets=()):
        """Return means of keys before each row, and of all; learn targets if given."""
        places, smooth = self.places[self.order], self.smooth[self.order]
        of_keys, of_all = means.encode(engine, places, self.indptr, smooth, *targets)
        return self._in_given_order(of_keys), of_all

    def follow(self, engine, means, late):
        """Return means before each row, while targets of others come in between."""
        is_label = late.is_label
        sizes, both = np.empty(len(is_label), np.int64), (self, late.keys)
        for mask, each in zip((~is_label, is_label), both, strict=True):
            sizes[mask] = np.diff(each.indptr)
        indptr = offsets_of(sizes)
        of_label = np.repeat(is_label, sizes)
        places = np.empty(len(of_label), np.int32)
        smooth = np.empty(len(of_label))
        for mask, each in zip((~of_label, of_label), both, strict=True):
            places[mask] = each.places[each.order]
            smooth[mask] = each.smooth[each.order]
        y = np.zeros((len(is_label), late.y.shape[1]))
        c = np.zeros(len(is_label))
        y[is_label], c[is_label] = late.y, late.sample_weight
        of_keys, of_all = means.encode(engine, places, indptr, smooth, y, c)
        return self._in_given_order(of_keys[~of_label]), of_all[~is_label]

    def _in_given_order(self, in_order):
        of_keys = np.empty_like(in_order)
        of_keys[self.order] = in_order
        return of_keys


class LateTargets(NamedTuple):
    """Targets of rows that came before, which come while other rows come."""

    keys: PlacedKeys
    y: np.ndarray
    sample_weight: np.ndarray
    is_label: np.ndarray | None  # whether the next of them comes, or the next row


def _as_numbers(values, name):
    """Return finite numbers as float64; scikit-learn raises an error for others."""
    values = np.asarray(values)
    if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        values = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    return values.astype(np.float64, copy=False)


class DenseView(Part):
    """Dense rows of a table, with running means of the target: see `TableEncoder`.

    Parameters
    ----------
    kinds : dict
        Kinds of the columns of the table by name; None for those not known yet, which
        have room for any kind.
    interactions : list of tuple of str
        Columns of which the combined values are a category.
    labels : list or None
        Labels of classes whose shares are the targets; None for numbers.
    n_targets : int
        Number of targets: with fewer labels, new ones are added as they come.
    n_places : int
        Number of places for keys, see :class:`TargetMeans`.
    smooth : float, default=20.0
        Number of rows that the mean of all targets counts for, in that of a category.

    Attributes
    ----------
    n_columns : int
    filled : ndarray of shape (2, n_columns)
        Sums and counts of numbers, for means.
    begun : list of str
        Late columns that had a value; before, their columns are 0.
    """

    def __init__(self, kinds, interactions, labels, n_targets, n_places, smooth=SMOOTH):
        self.kinds, self.interactions = kinds, interactions
        self.smooth = float(smooth)
        self.labels = labels
        self.begun = []
        n_labels = n_targets + 1
        start = (0.0, 0.0) if labels is None else (1.0 / n_labels, 1.0)
        self.means = TargetMeans(n_places, n_targets, *start)
        widths = {kind: len(group.dense_parts) for kind, group in GROUPS.items()}
        for kind, group in GROUPS.items():
            widths[kind] += n_targets * group.has_means
            widths[kind] += (n_targets + 1) * group.has_words
        widths[None] = max(widths.values())
        # Late columns come last, but for the number of missing values.
        names = sorted(self.kinds, key=lambda name: self.kinds[name] is None)
        self.first, self.widths, end = {}, {}, 0
        for name in names:
            self.widths[name] = widths[self.kinds[name]]
            self.first[name], end = end, end + self.widths[name]
        self.n_columns = end + n_targets * len(interactions) + 1
        self.filled = np.zeros((2, self.n_columns))

    @property
    def n_targets(self):
        return self.means.sums.shape[1]

    def fresh(self):
        """Return a view of these columns before the first row."""
        n_places = len(self.means.weights)
        labels = self.labels and [*self.labels]
        arguments = self.kinds, self.interactions, labels, self.n_targets, n_places
        return DenseView(*arguments, self.smooth)

    def names(self, groups):
        """Return the names of the columns, by the kinds that are known by now."""
        names = np.array([f"dense_{j}" for j in range(self.n_columns)], object)
        names[-1] = "n_missing"
        own = []
        for group in groups:
            own += [self.first[name] for name in group.names if group.dense_parts]
            for name in group.names:
                of_name = [f"{name}{part}" for part in group.dense_parts]
                if group.has_means:
                    of_name += self._names_of_means(name)
                if group.has_words:
                    of_name += self._names_of_means(name, "evidence")
                    of_name.append(f"{name}_n_words")
                names[self.first[name] : self.first[name] + len(of_name)] = of_name
        pairs = zip(self.interactions, self._first_of_interactions, strict=True)
        for together, first in pairs:
            means = self._names_of_means(" & ".join(together))
            names[first : first + len(means)] = means
        return unique(names, self.kinds, own)

    def _names_of_means(self, name, what="mean"):
        of_targets = names_of_targets(self.labels, self.n_targets)
        return [f"{name}_{what}{of_target}" for of_target in of_targets]

    def encode(self, engine, encoding, stacked, groups, combined, targets, learns):
        """Return the dense rows of columns; learn each after it if `learns`.

        The columns of each group are `stacked`, and `groups` has the same, encoded, and
        `combined` the columns of each of the interactions. The targets are
        :class:`Targets`, :class:`LateTargets` or None.
        """
        n_missing = sum(columns.is_missing.sum(axis=1) for columns in stacked)
        numbers = [np.empty((len(n_missing), 0))]
        for group, encoded in zip(encoding.groups, groups, strict=True):
            if group.dense_parts:
                numbers.append(encoded.get_numbers())
        keys, texts, not_begun = self._keys(
            engine, encoding, stacked, groups, combined, learns
        )
        columns = self.columns(encoding.groups)
        rows = np.hstack(numbers), keys, n_missing, texts, not_begun
        return self.join(engine, columns, rows, targets, learns)

    def learn_targets(self, engine, encoding, rows):
        """Learn the targets of rows that were learned without."""
        late = self.late_targets(engine, encoding, rows, None)
        late.keys.encode(engine, self.means, (late.y, late.sample_weight))

    def late_targets(self, engine, encoding, rows, is_label):
        """Return :class:`LateTargets` of rows that were read from a table."""
        stacked = encoding.stack(rows.columns)
        groups = encoding.encode_groups(engine, stacked, learns=False)
        combined = encoding.combine(engine, groups)
        keys, texts, not_begun = self._keys(
            engine, encoding, stacked, groups, combined, learns=False
        )
        keyed = self.columns(encoding.groups)[1]
        placed = self._place_keys(keyed, keys, texts, not_begun)
        return LateTargets(placed, *self._as_targets(rows.targets, len(keys)), is_label)

    def learn_keys(self, engine, columns, keys, targets):
        """Learn the targets of rows with keys and without texts; see :meth:`join`."""
        y = self._as_targets(targets, len(keys))
        self._place_keys(columns[1], keys, (), {}).encode(engine, self.means, y)

    def _keys(self, engine, encoding, stacked, groups, combined, learns):
        """Return keys, words of texts, and rows before the first value of columns."""
        keys, texts, not_begun = [], [], {}
        for group, encoded, columns in zip(
            encoding.groups, groups, stacked, strict=True
        ):
            if group.has_words:
                texts += encoded.hashed
            for j, name in enumerate(group.names):
                if group.has_means and not group.has_words:
                    keys.append(keys_of_values(engine, name, encoded.get_keys(j).keys))
                if group.is_late and name not in self.begun:
                    is_missing = columns.is_missing[:, j]
                    not_begun[name] = self._begin(name, is_missing, learns)
        keys += [each.keys for each in combined]
        n_rows = len(stacked[0].is_missing)
        keys = np.stack(keys, axis=1) if keys else np.empty((n_rows, 0), np.uint64)
        return keys, texts, not_begun

    def _begin(self, name, is_missing, learns):
        """Return a mask of the rows before the first value of a late column."""
        if not learns:
            return is_missing
        if not is_missing.all():
            self.begun = [*self.begun, name]
        return np.logical_and.accumulate(is_missing)

    def columns(self, groups):
        """Return columns of numbers, and the first ones of means of keys and of texts.

        In the order in which :meth:`join` takes numbers, keys and texts.
        """
        numbers, keyed, texts = [], [], []
        for group in groups:
            n_parts = len(group.dense_parts)
            for name in group.names:
                first = self.first[name]
                numbers += range(first, first + n_parts)
                if group.has_words:
                    texts.append(first)
                elif group.has_means:
                    keyed.append(first + n_parts)
        keyed += self._first_of_interactions
        return numbers, np.array(keyed, np.intp), texts

    def join(self, engine, columns, rows, targets=None, learns=False):
        """Return the dense rows of numbers, keys and texts; see :meth:`encode`.

        The columns are those of :meth:`columns`. The rows are numbers, NaN where
        missing; keys, of shape (n, n_keys); how many values are missing; the words of
        each text, :class:`Hashed`; and masks of the rows before the first value of late
        columns, by name. Targets may be :class:`LateTargets`.
        """
        of_numbers, keyed, of_texts = columns
        numbers, keys, n_missing, texts, not_begun = rows
        n = len(n_missing)
        D = np.zeros((n, self.n_columns))
        D[:, -1] = n_missing
        D[:, of_numbers] = self._fill(numbers, of_numbers, learns)
        placed = self._place_keys(keyed, keys, texts, not_begun)
        if isinstance(targets, LateTargets):
            of_keys, of_all = placed.follow(engine, self.means, targets)
        else:
            y = self._as_targets(targets, n) if learns and targets is not None else ()
            of_keys, of_all = placed.encode(engine, self.means, y)
        keyed = keyed[:, np.newaxis] + np.arange(self.n_targets)
        D[:, keyed.ravel()] = of_keys[: keys.size].reshape(n, keyed.size)
        ends = np.cumsum(placed.sizes)
        for first, start, end in zip(of_texts, ends, ends[1:], strict=False):
            own = slice(start, end)
            self._add_text(D[:, first:], of_keys[own], placed.rows[own], of_all)
        for name, mask in not_begun.items():
            D[np.ix_(mask, self._columns_of(name))] = 0.0
        return D

    def _place_keys(self, keyed, keys, texts, not_begun):
        """Place the keys of all rows, then those of each text."""
        all_keys = np.concatenate([keys.ravel(), *(each.keys for each in texts)])
        sizes = [keys.size, *(len(each.keys) for each in texts)]
        smooth = np.repeat([self.smooth] + [SMOOTH_WORDS] * len(texts), sizes)
        places, order = self.means.places(all_keys), slice(None)
        for name, mask in not_begun.items():
            of_name = np.isin(keyed, self._columns_of(name))
            of_keys = places[: keys.size].reshape(keys.shape)
            of_keys[np.ix_(mask, of_name)] = -1
        n = len(keys)
        rows = np.repeat(np.arange(n), keys.shape[1])
        if texts:
            rows = np.concatenate([rows, *(each.rows for each in texts)])
            order = np.argsort(rows, kind="stable")
        indptr = offsets_of(np.bincount(rows, minlength=n))
        return PlacedKeys(rows, sizes, order, places, indptr, smooth)

    def _columns_of(self, name):
        """Return the columns of a column of the table."""
        return np.arange(self.first[name], self.first[name] + self.widths[name])

    @property
    def _first_of_interactions(self):
        """First columns of interactions, which come before the last column."""
        k, n = self.n_targets, len(self.interactions)
        return [self.n_columns - 1 - k * (n - i) for i in range(n)]

    def _fill(self, X, places, learns):
        """Replace missing numbers by means of those before; learn these if `learns`."""
        given = ~np.isnan(X)
        sums, counts = self.filled[:, places]
        if learns:
            terms = np.where(given, np.clip(X, -MAX_IN_MEANS, MAX_IN_MEANS), 0.0)
            # Not `sum`, whose order depends on the number of rows.
            sums = np.cumsum(np.vstack([sums, terms]), axis=0)[1:]
            counts = np.cumsum(np.vstack([counts, given]), axis=0)[1:]
            self.filled[:, places] = sums[-1], counts[-1]
        return np.where(given, X, sums / np.maximum(counts, 1.0))

    def _add_text(self, D, of_words, rows, of_all):
        """Put what the words of texts say into the first columns of `D`."""
        n, k = of_all.shape
        n_words = np.bincount(rows, minlength=n)
        evidence = self._link(of_words) - self._link(of_all)[rows]
        for j in range(k):
            sums = np.bincount(rows, of_words[:, j], minlength=n)
            mean = sums / np.maximum(n_words, 1)
            D[:, j] = np.where(n_words > 0, mean, of_all[:, j])
            D[:, k + j] = np.bincount(rows, evidence[:, j], minlength=n)
        D[:, 2 * k] = np.log1p(n_words)

    def _link(self, mean):
        """Log odds of shares; other means as they are."""
        if self.labels is None:
            return mean
        share = np.clip(mean, MIN_SHARE, 1.0 - MIN_SHARE)
        return np.log(share / (1.0 - share))

    def _as_targets(self, targets, n):
        """Return targets as numbers, and the weights of rows."""
        self.labels, y, c = targets.as_numbers(n, self.labels, self.n_targets)
        return y, c

    # Merging.

    @classmethod
    def merged(cls, shards):
        """Merge views of several parts of the rows.

        Labels are those of the start, then those that came to each later.
        """
        merged = shards.start.fresh()
        views = merged, *shards
        shapes = {(each.labels is None, each.n_targets) for each in views}
        if merged.labels is not None:
            known = chain.from_iterable(each.labels or () for each in views)
            merged.labels = [*dict.fromkeys(known)]
        if len(shapes) > 1 or len(merged.labels or ()) > merged.n_targets:
            raise ValueError(
                "Models can be merged that know the same classes, or together at most "
                f"{MAX_TARGETS}: pass `classes`, or let all begin as copies of one "
                "that has seen the first rows."
            )

        def means_of(each):
            return each.means.in_order(each._targets_of(merged))

        merged.means = TargetMeans.merged(shards.map(means_of))
        merged.filled = shards.map(lambda each: each.filled).sum()
        begun = [name for each in shards for name in each.begun]
        merged.begun = [*dict.fromkeys(begun)]
        return merged

    def _targets_of(self, merged):
        """Return the number here of each target of a merged view."""
        own, labels = self.labels or [], merged.labels or []
        unused = iter(range(len(own), self.n_targets))
        known = [own.index(x) if x in own else next(unused) for x in labels]
        return np.array([*known, *unused], np.intp)

    def placement(self, groups, merged):
        """Return the :class:`Placement` of columns in a merged view; None if all stay.

        A label that did not come here has a column that was not used.
        """
        moves, sources = Moves(self.n_columns), self._targets_of(merged)
        _, keyed, texts = self.columns(groups)
        of_words = [first + self.n_targets for first in texts]
        for first in [*keyed, *texts, *of_words]:
            moves.add_block(first, sources, np.argsort(sources))
        return moves.placement()

    def invariants(self):
        """Yield what holds between two calls."""
        yield "smooth is positive", is_number(self.smooth, float) and self.smooth > 0
        yield "the number of targets is bounded", self.n_targets <= MAX_TARGETS
        n_labels = 0 if self.labels is None else len(self.labels)
        yield "each label has a target", n_labels <= self.n_targets
        late = [name for name, kind in self.kinds.items() if kind is None]
        yield "columns that begin are late", {*self.begun} <= {*late}
        fresh = self.fresh()
        for name in "first", "widths", "n_columns":
            is_as_new = getattr(self, name) == getattr(fresh, name)
            yield f"{name} follows from the kinds", is_as_new
        if self.labels is None:
            yield "sums of numbers start at 0", self.means.start == 0.0
        yield from floats("filled", self.filled, (2, self.n_columns))

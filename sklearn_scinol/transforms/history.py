r"""History of keys: what a stream has told of a key before a row.

For a row at time :math:`t` whose key was last seen at :math:`t'`: the number of earlier
rows, :math:`t - t'`, and counts with half-lives :math:`h`, which after the row become

.. math::
    c_h \leftarrow 2^{-(t - t') / h} c_h + 1 .

For each value :math:`x`: the last one, and with steps
:math:`a = \max(\alpha, 1 / (n + 1))` after :math:`n` values the running mean and
deviation

.. math::
    \sigma^2 \leftarrow (1 - a) (\sigma^2 + a (x - \mu)^2), \qquad
    \mu \leftarrow \mu + a (x - \mu) ,

the difference :math:`x - \mu`, and its ratio to :math:`\sigma`. For each target, from
labels that have come before the row: the last one, and running means.

Loops run in the same order of the same operations in Python and compiled: engines agree
to the last bit. Deviations are no squares, and exact in units of powers of two.
"""

from functools import partial
from math import factorial
from operator import is_
from weakref import ref

import numpy as np

from .._hashing import free, searched
from .._invariants import floats, is_count, same_structure
from .._portable import difference, exact, larger, smaller
from .._state import Part, RecordsChanges, UndoLog, as_writable, make_writable
from ..blocks import Events, LateEvents, Places, PlacesLog, Times

#: Half-lives of counts in units of time, of which one is a minute where time is a date.
HALF_LIVES = np.array([1.0, 60.0, 1440.0, 10080.0])

#: Minimum steps of running means: of values, and of targets.
VALUE_STEPS = np.array([1 / 4, 1 / 32])
TARGET_STEPS = np.array([1 / 2, 1 / 8, 1 / 64])

#: Maximum of a difference in deviations.
MAX_RATIO = 10.0

#: Larger values, times and targets count as this one.
MAX_VALUE = 1e300

#: Numbers of the history of a key, and of each of its values: the number of values, the
#: last one, means and deviations. Of each target: the last one, and means.
N_EVENT, N_VALUE, N_TARGET = 6, 6, 4

#: Columns for a key, and for each of its values.
N_COUNTS, N_VALUE_COLUMNS = 6, 7

#: Number of gaps between rows whose median is the unit of times that are numbers.
N_GAPS = 100

#: Unit of times that are dates, in seconds.
DATE_UNIT = 60.0

#: Number of places at first.
FIRST_PLACES = 16

# More rows, and places, than there are.
MAX_COUNT = 2**62

# Powers of 1/2, and the series of an exponential.
POWERS = 0.5 ** np.arange(1075)
LOG_2 = np.log(2.0)
SERIES = np.array([1.0 / factorial(i) for i in range(14, -1, -1)])


@exact
def power_of_half(x):
    """Return 2 to the power of -x, for x of at least 0."""
    if not x < 1000.0:
        return 0.0
    whole = int(np.rint(x))
    z, total = (whole - x) * LOG_2, 0.0
    for i in range(SERIES.size):
        total = total * z + SERIES[i]
    return total * POWERS[whole]


@exact
def moved_deviation(deviation, d, step):
    """Return the running deviation with a value that differs by `d` from the mean."""
    d = np.sqrt(step) * np.abs(d)
    largest = larger(deviation, d)
    if largest == 0.0:
        return 0.0
    ratio = smaller(deviation, d) / largest
    return np.sqrt(1.0 - step) * (largest * np.sqrt(1.0 + ratio * ratio))


@exact
def ratio_of(d, deviation):
    """Return a difference in deviations, clipped; of two equal values it is 0."""
    if d == 0.0:
        return 0.0
    return larger(-MAX_RATIO, smaller(d / deviation, MAX_RATIO))


@exact
def clipped_value(x):
    """Return a value that can be added and multiplied without overflow."""
    return larger(-MAX_VALUE, smaller(x, MAX_VALUE))


@exact
def write_events(events, labels, place, events_of, r, out, first):
    """Write what is known of a key before row `r`; nothing without a place.

    Columns of `out` are the `first` one and those that follow.
    """
    is_known = place >= 0
    for i in range(N_COUNTS):
        out[r, first + i] = 0.0
    gap = np.nan
    if is_known:
        gap = events_of.times[r] - events[place, 0]
        out[r, first] = events[place, 1]
        for h in range(HALF_LIVES.size):
            out[r, first + 2 + h] = events[place, 2 + h]
            if gap > 0.0:
                age = gap / events_of.units[r] / HALF_LIVES[h]
                out[r, first + 2 + h] *= power_of_half(age)
    if gap == gap:
        gap = smaller(gap / events_of.scales[r], MAX_VALUE)
    out[r, first + 1] = gap
    own_columns = first + N_COUNTS
    for j in range(events_of.values.shape[1]):
        value, at = own_columns + N_VALUE_COLUMNS * j, N_EVENT + N_VALUE * j
        n = events[place, at] if is_known else 0.0
        out[r, value] = events[place, at + 1] if n > 0.0 else np.nan
        x = clipped_value(events_of.values[r, j])
        is_given = events_of.values[r, j] == events_of.values[r, j]
        for s in range(VALUE_STEPS.size):
            to, own = value + 1 + 3 * s, at + 2 + 2 * s
            for i in range(3):
                out[r, to + i] = np.nan
            if n > 0.0:
                out[r, to] = events[place, own]
                if is_given:
                    d = difference(x, events[place, own])
                    out[r, to + 1] = d
                    if n > 1.0:
                        out[r, to + 2] = ratio_of(d, events[place, own + 1])
    target = own_columns + N_VALUE_COLUMNS * events_of.values.shape[1]
    for k in range(labels.shape[1] - 1):
        has_labels = is_known and labels[place, 0] > 0.0
        out[r, target + k] = labels[place, 1 + k] if has_labels else np.nan


@exact
def add_event(events, place, events_of, r, is_new):
    """Add row `r` to the history of a key."""
    if is_new:
        for i in range(events.shape[1]):
            events[place, i] = 0.0
        events[place, 0] = np.nan
    t = events_of.times[r]
    gap = t - events[place, 0]
    for h in range(HALF_LIVES.size):
        kept = 1.0
        if gap > 0.0:
            kept = power_of_half(gap / events_of.units[r] / HALF_LIVES[h])
        events[place, 2 + h] = kept * events[place, 2 + h] + 1.0
    events[place, 0] = t
    events[place, 1] += 1.0
    for j in range(events_of.values.shape[1]):
        at = N_EVENT + N_VALUE * j
        if events_of.values[r, j] != events_of.values[r, j]:
            continue
        x, n = clipped_value(events_of.values[r, j]), events[place, at]
        for s in range(VALUE_STEPS.size):
            step, own = larger(VALUE_STEPS[s], 1.0 / (n + 1.0)), at + 2 + 2 * s
            d = difference(x, events[place, own])
            deviation = moved_deviation(events[place, own + 1], d, step)
            events[place, own + 1] = deviation
            events[place, own] += step * d
        events[place, at], events[place, at + 1] = n + 1.0, x


@exact
def add_label(labels, place, targets, r):
    """Add the label of row `r` to the history of its key."""
    n = labels[place, 0]
    for k in range(targets.shape[1]):
        at, y = 1 + N_TARGET * k, clipped_value(targets[r, k])
        labels[place, at] = y
        for s in range(TARGET_STEPS.size):
            step = larger(TARGET_STEPS[s], 1.0 / (n + 1.0))
            labels[place, at + 1 + s] += step * (y - labels[place, at + 1 + s])
    labels[place, 0] = n + 1.0


@exact
def save_place(state, place, log):
    """Save a place in the log."""
    i = log.n_saved[0]
    for j in range(state.events.shape[1]):
        log.events[i, j] = state.events[place, j]
    for j in range(state.labels.shape[1]):
        log.labels[i, j] = state.labels[place, j]
    log.keys[i], log.seen[i] = state.keys[place], state.seen[place]
    log.places[i] = place
    log.n_saved[0] = i + 1


@exact
def next_place(state):
    """Return a place for a new key: unused, or the least recently seen; -1 for none."""
    if state.counts[0] < state.keys.size:
        return state.counts[0]
    at = state.n_taken[0]
    while at < state.queue.size and state.seen[state.queue[at]] >= state.n_queued:
        at += 1  # seen since the queue was made
    state.n_taken[0] = at
    return state.queue[at] if at < state.queue.size else -1


@exact
def learn_events(state, rows, late, start, learns, log, out, first):
    """Write what is known of the key of each row; add each after it if `learns`.

    Late labels are added in between, if their keys are known. `n_done` becomes the
    number of events before the row that needs another place, or of all.
    """
    n_seen, n_late = state.counts[1], 0
    for e in range(start):
        n_late += late.is_label[e]
    for e in range(start, late.is_label.size):
        if late.is_label[e]:
            i, n_late = n_late, n_late + 1
            key = late.keys[i]
            place = state.table[searched(state.table, state.keys, key)]
            if place >= 0 and late.has_target[i]:
                if place < log.n_used and state.seen[place] < log.n_rows:
                    save_place(state, place, log)
                add_label(state.labels, place, late.targets, i)
            continue
        r = e - n_late
        key = rows.keys[r]
        place = state.table[searched(state.table, state.keys, key)]
        is_new = place < 0
        write_events(state.events, state.labels, place, rows, r, out, first)
        if not learns:
            continue
        if is_new:
            place = next_place(state)
            if place < 0:
                state.n_done[0] = e
                return
        if place < log.n_used and state.seen[place] < log.n_rows:
            save_place(state, place, log)
        if is_new:
            if place == state.counts[0]:
                state.counts[0] += 1
            else:
                before = searched(state.table, state.keys, state.keys[place])
                free(state.table, state.keys, before)
            state.keys[place] = key
            state.table[searched(state.table, state.keys, key)] = place
            for i in range(state.labels.shape[1]):
                state.labels[place, i] = 0.0
        state.seen[place] = n_seen + r
        add_event(state.events, place, rows, r, is_new)
        if rows.has_target[r]:
            add_label(state.labels, place, rows.targets, r)
    if learns:
        state.counts[1] += rows.keys.size
    state.n_done[0] = late.is_label.size


@exact
def fill_table(state):
    """Enter the keys of all used places into an empty table."""
    for place in range(state.counts[0]):
        at = searched(state.table, state.keys, state.keys[place])
        state.table[at] = place


class KeyHistory(RecordsChanges):
    """History of the keys of a column, each in a place.

    If there is no place for a new key, it gets that of the key seen least recently.

    Parameters
    ----------
    n_places : int
        Maximum number of places.
    n_values, n_targets : int
        Numbers of values and targets of a row.

    Attributes
    ----------
    keys : ndarray of uint64 of shape (n_allocated,)
    seen : ndarray of int64 of shape (n_allocated,)
        Numbers of the last rows of keys.
    events : ndarray of shape (n_allocated, 6 + 6 * n_values)
        Time of the last row, number of rows and decayed counts of each key; number of
        values, last value, means and deviations of each value.
    labels : ndarray of shape (n_allocated, 1 + 4 * n_targets)
        Number of labels of each key; last target and means of each target.
    counts : ndarray of int64 of shape (2,)
        Numbers of places used, and of rows.
    """

    _undone = "keys", "seen", "events", "labels"
    _changed = *_undone, "counts"

    def __init__(self, n_places, n_values, n_targets):
        super().__init__()
        self.n_places, self.counts = n_places, np.zeros(2, np.int64)
        n = min(FIRST_PLACES, n_places)
        self.keys, self.seen = np.zeros(n, np.uint64), np.zeros(n, np.int64)
        self.events = np.zeros((n, N_EVENT + N_VALUE * n_values))
        self.labels = np.zeros((n, 1 + N_TARGET * n_targets))
        self._index = None

    @property
    def n_used(self):
        return int(self.counts[0])

    @property
    def n_values(self):
        return (self.events.shape[1] - N_EVENT) // N_VALUE

    @property
    def n_targets(self):
        return (self.labels.shape[1] - 1) // N_TARGET

    @property
    def n_columns(self):
        """Number of columns that :meth:`encode` returns."""
        return N_COUNTS + N_VALUE_COLUMNS * self.n_values + N_TARGET * self.n_targets

    def encode(self, engine, rows, late, learns, out, first):
        """Write what is known of keys before each row; then add it if `learns`.

        Late labels come meanwhile; of keys without a place they are left out. Columns
        of `out`, from the `first` one, are the number of rows, time since the last,
        decayed counts; for each value the last one, means, differences and ratios; for
        each target the last one and means.
        """
        n, start, state = len(late.is_label), 0, self.state(engine)
        log = self._new_places_log(len(rows.keys), len(late.keys), learns)
        while True:
            arguments = state, rows, late, start, learns, log, out, first
            engine.run_loop(learn_events, *arguments)
            start = int(state.n_done[0])
            if start == n or not learns:  # others may predict meanwhile, and set it
                break
            state = self._make_room(engine, state)
        take_logarithms(out, first)

    def state(self, engine):
        """Return the state for the loops, with the table of keys."""
        arrays = self.keys, self.seen, self.events, self.labels, self.counts
        if self._index is None or not all(map(is_, self._index[0], arrays)):
            table, queue = _empty_table(len(self.keys)), np.empty(0, np.int32)
            # Arrays that are mapped from disk are copied, for predictions.
            *of_places, counts = map(as_writable, arrays)
            numbers = np.zeros((2, 1), np.int64)
            state = Places(*of_places, counts, table, queue, 0, *numbers)
            engine.run_loop(fill_table, state)
            self._index = arrays, state
        return self._index[1]

    def _make_room(self, engine, state):
        """Return the state with more places, or with a queue of keys to be dropped."""
        n = len(state.keys)
        if n == self.n_places:
            queue = np.argsort(state.seen, kind="stable").astype(np.int32)
            state.n_taken[0], n_queued = 0, int(state.seen.max()) + 1
            return self._replace(state, queue=queue, n_queued=n_queued)
        size = min(2 * n, self.n_places)
        for name in self._undone:
            array = getattr(self, name)
            larger = np.zeros((size, *array.shape[1:]), array.dtype)
            larger[:n] = array
            setattr(self, name, larger)
        arrays = {name: getattr(self, name) for name in self._undone}
        state = self._replace(state, **arrays, table=_empty_table(size))
        engine.run_loop(fill_table, state)
        return state

    def _replace(self, state, **changed):
        state = state._replace(**changed)
        self._index = state[:5], state
        return state

    # Undo of what was learned, place by place.

    def _new_places_log(self, n_rows, n_late, learns):
        """Return a log of the places that these rows and late labels may change."""
        is_recorded = learns and self.n_used and self._current_log is not None
        n = min(n_rows, self.n_used) + n_late if is_recorded else 0
        # Without a log no place is saved.
        log = self.places_log(n, self.n_used, int(self.counts[1]) if n else 0)
        if n:
            self._record(log)
        return log

    def places_log(self, n, n_used, n_rows):
        """Return a log for `n` places, of places used by a number of rows before."""
        return PlacesLog(
            np.empty(n, np.int32),
            np.empty(n, np.uint64),
            np.empty(n, np.int64),
            np.empty((n, self.events.shape[1])),
            np.empty((n, self.labels.shape[1])),
            np.zeros(1, np.int64),
            n_used,
            n_rows,
        )

    def _undo(self, X):
        return partial(self.take_back, *self._begin_log())

    def take_back(self, log, start=0):
        """Restore places as a log has saved them from some entry on.

        The counts are those of before.
        """
        self._index = None
        for entry in reversed(log[start:]):
            last = int(entry.n_saved[0])
            # There may have been fewer places; the first copy of each comes last.
            kept = np.flatnonzero(entry.places[:last] < len(self.keys))[::-1]
            for name in self._undone:
                array, saved = getattr(self, name), getattr(entry, name)
                array[entry.places[kept]] = saved[kept]
        for name in self._undone:
            getattr(self, name)[self.n_used :] = 0
        del log[start:]

    def __getstate__(self):
        return super().__getstate__() | {"_index": None}

    def invariants(self):
        """Yield what holds between two calls."""
        yield "n_places is a count", is_count(self.n_places, 1)
        counts = self.counts
        yield from same_structure(counts, np.zeros(2, np.int64), "counts")
        yield "counts are not negative", counts >= 0
        yield "the number of places is bounded", self.n_places <= 2**30
        fresh = KeyHistory(1, 0, 0)
        for name in self._undone:
            array, new = getattr(self, name), getattr(fresh, name)
            empty = np.zeros((0,) * new.ndim, new.dtype)
            yield from same_structure(array, empty, name)
        n = self.keys.size
        yield "places are allocated", min(FIRST_PLACES, self.n_places) <= n
        yield "no more places are allocated than there are", n <= self.n_places
        yield "used places are allocated", self.n_used <= n
        yield "keys have places by rows", counts[0] <= counts[1]
        for name in self._undone:
            yield f"{name} has all places", len(getattr(self, name)) == n
        width = N_EVENT + N_VALUE * self.n_values
        yield "events are of values", self.events.shape[1] == width >= N_EVENT
        width = 1 + N_TARGET * self.n_targets
        yield "labels are of targets", self.labels.shape[1] == width >= 1
        yield "times are not infinite", ~np.isinf(self.events[:, 0])
        yield from floats("events", self.events[:, 1:], self.events[:, 1:].shape)
        yield from floats("labels", self.labels, self.labels.shape)
        yield "counts are not negative", self.events[:, 1:N_EVENT] >= 0.0
        of_values = self.events[:, N_EVENT:].reshape(n, -1, N_VALUE)
        yield "numbers of values are not negative", of_values[:, :, 0] >= 0.0
        yield "deviations are not negative", of_values[:, :, 3::2] >= 0.0
        for name, array in ("events", self.events), ("labels", self.labels):
            in_range = ~(np.abs(array) > 2 * MAX_VALUE)
            yield f"{name} are in their range", in_range
        yield "numbers of labels are not negative", self.labels[:, 0] >= 0.0
        yield "rows have come", (self.seen >= 0) & (self.seen <= counts[1])
        used = self.keys[: self.n_used]
        yield "keys have one place each", len(np.unique(used)) == self.n_used


def _empty_table(n_places):
    """Return a table of slots with twice as many places, of which none is used."""
    return np.full(2 ** int(2 * n_places - 1).bit_length(), -1, np.int32)


@exact
def read_times(clock, seconds, learns, times, units):
    """Write the times of rows that follow each other, and units of time.

    If nothing is learned, each of the rows is the next one.
    """
    numbers, first = clock.numbers, 2  # after the last time and the number of gaps
    for r in range(seconds.size):
        last, n = numbers[0], int(numbers[1])
        t = seconds[r]
        if clock.is_counting:
            t = last + 1.0 if last == last else 0.0
        elif t == t:
            t = clipped_value(t)
        if last == last:
            t = larger(last, t)
        gap = t - last
        times[r], units[r] = t, clock.unit
        if learns:
            numbers[0] = t
        if clock.has_unit:
            continue
        if n > 0:
            units[r] = numbers[first + (n - 1) // 2]  # the lower median
        if n == N_GAPS or not gap > 0.0:
            continue
        # The new gap may be the median, or one of its neighbours.
        place = 0
        while place < n and numbers[first + place] < gap:
            place += 1
        middle = n // 2
        if place == middle:
            units[r] = gap
        else:
            units[r] = numbers[first + middle - (place < middle)]
        if learns:
            for i in range(first + n, first + place, -1):
                numbers[i] = numbers[i - 1]
            numbers[first + place] = gap
            numbers[1] = n + 1.0


class Clock(Part):
    """Time of a stream, which does not go back, and its unit.

    A row whose time is missing, or before the last one, is at the last time. The unit
    of dates is a minute. That of numbers is the median of the first 100 positive gaps
    between rows, of those so far in the first rows. Rows without a time are one unit
    apart.

    Parameters
    ----------
    kind : {"date", "number", "row"}

    Attributes
    ----------
    numbers : ndarray of shape (102,)
        Time of the last row, NaN if it is not known yet; number of the first positive
        gaps; these in order of size, and 0 after them.
    """

    _changed = ("numbers",)

    def __init__(self, kind):
        self.kind = kind
        self.numbers = np.zeros(2 + N_GAPS)
        self.numbers[0] = np.nan

    @property
    def last(self):
        """Time of the last row."""
        return self.numbers[0]

    @property
    def state(self):
        """The state for :func:`read_times`."""
        unit = DATE_UNIT if self.kind == "date" else 1.0
        return Times(self.numbers, unit, self.kind != "number", self.kind == "row")

    def read(self, engine, seconds, learns):
        """Return times of rows that follow each other, units, and scales of gaps.

        If nothing is learned, each of the rows is the next one.
        """
        times, units = np.empty(len(seconds)), np.empty(len(seconds))
        engine.run_loop(read_times, self.state, seconds, learns, times, units)
        return times, units, self.scales(units)

    def scales(self, units):
        """Return what times since the last row are divided by."""
        return units if self.kind == "number" else np.ones(len(units))

    def invariants(self):
        """Yield what holds between two calls."""
        yield "the kind of time is known", self.kind in ("date", "number", "row")
        yield from same_structure(self, Clock(self.kind), "the clock")
        yield "the last time is a number", not abs(self.last) > MAX_VALUE
        n_gaps = self.numbers[1]
        yield "gaps are counted", n_gaps in range(N_GAPS + 1)
        gaps = self.numbers[2 : 2 + int(n_gaps)]
        yield "gaps are positive", (gaps > 0.0) & (gaps < np.inf)
        yield "gaps are in order", np.diff(gaps) >= 0.0


def take_logarithms(Z, first):
    """Replace counts x, in columns from the first one, by the logarithm of 1 + x."""
    counts = Z[:, first : first + N_COUNTS]
    counts[:] = np.log1p(counts.copy())  # contiguous, for equal bits


class HistoryOfRow:
    """Learns one row at a time, in arrays that are reused by calls that are bound once.

    What it knows of the state holds until the state is restored. There is a history of
    each key.

    Attributes
    ----------
    seconds, values, targets, has_target : ndarray
        The time of the row, its values, and its targets if they are known, to be
        written before a call.
    keys : list of ndarray of uint64 of shape (1,)
        Of each history.
    out : ndarray of shape (1, n_columns)
        What is known of the keys before the row.
    """

    def __init__(self, engine, clock, histories, names):
        self.names = names
        self._engine, self._clock, self._histories = engine, clock, histories
        for part in clock, *histories:
            make_writable(part)
        self._of_clock = clock.numbers
        self._states = [each.state(engine) for each in histories]
        n_values, n_targets = 0, 0
        for each in histories:
            n_values, n_targets = each.n_values, each.n_targets
        self.seconds, times, units = np.zeros((3, 1))
        self.keys = [np.zeros(1, np.uint64) for _ in histories]
        self.values, self.targets = np.zeros((1, n_values)), np.zeros((1, n_targets))
        self.has_target = np.zeros(1, bool)
        *starts, n_columns = np.cumsum([0, *(each.n_columns for each in histories)])
        self._starts, self.out = [*map(int, starts)], np.empty((1, n_columns))
        self._logs = [each.places_log(1, MAX_COUNT, MAX_COUNT) for each in histories]
        self._last_logs = ref(UndoLog())  # of the last call, if it may be undone
        rest = units, clock.scales(units), self.values, self.targets, self.has_target
        is_row, is_label = np.zeros(1, bool), np.ones(1, bool)
        of_time = [
            (read_times, clock.state, self.seconds, learns, times, units)
            for learns in (False, True)
        ]
        calls = {False: of_time[:1], True: of_time[1:], "targets": []}
        of_keys = self.keys, self._states, self._logs, self._starts
        for key, state, log, first in zip(*of_keys, strict=True):
            row = Events(key, times, *rest)
            late = LateEvents(key, self.targets, self.has_target, is_label)
            no_row = Events(*(array[:0] for array in row))
            no_late = LateEvents(*(array[:0] for array in late[:3]), is_row)
            for kind, events in (
                (False, (row, no_late, 0, False)),
                (True, (row, no_late, 0, True)),
                ("targets", (no_row, late, 0, True)),
            ):
                given = state, *events, log, self.out, first
                calls[kind].append((learn_events, *given))
        self._calls = {kind: _bound(engine, each) for kind, each in calls.items()}

    def is_current(self, engine):
        """Whether the state still has the arrays of the calls."""
        return (
            engine is self._engine
            and self._clock.numbers is self._of_clock
            and all(
                each.state(engine) is state
                for each, state in zip(self._histories, self._states, strict=True)
            )
        )

    def encode(self, rollbacks=None):
        """Write what is known of the row; then learn it if there are `rollbacks`.

        What restores the state is appended to these before it changes. Return whether
        all histories had room for the row; if not, some have learned it.
        """
        has_room = self._run(rollbacks is not None, rollbacks)
        for first in self._starts:
            take_logarithms(self.out, first)
        return has_room

    def learn_targets(self, rollbacks):
        """Learn the targets of a row that came before."""
        self._run("targets", rollbacks)

    def _run(self, kind, rollbacks):
        if rollbacks is not None:
            rollbacks.append(self._checkpoint())
        for call in self._calls[kind]:
            call()
        return all(state.n_done[0] for state in self._states)

    def _checkpoint(self):
        """Return a function that undoes the next call."""
        if (last := self._last_logs()) is not None:  # which may be undone as well
            last[:] = [PlacesLog(*map(np.copy, log)) for log in self._logs]
        for log in self._logs:
            log.n_saved[0] = 0
        logs = UndoLog(self._logs)
        self._last_logs = ref(logs)
        counts = [state.counts.copy() for state in self._states]
        return partial(self._restore, self._of_clock.copy(), counts, logs)

    def _restore(self, of_clock, counts, logs):
        self._of_clock[:] = of_clock
        of_keys = self._histories, self._states, logs, counts
        for history, state, log, before in zip(*of_keys, strict=True):
            state.counts[:] = before
            history.take_back([log])


def _bound(engine, calls):
    """Return functions that run loops with arguments that are bound once."""
    if engine.Recorder is None:
        return [partial(engine.run_loop, *each) for each in calls]
    recorder = engine.Recorder()
    for each in calls:
        recorder.run_loop(*each)
    return recorder.functions

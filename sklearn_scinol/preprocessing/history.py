"""Transformer that adds to each row what the stream has told of its keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from functools import lru_cache, partial
from importlib import import_module
from math import isfinite, nan
from numbers import Integral
from typing import Any, Literal, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._docstrings import inherit_descriptions
from .._hashing import combine
from .._locks import locks_of
from ..blocks import Events, LateEvents
from ..config import current_engine
from ..tables.column_group import MISSING
from ..tables.dense import MAX_TARGETS, names_of_targets
from ..tables.frames import is_dict_rows, library_of
from ..tables.kinds import (
    as_kind,
    check_order,
    infer_kind,
    kind_of_times,
    parse_date,
    parse_number,
    parse_text,
)
from ..tables.strings import Strings, unique
from ..transforms.history import Clock, HistoryOfRow, KeyHistory
from .tabular import MAX_COLUMNS, RowsOfTable, TableReader

Key: TypeAlias = str | int | Sequence[str | int]

#: Ends of names of the columns of a key; of decayed counts by the kind of time.
COUNTS = "count", "since_last"
HALF_LIVES = {"date": ("1min", "1h", "1d", "1w")}
NUMBERS = "1", "60", "1440", "10080"

#: Ends of names of the columns of a value and of a target.
OF_VALUES = (
    *("last", "mean_4", "difference_4", "ratio_4"),
    *("mean_32", "difference_32", "ratio_32"),
)
OF_TARGETS = "last", "mean_2", "mean_8", "mean_64"

# Length of texts whose hashes are not remembered.
MAX_LENGTH = 100

EPOCH = datetime(1970, 1, 1)

NO_KEYS = np.empty(0, np.uint64)

# By transformers. They are no attributes of these: they are neither copied nor saved.
_ROWS: WeakKeyDictionary = WeakKeyDictionary()


@inherit_descriptions
class OnlineHistory(TableReader):
    """Adds what the stream has told of each row's keys, from the rows before.

    What a stream of events knows of a card, a shop or a machine decides more than the
    learner: how many rows it had, how long ago the last one was, how a value differs
    from those before, and which labels came. This step adds all of it as columns of
    numbers, for a :class:`TableEncoder`, or for any learner if rows are arrays.

    Rows and their labels may come apart: :meth:`observe` learns rows,
    :meth:`learn_labels` the labels of rows that came before, but for those whose key is
    forgotten by now. No row sees itself, its own label or what comes later.

    Parameters
    ----------
    keys : list of str, int or tuple, default=None
        Names of columns whose values are keys, or tuples of names for the combinations
        of their values; numbers of columns if there are no names. A tuple may name the
        "hour", "weekday", "day" or "month" of the time, where that is a date. The empty
        tuple stands for the whole stream. By default the columns of text and categories
        of the first chunk, each alone, and the whole stream.
    time : str or int, default=None
        Column with the time of rows: dates or numbers, as the first chunk tells. By
        default rows are equally far apart.
    values : list of str or int, default=None
        Columns of numbers to keep a history of. By default all with a number in the
        first chunk that are neither keys nor the time.
    target : bool, default=True
        Whether to keep a history of labels or targets.
    n_hashed : int, default=2**18
        Maximum number of different values of a key of which the history is kept. When
        more come, the value seen least recently is forgotten.

    Attributes
    ----------
    keys_ : list of tuple of str
        Names of the columns of each key.
    values_ : list of str
        Names of the columns of numbers with a history.

    See Also
    --------
    TableEncoder : The step that follows in a pipeline.
    OnlineTargetEncoder : Means of all targets of a category so far.

    Notes
    -----
    For a row at time t whose key was last seen at t', the columns are, with names as
    for a key ``card`` and a number ``amount``:

    =================================  ===============================================
    ``card_count``                     ``ln(1 + n)`` for n earlier rows
    ``card_since_last``                ``ln(1 + t - t')``, in seconds
    ``card_count_1min``, ``_1h``,      ``ln(1 + c)`` for a count c whose rows lose half
    ``_1d``, ``_1w``                   of their weight in a minute, hour, day and week
    ``card_amount_last``               the last amount
    ``card_amount_mean_4``, ``_32``    running mean, with steps ``max(1/4, 1/(n + 1))``
                                       after n amounts, or ``1/32``
    ``card_amount_difference_4``,      the amount of the row less that mean
    ``_32``
    ``card_amount_ratio_4``, ``_32``   the difference in running standard deviations,
                                       clipped at ±10
    ``card_target_last``               the last label or target
    ``card_target_mean_2``, ``_8``,    running means of the target, with steps of at
    ``_64``                            least 1/2, 1/8 and 1/64
    =================================  ===============================================

    *Times.* A row whose time is missing, or before that of the last row, counts as at
    that time; equal times are in order of rows. If times are numbers, the unit is the
    median of the first 100 positive gaps between rows (of those so far, in the first
    rows), and half-lives are 1, 60, 1440 and 10080 units: ``card_count_60``. Dates are
    in UTC.

    *Targets.* Of K sorted classes the shares of the 2nd to the 9th are kept, and of
    several outputs the first 8: ``card_target_mean_8_yes``. If classes are not known
    before the first row, shares of the first 8 that come are kept, in columns with
    their numbers, such as ``card_target_mean_8_0``. If the first rows come without
    labels, there are columns for one target. Labels with a weight of 0 are left out.

    *Missing* is what is not known yet: NaN in frames of pandas, null in others, None in
    dicts. In arrays, which learners take as they are, it is 0, and in the first row of
    all, so that all columns hold numbers from the start. A missing key is a key of its
    own.

    *Scales.* If a number is multiplied by a power of two, so are its last values, means
    and differences, to the last bit, and nothing else changes.

    *Memory.* For each key and each of its values so far, up to `n_hashed`:
    ``84 + 48 v + 32 k`` bytes for v numbers and k targets, at most twice as much while
    it grows. Values of keys are told apart by a hash of 64 bits.

    *Merging.* Models with a history cannot be merged: what a key's last row was is
    known to one of them only.

    References
    ----------
    .. [1] M. Datar, A. Gionis, P. Indyk and R. Motwani (2002). "Maintaining stream
       statistics over sliding windows". SIAM Journal on Computing 31(6).

    Examples
    --------
    >>> from sklearn_scinol.preprocessing import OnlineHistory
    >>> rows = [
    ...     {"card": "a", "at": "2026-01-01T10:00", "amount": 20.0},
    ...     {"card": "b", "at": "2026-01-01T10:01", "amount": 70.0},
    ...     {"card": "a", "at": "2026-01-01T10:02", "amount": 30.0},
    ...     {"card": "a", "at": "2026-01-01T10:02", "amount": 500.0},
    ... ]
    >>> history = OnlineHistory(keys=["card"], time="at", target=False)
    >>> seen = history.partial_fit_transform(rows)
    >>> for name in "card_count", "card_amount_last", "card_amount_ratio_4":
    ...     print(name, [each[name] and round(each[name], 2) for each in seen])
    card_count [0.0, 0.0, 0.69, 1.1]
    card_amount_last [0.0, None, 20.0, 30.0]
    card_amount_ratio_4 [0.0, None, None, 10.0]

    In a pipeline, before the encoder:

    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.pipeline import make_online_pipeline
    >>> from sklearn_scinol.preprocessing import TableEncoder
    >>> steps = OnlineHistory(time="at"), TableEncoder(), ScInOLClassifier()
    >>> model = make_online_pipeline(*steps)
    >>> labels = ["fine", "fine", "fine", "stolen"]
    >>> model = model.partial_fit(rows, labels, classes=["fine", "stolen"])
    >>> model.predict([{"card": "a", "at": "2026-01-01T10:03", "amount": 400.0}])
    array(['stolen'], dtype='<U6')
    """

    _changed = "_clock", "_histories"

    _parameter_constraints: dict = {
        **TableReader._parameter_constraints,
        "keys": [list, tuple, None],
        "time": [str, Integral, None],
        "values": [list, tuple, None],
        "target": ["boolean"],
        "n_hashed": [Interval(Integral, 1, 2**30, closed="both")],
    }

    def __init__(
        self,
        keys: Sequence[Key] | None = None,
        time: str | int | None = None,
        *,
        values: Sequence[str | int] | None = None,
        target: bool = True,
        n_hashed: int = 2**18,
        missing_columns: Literal["error", "ignore"] = "error",
        new_columns: Literal["error", "ignore"] = "error",
    ) -> None:
        self.keys = keys
        self.time = time
        self.values = values
        self.target = target
        self.n_hashed = n_hashed
        self.missing_columns = missing_columns
        self.new_columns = new_columns

    def _names_out(self):
        return [*self._known_columns, *self._names()]

    @property
    def _n_features_out(self):
        check_is_fitted(self)
        return self.n_features_in_ + self._n_columns

    @property
    def _n_columns(self):
        """Number of columns that are added."""
        return sum(each.n_columns for each in self._histories)

    # How rows are read.

    _needed_columns = TableReader._known_columns

    def _read(self, X, reset):
        frame, is_dicts = self._open(X), is_dict_rows(X)
        if reset:
            self._set_names(frame)
            self._find_columns(frame)
        elif not (is_dicts and hasattr(self, "feature_names_in_")):
            self._check_names(frame, is_dicts)  # dicts may lack columns, and have more
        n = frame.n_rows

        def read(name, kind):
            return as_kind(frame.column(name), kind, name)

        time_kind = self._find_kind_of_time(frame) if reset else self._clock.kind
        times, dates, time = np.full(n, np.nan), None, self._as_learned("time")
        if time is not None:
            column = read(_name(time), time_kind)
            times = column.values
            if time_kind == "date":
                dates = times
                times = np.where(np.isnat(dates), np.nan, dates.astype(np.int64) / 1e6)
        names = {name for key in self.keys_ for name in key}
        keys = {name: read(name, "category") for name in names if self._is_column(name)}
        values = np.empty((n, len(self.values_)))
        for j, name in enumerate(self.values_):
            values[:, j] = read(name, "number").values
        return HistoryRows(X, n, time_kind, times, dates, keys, values)

    def _ignores(self, name, frame):
        # Columns of arrays, which stay beside those of history, have their places.
        return frame.has_names and super()._ignores(name, frame)

    def _find_columns(self, frame):
        """Find the columns of keys and values in the first rows."""
        time = None if self.time is None else _name(self.time)
        others = [name for name in frame.names if name != time]
        kinds = {}
        if self.keys is None or self.values is None:
            kinds = {name: infer_kind(frame.column(name)) for name in others}
        if self.keys is None:
            strings = [name for name in others if kinds[name] in ("category", "text")]
            keys = [*((name,) for name in strings), ()]
        else:
            keys = [
                tuple(map(_name, key if isinstance(key, list | tuple) else [key]))
                for key in self.keys
            ]
        if self.values is None:
            in_keys = {name for key in keys for name in key}
            values = [
                name
                for name in others
                if kinds[name] == "number" and name not in in_keys
            ]
        else:
            values = [*map(_name, self.values)]
        known = {*frame.names}
        for what, names in (
            ("keys", [name for key in keys for name in key if name not in DATE_PARTS]),
            ("values", values),
        ):
            if unknown := [name for name in names if name not in known]:
                raise ValueError(
                    f"{what} has unknown columns: {unknown} (columns: {frame.names})."
                )
        for what, names in (
            ("keys", keys),
            ("values", values),
            *((f"columns of the key {key}", key) for key in keys),
        ):
            if len({*names}) < len(names):
                raise ValueError(f"{what} must not be repeated, got {names}.")
        self.keys_, self.values_ = keys, values

    def _is_column(self, name):
        """Whether a name in a key is a column, not a part of the date."""
        return name not in DATE_PARTS or name in self._known_columns

    def _find_kind_of_time(self, frame):
        """Return the kind of times; check that it has the parts that keys name."""
        name = None if self.time is None else _name(self.time)
        kind = "row" if name is None else kind_of_times(frame, name)
        if kind is None:
            raise ValueError(
                f"The time column {name!r} has no value in the first rows, which would "
                "tell whether it has dates or numbers."
            )
        names = [name for key in self.keys_ for name in key]
        parts = [name for name in names if not self._is_column(name)]
        if parts and kind != "date":
            raise ValueError(
                f"keys has {parts[0]!r}, which needs a time column of dates, as `time`."
            )
        return kind

    def _start(self, rows):
        self._clock = Clock(getattr(rows, "time_kind", "row"))
        targets = getattr(rows, "targets", None)
        n_targets = int(self.target)
        self._labels, self._knows_targets = None, False
        if self.target and targets is not None:
            self._labels, n_targets = targets.columns()
            self._knows_targets = True
        # Columns keep their names, so that steps that follow know them.
        self._target_names = tuple(names_of_targets(self._labels, n_targets))
        self._histories = [
            KeyHistory(self.n_hashed if key else 1, len(self.values_), n_targets)
            for key in self.keys_
        ]

    # How rows are encoded.

    def _wants_targets(self, last):
        return self.target

    def _encode(self, engine, rows, learns):
        return self._joined(rows, self._history_of(engine, rows, learns))

    def _learn(self, engine, rows):
        self._history_of(engine, rows, True)

    def _history_of(self, engine, rows, learns):
        """Return what is known of the keys of rows, one by one; learn them if asked."""
        if learns:
            unit = 1e6 if self._clock.kind == "date" else None
            check_order(rows.times, self._clock.last, self.time, unit)
        timed = self._clock.read(engine, rows.times, learns)
        late, targets = rows.late, self._targets_of(rows, learns)
        if late:
            late_targets, is_label = self._targets_of(late, learns), rows.is_label
        else:
            late_targets = [each[:0] for each in targets]
            late_keys, is_label = NO_KEYS, np.zeros(rows.n, bool)
        Z, first = np.empty((rows.n, self._n_columns)), 0
        for key, history in zip(self.keys_, self._histories, strict=True):
            events = Events(rows.hashed(engine, key), *timed, rows.values, *targets)
            if late:
                late_keys = late.hashed(engine, key)
            late_events = LateEvents(late_keys, *late_targets, is_label)
            history.encode(engine, events, late_events, learns, Z, first)
            first += history.n_columns
        if learns and rows.n and self.n_samples_seen_ == 0:
            Z[0] = np.nan_to_num(Z[0])
        return Z

    def _learn_targets(self, engine, rows):
        keys = dict.fromkeys(self.keys_, NO_KEYS)
        nothing = None, 0, None, np.empty(0), None, {}, rows.values[:0], keys
        no_rows = HistoryRows(*nothing)
        no_rows.late, no_rows.is_label = rows, np.ones(rows.n, bool)
        self._history_of(engine, no_rows, True)

    def _follow(self, X, late, targets, is_label):
        def encode(engine, rows):
            rows.late = self._read(late, False).with_targets(targets)
            rows.is_label = is_label
            return self._encode(engine, rows, learns=True)

        return self._learn_and_transform(X, None, False, encode)

    def _targets_of(self, rows, learns):
        """Return targets as numbers, and whether each row has one."""
        n_targets = self._histories[0].n_targets if self._histories else 0
        targets = rows.targets
        if not n_targets or targets is None or not learns:
            return np.zeros((rows.n, n_targets)), np.zeros(rows.n, bool)
        if not self._knows_targets:
            labels, _ = targets.columns()
            self._labels = labels if labels is None else labels[:n_targets]
            self._knows_targets = True
        self._labels, Y, c = targets.as_numbers(rows.n, self._labels, n_targets)
        return Y, c > 0.0

    def _names(self):
        """Return the names of the columns that are added."""
        return _names(
            tuple(self._known_columns),
            tuple(map(tuple, self.keys_)),
            tuple(self.values_),
            self._clock.kind,
            self._target_names,
        )

    def _joined(self, rows, Z):
        """Return the rows with columns of history, as they came."""
        X, names = rows.X, self._names()
        library = library_of(X)
        if is_dict_rows(X):
            added = np.where(np.isnan(Z), None, Z).tolist()
            pairs = zip(X, added, strict=True)
            return [{**x, **dict(zip(names, z, strict=True))} for x, z in pairs]
        if library == "pandas" and isinstance(X.columns[0], str):
            pd = import_module("pandas")
            return pd.concat([X, pd.DataFrame(Z, X.index, names)], axis=1)
        if library == "polars":
            pl = import_module("polars")
            return X.hstack(pl.DataFrame(Z, list(names)).fill_nan(None))
        if library == "pyarrow":
            pa = import_module("pyarrow")
            added = [pa.array(column, from_pandas=True) for column in Z.T]
            arrays, all_names = [*X.columns, *added], [*X.schema.names, *names]
            return type(X).from_arrays(arrays, names=all_names)
        X = check_array(X, dtype=None, ensure_all_finite=False)
        X = X.astype(np.float64 if X.dtype.kind in "biuf" else object, copy=False)
        return np.hstack([X, np.nan_to_num(Z)])

    # One row at a time.

    def _transform_row(self, x):
        with locks_of(self).state:  # the arrays of rows are shared
            row = self._read_row(x)
            if row is None:
                return super()._transform_row(x)
            row.encode()
            return self._joined_row(x, row)

    def _learn_row(self, x, rollbacks, targets=None):
        row = self._read_row(x, targets) if self.n_samples_seen_ else None
        if row is None:
            return super()._learn_row(x, rollbacks, targets)
        if not row.encode(rollbacks):
            rollbacks[-1]()
            return super()._learn_row(x, rollbacks, targets)
        n_before = self.n_samples_seen_
        rollbacks.append(partial(setattr, self, "n_samples_seen_", n_before))
        self.n_samples_seen_ = n_before + 1
        return self._joined_row(x, row)

    def _learn_label(self, x, rollbacks, targets):
        row = self._read_row(x, targets)
        if row is None:
            super()._learn_label(x, rollbacks, targets)
        else:
            row.learn_targets(rollbacks)

    def _joined_row(self, x, row):
        """Return a row with its columns of history."""
        z = row.out[0]
        if isinstance(x, dict):
            added = [None if value != value else value for value in z.tolist()]
            return x | dict(zip(row.names, added, strict=True))
        return np.concatenate([x, np.nan_to_num(z)])

    def _read_row(self, x, targets=None):
        """Read a dict of plain values or an array of numbers, and its targets.

        Return the :class:`HistoryOfRow` that has them; None if they need a closer look.
        """
        kind, has_names = self._clock.kind, hasattr(self, "feature_names_in_")
        if isinstance(x, dict) and has_names:
            get = x.get
        elif self._is_array_row(x) and not has_names:
            get = dict(zip(self._known_columns, x.tolist(), strict=True)).get
        else:
            return None
        if any(each._current_log is not None for each in self._histories):
            return None
        engine = current_engine()
        row = _ROWS.get(self)
        if row is None or not row.is_current(engine):
            row = HistoryOfRow(engine, self._clock, self._histories, self._names())
            _ROWS[self] = row
        if not self._set_targets(row, targets):
            return None
        try:
            when, seconds = None, nan
            if kind == "date":
                when = parse_date(get(_name(self.time)))
                seconds = nan if when is None else _seconds_of(when)
            elif kind == "number":
                number = parse_number(get(_name(self.time)))
                seconds = nan if number is None else number
            values = [parse_number(get(name)) for name in self.values_]
            for key, hashed in zip(self.keys_, row.keys, strict=True):
                parts = [
                    parse_text(get(name))
                    if self._is_column(name)
                    else (None if when is None else DATE_PARTS[name][1](when))
                    for name in key
                ]
                hash_of = _remembered_hash
                for part in parts:
                    if type(part) is str and len(part) >= MAX_LENGTH:
                        hash_of = _hash_of
                hashed[0] = hash_of(engine, *parts)
        except (TypeError, ValueError, OverflowError):
            return None
        row.seconds[0], row.values[0] = seconds, values  # None is NaN
        return row

    def _set_targets(self, row, targets):
        """Write the targets of a row if there are any; return whether that is all."""
        row.has_target[0] = False
        n_targets, labels = row.targets.size, self._labels
        if targets is None or not n_targets:
            return True
        if not self._knows_targets or len(targets.y) != 1:
            return False
        y, c = targets.y[0], targets.sample_weight
        if isinstance(y, np.generic):
            y = y.item()
        if labels is None:
            is_number = type(y) is float or (type(y) is int and abs(y) <= 2**53)
            if targets.are_labels or n_targets > 1 or not is_number or not isfinite(y):
                return False
            numbers = [y]
        elif len(labels) == n_targets and {*map(type, labels)} == {type(y)}:
            if type(y) not in (str, int, bool):
                return False
            numbers = [y == label for label in labels]
        else:
            return False
        if c is not None:
            c = targets.validated(1).sample_weight
        row.targets[0], row.has_target[0] = numbers, c is None or c[0] > 0.0
        return True

    # Merging, and what holds between two calls.

    def _merge_state(self, engine, shards, sources):
        raise ValueError(
            "Models with an OnlineHistory cannot be merged: each knows the history of "
            "keys in its own rows only. Let one model learn all rows in order."
        )

    def _invariants_of_state(self):
        yield "the number of columns is bounded", self.n_features_in_ <= MAX_COLUMNS
        yield "the clock is one", type(self._clock) is Clock
        for name in self.keys_:
            yield "keys are tuples of names", type(name) is tuple
            yield "names are strings", all(type(each) is str for each in name)
        yield "values are names", all(type(each) is str for each in self.values_)
        yield "there is a history of each key", len(self._histories) == len(self.keys_)
        yield "targets are known or not", type(self._knows_targets) is bool
        yield "labels are a list", isinstance(self._labels, list | None)
        names = self._target_names
        yield "targets have names", type(names) is tuple
        yield "names of targets are strings", all(type(each) is str for each in names)
        for each in self._histories:
            yield "histories are of keys", type(each) is KeyHistory
            yield "histories are of the values", each.n_values == len(self.values_)
            n_labels = len(self._labels or ())
            yield "histories are of the targets", each.n_targets == len(names)
            yield "the number of targets is bounded", each.n_targets <= MAX_TARGETS
            yield "each label has a target", n_labels <= each.n_targets
            times = each.events[: each.n_used, 0]
            came = np.isnan(times) | (times <= self._clock.last)
            yield "keys were seen up to the last time", came

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_histories")


@dataclass
class HistoryRows(RowsOfTable):
    """Rows whose history is asked for, or learned."""

    X: Any
    n: int
    time_kind: str | None
    times: np.ndarray
    dates: np.ndarray | None
    columns: dict
    values: np.ndarray
    hashes: dict = field(default_factory=dict)  # of keys and their parts
    late: Any = None  # earlier rows whose labels come in between
    is_label: Any = None

    def hashed(self, engine, key):
        """Return the hashes of a key in all rows."""
        if key not in self.hashes:
            hashed = np.zeros(self.n, np.uint64)
            for i, name in enumerate(key):
                if (name,) not in self.hashes:
                    self.hashes[name,] = self._keys_of(engine, name)
                own = self.hashes[name,]
                hashed = combine(hashed, own) if i else own
            self.hashes[key] = hashed
        return self.hashes[key]

    def _keys_of(self, engine, name):
        if name in self.columns:
            texts, is_missing = self.columns[name]
            hashed = engine.hash_strings(texts.data, texts.offsets)
        elif self.dates is None:
            return np.full(self.n, MISSING)
        else:
            is_missing = np.isnat(self.dates)
            dates = np.where(is_missing, np.datetime64(0, "us"), self.dates)
            hashed = DATE_PARTS[name][0](dates).astype(np.uint64) + FIRST_PART
        return np.where(is_missing, MISSING, hashed)


# Keys of parts of dates differ from that of a missing value.
FIRST_PART = np.uint64(2)


def _days(dates):
    return dates.astype("datetime64[D]")


#: Parts of dates that can be in a key: of arrays, and of a single date.
DATE_PARTS: dict = {
    "hour": (
        lambda dates: (dates - _days(dates)).astype("timedelta64[h]"),
        lambda when: getattr(when, "hour", 0),
    ),
    "weekday": (
        lambda dates: (_days(dates).astype(np.int64) + 3) % 7,
        lambda when: when.weekday(),
    ),
    "day": (
        lambda dates: _days(dates) - dates.astype("datetime64[M]"),
        lambda when: when.day - 1,
    ),
    "month": (
        lambda dates: dates.astype("datetime64[M]").astype(np.int64) % 12,
        lambda when: when.month - 1,
    ),
}


def _hash_of(engine, *parts):
    """Return the hash of a key of a single row, as of many rows."""
    hashed = np.uint64(0)
    for i, part in enumerate(parts):
        if part is None:
            own = MISSING
        elif isinstance(part, int):
            own = np.uint64(part) + FIRST_PART
        else:
            texts = Strings.encode([part])
            own = engine.hash_strings(texts.data, texts.offsets)[0]
        hashed = combine(hashed[None], own)[0] if i else own
    return hashed


_remembered_hash = lru_cache(maxsize=2**14)(_hash_of)


def _seconds_of(when):
    """Return a date as seconds, to the last bit as for arrays."""
    if not isinstance(when, datetime):
        when = datetime.combine(when, time())
    passed = when - EPOCH
    seconds = 86_400 * passed.days + passed.seconds
    return (1_000_000 * seconds + passed.microseconds) / 1e6


def _name(column):
    """Return the name of a column, which may be given by its number."""
    return column if isinstance(column, str) else f"x{column}"


@lru_cache(maxsize=16)
def _names(columns, keys, values, kind, targets):
    """Return names of the columns of history."""
    names = []
    for key in keys:
        own = "_".join(key) or "all"
        counts = [f"count_{each}" for each in HALF_LIVES.get(kind, NUMBERS)]
        names += [f"{own}_{each}" for each in (*COUNTS, *counts)]
        names += [f"{own}_{value}_{each}" for value in values for each in OF_VALUES]
        for target in targets:
            names += [f"{own}_target_{each}{target}" for each in OF_TARGETS]
    return tuple(unique(names, columns, ()))

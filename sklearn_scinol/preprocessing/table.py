"""Raw tables made into rows that learners take, on a stream."""

from collections.abc import Sequence
from copy import copy
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._validation import refuse_masks
from ..estimators.rows import SparseRow
from ..tables.columns import COMBINED_KINDS
from ..tables.encoding import Encoding
from ..tables.frames import all_missing, is_of_dicts, open_frame
from ..tables.kinds import KINDS, as_kind, kind_of
from ..transforms.bins import N_QUANTILES, N_SAMPLES
from .stream import StreamTransformer, engine_in_use

__all__ = ["TableEncoder"]

Kind: TypeAlias = Literal["number", "category", "boolean", "date", "text", "drop"]


# No saved table has more columns.
MAX_COLUMNS = 2**24


class TableEncoder(StreamTransformer):
    """Rows of numbers from tables with columns of all kinds, on a stream.

    A chunk of a table goes in: a frame of pandas or polars, a table or record batch of
    pyarrow, an array, or a list of dicts. What comes out are sparse rows that any
    linear learner takes, and that let it learn what is not linear in the numbers. Each
    kind of column becomes something else:

    ========  ======================================================================
    number    its value in standard deviations from the mean, as by
              :class:`OnlineScaler`; the bin that it falls into, as by
              :class:`OnlineBinner`; and the value itself, if it is one of the first
              `n_named` different ones and these come again
    category  one of the first `n_named` different values, and any other by hashing
    boolean   whether it is true
    date      time, standardised; season, month, weekday and hour
    text      words and pairs of neighbouring words, in lower case, by hashing
    ========  ======================================================================

    A value that is missing is something to learn from: each kind has a column for it.

    Nothing has to be known beforehand. Categories and words that were never seen go to
    one of `n_hashed` columns by a hash of the column's name and the value [1]_. They
    may share a column, but new ones never need more memory.

    Parameters
    ----------
    kinds : dict, default=None
        Kinds of columns by their names: "number", "category", "boolean", "date",
        "text", or "drop" for one to be left out. About any other the types of its
        values decide in the first chunk that has some. Strings are text there if they
        have three words on average and most are different, and categories otherwise;
        strings that are numbers or dates have to be declared.

    interactions : list of tuple of str, default=None
        Names of columns, two or more, whose values are also taken together, by hashing.
        They may be numbers, of which the bin counts, categories and booleans.

    n_hashed : int, default=2**18
        Number of columns for what is hashed.

    n_named : int, default=128
        Number of different values of a number or category that get columns of their
        own, in the order in which they come. Numbers that hardly ever come again get
        none.

    n_quantiles : int, default=8
        Numbers have up to twice as many bins, see :class:`OnlineBinner`.

    missing_columns : {"error", "ignore"}, default="error"
        What to do if a column of the first chunk is not in a later one. Ignored means
        that all its values are missing. In dicts it means that in any case.

    new_columns : {"error", "ignore"}, default="error"
        What to do with a column that the first chunk did not have.

    Attributes
    ----------
    kinds_ : dict
        The kind of each column, without those that are left out; None as long as all
        values of a column were missing.

    categories_ : dict
        Values that have columns of their own, by the names of numbers and categories.

    hashed_names_ : dict
        From the number of a column that is hashed to, to a list with the first two
        names that came to it.

    n_samples_seen_ : int
        Number of rows so far.

    n_features_in_ : int
        Number of columns of the table.

    feature_names_in_ : ndarray of shape (n_features,)
        Their names, where the table has such.

    See Also
    --------
    sklearn_scinol.pipeline.make_online_pipeline : An encoder and a learner in one.
    OnlineScaler : Standardised numbers only.
    OnlineBinner : Bins of numbers only.

    Notes
    -----
    :meth:`partial_fit_transform` goes row by row: what becomes of a row depends on the
    rows before it and not on the chunk that it is in, but for the first one with values
    of a column, which decides about its kind. What comes before is missing, whatever
    the kind will be. :meth:`transform` gives what would become of each row if it came
    next.

    A column whose first value is missing has room for any kind. Its columns come after
    those of the others; names that end in a number are of those that its kind does not
    need.

    Numbers do not depend on units: what comes out is the same if a column is multiplied
    by a power of two, and but for rounding by any number. Times are in UTC.

    Two values that are hashed are taken for the same with a probability of 2^-64, and
    share a column with one of ``1 / n_hashed``.

    References
    ----------
    .. [1] K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg (2009).
       "Feature hashing for large scale multitask learning". ICML.

    Examples
    --------
    >>> from sklearn_scinol import ScInOLClassifier
    >>> from sklearn_scinol.pipeline import make_online_pipeline
    >>> from sklearn_scinol.preprocessing import TableEncoder
    >>> rows = [
    ...     {"city": "Oslo", "rooms": 2, "furnished": True},
    ...     {"city": "Rome", "rooms": 3, "furnished": False},
    ...     {"city": "Oslo", "rooms": None, "furnished": True},
    ... ]
    >>> model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    >>> model = model.partial_fit(rows, ["let", "sold", "let"], classes=["let", "sold"])
    >>> model.predict([{"city": "Oslo"}, {"city": "Tromsø", "rooms": 3}])
    array(['let', 'sold'], dtype='<U4')
    >>> encoder = model["tableencoder"]
    >>> encoder.kinds_
    {'city': 'category', 'rooms': 'number', 'furnished': 'boolean'}
    >>> encoder.categories_["city"]
    ['Oslo', 'Rome']
    >>> row = encoder.transform(rows[2:])
    >>> print(*encoder.get_feature_names_out()[row.indices], sep=", ")
    rooms_missing, furnished, city=Oslo
    """

    _parameter_constraints: dict = {
        "kinds": [dict, None],
        "interactions": [list, tuple, None],
        "n_hashed": [Interval(Integral, 1, 2**30, closed="both")],
        "n_named": [Interval(Integral, 1, 2**15, closed="both")],
        "n_quantiles": [Interval(Integral, 1, 2**10, closed="both")],
        "missing_columns": [StrOptions({"error", "ignore"})],
        "new_columns": [StrOptions({"error", "ignore"})],
    }

    def __init__(
        self,
        *,
        kinds: dict[str, Kind] | None = None,
        interactions: Sequence[Sequence[str]] | None = None,
        n_hashed: int = 2**18,
        n_named: int = 128,
        n_quantiles: int = N_QUANTILES,
        missing_columns: Literal["error", "ignore"] = "error",
        new_columns: Literal["error", "ignore"] = "error",
    ) -> None:
        self.kinds = kinds
        self.interactions = interactions
        self.n_hashed = n_hashed
        self.n_named = n_named
        self.n_quantiles = n_quantiles
        self.missing_columns = missing_columns
        self.new_columns = new_columns

    def get_feature_names_out(
        self, input_features: object = None
    ) -> NDArray[np.object_]:
        """Get names of the columns of transformed rows, as known by now.

        Parameters
        ----------
        input_features : None
            Ignored.

        Returns
        -------
        names : ndarray of str of shape (n_features_out,)
            Such as "age", "age<=25", "age=30", "city=Oslo" and "age_missing"; where
            names are hashed, the first two that came to the column with " | " between
            them. The names of columns that no row has come to end in a number.

        Raises
        ------
        NotFittedError
            If there were no rows yet.
        """
        check_is_fitted(self)
        return self._encoding.names()

    @property
    def categories_(self) -> dict[str, list[Any]]:
        """Values that have columns of their own."""
        check_is_fitted(self)
        return self._encoding.categories()

    @property
    def hashed_names_(self) -> dict[int, list[str]]:
        """The first two names that came to columns that are hashed to."""
        check_is_fitted(self)
        return self._encoding.hashed_names()

    # How it is done.

    def _read(self, X, reset):
        refuse_masks(X=X)
        frame = open_frame(X)
        if frame.n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {len(frame.names)})) while a "
                f"minimum of 1 is required by {type(self).__name__}."
            )
        if reset:
            kinds = self._find_kinds(frame)
            self._set_names(frame)
            self.kinds_ = kinds
        else:
            self._check_names(frame, is_of_dicts(X))
        columns, found, names = {}, {}, {*frame.names}
        for name, kind in self.kinds_.items():
            missing = name not in names
            column = all_missing(frame.n_rows) if missing else frame.column(name)
            if kind is None:
                kind = kind_of(column)
            if kind is not None:
                column = as_kind(column, kind, name)
            if kind != self.kinds_[name]:
                found[name] = kind
            columns[name] = column
        if reset or found:
            self._check_interactions(self.kinds_ | found)
        return _Rows(columns, frame.n_rows, found)

    def _find_kinds(self, frame):
        declared, names = self.kinds or {}, {*frame.names}
        if unknown := [name for name in declared if name not in names]:
            raise ValueError(f"kinds has names that no column has: {unknown}.")
        for name, kind in declared.items():
            if kind not in (*KINDS, "drop"):
                raise ValueError(
                    f"The kind of {name!r} must be one of {[*KINDS, 'drop']}, got "
                    f"{kind!r}."
                )
        kinds = {
            name: declared.get(name) or _first_kind(frame.column(name))
            for name in frame.names
        }
        kinds = {name: kind for name, kind in kinds.items() if kind != "drop"}
        if not kinds:
            raise ValueError("The table has no columns, or all are dropped.")
        return kinds

    def _check_interactions(self, kinds):
        """Check that columns can be combined whose kinds are known by now."""
        for names in self.interactions or ():
            if not isinstance(names, list | tuple) or len({*names}) < 2:
                raise ValueError(
                    "interactions must consist of tuples of two or more different "
                    f"names of columns, got {names!r}."
                )
            for name in names:
                if kinds.get(name, "drop") not in (*COMBINED_KINDS, None):
                    raise ValueError(
                        f"interactions has {name!r}, which is no column of kind "
                        f"{' or '.join(map(repr, COMBINED_KINDS))}."
                    )

    def _set_names(self, frame):
        self.n_features_in_ = len(frame.names)
        vars(self).pop("feature_names_in_", None)
        if frame.has_names:
            self.feature_names_in_ = np.array(frame.names, dtype=object)

    def _check_names(self, frame, is_of_dicts):
        has_names = hasattr(self, "feature_names_in_")
        known = [f"x{j}" for j in range(self.n_features_in_)]
        known = list(self.feature_names_in_) if has_names else known
        given = {*frame.names}
        new = sorted(given - {*known})
        missing = [name for name in self.kinds_ if name not in given]
        is_wrong = (new and self.new_columns == "error") or (
            missing and self.missing_columns == "error" and not is_of_dicts
        )
        if not is_wrong:
            return
        if not (has_names or frame.has_names):
            raise ValueError(
                f"X has {len(given)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        message = "The feature names should match those that were passed during fit."
        if new and self.new_columns == "error":
            message += f" Feature names unseen at fit time: {new}."
        if missing and self.missing_columns == "error":
            message += f" Feature names seen at fit time, yet now missing: {missing}."
        raise ValueError(message)

    def _start(self, rows):
        self._encoding = Encoding(
            self.kinds_,
            [tuple(names) for names in self.interactions or ()],
            n_hashed=self.n_hashed,
            n_named=self.n_named,
            n_samples=N_SAMPLES,
            n_quantiles=self.n_quantiles,
        )

    def _encode(self, engine, rows, learns):
        encoding = self._encoding
        if rows.found:
            encoding = encoding.decided(rows.found, self.n_samples_seen_)
        if rows.found and learns:
            self._encoding, self.kinds_ = encoding, self.kinds_ | rows.found
        return encoding.encode(engine, rows.columns, len(rows), learns)

    def _of_row(self, x, learns):
        stacked = self._read_plain(x)
        if stacked is None:
            return super()._of_row(x, learns)
        encoding = self._encoding
        data, indices, _ = encoding.join(engine_in_use(), stacked, 1, learns)
        self.n_samples_seen_ += learns
        return SparseRow(indices, data, encoding.n_columns)

    def _read_plain(self, x):
        """Values of a dict as they are encoded; None if it needs a closer look."""
        names = getattr(self, "feature_names_in_", None)
        if not isinstance(x, dict) or names is None or not x.keys() <= {*names}:
            return None
        try:
            return self._encoding.stacked_row(x)
        except (TypeError, ValueError, OverflowError):
            return None

    @property
    def _first_kinds(self):
        """Kinds as the first row tells them: None where its value is missing."""
        return self.kinds_ | dict.fromkeys(self._encoding.late)

    def _fresh(self):
        unknowing = copy(self)
        unknowing.kinds_ = self._first_kinds
        return super(TableEncoder, unknowing)._fresh()

    def _take_state(self, engine, shards, everything):
        found = {}
        for each in everything:
            late = each._encoding.late.items()
            known = {name: kind for name, kind in late if kind is not None}
            _check_same_kinds(known, known | found)
            found |= known
        self.kinds_ = self.kinds_ | found

        def encoding_of(each):
            return each._encoding.decided(found, each.n_samples_seen_)

        self._encoding = self._encoding.decided(found, 0)
        self._encoding.take(engine, shards.of(encoding_of))
        return [
            self._encoding.placement(engine, encoding_of(each)) for each in everything
        ]

    def _check_alike(self, other):
        _check_same_kinds(self._first_kinds, other._first_kinds)

    def _invariants_of_state(self):
        yield "there are not columns without bound", self.n_features_in_ <= MAX_COLUMNS
        yield "kinds are known", {*self.kinds_.values()} <= {*KINDS, None}
        yield "the state is of the columns", type(self._encoding) is Encoding
        late = self._encoding.late
        yield "late columns are there", late.items() <= self.kinds_.items()
        early = {name: kind for name, kind in self.kinds_.items() if name not in late}
        groups = [group for group in self._encoding.groups if not group.is_late]
        fresh = Encoding(early, [], 1, 1, 1, 1).groups
        yield (
            "the state is of the kinds",
            [(type(group), group.names) for group in groups]
            == [(type(group), group.names) for group in fresh],
        )

    def _way_back_of_state(self):
        return self._encoding.checkpoint()

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_encoding")

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.dict = True
        tags.input_tags.string = True
        return tags


def _first_kind(column):
    """Kind of a column of the first chunk; None if its first value is missing."""
    return None if column.is_missing[0] else kind_of(column)


def _check_same_kinds(kinds, others):
    """Check that models can be merged that have found these kinds of columns."""
    if differing := [name for name, kind in kinds.items() if others[name] != kind]:
        raise ValueError(
            "Only models that have found the same kinds of columns can be merged, "
            f"and these differ in {differing}: pass `kinds`, or let all begin as "
            "copies of one that has seen the first rows."
        )


class _Rows:
    """Columns of a table, with values of their kinds.

    Parameters
    ----------
    columns : dict
        From names to :class:`Column`.
    n_rows : int
    found : dict
        Kinds that nothing but these rows tells.
    """

    def __init__(self, columns, n_rows, found):
        self.columns, self._n_rows, self.found = columns, n_rows, found

    def __len__(self):
        return self._n_rows

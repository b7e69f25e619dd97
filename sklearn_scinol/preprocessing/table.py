"""Transformer of raw tables into sparse rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from .._docstrings import described_as, inherit_descriptions
from .._locks import reads
from .._typing import TableLike
from ..config import current_engine
from ..tables.inputs import MEASURES
from ..transforms.bins import N_QUANTILES
from .tabular import TableTransformer

Kind: TypeAlias = Literal[
    "number", "category", "boolean", "date", "time", "text", "drop"
]


@inherit_descriptions
class TableEncoder(TableTransformer):
    """Encode tables with columns of all kinds as rows of numbers, on a stream.

    It takes chunks of a table: a frame of pandas or polars, a table or record batch of
    pyarrow, an array, or a list of dicts. Rows are sparse, for any linear learner,
    which can then learn what is not linear in the numbers. If targets are learned as
    well, mixtures get a dense view of each row, encoded before its own target is
    learned.

    Nothing has to be known beforehand: new categories and words go to one of `n_hashed`
    columns by a hash of the column's name and the value [1]_. They may share a column,
    but never need more memory.

    Parameters
    ----------
    kinds : dict, default=None
        Kinds of columns by their names: "number", "category", "boolean", "date",
        "time", "text", or "drop" to leave a column out. By default the types of values
        in the first chunk that has some decide; of a type for categories, as `category`
        of pandas, all are. Strings are dates if they begin with a day, such as
        "2026-01-31" or "2026-01-31T18:00Z" (ISO 8601), text if they have three words on
        average and most are distinct, and categories otherwise; those that stand for
        numbers, other dates or times ("18:00") have to be declared.
    interactions : list of tuple of str, default=None
        Names of two or more columns whose values are also combined, by hashing:
        numbers, of which the bin counts, categories and booleans.
    n_hashed : int, default=2**18
        Number of columns for hashed values.
    n_named : int, default=128
        Number of distinct values of a number or category that get columns of their own,
        in the order in which they come. Numbers that hardly ever recur get none.
    n_quantiles : int, default=8
        Numbers have up to twice as many bins, see :class:`OnlineBinner`.
    sparse_output : {"auto", True, False}, default="auto"
        Whether rows are sparse, or the dense view. "auto": sparse, with the dense view
        as an attribute `dense_view` if targets are learned: by methods that get `y`,
        and in an :class:`~sklearn_scinol.pipeline.OnlinePipeline` before a mixture.
        Frames, as by ``set_output(transform="pandas")``, are for False alone.

    Attributes
    ----------
    kinds_ : dict
        The kind of each column that is not dropped; None as long as all its values
        were missing.
    categories_ : dict
        Values that have columns of their own, by the names of numbers and categories.
    hashed_names_ : dict
        The first two names that came to each hashed column, by its number.
    input_report_ : dict of dict
        For each column that is not dropped, the shares of rows that were `missing`;
        of `unseen` categories, which got a column or a hashed name; of numbers
        `out_of_range`, beyond all before; and of categories of `changed_type`, which
        look like a number where the column's first one did not, or the reverse. Each
        row is compared with those before it; only learned rows count. With `_lately`
        at the end, the same in the last 1,024 to 2,047 rows.

    See Also
    --------
    sklearn_scinol.pipeline.make_online_pipeline : An encoder and a learner in one.
    OnlineScaler : Standardised numbers only.
    OnlineBinner : Bins of numbers only.

    Notes
    -----
    In sparse rows each kind of column is encoded in its way:

    ========  ======================================================================
    number    its value in standard deviations from the mean, as by
              :class:`OnlineScaler`; the bin that it falls into, as by
              :class:`OnlineBinner`; and the value itself, if it is one of the first
              `n_named` different ones and these come again
    category  one of the first `n_named` different values, and any other by hashing
    boolean   whether it is true
    date      time, standardised; season, month, weekday and hour
    time      seconds, standardised; sine and cosine on the circle of a day; hour
    text      words and pairs of neighbouring words, in lower case, by hashing
    ========  ======================================================================

    Each kind has a column for missing values, such as "". The dense view has:

    ========  ======================================================================
    number    its value
    category  running mean of the targets of earlier rows with this value, shrunk
              towards the mean of all: ``(sum + 20 mean) / (n + 20)`` [2]_
    boolean   0 or 1
    date      time in seconds, hour, weekday, day of the year; running mean of the
              targets of earlier rows of the same day
    time      seconds since midnight, their sine and cosine on the circle of a day
    text      the mean of such means over its words and pairs of words, their sum in log
              odds less those of the mean of all, and ``ln(1 + n)`` for n words
    ========  ======================================================================

    For missing numbers, booleans, dates and times stands the mean of those before,
    missing categories are a category, and a last column has the number of missing
    values. Each of `interactions` has a mean as well. Targets are labels of K classes,
    which have K - 1 means, or numbers: at most 8 of each.

    :meth:`partial_fit_transform` goes row by row: an encoded row depends on the rows
    before it and not on its chunk, but for the first chunk with values of a column,
    which decides its kind. :meth:`transform` encodes each row as if it came next.

    :meth:`observe` learns all but means of targets, :meth:`learn_labels` these means,
    once labels come; a number in `interactions` counts by its bin at that time.

    A column whose first value is missing has room for any kind. Its encoded columns
    come last; names of columns that its kind does not need end in a number.

    Rescaling a number by a power of two changes nothing, by any other factor nothing
    but rounding. Times are in UTC.

    Two hashed values are confused with a probability of 2^-64, and share a column with
    a probability of ``1 / n_hashed``.

    References
    ----------
    .. [1] K. Weinberger, A. Dasgupta, J. Langford, A. Smola and J. Attenberg (2009).
       "Feature hashing for large scale multitask learning". ICML.
    .. [2] D. Micci-Barreca (2001). "A preprocessing scheme for high-cardinality
       categorical attributes in classification and prediction problems". SIGKDD
       Explorations 3(1).

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

    Kinds of columns, values with columns of their own, and the encoding of a row:

    >>> encoder = model["tableencoder"]
    >>> encoder.kinds_
    {'city': 'category', 'rooms': 'number', 'furnished': 'boolean'}
    >>> encoder.categories_["city"]
    ['Oslo', 'Rome']
    >>> row = encoder.transform(rows[2:])
    >>> print(*encoder.get_feature_names_out()[row.indices], sep=", ")
    rooms_missing, furnished, city=Oslo

    The dense view:

    >>> encoder = TableEncoder(sparse_output=False).set_output(transform="pandas")
    >>> labels = ["let", "sold", "let"]
    >>> encoder.partial_fit_transform(rows, labels, classes=["let", "sold"]).round(2)
       city_mean  rooms  furnished  n_missing
    0       0.50    2.0        1.0        0.0
    1       0.25    3.0        0.0        0.0
    2       0.48    2.5        1.0        1.0
    """

    _parameter_constraints: dict = {
        **TableTransformer._parameter_constraints,
        "kinds": [dict, None],
        "interactions": [list, tuple, None],
        "n_hashed": [Interval(Integral, 1, 2**30, closed="both")],
        "n_named": [Interval(Integral, 1, 2**15, closed="both")],
        "n_quantiles": [Interval(Integral, 1, 2**10, closed="both")],
        "sparse_output": [StrOptions({"auto"}), "boolean"],
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
        sparse_output: bool | Literal["auto"] = "auto",
    ) -> None:
        self.kinds = kinds
        self.interactions = interactions
        self.n_hashed = n_hashed
        self.n_named = n_named
        self.n_quantiles = n_quantiles
        self.missing_columns = missing_columns
        self.new_columns = new_columns
        self.sparse_output = sparse_output

    def _names_out(self):
        if self._gives_dense_rows:
            return self._dense.names(self._encoding.groups)
        return self._encoding.names()

    @property
    def _n_features_out(self):
        check_is_fitted(self)
        return (self._dense if self._gives_dense_rows else self._encoding).n_columns

    @property
    def _gives_dense_rows(self):
        return self._dense is not None and not self._as_learned("sparse_output")

    @property
    def categories_(self) -> dict[str, list[Any]]:
        """Values that have columns of their own."""
        check_is_fitted(self)
        return self._encoding.categories()

    @property
    def hashed_names_(self) -> dict[int, list[str]]:
        """First two names that came to each hashed column, by its number."""
        check_is_fitted(self)
        return self._encoding.hashed_names()

    @property
    def input_report_(self) -> dict[str, dict[str, float]]:
        """Shares of missing, unseen, out-of-range and changed values, by column."""
        check_is_fitted(self)
        return self._encoding.counts.report(self._encoding.counted)

    @reads
    @described_as(TableTransformer.transform)
    def input_flags(self, X: TableLike) -> dict[str, dict[str, NDArray[np.bool_]]]:
        """Tell of each row what `input_report_` would count if it were learned next.

        For :class:`~sklearn_scinol.evaluation.LossMonitor`, or for rows to predict.

        Returns
        -------
        flags : dict of dict of ndarray of bool of shape (n_samples,)
            By column: `missing`, `unseen`, `out_of_range` and `changed_type`.
        """
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        encoding = self._encoding_of(rows)
        stacked = encoding.stack(rows.columns)
        flags = encoding.input_flags(current_engine(), stacked)
        return {
            name: dict(zip(MEASURES, flags[:, :, j], strict=True))
            for name, j in encoding.counted.items()
        }

    # How it is done.

    def _wants_targets(self, last):
        if self.sparse_output == "auto":
            return getattr(last, "_takes_dense_view", False)
        return not self.sparse_output

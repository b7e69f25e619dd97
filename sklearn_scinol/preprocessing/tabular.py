"""Base of the transformers of tables: how they read and encode them."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._docstrings import described_as
from .._shards import columns_differ
from .._typing import Labels, TableLike, Transformed, _fit_context
from .._validation import check_has_values, names_error
from ..config import current_engine
from ..estimators.row_by_row import SparseRow, row_of
from ..tables.columns import COMBINED_KINDS
from ..tables.dense import SMOOTH, DenseView, Targets
from ..tables.encoding import Encoding
from ..tables.frames import is_dict_rows, open_frame
from ..tables.kinds import KINDS, as_kind, infer_kind
from ..tables.row_encoder import row_encoder
from ..transforms.bins import N_SAMPLES
from ..views import TableRows
from .stream import StreamTransformer

# Maximum number of columns of a table, in models from files.
MAX_COLUMNS = 2**24


class RowsOfTable:
    """Rows that were read from a table: `n` of them, perhaps with targets."""

    n: int
    targets: Any = None

    def __len__(self):
        return self.n

    def with_targets(self, targets):
        """Add the targets of the rows."""
        self.targets = targets.validated(self.n)
        return self


class TableReader(StreamTransformer):
    """Base of the transformers that read tables.

    Parameters
    ----------
    missing_columns : {"error", "ignore"}, default="error"
        What to do if a later chunk lacks a column of the first one. "ignore" takes its
        values as missing, as is always done in dicts.
    new_columns : {"error", "ignore"}, default="error"
        What to do with a column that the first chunk does not have.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of the table.
    """

    _reads = "tables"

    _parameter_constraints: dict = {
        "missing_columns": [StrOptions({"error", "ignore"})],
        "new_columns": [StrOptions({"error", "ignore"})],
    }

    _changeable = frozenset(_parameter_constraints)

    @property
    @abstractmethod
    def _needed_columns(self):
        """Names of the columns that later frames must have."""

    @_fit_context(prefer_skip_nested_validation=True)
    @described_as(StreamTransformer.fit)
    def fit_transform(
        self, X: TableLike, y: Any = None, *, classes: Labels | None = None
    ) -> Transformed:
        """Learn rows, and transform them, after forgetting all others.

        Means of targets and histories in a row are of earlier rows only: they never
        know its own target. All else is as from :meth:`transform` after :meth:`fit`.

        Returns
        -------
        Z : table, array or CSR array of shape (n_samples, n_features_out)
            The transformed rows.
        """
        Z = self._learn_and_transform(X, self._targets(y, classes), True)
        if not isinstance(Z, TableRows):
            return Z
        rows = self.transform(X)
        rows.dense_view = Z.dense_view
        return rows

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
            Such as "age", "age<=25", "age=30", "city=Oslo" and "age_missing"; for a
            hashed column, the first two names that came to it, joined by " | ". Unused
            columns have names that end in a number. Means of targets are such as
            "city_mean", or with several means "city_mean_yes", and columns of history
            such as "card_count_1h", or "all_count" for the whole stream.

        Raises
        ------
        NotFittedError
            If no row was learned yet.
        """
        check_is_fitted(self)
        return np.asarray(self._names_out(), dtype=object)

    @abstractmethod
    def _names_out(self):
        """Return names of the columns of transformed rows."""

    def _targets(self, y, classes):
        if isinstance(classes, Targets):  # of a pipeline: with weights
            return classes
        return None if y is None else Targets(y, classes)

    def _open(self, X):
        """Open a table that has rows."""
        check_has_values(X=X)
        frame = open_frame(X)
        if frame.n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {len(frame.names)})) while a "
                f"minimum of 1 is required by {type(self).__name__}."
            )
        return frame

    def _set_names(self, frame):
        self.n_features_in_ = len(frame.names)
        vars(self).pop("feature_names_in_", None)
        if frame.has_names:
            self.feature_names_in_ = np.array(frame.names, dtype=object)

    @property
    def _known_columns(self):
        """Names of the columns, which may be those of an array."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return [f"x{j}" for j in range(self.n_features_in_)]
        return names.tolist()

    def _check_names(self, frame, has_dicts):
        known, given, wrong = self._known_columns, {*frame.names}, {}
        if not self._ignores("new_columns", frame):
            wrong["new_columns"] = sorted(given - {*known})
        if not (has_dicts or self._ignores("missing_columns", frame)):
            needed = self._needed_columns
            wrong["missing_columns"] = [name for name in needed if name not in given]
        if not any(wrong.values()):
            return
        if not (hasattr(self, "feature_names_in_") or frame.has_names):
            raise ValueError(
                f"X has {len(given)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        error = names_error(*map(wrong.get, ("new_columns", "missing_columns")))
        names = " and ".join(f"{name}='ignore'" for name in wrong if wrong[name])
        error.args = (f"{error} To ignore this, set {names} of {type(self).__name__}.",)
        raise error

    def _ignores(self, name, frame):
        """Whether columns that are missing or new, by a parameter, are no error."""
        return self._as_learned(name) == "ignore"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        for name in "allow_nan", "categorical", "dict", "string":
            setattr(tags.input_tags, name, True)
        return tags


class TableTransformer(TableReader):
    """Base of the transformers of tables, with parameters of :class:`TableEncoder`.

    `_lacking` has what stands for those that a class does not have.
    """

    _lacking = {"smooth": SMOOTH}
    _dense: Any = None

    def _read(self, X, reset):
        frame = self._open(X)
        if reset:
            kinds = self._find_kinds(frame)
            self._set_names(frame)
            self.kinds_ = kinds
        else:
            self._check_names(frame, is_dict_rows(X))
        columns, new_kinds = {}, {}
        for name, kind in self.kinds_.items():
            column = frame.column(name)
            if kind is None:
                kind = infer_kind(column)
            if kind is not None:
                column = as_kind(column, kind, name)
            if kind != self.kinds_[name]:
                new_kinds[name] = kind
            columns[name] = column
        if reset or new_kinds:
            self._check_interactions(self.kinds_ | new_kinds)
        return _Rows(columns, frame.n_rows, new_kinds)

    def _find_kinds(self, frame):
        declared, names = self.kinds or {}, {*frame.names}
        if unknown := [name for name in declared if name not in names]:
            raise ValueError(
                f"kinds has unknown columns: {unknown} (columns: {frame.names})."
            )
        for name, kind in declared.items():
            if kind not in (*KINDS, "drop"):
                raise ValueError(
                    f"The kind of {name!r} must be one of {[*KINDS, 'drop']}, got "
                    f"{kind!r}."
                )
        first = {
            n: declared.get(n) or _first_kind(frame.column(n)) for n in frame.names
        }
        kinds = {name: kind for name, kind in first.items() if kind != "drop"}
        if not kinds:
            raise ValueError("The table has no columns, or all are dropped.")
        return kinds

    def _check_interactions(self, kinds):
        """Check that columns of these kinds can be combined."""
        for names in self._as_learned("interactions") or ():
            if not isinstance(names, list | tuple) or len({*names}) < 2:
                raise ValueError(
                    "interactions must be tuples of two or more different names of "
                    f"columns, got {names!r}."
                )
            for name in names:
                if kinds.get(name, "drop") not in (*COMBINED_KINDS, None):
                    raise ValueError(
                        f"interactions has {name!r}, which is not a column of kind "
                        f"{' or '.join(map(repr, COMBINED_KINDS))}."
                    )

    def _start(self, rows):
        interactions = [tuple(names) for names in self.interactions or ()]
        sparse_output = self.sparse_output
        self._encoding = Encoding(
            self.kinds_,
            interactions,
            n_hashed=self.n_hashed if sparse_output else 1,
            n_named=self.n_named,
            n_samples=N_SAMPLES,
            n_quantiles=self.n_quantiles,
        )
        self._dense = None
        targets = getattr(rows, "targets", None)
        if not sparse_output or (sparse_output == "auto" and targets):
            known = targets.columns() if targets else (None, 0)
            kinds, sizes = self._first_kinds, (*known, self.n_hashed)
            self._dense = DenseView(kinds, interactions, *sizes, self.smooth)

    def _encoding_of(self, rows):
        """Return the encoding, with kinds that these rows are the first to tell."""
        if not rows.new_kinds:
            return self._encoding
        return self._encoding.with_kinds(rows.new_kinds, self.n_samples_seen_)

    def _encode(self, engine, rows, learns):
        encoding = self._encoding_of(rows)
        if rows.new_kinds and learns:
            self._encoding, self.kinds_ = encoding, self.kinds_ | rows.new_kinds
        stacked, n = encoding.stack(rows.columns), len(rows)
        return self._encode_stacked(engine, encoding, stacked, n, learns, rows.targets)

    def _encode_stacked(self, engine, encoding, stacked, n, learns, targets):
        """Encode the stacked columns of each group in the views that are wanted."""
        groups, dense = encoding.encode_groups(engine, stacked, learns), None
        combined = encoding.combine(engine, groups)
        if self._dense is not None:
            dense = self._dense.encode(
                engine, encoding, stacked, groups, combined, targets, learns
            )
        if not self._as_learned("sparse_output"):
            return dense
        arrays = encoding.join_groups(engine, groups, combined, n, learns)
        shape = n, encoding.n_columns
        if dense is None:
            rows = sparse.csr_array(arrays, shape=shape)
        else:
            rows = TableRows(arrays, shape=shape, dense_view=dense)
        rows.has_canonical_format = True
        return rows

    def _learn_targets(self, engine, rows):
        if self._dense is not None:
            self._dense.learn_targets(engine, self._encoding_of(rows), rows)

    def _follow(self, X, late, targets, is_label):
        late_columns = self._encoding.late
        has_begun = self._dense is None or {*self._dense.begun} == {*late_columns}
        if not has_begun or self._as_learned("interactions"):
            # The keys of a row may change in between.
            return super()._follow(X, late, targets, is_label)

        def encode(engine, rows):
            rows.targets = None
            if self._dense is not None:
                of_late = self._read(late, reset=False).with_targets(targets)
                of_rows = self._encoding, of_late, is_label
                rows.targets = self._dense.late_targets(engine, *of_rows)
            return self._encode(engine, rows, learns=True)

        return self._learn_and_transform(X, None, False, encode)

    def _learn_label(self, x, rollbacks, targets):
        if self._dense is None:
            return
        encoder, read = self._read_row(x, learns=False)
        if read is None:
            super()._learn_label(x, rollbacks, targets)
        else:
            targets = targets.validated(1)
            encoder.learn_targets(read, self._dense, rollbacks, targets)

    def _transform_row(self, x):
        encoder, read = self._read_row(x, learns=False)
        if read is None:
            return super()._transform_row(x)
        row = SparseRow(*encoder.encode(read), encoder.n_columns)
        if self._dense is None:
            return row
        return row._replace(dense_view=encoder.encode_dense(read, self._dense))

    def _learn_row(self, x, rollbacks, targets=None):
        encoder, read = self._read_row(x, learns=True)
        if read is None:
            return super()._learn_row(x, rollbacks, targets)
        n_before = self.n_samples_seen_
        rollbacks.append(partial(setattr, self, "n_samples_seen_", n_before))
        row = SparseRow(*encoder.encode(read, rollbacks), encoder.n_columns)
        if self._dense is not None:
            if targets is not None:
                targets = targets.validated(1)
            dense = encoder.encode_dense(read, self._dense, rollbacks, targets)
            row = row._replace(dense_view=dense)
        self.n_samples_seen_ = n_before + 1
        return row

    def _encode_row(self, x, learns, targets=None):
        stacked = self._stack_row(x)
        if stacked is None:
            return super()._encode_row(x, learns, targets)
        engine = current_engine()
        if targets is not None:
            targets = targets.validated(1)
        row = self._encode_stacked(engine, self._encoding, stacked, 1, learns, targets)
        return row_of(row)

    def _read_row(self, x, learns):
        """Return the encoder of rows, and what it reads of a dict; else None."""
        names = getattr(self, "feature_names_in_", None)
        is_read = isinstance(x, dict) and self._as_learned("sparse_output")
        if names is None or not is_read:
            return None, None
        encoder = row_encoder(self._encoding, current_engine(), names)
        return encoder, None if encoder is None else encoder.read(x, learns)

    def _stack_row(self, x):
        """Stack a dict of plain values, by groups; None if it needs a closer look."""
        names = getattr(self, "feature_names_in_", None)
        if not isinstance(x, dict) or names is None or not x.keys() <= {*names}:
            return None
        try:
            return [group.stack_row(x) for group in self._encoding.groups]
        except (TypeError, ValueError, OverflowError):
            return None

    @property
    def _needed_columns(self):
        return self.kinds_

    @property
    def _first_kinds(self):
        """Kinds by the first row: None where its value is missing."""
        return self.kinds_ | dict.fromkeys(self._encoding.late)

    def _fresh(self):
        early = copy(self)
        early.kinds_ = self._first_kinds
        fresh = super(TableTransformer, early)._fresh()
        fresh._dense = self._dense and self._dense.fresh()
        return fresh

    def _merge_state(self, engine, shards, sources):
        found = {}
        for each in sources:
            late = each._encoding.late.items()
            known = {name: kind for name, kind in late if kind is not None}
            _check_same_kinds(known, known | found)
            found |= known
        self.kinds_ = self.kinds_ | found

        def encoding_of(each):
            return each._encoding.with_kinds(found, each.n_samples_seen_)

        encoding = self._encoding = self._encoding.with_kinds(found, 0)
        encoding.merge(engine, shards.map(encoding_of))
        dense = [None for _ in sources]
        if self._dense is not None:
            self._dense = DenseView.merged(shards.map(lambda each: each._dense))
            merged = encoding.groups, self._dense
            dense = [each._dense.placement(*merged) for each in sources]
        if not self._as_learned("sparse_output"):
            return dense
        if any(dense):
            raise columns_differ("Models of rows with a dense view")
        return [encoding.placement(engine, encoding_of(each)) for each in sources]

    def _check_alike(self, other):
        _check_same_kinds(self._first_kinds, other._first_kinds)
        if (self._dense is None) != (other._dense is None):
            raise ValueError(
                "Either all models that are merged have a dense view of the table, or "
                "none: let all learn with y, or begin as copies of one."
            )

    def _invariants_of_state(self):
        yield "the number of columns is bounded", self.n_features_in_ <= MAX_COLUMNS
        yield "kinds are names of kinds", {*self.kinds_.values()} <= {*KINDS, None}
        yield "the state is an encoding", type(self._encoding) is Encoding
        n_counted = self._encoding.counts.n_rows
        yield "all rows are counted", n_counted == self.n_samples_seen_
        late = self._encoding.late
        yield "late columns have kinds", late.items() <= self.kinds_.items()
        has_kinds = self._encoding.first_kinds == self._first_kinds
        yield "the encoding has the kinds of the columns", has_kinds
        if self._dense is None:
            yield "dense rows have a view", bool(self._as_learned("sparse_output"))
        else:
            has_kinds = self._dense.kinds == self._first_kinds
            yield "the dense view has the kinds of the columns", has_kinds
            together = self._dense.interactions, self._encoding.interactions
            yield "the dense view has the interactions", together[0] == together[1]

    def __sklearn_is_fitted__(self):
        return hasattr(self, "_encoding")


def _first_kind(column):
    """Infer a column's kind in the first chunk; None if its first value is missing."""
    return None if column.is_missing[0] else infer_kind(column)


def _check_same_kinds(kinds, others):
    """Check that models with these kinds of columns can be merged."""
    if differing := [name for name, kind in kinds.items() if others[name] != kind]:
        raise ValueError(
            "Only models that have found the same kinds of columns can be merged, "
            f"and these differ in {differing}: pass `kinds`, or let all begin as "
            "copies of one that has seen the first rows."
        )


@dataclass
class _Rows(RowsOfTable):
    """Columns of a table by name, and kinds that these rows are the first to tell."""

    columns: dict
    n: int
    new_kinds: dict

"""Parquet and Arrow IPC: files with typed columns."""

from abc import abstractmethod
from contextlib import contextmanager

import numpy as np

from .arrow import pa, parquet
from .columns import UnfitError, common_type, convert, remedy_for
from .errors import ReadError, read_errors, with_article
from .pipes import Pipe
from .rows import Tables, parse_by_halves, split_faults

#: Number of rows decoded at once.
BATCH_ROWS = 2**15

#: Bytes of each column read at once. The default is whole groups of rows, all of which
#: `pre_buffer` would keep.
BUFFER_BYTES = 2**16

#: Files of the IPC format begin with this, streams do not.
MAGIC = b"ARROW1"


class ColumnarFormat(Tables):
    """Base of the readers of typed columns."""

    def __init__(self, files):
        self.files = files
        for file in files:
            if isinstance(file, Pipe):
                raise ReadError(
                    f"Parquet and Arrow files cannot be read from {file}: write the "
                    "rows to a file first.",
                    file,
                )

    @abstractmethod
    def open_blocks(self, file):
        """Open a file; return a context manager of schema and batches.

        `batches(columns, use_threads, skip)` yields record batches of these columns,
        without the first rows.
        """

    def infer_schema(self):
        """Return the columns of the first file, of types that fit all files."""
        kinds = {}
        for file in self.files:
            with read_errors(file), self.open_blocks(file) as (schema, _):
                self.check_names(file, schema.names)
            wanted = {*self.found, *self.named, *self.typed}  # others are left out
            for field in filter(lambda each: each.name in wanted, schema):
                name, kind = field.name, field.type
                known = kinds.setdefault(name, kind)
                common = kind if known == kind else common_type(known, kind)
                is_read = self.chosen is None or name in self.chosen
                if common is None and is_read and name not in self.column_types:
                    remedy = remedy_for(name, known, kind) or "columns= without it"
                    raise ReadError(
                        f"{file} has {with_article(str(kind))} in column {name!r}, but "
                        f"{with_article(str(known))} is in the files before: pass "
                        f"{remedy}.",
                        file,
                    )
                kinds[name] = common or known
        return kinds

    def read(self, file, n_threads, only_first_bad, byte=0, skip=0):
        """Yield a :class:`Part` for each batch of a file, after some rows."""
        with read_errors(file), self.open_blocks(file) as (schema, batches):
            self.check_names(file, schema.names)
            names = [each for each in self.schema_in_file.names if each in schema.names]
            for batch in batches(names, n_threads > 0, skip):
                batch.validate(full=True)
                table = pa.Table.from_batches([batch])
                part = split_faults(
                    parse_by_halves(self._cast, table),
                    lambda rows: self.check(rows, file),
                    UnfitError.explain,
                    only_first_bad,
                )
                yield part._replace(skip=skip)
                skip += table.num_rows

    def _cast(self, table):
        fields = self.schema_in_file
        schema = pa.schema([each for each in fields if each.name in table.column_names])
        asked = {*self.column_types, self.roles.sample_weight}
        columns = [
            convert(table[field.name], field.type, field.name in asked, field.name)
            for field in schema
        ]
        return pa.table(columns, schema)


class Parquet(ColumnarFormat):
    """Files of Apache Parquet."""

    @contextmanager
    def open_blocks(self, file):
        with pa.OSFile(str(file)) as stream:
            reader = parquet.ParquetFile(
                stream, pre_buffer=False, buffer_size=BUFFER_BYTES
            )

            def batches(columns, use_threads, skip):
                numbers = range(reader.num_row_groups)
                sizes = [reader.metadata.row_group(i).num_rows for i in numbers]
                ends = np.cumsum(sizes)
                first = int(np.searchsorted(ends, skip, side="right"))
                skip -= int(ends[first - 1]) if first else 0
                groups = numbers[first:]
                if groups:
                    yield from _after(
                        skip,
                        reader.iter_batches(BATCH_ROWS, groups, columns, use_threads),
                    )

            yield reader.schema_arrow, batches


class Arrow(ColumnarFormat):
    """Files and streams of Arrow's IPC format, also called Feather."""

    @contextmanager
    def open_blocks(self, file):
        with pa.OSFile(str(file)) as stream:
            # Not mapped: large files would seem to take much memory.
            is_file = stream.read(len(MAGIC)) == MAGIC
            stream.seek(0)
            open_reader = pa.ipc.open_file if is_file else pa.ipc.open_stream
            schema = open_reader(stream).schema

            def batches(columns, use_threads, skip):
                options = pa.ipc.IpcReadOptions(
                    included_fields=sorted(map(schema.get_field_index, columns)),
                    use_threads=use_threads,
                )
                stream.seek(0)
                reader = open_reader(stream, options=options)
                if not is_file:
                    return _after(skip, reader)
                numbers = range(reader.num_record_batches)
                return _after(skip, map(reader.get_batch, numbers))

            yield schema, batches


def _after(skip, batches):
    """Leave out the first rows of record batches."""
    for batch in batches:
        n = min(skip, batch.num_rows)
        skip -= n
        yield batch.slice(n)

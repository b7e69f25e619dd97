"""Parquet and Arrow IPC: files with typed columns."""

from abc import abstractmethod
from contextlib import contextmanager

from .columns import check_names
from .errors import one_line, read_errors
from .rows import Part, Tables, check_rows, parse_by_halves, split_faults

__all__ = ["Arrow", "Parquet"]

#: Number of rows decoded at once.
BATCH_ROWS = 2**15

#: Bytes of each column read at once. The default is whole groups of rows, all of which
#: `pre_buffer` would keep.
BUFFER_BYTES = 2**16

#: Files of the IPC format begin with this, streams do not.
MAGIC = b"ARROW1"


class ColumnarFormat(Tables):
    """Base of the readers of typed columns.

    Parameters
    ----------
    files : list of Path
    """

    is_text = False

    def __init__(self, files):
        self.files = files

    @abstractmethod
    def open_blocks(self, file):
        """Open a file; return a context manager of schema and batches.

        `batches(names, use_threads)` yields record batches of these columns.
        """

    def infer_schema(self):
        """Return the schema of the first file."""
        file = self.files[0]
        with read_errors(file), self.open_blocks(file) as (schema, _):
            self.names = schema.names
            check_names(self.names, self.names, file, file)
            return schema

    def read(self, file, n_threads, only_first_bad):
        """Yield a :class:`Part` for each batch of a file."""
        import pyarrow as pa

        with read_errors(file), self.open_blocks(file) as (schema, batches):
            check_names(self.names, schema.names, self.files[0], file)
            for batch in batches(self.schema.names, n_threads > 0):
                batch.validate(full=True)
                table = pa.Table.from_batches([batch]).select(self.schema.names)
                yield self._part(table, only_first_bad)

    def _part(self, table, only_first_bad):
        """Convert rows, and find the bad ones."""
        good, faults = split_faults(
            parse_by_halves(
                lambda i, j: self._cast(table.slice(i, j - i)), 0, table.num_rows
            ),
            lambda rows: check_rows(rows, self.roles),
            lambda error: [f"has a value of another type: {one_line(error)}"],
            only_first_bad,
        )
        return Part(good, table.num_rows, faults)

    def _cast(self, table):
        return table if table.schema.equals(self.schema) else table.cast(self.schema)


class Parquet(ColumnarFormat):
    """Files of Apache Parquet."""

    @contextmanager
    def open_blocks(self, file):
        import pyarrow.parquet as pq

        def batches(names, use_threads):
            return reader.iter_batches(
                BATCH_ROWS, columns=names, use_threads=use_threads
            )

        options = {"pre_buffer": False, "buffer_size": BUFFER_BYTES}
        with open(file, "rb") as stream, pq.ParquetFile(stream, **options) as reader:
            yield reader.schema_arrow, batches


class Arrow(ColumnarFormat):
    """Files and streams of Arrow's IPC format, also called Feather."""

    @contextmanager
    def open_blocks(self, file):
        import pyarrow as pa

        with open(file, "rb") as stream:
            # Not mapped: large files would seem to take much memory.
            is_file = stream.read(len(MAGIC)) == MAGIC
            stream.seek(0)
            open_reader = pa.ipc.open_file if is_file else pa.ipc.open_stream
            schema = open_reader(stream).schema

            def batches(names, use_threads):
                options = pa.ipc.IpcReadOptions(
                    included_fields=sorted(map(schema.get_field_index, names)),
                    use_threads=use_threads,
                )
                stream.seek(0)
                reader = open_reader(stream, options=options)
                if not is_file:
                    return reader
                return map(reader.get_batch, range(reader.num_record_batches))

            yield schema, batches

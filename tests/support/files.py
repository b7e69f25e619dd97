"""Tables of pyarrow in files of all formats, by the endings of their names."""

import bz2
import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet")


N_ROWS = 240


def table(start=0, stop=N_ROWS):
    """Numbers, categories and gaps, a class, an amount, a weight, times of both."""
    random, rows = np.random.default_rng(0), np.arange(N_ROWS)
    length = random.normal(50, 10, N_ROWS).round(3)
    city = random.choice(["oslo", "rome", ""], N_ROWS)
    when = np.datetime64("2026-01-05T08:00", "us") + rows * np.timedelta64(8, "h")
    columns = {
        "length": pa.array(length, mask=rows == 7),
        "city": city,
        "zip": [f"{k:05d}" for k in random.integers(5, size=N_ROWS)],
        "y": np.where(length + 20 * (city == "oslo") > 55, "yes", "no"),
        "amount": (length / 10 + random.normal(size=N_ROWS)).round(3),
        "w": rows % 3,
        "when": when,
        "known": pa.array(when + np.timedelta64(30, "h"), mask=rows % 50 == 49),
    }
    return pa.table(columns).slice(start, stop - start)


def write_csv(file, table, delimiter=","):
    lines = [delimiter.join(table.column_names)]
    for row in table.to_pylist():
        cells = ("" if value is None else str(value) for value in row.values())
        lines.append(delimiter.join(cells))
    return write_text(file, "\n".join(lines) + "\n")


def write_json(file, table):
    rows = (json.dumps(row, default=str) for row in table.to_pylist())
    return write_text(file, "".join(f"{row}\n" for row in rows))


COMPRESS = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: arrow_compressed(data, "zstd"),
    ".lz4": lambda data: arrow_compressed(data, "lz4"),
}


def arrow_compressed(data, codec):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, codec) as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def write_text(file, content):
    data = content.encode() if isinstance(content, str) else content
    file = Path(file)
    file.write_bytes(COMPRESS.get(file.suffix, bytes)(data))
    return file


def write_parquet(file, table):
    pq.write_table(table, file, row_group_size=30)
    return file


def write_arrow(file, table):
    new = pa.ipc.new_stream if str(file).endswith("s") else pa.ipc.new_file
    with new(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=30)
    return file


WRITERS = {
    ".csv": write_csv,
    ".tsv": lambda file, table: write_csv(file, table, "\t"),
    **{f".csv{ending}": write_csv for ending in COMPRESS},
    ".jsonl": write_json,
    ".jsonl.gz": write_json,
    ".parquet": write_parquet,
    ".feather": write_arrow,
    ".arrow": write_arrow,
    ".arrows": write_arrow,
}

"""Streams from files: every row, in order, or a sentence that says which is bad."""

import ast
import csv
import errno
import gc
import io
import json
import os
import queue
import re
import subprocess
import sys
import textwrap
import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file
from support.corrupt_files import (
    ENCODINGS,
    WHOLE,
    check_sentence,
    mutilated,
    outcome,
)
from support.files import (
    WRITERS,
    pa,
    write_arrow,
    write_csv,
    write_json,
    write_parquet,
    write_text,
)
from support.registry import paired

from sklearn_scinol import ScInOLRegressor
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.streams import (
    ReadError,
    ahead,
    columnar,
    json_lines,
    pipes,
    read_table,
    reading,
    text,
)

N_ROWS = 100

#: Files that are damaged at random.
N_MUTILATED = int(os.environ.get("MUTILATED_FILES", 40))


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    if n_threads():  # of a stream that is garbage, perhaps
        gc.collect()
    assert n_threads() == 0


def n_threads():
    return sum(thread.name.startswith(ahead.NAME) for thread in threading.enumerate())


@pytest.fixture
def small_blocks(monkeypatch):
    set_block_bytes(monkeypatch, 64)
    monkeypatch.setattr(columnar, "BATCH_ROWS", 7)


def set_block_bytes(patch, block_bytes):
    patch.setattr(text, "BLOCK_BYTES", block_bytes)
    patch.setattr(text, "MIN_BLOCK_ROWS", 1)


def table(start=0, stop=N_ROWS):
    rows = range(start, stop)
    return pa.table(
        {
            "x": [i + 0.25 for i in rows],
            "n": [float(i) for i in rows],
            "city": [None if i % 9 == 5 else f"city {i % 4}" for i in rows],
            "y": [i % 3 for i in rows],
            "w": [1.0 + i % 2 for i in rows],
        }
    )


def lines(file, *rows):
    return write_text(file, "".join(f"{row}\n" for row in rows))


def whole(stream):
    """All chunks of a stream as one table, with the target last."""
    chunks = list(stream)
    if not isinstance(chunks[0], tuple):
        return pa.concat_tables(chunks)
    tables = [X.append_column("y", pa.array(y)) for X, y, *_ in chunks]
    return pa.concat_tables(tables)


def refusal(path, error=ReadError, **options):
    """The sentence with which a file is refused, at once or when it is read."""
    with pytest.raises(error) as refused:
        list(read_table(path, **options))
    check_sentence(refused.value)
    return str(refused.value)


# Every row, in order.


@pytest.mark.parametrize(("ending", "read_ahead"), paired([*WRITERS], [0, 1, 3]))
def test_rows_of_each_format(ending, read_ahead, tmp_path, small_blocks):
    file = WRITERS[ending](tmp_path / f"rows{ending}", table())
    stream = read_table(
        file, target="y", sample_weight="w", chunk_rows=32, read_ahead=read_ahead
    )
    for _ in range(2):  # it can be read again
        chunks = list(stream)
        assert [len(y) for _, y, _ in chunks] == [32, 32, 32, 4]
        X = pa.concat_tables([X for X, _, _ in chunks])
        assert X.equals(table().select(["x", "n", "city"]))
        for place, name in (1, "y"), (2, "w"):
            values = np.concatenate([chunk[place] for chunk in chunks])
            np.testing.assert_array_equal(values, table()[name].to_numpy())
        assert chunks[0][1].dtype == np.int64
        assert chunks[0][2].dtype == np.float64
    assert stream.schema.names == ["x", "n", "city"]
    assert stream.files == [str(file)]
    assert stream.n_bad_rows == 0
    assert stream.bad_rows == []


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet", ".arrows"])
@pytest.mark.parametrize("kind", ["folder", "pattern", "list", "text"])
def test_rows_of_several_files(ending, kind, tmp_path):
    for i in (2, 0, 1):
        WRITERS[ending](tmp_path / f"part-{i}{ending}", table(30 * i, 30 * i + 30))
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden").touch()
    (tmp_path / "folder").mkdir()
    path = {
        "folder": tmp_path,
        "text": str(tmp_path),
        "pattern": str(tmp_path / "part-*"),
        "list": [tmp_path / f"part-{i}{ending}" for i in range(3)],
    }[kind]
    chunks = list(read_table(path, chunk_rows=40))
    assert [chunk.num_rows for chunk in chunks] == [40, 40, 10]
    assert pa.concat_tables(chunks)["n"].to_pylist() == list(range(90))


@pytest.mark.parametrize(
    "ending", [".csv", ".jsonl", ".parquet", ".feather", ".arrows"]
)
def test_columns(ending, tmp_path):
    """Those that are asked for, in the order of the first file."""
    WRITERS[ending](tmp_path / f"a{ending}", table(0, 50))
    turned = table(50).select(["y", "city", "w", "n", "x"])
    WRITERS[ending](tmp_path / f"b{ending}", turned)
    assert whole(read_table(tmp_path)).to_pydict() == table().to_pydict()
    read = whole(read_table(tmp_path, columns=["n", "x"]))
    assert read.equals(table().select(["n", "x"]))
    ((X, y),) = read_table(tmp_path, columns=["city"], target="x")
    assert X.column_names == ["city"]
    np.testing.assert_array_equal(y, table()["x"].to_numpy())


@pytest.mark.parametrize("zero_based", [False, True])
@pytest.mark.parametrize("ending", [".svm", ".libsvm.gz"])
def test_libsvm(ending, zero_based, tmp_path, small_blocks):
    random = np.random.default_rng(0)
    X = random.integers(-9, 9, (50, 6)) * (random.random((50, 6)) < 0.5) / 4
    X[-1, -1] = 1.0
    y = random.integers(-9, 9, 50) / 4
    dump_svmlight_file(X, y, content := io.BytesIO(), zero_based=zero_based)
    comment = b"# features of nothing\n\n"
    file = write_text(tmp_path / f"rows{ending}", comment + content.getvalue())
    for options in {}, {"n_features": 6}:
        stream = read_table(file, chunk_rows=20, zero_based=zero_based, **options)
        chunks = list(stream)
        assert [part.shape for part, _ in chunks] == [(20, 6), (20, 6), (10, 6)]
        read = np.vstack([part.toarray() for part, _ in chunks])
        np.testing.assert_array_equal(read, X)
        np.testing.assert_array_equal(np.concatenate([t for _, t in chunks]), y)
        assert stream.schema is None


# Pipes.


class Pausing(queue.Queue):
    """Has a pause after each item."""

    is_pause = True

    def get(self, timeout):
        self.is_pause = not self.is_pause
        if self.is_pause:
            raise queue.Empty
        return super().get()


@pytest.mark.parametrize(
    ("file_format", "options"),
    [
        ("csv", {"target": "y"}),
        ("csv", {"target": "y", "encoding": "utf-16"}),
        ("json", {"target": "y"}),
        ("libsvm", {"n_features": 2}),
    ],
)
def test_pipes_are_read_while_they_are_written(
    tmp_path, monkeypatch, file_format, options
):
    """Pipes give the rows of a file, and those before each pause at once."""
    monkeypatch.setattr(pipes, "Queue", Pausing)
    rows = [(i, chr(0xE9) * i, i / 2) for i in range(40)]
    lines = {
        "csv": ["x,z,y", *(f'{x},"{z}\n",{y}' for x, z, y in rows)],
        "json": [json.dumps(dict(zip("xzy", row, strict=True))) for row in rows],
        "libsvm": [f"{y} 1:{x} 2:{1 + x}" for x, _, y in rows],
    }[file_format]
    content = "\n".join([*lines, ""]).encode(options.get("encoding", "utf-8"))
    options = {"file_format": file_format, **options}
    ((X, y),) = read_table(write_text(tmp_path / "rows", content), **options)
    monkeypatch.setattr(pipes, "PIECE_BYTES", len(content) // 5 + 1)
    pipe = pipes.Pipe("-", "standard input", io.BytesIO(content))
    stream = read_table(pipe, **options)
    # The second time, pauses are where they were.
    for is_last in False, True:
        chunks = [chunk for chunk in stream._chunks(is_last) if chunk.rows]
        sizes = [len(chunk.rows[1]) for chunk in chunks]
        assert len(sizes) == 5
        assert [chunk.end.row for chunk in chunks] == np.cumsum(sizes).tolist()
        targets = np.concatenate([chunk.rows[1] for chunk in chunks])
        np.testing.assert_array_equal(targets, y)
        if file_format != "libsvm":
            assert pa.concat_tables(chunk.rows[0] for chunk in chunks) == X
    with pytest.raises(ReadError, match=r"^standard input is empty."):
        next(stream._chunks())  # what was read is forgotten


def test_errors_of_pipes(tmp_path):
    def read(size):
        raise OSError(errno.EIO, "Input/output error")

    pipe = pipes.Pipe("-", "standard input", SimpleNamespace(read=read))
    assert "standard input cannot be read: " in refusal(pipe)
    for file_format in "parquet", "arrow":
        said = refusal(pipe, file_format=file_format)
        assert "files cannot be read from standard input: " in said
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "rows.csv")
        assert "rows.csv is a pipe or a device" in refusal(tmp_path / "rows.csv")


# Types.


def test_types_of_text(tmp_path, small_blocks):
    days = [f"2024-01-0{i % 9 + 1} 10:00:00" for i in range(99)]
    rows = [f"{i},1,{'' if i < 50 else i + 0.5},{days[i]},a" for i in range(99)]
    last = "0.5,1,,2024-01-01 10:00:00.25,NA"
    file = lines(tmp_path / "rows.csv", "i,y,late,time,name", *rows, last)
    X = whole(stream := read_table(file, target="y"))
    kinds = [str(kind) for kind in stream.schema.types]
    assert kinds == ["double", "double", "timestamp[us]", "string"]
    assert X["i"].to_pylist()[-2:] == [98.0, 0.5]
    assert X["late"].to_pylist()[49:51] == [None, 50.5]
    assert X["name"].null_count == 1


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (pa.array(["b", "a"]).dictionary_encode(), "<U1"),
        (pa.array(["b", "é"], pa.large_string()), "<U1"),
        (pa.array([1.5, 2.0]), "f8"),
        (pa.array([1, 2], pa.uint8()), "u1"),
        (pa.array([1, 2], pa.float32()), "f4"),
        (pa.array([True, False]), "?"),
        (pa.array([1, 2]).cast(pa.decimal128(30, 2)), "f8"),
    ],
)
def test_targets_of_tables(values, dtype, tmp_path):
    columns = {"x": [1.0, 2.0] * 2, "y": pa.chunked_array([values, values])}
    file = write_arrow(tmp_path / "rows.arrows", pa.table(columns))
    ((_, y),) = read_table(file, target="y")
    assert y.dtype == dtype
    expected = values.to_pylist() * 2
    assert y.tolist() == ([*map(float, expected)] if dtype == "f8" else expected)


def test_column_types(tmp_path):
    file = lines(tmp_path / "rows.csv", "zip,x,y", "01234,1,0", "00001,2,1")
    types = {"zip": "string", "x": pa.int8(), "y": "float64"}
    ((X, y),) = read_table(file, target="y", column_types=types)
    assert X["zip"].to_pylist() == ["01234", "00001"]
    assert X["x"].type == pa.int8()
    assert y.dtype == np.float64
    file = write_parquet(tmp_path / "rows.parquet", table())
    (X,) = read_table(file, column_types={"y": "float32"}, columns=["y"])
    assert X["y"].type == pa.float32()


def test_options_of_csv(tmp_path):
    file = write_text(tmp_path / "rows.data", "1;café;-\n2;-;3\n".encode("latin-1"))
    options = {"file_format": "csv", "delimiter": ";", "encoding": "latin-1"}
    options |= {"column_names": ["a", "b", "c"], "null_values": ["-"]}
    (X,) = read_table(file, **options)
    assert X.to_pydict() == {"a": [1, 2], "b": ["café", None], "c": [None, 3]}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32", "shift_jis"])
def test_encodings(encoding, tmp_path, small_blocks):
    rows = [f"{i},日本{i}" for i in range(50)]
    content = "\n".join(["i,s", *rows]).encode(encoding)
    file = write_text(tmp_path / "rows.csv", content)
    encoding = "utf-8" if encoding == "utf-8-sig" else encoding
    read = whole(read_table(file, encoding=encoding))
    assert read["s"].to_pylist() == [f"日本{i}" for i in range(50)]


# Values in quotes.


def test_quotes_that_stand_for_themselves(tmp_path, small_blocks):
    rows = ['"5"" pipe",0', '"two\nlines",1', '6" pipe,2', '7" pipe,3', '5","3\n4"']
    read = whole(read_table(lines(tmp_path / "rows.csv", "s,x", *rows * 20)))
    assert read["x"].to_pylist() == ["0", "1", "2", "3", "3\n4"] * 20
    texts = ['5" pipe', "two\nlines", '6" pipe', '7" pipe', '5"']
    assert read["s"].to_pylist() == texts * 20


def test_quote_that_is_never_closed(tmp_path, monkeypatch, small_blocks):
    monkeypatch.setattr(text, "MAX_QUOTED", 100)
    rows, bad = [f"{i},s" for i in range(90)], [0, 40, 88]
    for i in bad:
        rows[i] = f'{i},"s'
    file = lines(tmp_path / "rows.csv", "x,s", *rows)
    stream = read_table(file, on_bad_row="skip")
    expected = [i for i in range(90) if i not in bad]
    assert whole(stream)["x"].to_pylist() == expected
    found = [(each.row, each.text) for each in stream.bad_rows]
    assert found == [(i + 1, f'{i},"s') for i in bad]
    assert "a quote is never closed" in stream.bad_rows[0].reason


TYPES = {"x": "float64", "s": "string", "y": "float64"}

FIELDS = ["1", "2.5", "", "-3e5", "NA", '"4"', "word", '"a\nb"', '"a,b"', "é", "x" * 90]
FIELDS += ['"say ""so"""', '"\n\n\n\n\n\n"']
ROWS = st.lists(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=4), max_size=30)


@pytest.mark.slow
@given(
    rows=ROWS,
    block_bytes=st.sampled_from([1, 5, 16, 50, 10**6]),
    chunk_rows=st.integers(1, 40),
    end=st.sampled_from(["\n", "\r\n", "\n\n"]),
    last_end=st.booleans(),
)
def test_any_rows_of_csv(
    rows, block_bytes, chunk_rows, end, last_end, tmp_path_factory
):
    """Which are bad, and the others, against the module of the standard library."""
    content = end.join(["x,s,y", *map(",".join, rows)]) + end * last_end
    good, bad = [], []
    parsed = csv.reader(io.StringIO(content, newline=""))
    for number, row in enumerate(list(filter(None, parsed))[1:], start=1):
        (good if is_good(row) else bad).append((number, row))
    file = write_text(tmp_path_factory.mktemp("csv") / "rows.csv", content)
    options = {"target": "y", "column_types": TYPES}
    with pytest.MonkeyPatch.context() as patch:
        set_block_bytes(patch, block_bytes)
        skip = {"on_bad_row": "skip", "chunk_rows": chunk_rows, "read_ahead": 0}
        chunks = list(stream := read_table(file, **options, **skip))
        assert [row.row for row in stream.bad_rows] == [number for number, _ in bad]
        names = [name for X, _ in chunks for name in X["s"].to_pylist()]
        assert names == [None if row[1] in ("", "NA") else row[1] for _, row in good]
        targets = [value for _, y in chunks for value in y]
        assert targets == [float(row[2]) for _, row in good]
        assert [len(y) for _, y in chunks[:-1]] == [chunk_rows] * (len(chunks) - 1)
        if bad:
            with pytest.raises(ReadError) as error:
                list(read_table(file, **options))
            assert error.value.row == bad[0][0]


def is_good(row):
    """Whether a row has two numbers, of which the first may be missing."""
    if len(row) != 3:
        return False
    try:
        is_target = np.isfinite(float(row[2]))
        return is_target and (row[0] in ("", "NA") or bool(float(row[0])))
    except ValueError:
        return False


# Bad rows.


BAD_CSV = ("x,s,y", "1,a,0", "2,b", "three,c,1", "", "4,d,", "5,e,1.5", "6,f,1,9")
BAD_CSV += ("7,g,1",)
BAD = [
    (2, "has 2 values, not 3", "2,b"),
    (3, "has 'three' in column 'x', which is not a number", "three,c,1"),
    (4, "has no target in column 'y'", "4,d,"),
    (5, "has '1.5' in column 'y', which is not a whole number", "5,e,1.5"),
    (6, "has 4 values, not 3", "6,f,1,9"),
]
BAD_TYPES = {"x": "float64", "s": "string", "y": "int64"}


@pytest.mark.parametrize("block_bytes", [2, 20, 10**6])
def test_bad_rows_of_csv(block_bytes, tmp_path, monkeypatch):
    set_block_bytes(monkeypatch, block_bytes)
    file = lines(tmp_path / "rows.csv", *BAD_CSV)
    stream = read_table(file, target="y", on_bad_row="skip", column_types=BAD_TYPES)
    for _ in range(2):  # counts begin anew
        assert whole(stream)["x"].to_pylist() == [1.0, 7.0]
        assert stream.n_bad_rows == 5
        assert [(bad.row, bad.reason, bad.text) for bad in stream.bad_rows] == BAD
        assert str(stream.bad_rows[0]) == f"Row 2 of {file} has 2 values, not 3."


def test_bad_row_is_an_error(tmp_path):
    for skipped in range(5):  # each of them in turn is the first
        rows = [row for row in BAD_CSV if row not in [bad[2] for bad in BAD[:skipped]]]
        file = lines(tmp_path / "rows.csv", *rows)
        number, reason, _ = BAD[skipped]
        said = refusal(file, target="y", column_types=BAD_TYPES)
        assert f"Row {number - skipped} of {file} {reason}: pass " in said


def test_warning_of_bad_rows(tmp_path):
    file = lines(tmp_path / "rows.csv", *BAD_CSV)
    stream = read_table(file, target="y", on_bad_row="warn", column_types=BAD_TYPES)
    with pytest.warns(UserWarning, match="^Row 2 .* and 4 more after it") as warned:
        assert len(list(stream)) == 1
    assert warned[0].filename == __file__


def test_how_bad_rows_are_counted(tmp_path, small_blocks, monkeypatch):
    """Numbers begin anew in each file, and no more than so many are kept."""
    monkeypatch.setattr(reading, "MAX_BAD_ROWS", 100)
    lines(tmp_path / "a.csv", "x,y", *["1"] * 70, "1,2", "1")
    lines(tmp_path / "b.csv", "x,y", *["1"] * 50)
    stream = read_table(tmp_path, on_bad_row="skip")
    assert whole(stream).num_rows == 1
    assert stream.n_bad_rows == 121
    found = [(Path(bad.path).name, bad.row) for bad in stream.bad_rows]
    rows = [*range(1, 71), 72], range(1, 30)
    expected = [(name, row) for name, of in zip("ab", rows, strict=True) for row in of]
    assert found == [(f"{name}.csv", row) for name, row in expected]


@pytest.mark.parametrize("block_bytes", [2, 30, 10**6])
def test_bad_rows_of_json(block_bytes, tmp_path, monkeypatch):
    set_block_bytes(monkeypatch, block_bytes)
    rows = [
        ('{"x": 1, "s": "a", "n": 2}', None),
        ('{"x": "1", "s": "a"}', None),
        ("", None),
        ('{"s": 2}', None),
        ('{"x": "q"}', "has 'q' in column 'x', which does not fit the type double"),
        ("nothing", "is not a JSON object: Invalid value"),
        (
            '{"x": 2',
            "is not a JSON object: Missing a comma or '}' after an object member",
        ),
        ("[1]", "is not a JSON object"),
        ("null", "is not a JSON object: it is null"),
        ('null {"x": 1}', "is not a JSON object: it is null"),
        ('{"x": 1} null', "is not a JSON object: it is null"),
        ('{"x": 1} {"x": 2}', "is not a JSON object: it does not end where its line"),
        ('{"x": 1, "x": 2}', "has the key 'x' twice"),
        ('{"x": 1e999}', "has a number that is too large for float64"),
        (
            '{"n": 12345678901234567890}',
            "has '12345678901234567890' in column 'n', which does not fit",
        ),
        ('{"x": []}', "has an array in column 'x', which is not a number"),
        ('{"x": ' + 300 * '[{"x": ', "is nested more than 100 deep"),
        ('{"s": "\\ud800"}', "is not a JSON object"),
        ('{"new": 1}', None),
    ]
    file = lines(tmp_path / "rows.jsonl", *(row for row, _ in rows))
    types = {"x": "float64", "s": "string", "n": "int64"}
    stream = read_table(file, on_bad_row="skip", columns=[*types], column_types=types)
    read = whole(stream).to_pydict()
    assert read == {
        "x": [1.0, 1.0, None, None],
        "s": ["a", "a", "2", None],
        "n": [2, None, None, None],
    }
    rows = [row for row in rows if row[0]]
    assert [bad.row for bad in stream.bad_rows] == [
        i for i, (_, reason) in enumerate(rows, start=1) if reason
    ]
    for bad in stream.bad_rows:
        row, reason = rows[bad.row - 1]
        assert bad.text == row
        assert bad.reason.startswith(reason)


def test_null_ends_no_process(tmp_path):
    file = lines(tmp_path / "rows.jsonl", "null", '{"x": [null,', "null]}", '{"s": 1}')
    assert whole(read_table(file, on_bad_row="skip"))["s"].to_pylist() == [1.0]


DEEP = {
    "arrays": ('{"x": ' + "[" * 20_000, "]" * 20_000 + "}"),
    "objects": ('{"x": ' * 20_000 + "1", "}" * 20_000),
    "both": ('{"x": [' * 20_000, "]}" * 20_000),
    "beside_a_string": ('{"s": "]]}\\"", "x": ' + '["}", ' * 20_000, ""),
    "over_many_lines": ('{"x": ' + "[\n" * 200, "]\n" * 200 + "}"),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("kind", DEEP)
def test_json_that_is_nested_deep(kind, tmp_path):
    """It would end the process."""
    beginning, end = DEEP[kind]
    rows = ['{"x": 1}', *(beginning + end).split("\n"), '{"x": 3}']
    file = lines(tmp_path / "rows.jsonl", *rows)
    stream = read_table(file, on_bad_row="skip")
    assert whole(stream)["x"].to_pylist() == [1.0, 3.0]
    assert stream.bad_rows[0].row == 2
    if kind != "over_many_lines":
        assert stream.bad_rows[0].reason == "is nested more than 100 deep"
        with pytest.raises(ReadError, match=r"Row 2 of .* is nested more than 100"):
            list(read_table(file))


def test_brackets_and_nulls_in_strings_are_text(tmp_path):
    words = ["} null", '"} null', '{"' * 200, "\\" * 3 + "[" * 200, "]}" * 99]
    file = lines(tmp_path / "rows.jsonl", *(json.dumps({"s": s}) for s in words))
    assert whole(read_table(file))["s"].to_pylist() == words
    for n in 99, 100:  # within the object
        assert json_lines._is_deep(b'{"x": ' + b"[" * n) == (n == 100)


def test_bad_rows_of_libsvm(tmp_path):
    rows = "1 1:1", "q 1:1", "# no", "nan 2:1", "1 3:1 2:1", "0 2:1", "0 1:inf"
    stream = read_table(lines(tmp_path / "rows.svm", *rows), on_bad_row="skip")
    ((X, y),) = stream
    np.testing.assert_array_equal(X.toarray(), [[1, 0], [0, 1]])
    np.testing.assert_array_equal(y, [1, 0])
    assert [bad.row for bad in stream.bad_rows] == [2, 3, 4, 6]
    assert stream.bad_rows[1].reason == "has the target nan"
    assert stream.bad_rows[3].reason == "has a feature that is not finite"


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrows"])
def test_bad_rows_of_tables(ending, tmp_path, small_blocks):
    y = [float(i) for i in range(50)]
    w = [1.0, 0.0] * 25
    y[3], y[20], y[21], w[22], w[30], w[31] = None, np.nan, np.inf, None, -1.0, np.nan
    w[32:34] = 1e-300, 1e300  # no estimator takes these
    names = pa.array(["" if i == 40 else "s" for i in range(50)])
    if ending != ".parquet":
        names = names.dictionary_encode()
    columns = {"x": [*range(50)], "name": names, "y": y, "w": w}
    file = WRITERS[ending](tmp_path / f"rows{ending}", pa.table(columns))
    stream = read_table(file, target="y", sample_weight="w", on_bad_row="skip")
    X, *_ = zip(*stream, strict=True)
    bad = [3, 20, 21, 22, 30, 31, 32, 33]
    good = [i for i in range(50) if i not in bad]
    assert pa.concat_tables(X)["x"].to_pylist() == good
    assert [bad.row - 1 for bad in stream.bad_rows] == bad
    words = "no target", "target nan", "target inf", "no weight", "weight -1.0"
    words += "weight nan", "weight 1e-300", "weight 1e+300"
    for each, said in zip(stream.bad_rows, words, strict=True):
        assert said in each.reason
    stream = read_table(file, target="name", on_bad_row="skip", columns=["x"])
    assert sum(len(y) for _, y in stream) == 49
    assert stream.bad_rows[0].row == 41
    stream = read_table(file, column_types={"name": "float64"}, on_bad_row="skip")
    assert list(stream) == []
    assert stream.n_bad_rows == 50


# Types that differ among files.


def write_parts(folder, ending, *values):
    """Write a file with columns a and y for the values of each part."""
    folder.mkdir()
    for i, a in enumerate(values):
        part = pa.table({"a": a, "y": [0.0] * len(a)})
        WRITERS[ending](folder / f"part.{5 * i}{ending}", part)
    return folder


DAY, TIME = date(2024, 1, 1), datetime(2024, 1, 1, 23)
LATER = TIME.replace(tzinfo=UTC)


KINDS_OF_PARTS = [
    (pa.array([1, 2]), pa.array([1.5]), "double"),
    (pa.array([None]), pa.array(["u"]), "string"),
    (pa.array([1], pa.int32()), pa.array([2**40]), "int64"),
    (pa.array([1.5], pa.float32()), pa.array([1e300]), "double"),
    (pa.array([2**24 + 1], pa.int32()), pa.array([0.5], pa.float32()), "double"),
    (pa.array([Decimal("-1307.37")]), pa.array([0.5]), "double"),
    (pa.array(["a"]).dictionary_encode(), pa.array(["b"]), "string"),
    (pa.array(["a"], pa.large_string()), pa.array(["b"]), "large_string"),
    (pa.array([DAY]), pa.array([TIME]), "timestamp[us]"),
    (pa.array([TIME], pa.timestamp("s")), pa.array([TIME]), "timestamp[us]"),
    (
        pa.array([LATER], pa.timestamp("us", "UTC")),
        pa.array([LATER], pa.timestamp("s", "Europe/Berlin")),
        "timestamp[us, tz=UTC]",
    ),
]


@pytest.mark.cases(11)
@pytest.mark.parametrize(("one", "other", "kind"), KINDS_OF_PARTS)
def test_types_are_widened(one, other, kind, tmp_path):
    for ending, order in product(
        [".parquet", ".feather", ".arrows"], [(one, other), (other, one)]
    ):
        folder = write_parts(tmp_path / f"{order[0] is one}{ending}", ending, *order)
        stream = read_table(folder, columns=["a"], chunk_rows=1)
        assert str(stream.schema.field("a").type) == kind
        expected = [value for part in order for value in part.to_pylist()]
        if kind == "double":
            expected = [*map(float, expected)]
        if DAY in expected:
            expected[expected.index(DAY)] = datetime(2024, 1, 1)
        assert whole(stream)["a"].to_pylist() == expected


@pytest.mark.parametrize("ending", [".parquet", ".arrows"])
def test_types_that_do_not_fit_are_refused_with_a_remedy(ending, tmp_path):
    bools, numbers = pa.array([True, False]), pa.array([0.5, 7.0])
    for i, (one, other, remedy, expected) in enumerate(
        [
            (bools, numbers, "float64", [1.0, 0.0, 0.5, 7.0]),
            (pa.array([TIME]), pa.array([1704067200]), "string", None),
            (pa.array([1]), pa.array([TIME]), "string", None),
            (pa.array(["True"]), pa.array([True]), "string", ["True", "True"]),
            (pa.array([2**53 + 1]), numbers, "float64", [2.0**53, 0.5, 7.0]),
            (pa.array([2**63], pa.uint64()), pa.array([-1]), "float64", [2.0**63, -1]),
            (pa.array(["x"]), pa.array([1.0]), "string", ["x", "1"]),
            (pa.array([[1]]), pa.array([1.0]), None, None),
        ]
    ):
        folder = write_parts(tmp_path / str(i), ending, one, other)
        said = refusal(folder, target="y")
        assert str(folder / "part.") in said
        assert "in column 'a', " in said
        if remedy is None:
            assert "pass columns= without it." in said
            continue
        assert f"pass column_types={{'a': '{remedy}'}}" in said
        X = whole(read_table(folder, target="y", column_types={"a": remedy}))
        if expected is not None:
            assert X["a"].to_pylist() == expected


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (TIME, "date32"),
        (0.5, "bool"),
        (1e300, "float32"),
        (0.5, "int64"),
        (TIME, "int64"),
        ("0x10", "int64"),
        ("1_000", "float64"),
    ],
)
def test_types_that_are_asked_for_lose_nothing_else(value, kind, tmp_path):
    folder = write_parts(tmp_path / "parts", ".parquet", pa.array([value]))
    said = refusal(folder, column_types={"a": kind})
    remedy = re.search(r"which does not fit .*column_types=({.*?})", said)[1]
    read = whole(read_table(folder, column_types=ast.literal_eval(remedy)))
    assert str(read["a"][0].as_py())[:4] == str(value)[:4]


# Folders and order.


def test_folders_of_keys(tmp_path):
    for year in (2024, 2023, 10):
        folder = tmp_path / f"year={year}" / "city=S%C3%A3o"
        folder.mkdir(parents=True)
        for part in (2, 10):
            write_parquet(folder / f"part.{part}.parquet", pa.table({"x": [part]}))
    for path in tmp_path, str(tmp_path / "*" / "*" / "*.parquet"):
        stream = read_table(path, target="year")
        assert stream.schema.names == ["x", "city"]
        ((X, y),) = stream
        assert X["city"].to_pylist() == ["São"] * 6
        assert X["x"].to_pylist() == [2, 10] * 3
        assert y.dtype == np.int32
        assert y.tolist() == [10, 10, 2023, 2023, 2024, 2024]
    write_csv(tmp_path / "year=10" / "rows.csv", pa.table({"x": [1.0]}))
    read = whole(read_table(tmp_path / "year=10" / "rows.csv"))
    assert read.to_pydict() == {"x": [1.0], "year": [10.0]}
    other = write_parquet(tmp_path / "rows.parquet", pa.table({"x": [1]}))
    assert "with other names than " in refusal([other, tmp_path / "year=2024"])


# CSV that is damaged.


@pytest.mark.cases(12)
@pytest.mark.parametrize("kind", ["float64", "int64", None])
@pytest.mark.parametrize("number", ["0x10", "1_000", "١", "inf"])
def test_what_is_no_number(kind, number, tmp_path):
    file = lines(tmp_path / "rows.csv", "a,y", "1,0", f"{number},1", "3,2")
    if kind is None and number in ("1_000", "١"):
        assert whole(read_table(file))["a"][1].as_py() == number
        return
    kind = "float64" if kind and number == "inf" else kind
    types = {"a": kind} if kind else None
    stream = read_table(file, target="y", column_types=types, on_bad_row="skip")
    assert whole(stream)["a"].to_pylist() == [1, 3]
    assert stream.bad_rows[0].row == 2
    said = refusal(file, target="y", column_types=types)
    assert number in said
    assert "in column 'a'" in said
    read = whole(read_table(file, column_types={"a": "string"}))
    assert read["a"][1].as_py() == number


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8", "shift_jis", "utf-16-le"])
def test_bytes_that_an_encoding_does_not_have(encoding, tmp_path, small_blocks):
    wrong = {"cp1252": b"\x81", "utf-16-le": b"\x00\xd8"}.get(encoding, b"\xff")
    rows = [f"{i},s\n".encode(encoding) for i in range(9)]
    rows[4] = "4,".encode(encoding) + wrong + "\n".encode(encoding)
    content = "x,s\n".encode(encoding) + b"".join(rows)
    file = write_text(tmp_path / "rows.csv", content)
    stream = read_table(file, encoding=encoding, on_bad_row="skip")
    assert whole(stream)["x"].to_pylist() == [0, 1, 2, 3, 5, 6, 7, 8]
    reason = f"has text in column 's' that is not {encoding.upper()}"
    assert [(bad.row, bad.reason) for bad in stream.bad_rows] == [(5, reason)]
    assert "pass encoding=, such as 'latin-1', or" in refusal(file, encoding=encoding)


# JSON: types, late keys, and what is not an object a line.


def test_column_types_of_json(tmp_path):
    rows = [
        '{"zip": "01234", "x": " 1.5 ", "day": "2024-01-01", "y": 0}',
        '{"zip": 1234, "x": 2, "day": null, "y": 1}',
        '{"zip": true, "x": "", "y": 2}',
        '{"zip": 1.50, "x": "1_000", "y": 3}',
    ]
    file = lines(tmp_path / "rows.jsonl", *rows)
    types = {"zip": "string", "x": "float64", "day": "date32"}
    stream = read_table(file, target="y", column_types=types, on_bad_row="skip")
    ((X, y),) = stream
    assert X.to_pydict() == {
        "zip": ["01234", "1234", "True"],
        "x": [1.5, 2.0, None],
        "day": [DAY, None, None],
    }
    assert y.tolist() == [0, 1, 2]
    assert stream.bad_rows[0].row == 4
    read = whole(read_table(file, target="y", column_types={**types, "x": "string"}))
    assert read["x"].to_pylist() == [" 1.5 ", "2", "", "1_000"]


def test_key_that_comes_late(tmp_path, small_blocks):
    rows = [json.dumps({"x": i} | ({"late": "a"} if i > 70 else {})) for i in range(90)]
    file = lines(tmp_path / "rows.jsonl", *rows)
    expected = [None] * 71 + ["a"] * 19
    assert whole(read_table(file)).column_names == ["x"]
    for options in {"columns": ["x", "late"]}, {"column_types": {"late": "string"}}:
        assert whole(read_table(file, **options))["late"].to_pylist() == expected
    assert "has no column 'never'" in refusal(file, ValueError, columns=["never"])


@pytest.mark.parametrize("indent", [None, 2])
def test_json_that_is_not_an_object_a_line(indent, tmp_path):
    rows = [{"x": 1, "y": {"z": 2}}, {"x": 2}]
    for value in rows, rows[0]:
        content = json.dumps(value, indent=indent)
        file = write_text(tmp_path / "rows.json", content)
        if value is rows[0] and indent is None:
            assert whole(read_table(file))["x"].to_pylist() == [1.0]
        else:
            for on_bad_row in "error", "skip":
                said = refusal(file, on_bad_row=on_bad_row)
                assert said.startswith(f"{file} does not have an object a line: write")


# What is wrong with files, or with what is asked of them.


CSV, TWICE, HALF = "x,y\n1,2\n", "x,y,x\n1,2,3\n", "x,y\n1,1\n2,1.5\n"
LATIN, OBJECTS = "x\ncafé\n".encode("latin-1"), '{"x": 1}\n' * 200 + '{"x": "q"}\n'

#: What is read, with which options, and what its error says.
REFUSED = [
    (CSV, {"target": "z"}, r"target='z': .* has no column 'z' \(columns: 'x', 'y'\)"),
    (CSV, {"columns": ["q", "x", "z"]}, "has no columns 'q', 'z'"),
    (CSV, {"column_types": {"x": "q"}}, "'q' is not a type"),
    (CSV, {"columns": ["y"], "target": "y"}, "columns= has the target, 'y'"),
    (CSV, {"target": "y", "sample_weight": "y"}, "both"),
    (CSV, {"columns": ["y", "y"]}, "twice"),
    (CSV, {"columns": []}, "has no column of features"),
    (CSV, {"columns": "x"}, "list of names"),
    (CSV, {"chunk_rows": 0}, "chunk_rows == 0"),
    (CSV, {"read_ahead": -1}, "read_ahead == -1"),
    (CSV, {"on_bad_row": "ignore"}, "on_bad_row must be one of"),
    (CSV, {"delimiter": ", "}, "delimiter must be one character"),
    (CSV, {"encoding": "utf-7.5"}, "encoding='utf-7.5' is not a text encoding"),
    (CSV, {"null_values": "?"}, "null_values must be a list"),
    (CSV, {"n_features": 2}, "n_features= cannot be used with csv files"),
    (CSV, {"file_format": "xls"}, "got 'xls'"),
    (CSV, {"file_format": "parquet"}, r"rows\.csv"),
    (CSV, {"file_format": "json"}, r"rows\.csv"),
    (CSV, {"file_format": "libsvm", "target": "y"}, "libsvm files"),
    (TWICE, {}, "has the column 'x' twice: pass columns="),
    ("x,y\n1,2024-01-01\n", {"target": "y"}, "must be numbers, booleans or strings"),
    ('"x,y\n1,2\n', {}, "header .* has a quote left open"),
    (HALF, {"target": "y", "column_types": {"y": "int64"}}, r"\{'y': 'float64'\}, or"),
    (LATIN, {}, "column 'x' that is not UTF-8: pass encoding="),
    ("é\n1\n".encode("latin-1"), {}, "not text in utf-8: pass .* as 'latin-1'"),
    ("é\n1\n".encode("utf-16"), {}, "not text in utf-8: pass .* as 'utf-16'"),
    (b'{"s": "a"}\n{"s": "\xe9"}\n', {}, "Row 2 of .* that is not UTF-8: pass enc"),
    (OBJECTS, {}, r"pass column_types=\{'x': 'string'\}, or"),
    ("{}\n{}\n", {}, "has no row that can be read: the first one is empty"),
    ("null\nnull\n", {"file_format": "json"}, "JSON object: it is null"),
    ('{"x": 1, "x": 2}\n', {}, "has no row .* has the key 'x' twice"),
    ("1 0:1\n", {"file_format": "libsvm"}, "pass zero_based=True, or on_bad_row"),
]


@pytest.mark.cases(len(REFUSED))
@pytest.mark.parametrize(("content", "options", "words"), REFUSED)
def test_what_is_refused(content, options, words, tmp_path):
    is_json = content[:1] in ("{", b"{")
    file = write_text(tmp_path / ("rows.jsonl" if is_json else "rows.csv"), content)
    said = refusal(file, (ValueError, TypeError), **options)
    assert re.search(words, said)


def test_files_that_do_not_fit_together(tmp_path):
    write_csv(tmp_path / "a.csv", table())
    write_json(tmp_path / "b.jsonl", table())
    assert "All files must have one format" in refusal(tmp_path)
    file = write_csv(tmp_path / "rows.data", table())
    assert "does not tell its format: pass file_format=" in refusal(file)
    file = write_arrow(tmp_path / "rows.arrows", pa.table([[1], [2]], names=["x", "x"]))
    assert "has the column 'x' twice" in refusal(file)


def test_no_such_file(tmp_path):
    file = tmp_path / "rows.csv"
    other = lines(tmp_path / "sub.csv", "x,y", "1,2")
    (tmp_path / "empty").mkdir()
    for path in file, str(tmp_path / "*.txt"), tmp_path / "empty", [other, file]:
        name = str(file if isinstance(path, list) else path)
        assert name in refusal(path, FileNotFoundError)
    refusal([], ValueError)


@pytest.mark.parametrize("ending", WRITERS)
def test_no_permission(ending, tmp_path, monkeypatch):
    """Told by the operating system, whose word root does not hear."""
    file = WRITERS[ending](tmp_path / f"rows{ending}", table())

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    monkeypatch.setattr("pyarrow.OSFile", refuse)
    said = refusal(file, PermissionError)
    assert said == f"{file} cannot be read: permission denied."


@pytest.mark.parametrize("ending", WRITERS)
def test_empty_file(ending, tmp_path):
    is_text = "csv" in ending or "json" in ending
    for content in b"", *([b"\n\n"] * is_text):
        file = write_text(tmp_path / f"rows{ending}", content)
        said = refusal(file)
        assert said == f"{file} is empty." if is_text else str(file) in said


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".arrows"])
@pytest.mark.parametrize("read_ahead", [0, 2])
def test_file_without_rows(ending, read_ahead, tmp_path):
    file = WRITERS[ending](tmp_path / f"rows{ending}", table().slice(0, 0))
    stream = read_table(file, columns=["x"], target="n", read_ahead=read_ahead)
    assert list(stream) == []
    with pytest.raises(ValueError, match=r"The stream is empty\."):
        progressive_validation(ScInOLRegressor(), stream)


@pytest.mark.parametrize("ending", sorted({*WRITERS} - {".csv", ".tsv"}))
def test_truncated_file(ending, tmp_path, small_blocks):
    file = WRITERS[ending](tmp_path / f"rows{ending}", table())
    content = file.read_bytes()
    for n_bytes in (len(content) // 4, len(content) // 2, len(content) - 12):
        file.write_bytes(content[:n_bytes])
        assert str(file) in refusal(file)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_columns_that_differ(ending, tmp_path):
    first = WRITERS[ending](tmp_path / f"a{ending}", table())
    other = table().rename_columns(["x", "n", "town", "y", "w"])
    second = WRITERS[ending](tmp_path / f"b{ending}", other)
    said = refusal(tmp_path)
    assert f"{second} has other columns than {first}: " in said
    assert "does not have 'city' and also has 'town': pass missing_columns=" in said
    columns = ["x", "n"]
    assert whole(read_table(tmp_path, columns=columns)).column_names == columns
    ignored = dict.fromkeys(["missing_columns", "new_columns"], "ignore")
    X = whole(read_table(tmp_path, **ignored))
    assert X.column_names == table().column_names
    assert X["city"].to_pylist() == table()["city"].to_pylist() + [None] * N_ROWS


def test_row_that_never_ends(tmp_path, monkeypatch):
    set_block_bytes(monkeypatch, 100)
    monkeypatch.setattr(text, "MAX_BLOCK_BYTES", 100)
    monkeypatch.setattr(text, "MAX_ROW_LENGTH", 1000)
    file = lines(tmp_path / "rows.csv", "x,y", "1,2", "1" * 2000)
    assert "has a row of more than 1000 bytes" in refusal(file)


@pytest.mark.cases(3)
@pytest.mark.slow
@pytest.mark.parametrize("ending", WHOLE)
def test_damaged_files(ending, tmp_path):
    """Give rows or a sentence; `MUTILATED_FILES=10000` tries so many."""
    content = WHOLE[ending]()
    file = tmp_path / f"case.{ending}"
    file.write_bytes(content)
    assert outcome(file, "error", 0) == "read"
    outcomes = set()
    for seed in range(N_MUTILATED):
        random = np.random.default_rng(seed)
        file.write_bytes(mutilated(content, random))
        options = ["error", "skip"][seed % 2], seed % 3, random.choice(ENCODINGS)
        try:
            outcomes.add(outcome(file, *options))
        except Exception as error:
            error.add_note(f"This was seed {seed}, with {options}.")
            raise
    assert {"read", "refused"} <= outcomes


# Threads.


@pytest.mark.parametrize("read_ahead", [1, 2, 5])
def test_how_far_is_read_ahead(read_ahead, tmp_path, monkeypatch):
    """No more is read than was asked for, whatever threads have time for."""
    set_block_bytes(monkeypatch, 50)
    monkeypatch.setattr("pyarrow.cpu_count", lambda: 3)
    blocks = []
    part = text.CSV._part
    monkeypatch.setattr(
        text.CSV, "_part", lambda *given: blocks.append(given[-1][1]) or part(*given)
    )
    file = write_csv(tmp_path / "rows.csv", table(0, 1000))
    chunks = iter(read_table(file, chunk_rows=10, read_ahead=read_ahead))
    for n_chunks in range(1, 50):
        next(chunks)
        n_rows = sum(bytes(block).count(b"\n") for block in blocks)
        assert n_rows <= 10 * (n_chunks + read_ahead) + 5 * (3 + 2)
    chunks.close()
    assert len(blocks) < 300


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_iteration_that_is_abandoned(ending, tmp_path, small_blocks):
    file = WRITERS[ending](tmp_path / f"rows{ending}", table())
    assert next(iter(read_table(file, chunk_rows=3))).num_rows == 3
    chunks = iter(read_table(file, chunk_rows=3))
    next(chunks)
    assert n_threads() > 0
    chunks.close()
    assert n_threads() == 0
    with pytest.raises(KeyboardInterrupt):
        for _ in read_table(file, chunk_rows=3):
            raise KeyboardInterrupt


@pytest.mark.thorough
def test_interpreter_that_ends(tmp_path):
    """It does so at once while there is more to read."""
    file = write_csv(tmp_path / "rows.csv", table(0, 5000))
    code = f"""
        from sklearn_scinol.streams import read_table, text
        text.BLOCK_BYTES, text.MIN_BLOCK_ROWS = 1000, 1
        chunks = iter(read_table({str(file)!r}, chunk_rows=10))
        print(next(chunks).num_rows)
    """
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "10\n", "")


def test_threads_of_pyarrow_hold_nothing_of_python(tmp_path, monkeypatch):
    """They would wait for an interpreter that ends, which ends the process."""
    data = bytearray(b"x\n1\n")
    stream = ahead.open_bytes(data)
    data.clear()  # an error while something holds its memory
    assert stream.read() == b"x\n1\n"
    file = write_parquet(tmp_path / "rows.parquet", table())
    with monkeypatch.context() as patch:
        patch.setattr("builtins.open", None)
        assert whole(read_table(file)).num_rows == N_ROWS


@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_large_whole_numbers_are_not_rounded(ending, tmp_path, monkeypatch):
    """A column that has some among its first rows keeps its integers."""
    ids = [2**53 + 1, None, *range(60)]
    rows = pa.table({"id": ids, "few": [1] * len(ids), "y": ["a"] * len(ids)})
    file = WRITERS[ending](tmp_path / f"rows{ending}", rows)
    X = whole(read_table(file, target="y"))
    assert X["id"].to_pylist() == ids
    assert [str(X[name].type) for name in ("id", "few")] == ["int64", "double"]
    set_block_bytes(monkeypatch, 300)
    text = file.read_text().splitlines()
    for last, remedy in ("1.5", "float64"), (str(2**64 - 1), "string"):
        file.write_text("\n".join([*text[:-1], text[-1].replace("59", last)]))
        assert f"column_types={{'id': '{remedy}'}}" in refusal(file, target="y")
        X = whole(read_table(file, target="y", column_types={"id": "string"}))
        assert [X["id"][i].as_py() for i in (0, -1)] == [str(2**53 + 1), last]


@pytest.mark.parametrize("number", [2**53 + 1, 2**64 - 1])
@pytest.mark.parametrize("ending", [".csv", ".jsonl"])
def test_whole_numbers_that_would_be_rounded_are_refused(ending, number, tmp_path):
    """Refuse numbers above 2^53 in columns inferred as float64, and above int64."""
    rows = pa.table({"id": [2.0**60, 7.5]})
    file = WRITERS[ending](tmp_path / f"rows{ending}", rows)
    file.write_text(file.read_text().replace("7.5", str(number)))
    said = refusal(file)
    assert f"Row 2 of {file} has '{number}' in column 'id', which does not fit" in said
    assert "column_types={'id': 'string'}" in said
    for kind, expected in ("string", str(number)), ("float64", float(number)):
        X = whole(read_table(file, column_types={"id": kind}))
        assert X["id"][1].as_py() == expected

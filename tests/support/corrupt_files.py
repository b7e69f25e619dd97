"""Damage small files at random: reading must give rows, or an error in one sentence."""

import gzip
import io
import json
from importlib import import_module

from sklearn_scinol.streams import ReadError, read_table

N_ROWS = 40

#: What is put into files, besides bytes at random.
PIECES = [b'"', b",", b"\n", b"\r", b"\0", b"nan", b"{", b"}", b"-", b"e999", b"\xff"]
PIECES += [b"[", b"]", b"\\", b"null", b"1e999", b"12345678901234567890", b"\x1b[2J"]
PIECES += [b"[" * 200, b'{"x": ' * 200, b"=1+1", b'"x": 1, ', b"\\ud800", b"," * 200]
PIECES += ["ü".encode("utf-16"), "\u202e".encode()]

#: How text is read: most often as what it is.
ENCODINGS = [None] * 12 + ["latin-1", "utf-16", "utf-7", "shift_jis", "idna", "cp500"]


def table():
    import pyarrow as pa

    rows = range(N_ROWS)
    columns = {
        "x": [0.5 * i for i in rows],
        "i": list(rows),
        "city": [f"city {i % 5}" for i in rows],
        "said": ['two\nlines, "quoted"' if i % 7 == 0 else "x" for i in rows],
        "time": pa.array(rows, pa.timestamp("s")),
        "y": [i % 2 for i in rows],
    }
    return pa.table(columns)


def written_by(module, name, **options):
    """Contents of a file that a function of pyarrow writes."""

    def write():
        function = getattr(import_module(f"pyarrow.{module}"), name)
        function(table(), file := io.BytesIO(), **options)
        return file.getvalue()

    return write


def arrows():
    import pyarrow as pa

    file = io.BytesIO()
    with pa.ipc.new_stream(file, table().schema) as writer:
        writer.write_table(table(), max_chunksize=15)
    return file.getvalue()


def lines(rows):
    return "".join(f"{row}\n" for row in rows).encode()


def jsonl():
    rows = table().to_pylist()
    return lines(json.dumps({**row, "time": str(row["time"])}) for row in rows)


def wide_csv():
    header = ",".join(["y", *(f"x{j}" for j in range(100))])
    rows = (",".join(map(str, range(i % 2, 101 + i % 2))) for i in range(12))
    return lines([header, *rows])


def nested_jsonl():
    inner = {"list": [["}]"], [None]], "text": 'say "[{" \\'}
    rows = ({"x": i / 2, "y": i % 2, "inner": inner} for i in range(N_ROWS))
    return lines(map(json.dumps, rows))


csv = written_by("csv", "write_csv")


#: Contents of a file that nothing is wrong with, by the ending of its name.
WHOLE = {
    "csv": csv,
    "csv.gz": lambda: gzip.compress(csv(), mtime=0),
    "parquet": written_by("parquet", "write_table", row_group_size=15),
    "arrow": written_by("feather", "write_feather", compression="uncompressed"),
    "arrows": arrows,
    "jsonl": jsonl,
    "svm": lambda: lines(f"{i % 2} 1:{0.5 * i} 3:{i}" for i in range(N_ROWS)),
    "wide.csv": wide_csv,
    "nested.jsonl": nested_jsonl,
}


def mutilated(content, random):
    """Contents with a few changes at random."""
    content = bytearray(content)
    for _ in range(random.choice([1, 1, 1, 2, 3, 8])):
        start = int(random.integers(len(content) + 1))
        stop = start + int(random.choice([1, 1, 2, 10, 50]))
        part = content[start:stop]
        match random.integers(7):
            case 0:
                content[start:stop] = b""
            case 1:
                content[start:start] = random.bytes(random.choice([1, 1, 4]))
            case 2 if part:
                content[start] ^= 1 << int(random.integers(8))
            case 3:
                del content[start:]
            case 4:
                content[start:start] = part * int(random.choice([1, 3]))
            case 5:
                content[start:start] = PIECES[random.integers(len(PIECES))]
            case _:
                content[start:stop] = part[::-1]
    return bytes(content)


#: What of files is text that may have another encoding.
TEXT = ".csv", ".gz", ".jsonl", ".svm"


def outcome(file, on_bad_row, read_ahead, encoding=None):
    """Read a file; what came of it in a word.

    Anything else than rows and sentences raises an error.
    """
    is_table = file.suffix != ".svm"
    options = {"on_bad_row": on_bad_row, "read_ahead": read_ahead, "chunk_rows": 16}
    options |= {"encoding": encoding} if file.suffix in TEXT else {}
    try:
        stream = read_table(file, target="y" if is_table else None, **options)
        for X, y in stream:
            assert X.shape[0] == len(y) > 0
            if is_table:
                X.validate(full=True)
    except (ReadError, OSError) as error:
        check_sentence(error)
        return "refused"
    except ValueError as error:
        assert "has no column 'y'" in str(error), error
        return "refused"
    assert on_bad_row == "skip" or stream.n_bad_rows == 0
    return "rows left out" if stream.n_bad_rows else "read"


def check_sentence(error):
    sentence = str(error)
    assert sentence.endswith("."), sentence
    assert "\n" not in sentence, sentence
    assert len(sentence) < 1000, sentence
    assert not type(error).__module__.startswith("pyarrow"), error

"""Read data sets from files, as matrices of numbers."""

import re
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from interface import InputError
from sklearn.datasets import load_svmlight_file
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from sklearn_scinol.cli.learn import holds_classes as are_classes
from sklearn_scinol.streams import ReadError, TableStream, read_table

# Columns of text with more different values than this are left out.
MAX_CATEGORIES = 200


def readers_in(folder, formats):
    """Return functions that read the files of a folder, by name.

    Parameters
    ----------
    folder : Path
        The folder.
    formats : dict of str to callable
        For each ending of a file's name, such as "csv", a function that reads a file,
        given its path. Compressed files (.gz, .bz2) are included.

    Returns
    -------
    readers : dict of str to callable
        Functions without arguments, by the names of the files without endings.

    Raises
    ------
    InputError
        If the folder does not exist, or has no file with one of the endings.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}.")
    pattern = re.compile(rf"(.+)\.({'|'.join(formats)})(\.gz|\.bz2)?")
    readers = {}
    for path in sorted(folder.iterdir()):
        if match := pattern.fullmatch(path.name):
            readers[match[1]] = partial(formats[match[2]], path)
    if not readers:
        endings = [f".{ending}" for ending in formats]
        raise InputError(
            f"There is no data set in {folder}: no file whose name ends in "
            f"{', '.join(endings[:-1])} or {endings[-1]}, compressed (.gz, .bz2) or "
            "not."
        )
    return readers


def read_svm(path):
    """Read rows (a CSR matrix) and targets from LIBSVM text."""
    try:
        X, y = load_svmlight_file(path)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read as LIBSVM text: {one_line(error)}."
        ) from None
    check_finite(path, X.data, y)
    return X, y


def read_frame(path):
    """Read a CSV file as a pandas frame, in which only empty fields are missing.

    "NA" and "?" are categories in some files.
    """
    if find_spec("pandas") is None:
        raise InputError("reading CSV files needs pandas, which is not installed.")
    import pandas as pd

    try:
        frame = pd.read_csv(
            path, keep_default_na=False, na_values=[""], low_memory=False
        )
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty.") from None
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read as CSV: {one_line(error)}.") from None
    if frame.empty:
        raise InputError(f"{path} has no rows.")
    return frame


def read_npz(path):
    """Read the arrays X and y of a file that NumPy has saved."""
    try:
        with np.load(path) as arrays:
            X, y = arrays["X"], arrays["y"]
    except (
        ValueError,
        OSError,
        EOFError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
    ) as error:
        raise InputError(f"{path} has no arrays X and y: {one_line(error)}.") from None
    if X.ndim != 2 or y.ndim != 1 or X.dtype.kind not in "biuf":
        raise InputError(f"{path} needs a matrix of numbers X and a vector y.")
    check_finite(path, X, y)
    return X.astype(float), y


def holds_classes(path, y):
    """Whether numbers stand for classes; they must not all be equal."""
    if len(np.unique(y)) < 2:
        raise InputError(f"The target of {path} is the same in all rows.")
    return are_classes(y)


def check_finite(path, *arrays):
    """Refuse infinity and NaN in numbers."""
    numbers = [array for array in arrays if array.dtype.kind in "biuf"]
    if not all(np.isfinite(array).all() for array in numbers):
        raise InputError(f"{path} has numbers that are not finite.")


def one_line(error):
    return " ".join(str(error).split()).rstrip(".")


# CSV files of any size, as a stream of matrices.


@dataclass
class EncodedTable:
    """A CSV file and its encoding; calling it yields its chunks as (X, y).

    Attributes
    ----------
    path : Path
        The file.
    target : str
        The column to predict.
    stream : TableStream
        Its chunks.
    encoders : list of (list of str, transformer)
        Names of columns, and the transformer that encodes them.
    n_rows, n_features : int
        Numbers of rows and of encoded features.
    classes : list of str or None
        The classes; None in regression.
    left_out : list of str
        Columns of text with too many different values to be encoded.
    """

    path: Path
    target: str
    stream: TableStream
    encoders: list
    n_rows: int
    n_features: int
    classes: list | None
    left_out: list

    def __call__(self):
        for table, y in sentences(self.stream):
            parts = [
                encoder.transform(values_of(table, names))
                for names, encoder in self.encoders
            ]
            yield np.hstack(parts), y


def open_csv(
    path,
    target,
    *,
    separator=",",
    chunk_size=1000,
    task="auto",
    classes=None,
    show=iter,
):
    """Scan a CSV file and find out how to encode it.

    Errors in the file are raised before anything is learned. Text is one-hot encoded
    without its first category, and missing text is a category of its own. A missing
    number is replaced by the mean of its column in the first chunk.

    Knowing all categories before the first row is no advantage: the column of a
    category that has not occurred yet is zero, and nothing is learned from zeros. The
    number of classes does affect the first predictions, so the classes are those of the
    first chunk, or `classes`.

    Parameters
    ----------
    path : str
        The file, which may be compressed.
    target : str
        The column to predict.
    separator : str, default=","
        The separator of columns.
    chunk_size : int, default=1000
        Number of rows to read at once.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" means classification if the target is text, or if the first chunk has at
        most 20 different numbers, all of them integers.
    classes : list of str, default=None
        All classes, as they are written in the file.
    show : callable, default=iter
        Given the iterator over the chunks, returns one that also shows the progress.

    Returns
    -------
    table : EncodedTable
        The file, ready to be read as often as needed.

    Raises
    ------
    InputError
        If something is wrong with the file, the column or the classes.
    """
    path = Path(path)

    def read(**options):
        with as_input_errors():
            return read_table(
                path,
                delimiter=separator,
                file_format="csv",
                chunk_rows=chunk_size,
                **options,
            )

    columns = read().schema.names
    if target not in columns:
        raise InputError(
            f"There is no column {target!r} in {path}, whose columns are "
            f"{', '.join(columns)}."
        )
    if columns == [target]:
        raise InputError(f"{path} has no column besides the target.")
    stream = read(target=target)
    _, y = next(sentences(stream), (None, None))
    if y is None:
        raise InputError(f"{path} has no rows.")
    is_class = are_classes(y) if task == "auto" else task == "classification"
    numbers = [column.name for column in stream.schema if str(column.type) == "double"]
    texts = [name for name in stream.schema.names if name not in numbers]
    types = dict.fromkeys(texts, "string")
    types[target] = "string" if is_class else "float64"
    stream = read(target=target, column_types=types)

    n_rows, first, targets = 0, None, set()
    known = {name: {} for name in texts}
    for table, y in show(sentences(stream)):
        if first is None:
            first = table
            if is_class and classes is None:
                classes = list(dict.fromkeys(y.tolist()))
        for name in numbers:
            check_numbers(table[name].to_numpy(), name, n_rows)
        if is_class:
            check_classes(y, classes, target, n_rows)
        for name, categories in known.items():
            if len(categories) <= MAX_CATEGORIES:
                values = values_of(table, [name])[:, 0]
                categories.update(dict.fromkeys(values.tolist()))
        n_rows += len(y)
        targets.update(np.unique(y)[:2].tolist())
    if n_rows == 1:
        raise InputError(f"{path} has one row only.")
    if len(targets) == 1:
        raise InputError(f"The target {target!r} is {targets.pop()!r} in all rows.")

    left_out = [name for name in texts if len(known[name]) > MAX_CATEGORIES]
    texts = [name for name in texts if name not in left_out]
    categories = [list(known[name]) for name in texts]
    n_features = len(numbers) + sum(len(each) - 1 for each in categories)
    if n_features == 0:
        raise InputError(f"{path} has no column from which anything could be learned.")
    return EncodedTable(
        path,
        target,
        stream,
        fitted_encoders(first, numbers, texts, categories),
        n_rows,
        n_features,
        classes if is_class else None,
        left_out,
    )


def fitted_encoders(table, numbers, texts, categories):
    """Pairs of columns and what encodes them, fitted to a table."""
    one_hot = OneHotEncoder(categories=categories, drop="first", sparse_output=False)
    pairs = (numbers, SimpleImputer(keep_empty_features=True)), (texts, one_hot)
    return [
        (names, encoder.fit(values_of(table, names)))
        for names, encoder in pairs
        if names
    ]


def values_of(table, names):
    """Return columns of a table as a matrix of numbers or of texts."""
    columns = [table[name] for name in names]
    if str(columns[0].type) == "string":
        columns = [column.fill_null("") for column in columns]
    return np.column_stack([column.to_numpy() for column in columns])


@contextmanager
def as_input_errors():
    """Turn errors of reading into InputError, without their advice."""
    try:
        yield
    except (ReadError, OSError, ImportError) as error:
        reason, *remedy = str(error).partition(": pass ")
        raise InputError(reason + "." * any(remedy)) from None


def sentences(stream):
    """Yield the chunks of a stream."""
    with as_input_errors():
        yield from stream


def check_numbers(values, name, n_before):
    if (wrong := np.isinf(values)).any():
        row = wrong.argmax()
        raise InputError(
            f"The column {name!r} must hold finite numbers, but row "
            f"{n_before + row + 1} has {values[row]}."
        )


def check_classes(y, classes, target, n_before):
    if (unseen := ~np.isin(y, classes)).any():
        row = unseen.argmax()
        raise InputError(
            f"The class {str(y[row])!r} of {target!r} first shows up in row "
            f"{n_before + row + 1}, but the classes must be known from the start: "
            "name all with --classes, have the first chunk hold them all with "
            "--chunk-size, or say --task regression if they are amounts."
        )

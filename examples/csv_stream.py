"""Read a CSV file of any size as a stream of numbers, in chunks.

:func:`open_csv` looks through the file once, so that whatever is wrong with it is told
in one sentence before anything is learned. After that it can be read as often as
needed, never more than a chunk in memory.
"""

import zlib
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

# Whole numbers with no more different values than this are taken for classes.
MAX_NUMERIC_CLASSES = 20

# Columns of text with more different values than this are left out.
MAX_CATEGORIES = 200


class InputError(Exception):
    """What is wrong with the user's data, in one sentence."""


@dataclass
class CsvStream:
    """A CSV file that was looked through; calling it yields its chunks as (X, y).

    Attributes
    ----------
    path : Path
        The file.
    target : str
        The column to predict.
    options : dict
        What :func:`pandas.read_csv` needs to know.
    encoder : ColumnTransformer
        Turns a frame into an array.
    n_rows, n_features : int
        How many there are, once encoded.
    classes : list of str or None
        The classes; None in regression.
    left_out : list of str
        Columns of text with too many different values to be encoded.
    """

    path: Path
    target: str
    options: dict
    encoder: ColumnTransformer
    n_rows: int
    n_features: int
    classes: list | None
    left_out: list

    def __call__(self):
        for frame in read_frames(self.path, self.options):
            yield self.encoder.transform(frame), frame[self.target].to_numpy()


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
    """Look through a CSV file and find out how to encode it.

    Text is one-hot encoded without its first category, and missing text is a category
    of its own. A missing number is replaced by the mean of its column in the first
    chunk. The first chunk also decides which columns are numbers and which are text.

    To know all categories before the first row is learned helps nobody: the column of a
    category that has not occurred yet is zero, and nothing is learned from zeros. The
    classes are another matter, since the very first prediction depends on how many
    there are: they are those of the first chunk, or the ones given.

    Parameters
    ----------
    path : str
        The file, which may be compressed.
    target : str
        The column to predict.
    separator : str, default=","
        What stands between the columns.
    chunk_size : int, default=1000
        Number of rows to read at once.
    task : {"auto", "classification", "regression"}, default="auto"
        "auto" takes text for classes, and numbers too if the first chunk has at most 20
        different ones and all are whole.
    classes : list of str, default=None
        All classes, as they are written in the file.
    show : callable, default=iter
        Given the iterator over the chunks, returns one that also shows the progress.

    Returns
    -------
    stream : CsvStream
        The file, ready to be read.

    Raises
    ------
    InputError
        If something is wrong with the file, the column or the classes.
    """
    if find_spec("pandas") is None:
        raise InputError("Reading CSV files needs pandas, which is not installed.")
    path = Path(path)
    if not path.is_file():
        raise InputError(f"There is no file {path}.")
    options = {
        "sep": separator,
        "chunksize": chunk_size,
        "skipinitialspace": True,
    }
    frames = read_frames(path, {**options, "dtype": object})
    first = next(frames, None)
    if first is None or first.empty:
        raise InputError(f"{path} has no rows.")
    columns = list(first.columns)
    if target not in columns:
        raise InputError(
            f"There is no column {target!r} in {path}, whose columns are "
            f"{', '.join(columns)}."
        )
    columns.remove(target)
    if not columns:
        raise InputError(f"{path} has no column besides the target.")
    numbers = [column for column in columns if is_numeric(first[column])]
    categories = {column: {} for column in columns if column not in numbers}
    if task == "auto":
        task = "classification" if holds_classes(first[target]) else "regression"
    if task == "regression":
        classes = None
        numbers.append(target)
    elif classes is None:
        classes = list(first[target].dropna().unique())

    n_rows = 0
    targets = set()
    for frame in show(chain([first], frames)):
        n_rows += len(frame)
        targets.update(frame[target].unique()[:2])
        if frame[target].isna().any():
            row = row_number(frame[target].isna())
            raise InputError(f"The target {target!r} is missing in row {row}.")
        for column in numbers:
            check_numbers(frame[column], is_target=column == target)
        if classes is not None:
            check_classes(frame[target], classes)
        for column, known in categories.items():
            if len(known) <= MAX_CATEGORIES:
                known.update(dict.fromkeys(frame[column].fillna("").unique()))
    if n_rows == 1:
        raise InputError(f"{path} has one row only.")
    if len(targets) == 1:
        raise InputError(f"The target {target!r} is {targets.pop()!r} in all rows.")

    numbers = [column for column in numbers if column != target]
    left_out = [
        column for column, known in categories.items() if len(known) > MAX_CATEGORIES
    ]
    for column in left_out:
        del categories[column]
    n_features = len(numbers) + sum(len(known) - 1 for known in categories.values())
    if n_features == 0:
        raise InputError(f"{path} has no column from which anything could be learned.")
    options["dtype"] = {column: object for column in first.columns}
    options["dtype"].update(dict.fromkeys(numbers, float))
    if classes is None:
        options["dtype"][target] = float
    encoder = make_encoder(numbers, categories)
    encoder.fit(next(read_frames(path, options)))
    return CsvStream(
        path, target, options, encoder, n_rows, n_features, classes, left_out
    )


def read_frames(path, options):
    """Yield the chunks as frames; what reading may raise becomes a sentence."""
    import pandas as pd

    try:
        with pd.read_csv(path, **options) as reader:
            for frame in reader:
                if len(frame) and not isinstance(frame.index, pd.RangeIndex):
                    raise InputError(f"{path} has rows longer than its header.")
                yield frame
    except pd.errors.EmptyDataError:
        raise InputError(f"{path} is empty.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8.") from None
    except (
        pd.errors.ParserError,
        OSError,
        EOFError,
        zlib.error,
    ) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{path} cannot be read as CSV: {reason}.") from None


def make_encoder(numbers, categories):
    """Transformer of frames into arrays of numbers, dense."""
    text = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="", keep_empty_features=True),
        OneHotEncoder(
            categories=[list(known) for known in categories.values()],
            drop="first",
            sparse_output=False,
        ),
    )
    return ColumnTransformer(
        [
            ("numbers", SimpleImputer(keep_empty_features=True), numbers),
            ("text", text, list(categories)),
        ],
        sparse_threshold=0,
    )


def to_numbers(texts):
    """The texts as numbers, NaN for what is none."""
    import pandas as pd

    return pd.to_numeric(texts, errors="coerce").astype(float)


def is_numeric(texts):
    """Whether all that is there is a number."""
    return not (to_numbers(texts).isna() & texts.notna()).any()


def holds_classes(texts):
    """Whether a target looks like one of classes."""
    numbers = to_numbers(texts.dropna())
    if numbers.isna().any():
        return True
    return (numbers % 1 == 0).all() and numbers.nunique() <= MAX_NUMERIC_CLASSES


def row_number(mask):
    """Number of the first row where the mask holds, counted from 1."""
    return mask.index[mask.argmax()] + 1


def check_numbers(texts, is_target):
    numbers = to_numbers(texts)
    wrong = (numbers.isna() & texts.notna()) | np.isinf(numbers)
    if wrong.any():
        what = "regression target" if is_target else "column"
        raise InputError(
            f"The {what} {texts.name!r} must hold finite numbers, but row "
            f"{row_number(wrong)} has {texts[wrong].iloc[0]!r}."
        )


def check_classes(texts, classes):
    unseen = ~texts.isin(classes)
    if unseen.any():
        raise InputError(
            f"The class {texts[unseen].iloc[0]!r} of {texts.name!r} first shows up in "
            f"row {row_number(unseen)}, but the classes must be known from the start: "
            "name all with --classes, have the first chunk hold them all with "
            "--chunk-size, or say --task regression if they are amounts."
        )

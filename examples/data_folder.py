"""Read data sets from the files of a folder."""

import re
import zipfile
import zlib
from functools import partial

import numpy as np
from csv_stream import MAX_NUMERIC_CLASSES, InputError
from sklearn.datasets import load_svmlight_file


def readers_in(folder, formats):
    """Functions that read the files of a folder, by name.

    Parameters
    ----------
    folder : Path
        The folder.
    formats : dict of str to callable
        For each ending of a file's name, such as "csv", what reads such a file, given
        its path. Compressed files (.gz, .bz2) are among them.

    Returns
    -------
    readers : dict of str to callable
        Functions without arguments, by the names of the files without endings.

    Raises
    ------
    InputError
        If there is no such folder, or no such file in it.
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
    """Rows (a CSR matrix) and targets from LIBSVM text."""
    try:
        X, y = load_svmlight_file(path)
    except (ValueError, OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path} cannot be read as LIBSVM text: {one_line(error)}."
        ) from None
    check_finite(path, X.data, y)
    return X, y


def read_npz(path):
    """The arrays X and y of a file that NumPy has saved."""
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
    """Whether numbers stand for classes; they must not all be the same."""
    n_values = len(np.unique(y))
    if n_values < 2:
        raise InputError(f"The target of {path} is the same in all rows.")
    return n_values <= MAX_NUMERIC_CLASSES and bool((y % 1 == 0).all())


def check_finite(path, *arrays):
    """Refuse infinity and NaN; text is left alone."""
    numbers = [array for array in arrays if array.dtype.kind in "biuf"]
    if not all(np.isfinite(array).all() for array in numbers):
        raise InputError(f"{path} has numbers that are not finite.")


def one_line(error):
    return " ".join(str(error).split()).rstrip(".")

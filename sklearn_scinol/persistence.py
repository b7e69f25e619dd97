"""Files of models with data and no code, by means of skops."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from copy import deepcopy
from inspect import isabstract, isclass
from io import BytesIO
from itertools import pairwise
from math import prod
from os import PathLike
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import joblib
import numpy as np
from sklearn.exceptions import InconsistentVersionWarning

import sklearn_scinol

from . import baselines, learners, losses, pipeline, preprocessing
from ._files import replacing
from ._hyperparameters import is_native, is_value_type
from ._invariants import check_parts
from ._locks import SharedByThreads
from ._optional import import_optional
from ._shards import Origins
from ._state import Part
from .blocks import Slots
from .estimators.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from .estimators.served import Served, ServedKey
from .evaluation.betting import Bets, TieBreaker
from .evaluation.monitor import Alarm, LossMonitor, Watch
from .evaluation.ranks import Ranks
from .evaluation.scores import LabelScore, MeanScore, R2Score, Rows
from .learners.interval_ends import Corrections, ErrorSizes
from .mixing.adahedge import AdaHedgeState
from .mixing.fixed_share import FixedShareState
from .mixtures.adahedge import AdaHedge
from .mixtures.mixing_scale import MixingScale
from .models.kernel import Kernel
from .tables.strings import Strings

# Said before anything is learned that could not be saved.
import_optional("skops", __name__)

__all__ = ["FORMAT_VERSION", "TRUSTED_TYPES", "load", "save"]

#: Version of the files that `save` writes, and of those that `load` reads.
FORMAT_VERSION = 4

# Name of our entry in a file of skops.
HEADER = "sklearn_scinol.json"

# Name of our entry for the state of a stream, a file of skops as well.
PROGRESS = "progress.skops"

# Limit of what `load` unpacks: these bytes, or this many times the size of the file.
MIN_LIMIT, MAX_RATIO = 2**29, 256

# Memory that a byte takes at most: as a part of an array, which is read and then
# copied, and of the structure, of which objects are made.
ARRAY_COST, SCHEMA_COST = 2, 32

# Level of zlib: half the time of its default, for a file at most twice as large.
COMPRESSION = 3

BOOLEANS = bool, np.bool_


def _name(cls):
    return f"{cls.__module__}.{cls.__name__}"


def _classes(*modules):
    """Return the classes of public modules."""
    members = [vars(module).get(n) for module in modules for n in module.__all__]
    return [*filter(isclass, members)]


def _parts(base=Part):
    """Yield the classes of what changes in models, but for those that are bases."""
    for each in base.__subclasses__():
        if is_native(each) and not isabstract(each) and each.__name__ not in BASES:
            yield each
        yield from _parts(each)


# Classes of parts that are bases, without abstract methods.
BASES = (
    *("ColumnGroup", "Forest", "Levels", "LinearClassifier", "LinearRegressor"),
    *("OnlineClassifier", "OnlineRegressor", "RecordsChanges", "TableTransformer"),
)

_ESTIMATORS = _classes(sklearn_scinol, baselines, pipeline, preprocessing)
_TYPES = {
    *[*_ESTIMATORS, *_parts()],
    *filter(is_value_type, _classes(learners, losses)),
    *[AdaHedge, AdaHedgeState, Corrections, ErrorSizes, FixedShareState, Kernel],
    *[MixingScale, Origins, Served, ServedKey, Slots, Strings],
    *[Alarm, Bets, LossMonitor, Ranks, TieBreaker, Watch],
    *[LabelScore, MeanScore, R2Score, Rows],
    *[BoostedTreesClassifier, BoostedTreesRegressor],
}

#: Names of the types of this package that models consist of.
#:
#: Making one runs no code but this package's, whatever a file contains.
TRUSTED_TYPES = tuple(sorted(map(_name, _TYPES)))


def save(model: Any, path: str | PathLike[str]) -> None:
    """Save a model to a compressed file of skops.

    The file replaces the one before only when it is whole and was read back: if saving
    fails, or the process is killed, the file before stays. Another thread may learn
    meanwhile: a copy is saved, made between two rows.

    Parameters
    ----------
    model : object
        An estimator of this package, fitted or not, an
        :class:`~sklearn_scinol.experts.AdaHedge`, or an object made of these and of
        estimators of scikit-learn, such as a pipeline. Others work as far as skops
        supports them.
    path : str or path-like
        Name of the file, by custom with the suffix ``.skops``.

    Raises
    ------
    ImportError
        If skops is not installed.
    OSError
        If the file cannot be written, or `path` is not a regular file, but a folder or
        a pipe, for instance.
    TypeError
        If skops cannot load a part of the model, such as a lambda, or a fitted model
        has parameters that are not valid.

    See Also
    --------
    load : Load a model.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_scinol import ScInOLRegressor
    >>> from sklearn_scinol.persistence import load, save
    >>> model = ScInOLRegressor().partial_fit([[1.0], [2.0]], [1.0, 2.0])
    >>> with TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/model.skops")
    ...     again = load(f"{folder}/model.skops")
    >>> bool(again.predict([[3.0]]) == model.predict([[3.0]]))
    True
    >>> again.partial_fit([[3.0]], [3.0]).n_samples_seen_
    3
    """
    import_skops("save")
    if isinstance(model, SharedByThreads):
        model = deepcopy(model)
    save_with_progress(model, None, path)


def save_with_progress(model, progress, path):
    """Save a model with the state of a stream that it learns, of plain data."""
    io = import_skops("save")
    data = _pack(io, model, progress)
    with replacing(path) as file:
        file.write(data)


def load(
    path: str | PathLike[str],
    *,
    trusted: Iterable[str | type | Callable[..., Any]] | None = None,
    max_bytes: int | None = None,
) -> Any:
    """Load a model that `save` or :func:`skops.io.dump` wrote.

    The model is equal to the last bit, and can go on learning. Attributes of objects of
    this package, and types, shapes and ranges of their numbers, are checked. Only types
    are created that are known to be harmless: types of this package
    (:data:`TRUSTED_TYPES`), types that skops trusts, such as scikit-learn's
    estimators, and `trusted`.

    Files of :func:`save` load in versions of this package that have the same
    `FORMAT_VERSION`, without a warning. Estimators of scikit-learn warn if their
    version differs, and so do files of :func:`skops.io.dump`.

    Parameters
    ----------
    path : str or path-like
        Name of the file.
    trusted : list of str, type or function, default=None
        Further types and functions, or their names, that may be made or used: for
        instance experts and steps from elsewhere, or a function that is the kernel.
        They can run any code.
    max_bytes : int, default=None
        Maximum memory that unpacking the file may take, in bytes: twice the size of
        arrays and 32 times that of the structure. None stands for 512 MiB, or 256 times
        the size of the file if that is more.

    Returns
    -------
    model : object
        The model, as it was when it was saved.

    Raises
    ------
    FileNotFoundError
        If there is no file.
    ImportError
        If skops is not installed.
    TypeError
        If the file has types that are not trusted. The message names them.
    ValueError
        If the file is not a saved model, or is damaged, inconsistent, a pickle, of the
        format of another version, or takes more memory than `max_bytes`.

    See Also
    --------
    save : Save a model. Has an example.
    """
    model, _ = load_with_progress(path, trusted, max_bytes)
    return model


def load_with_progress(path, trusted=None, max_bytes=None):
    """Load a model as :func:`load`, and what was saved with it; None if nothing was."""
    io = import_skops("load")
    if isinstance(trusted, str):
        raise TypeError(f"trusted should be a list, got {trusted!r} instead.")
    trusted = [one if isinstance(one, str) else _name(one) for one in trusted or ()]
    data = Path(path).read_bytes()
    _check_unpacked_size(path, data, max_bytes)
    with _any_version_of_estimators(_is_known_format(path, data)):
        model = _unpack(io, path, data, [*TRUSTED_TYPES, *trusted])
    return model, _progress_in(io, path, data)


def import_skops(caller):
    return import_optional("skops.io", f"`{caller}`")


# Saving.


def _pack(io, model, progress=None):
    """Return the contents of the file for a model, which were read back."""
    name = type(model).__name__
    _check_keys(name, model)
    try:
        data, again = _written_and_read(io, model)
        check_parts(again, name)
    except Exception as error:  # of any kind, by parts from elsewhere
        raise TypeError(f"{name} cannot be saved: {error}") from error
    file = BytesIO(data)
    header = {"format_version": FORMAT_VERSION, "version": sklearn_scinol.__version__}
    with ZipFile(file, "a") as archive:
        archive.writestr(HEADER, json.dumps(header))
        if progress is not None:
            archive.writestr(PROGRESS, _dump(io, progress))
    return file.getvalue()


def _dump(io, thing):
    return io.dumps(thing, compression=ZIP_DEFLATED, compresslevel=COMPRESSION)


def _check_keys(name, model):
    """Refuse parameters that skops would change silently, such as class weights."""
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    for parameter, value in parameters.items():
        if isinstance(value, dict) and any(isinstance(key, BOOLEANS) for key in value):
            raise TypeError(
                f"{name} cannot be saved: skops confuses the keys False and True of "
                f"{parameter}: use 0 and 1."
            )


def _written_and_read(io, model):
    """Return the contents of a file of skops for a model, and the model read back."""
    data = _dump(io, model)
    try:
        return data, io.loads(data, trusted=TRUSTED_TYPES)
    except io.exceptions.UntrustedTypesFoundException:
        untrusted = io.get_untrusted_types(data=data)
    if "numpy.memmap" in untrusted:
        return _written_and_read(io, _in_memory(model))
    return data, io.loads(data, trusted=untrusted)


def _in_memory(model):
    """Copy a model whose arrays are mapped from a file."""
    file = BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


# Loading.


def _damaged(path):
    return f"{path} is not a saved model, or is damaged."


def _check_unpacked_size(path, data, max_bytes):
    """Refuse a file that would take too much memory, before it is unpacked."""
    if data.startswith(b"\x80"):
        raise ValueError(
            f"{path} is a pickle, which can run any code when it is loaded: use joblib "
            "or pickle if you trust whoever made it."
        )
    limit = max(MIN_LIMIT, MAX_RATIO * len(data)) if max_bytes is None else max_bytes
    try:
        needed = _unpacked_size(data, limit)
    except Exception as error:  # of any kind, by a damaged file
        raise ValueError(_damaged(path)) from error
    if needed > limit:
        raise ValueError(
            f"{path} takes {needed:,} bytes of memory to load, more than {limit:,}: "
            f"pass `max_bytes={needed}` if you trust whoever made it."
        )


def _unpacked_size(data, limit):
    """Return the memory that an archive takes; check its parts if it is below a limit.

    Parts overlap nowhere, and arrays have as many bytes as they say.
    """
    with ZipFile(BytesIO(data)) as archive:
        parts = sorted(archive.infolist(), key=lambda part: part.header_offset)
        needed = 0
        for part in parts:
            is_schema = part.filename == "schema.json"
            needed += part.file_size * (SCHEMA_COST if is_schema else ARRAY_COST)
        for part, following in pairwise(parts):
            end = part.header_offset + 30 + len(part.filename) + part.compress_size
            if end > following.header_offset:
                raise ValueError(f"{part.filename} overlaps {following.filename}")
        if len({part.filename for part in parts}) < len(parts):
            raise ValueError("two parts have one name")
        if not {part.compress_type for part in parts} <= {ZIP_STORED, ZIP_DEFLATED}:
            raise ValueError("unknown compression")
        if needed > limit:
            return needed
        if damaged := archive.testzip():
            raise ValueError(f"{damaged} is damaged")
        for part in parts:
            if part.filename.endswith(".npy"):
                _check_array(archive, part)
            elif part.filename not in ("schema.json", HEADER):
                content = archive.read(part)
                if content.startswith(b"PK"):  # a sparse matrix
                    needed += _unpacked_size(content, limit - needed)
    return needed


def _check_array(archive, part):
    with archive.open(part) as file:
        version = np.lib.format.read_magic(file)
        name = f"read_array_header_{version[0]}_0"
        shape, _, dtype = getattr(np.lib.format, name)(file)
        n_bytes = prod(shape) * dtype.itemsize
        if min(shape, default=1) < 0 or dtype.itemsize == 0:
            raise ValueError(f"{part.filename} is no array")
        if file.tell() + n_bytes != part.file_size:
            raise ValueError(f"{part.filename} has another size than its array")


def _is_known_format(path, data):
    """Check the format of a file; return whether `save` wrote it, or skops alone."""
    try:
        with ZipFile(BytesIO(data)) as archive:
            _check_references(json.loads(archive.read("schema.json")))
            if HEADER not in archive.namelist():
                return False
            header = json.loads(archive.read(HEADER))
        format_version, version = int(header["format_version"]), header["version"]
    except Exception as error:  # of any kind, by a damaged file
        raise ValueError(_damaged(path)) from error
    if format_version != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {format_version}, and sklearn-scinol "
            f"{sklearn_scinol.__version__} reads {FORMAT_VERSION} only: load it with "
            f"version {version}, which wrote it."
        )
    return True


def _progress_in(io, path, data):
    """Return what was saved with a model, or None."""
    with ZipFile(BytesIO(data)) as archive:
        if PROGRESS not in archive.namelist():
            return None
        data = archive.read(PROGRESS)
    try:
        with ZipFile(BytesIO(data)) as archive:
            _check_references(json.loads(archive.read("schema.json")))
        return io.loads(data, trusted=TRUSTED_TYPES)
    except Exception as error:  # of any kind, by a damaged file
        raise ValueError(_damaged(path)) from error


def _check_references(schema):
    """Refuse what would be copied several times, and what would be left out."""
    to_visit, owners = [schema], {}
    while to_visit:
        node = to_visit.pop()
        if isinstance(node, list):
            to_visit += node
        elif isinstance(node, dict):
            to_visit += node.values()
            if "key_types" in node and len(node["key_types"]["content"]) != len(
                node["content"]
            ):
                raise ValueError("keys without types")
            file, owner = node.get("file"), node.get("__id__")
            if isinstance(file, str) and owners.setdefault(file, owner) != owner:
                raise ValueError(f"two objects have the content of {file}")


@contextmanager
def _any_version_of_estimators(allowed):
    """Suppress warnings about estimators of other versions, if `allowed`."""
    with warnings.catch_warnings():
        if allowed:
            names = "|".join(estimator.__name__ for estimator in _ESTIMATORS)
            message = rf"Trying to unpickle estimator ({names}) "
            warnings.filterwarnings("ignore", message, InconsistentVersionWarning)
        yield


def _unpack(io, path, data, trusted):
    try:
        model = io.loads(data, trusted=trusted)
    except io.exceptions.UntrustedTypesFoundException as error:
        untrusted = sorted({*io.get_untrusted_types(data=data)} - {*trusted})
        raise TypeError(
            f"{path} has types that are not trusted: pass `trusted={untrusted}` if you "
            "know that they do no harm."
        ) from error
    except Warning:
        raise
    except Exception as error:  # of any kind, by a forged file
        what = f"{type(error).__name__}: {error}"
        raise ValueError(f"{path} cannot be loaded: {what}") from error
    try:
        check_parts(model, type(model).__name__)
    except Exception as error:  # of any kind, by a forged state
        raise ValueError(_damaged(path)) from error
    return model

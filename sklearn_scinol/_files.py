"""Writing of files as a whole: what was there stays until all is written."""

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from shutil import copymode


def check_regular_file(path):
    """Refuse to replace anything but a regular file, such as a pipe or a device."""
    if Path(path).exists() and not Path(path).is_file():
        raise FileExistsError(
            f"{path} is not a regular file: choose another name for the new one."
        )


@contextmanager
def replacing(path, mode="xb", **options):
    """Open a new file that replaces `path`, if any, when the block succeeds.

    The mode is "xb" for bytes or "x" for text; options are for :func:`open`.
    """
    check_regular_file(path)
    path = Path(os.path.realpath(path))
    temporary = path.with_name(f".{token_hex(8)}.tmp")
    try:
        with temporary.open(mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            copymode(path, temporary)
        os.replace(temporary, path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise  # of another file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):  # most often it was renamed
            temporary.unlink()

"""Compile what `learn` will need, such as when a container image is built.

Numba keeps compiled loops in the folder of the package, or in the folder that the
environment variable NUMBA_CACHE_DIR names. Pass the options of `learn`, and rows like
those of the stream: the first chunk is enough.
"""

import warnings
from time import perf_counter

from sklearn.base import clone

from ..compiling import UNSAVED, compile_estimator
from ..config import config_context
from . import common
from .learn import add_columns, add_estimator, check_options, open_learning


def add_arguments(parser):
    """Add the arguments of the command."""
    parser.add_argument("files", nargs="+", metavar="FILE", help=common.FILES_HELP)
    add_columns(parser)
    add_estimator(parser, parser.add_argument_group("model"))
    common.add_reading(parser)


def run(arguments):
    """Compile by the first chunk, and print how long it took."""
    check_options(arguments)
    common.open_standard_input(arguments)
    model, classes, stream, *_ = open_learning(arguments)
    X, y, *_ = common.read_first(stream, arguments.on_bad_row)
    _set_kinds(model, X)
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", UNSAVED, RuntimeWarning)
        try:
            has_compiled = compile_estimator(model, X, y, classes=classes)
        except RuntimeWarning as warning:
            raise OSError(str(warning)) from None
    seconds = f"{perf_counter() - start:.1f} s"
    if has_compiled:
        common.print_line(f"Compiled in {seconds}.")
    else:
        common.print_line(
            f"Nothing to compile: all was in the cache, checked in {seconds}."
        )


def _set_kinds(model, X):
    """Set the kinds of columns to those of the chunk; a few rows may show others."""
    if (encoder := common.encoder_of(model)) is None:
        return
    fitted = encoder
    if not hasattr(encoder, "kinds_"):
        with config_context(engine="numpy"):
            fitted = clone(encoder).fit(X)
    # Columns that a saved model drops are not read.
    kinds = {n: k for n, k in (encoder.kinds or {}).items() if n in X.column_names}
    kinds |= {name: kind for name, kind in fitted.kinds_.items() if kind}
    encoder.set_params(kinds=kinds)

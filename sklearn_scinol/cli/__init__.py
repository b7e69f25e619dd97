"""Command line: learn from files, predict, inspect models, and compile ahead."""

import argparse
import logging
import os
import sys
import warnings
from contextlib import contextmanager

from .. import __version__
from . import compile, inspect, learn, predict
from .common import EXIT_STATUS, describe_error, in_options, print_line

COMMANDS = {"learn": learn, "predict": predict, "inspect": inspect, "compile": compile}


def main(argv=None):
    """Run a command; return its exit status, see `EXIT_STATUS`."""
    try:
        return _run(_parser().parse_args(argv))
    except SystemExit as exit:  # of argparse, which has printed why
        return exit.code


def _run(arguments):
    for stream in sys.stdout, sys.stderr:  # for characters that a terminal lacks
        stream.reconfigure(errors="backslashreplace")
    try:
        with _messages(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", r"Row \d+ of ")  # --on-bad-row warn
            warnings.showwarning = lambda message, *_: print_line(
                str(message), file=sys.stderr
            )
            COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # what is left to write goes to the null device
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if arguments.traceback:
            raise
        print_line(describe_error(error, arguments), file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _parser():
    form = argparse.RawDescriptionHelpFormatter
    shared = {"epilog": EXIT_STATUS, "formatter_class": form}
    parser = argparse.ArgumentParser(
        prog="sklearn-scinol",
        description="Learn from tables of any size in one pass, with nothing to tune.",
        **shared,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(
            name,
            help=command.__doc__.partition("\n")[0].rstrip("."),
            description=command.__doc__,
            **shared,
        )
        command.add_arguments(subparser)
        subparser.add_argument(
            "--traceback", action="store_true", help="show where an error was raised"
        )
        subparser.set_defaults(error=subparser.error, options=subparser._actions)
    return parser


@contextmanager
def _messages():
    """Print the log messages of the package, in the words of the command line."""
    logger, handler = logging.getLogger("sklearn_scinol"), logging.Handler("WARNING")
    handler.emit = lambda record: print_line(
        in_options(record.getMessage()), file=sys.stderr
    )
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)

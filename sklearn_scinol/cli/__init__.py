"""The command line: learn from files, predict, and look at models."""

import argparse
import os
import sys
import warnings

from .. import __version__
from . import inspect, learn, predict
from .common import EXIT_STATUS, say, sentence

__all__ = ["main"]

COMMANDS = {"learn": learn, "predict": predict, "inspect": inspect}


def main(argv=None):
    """Run a command.

    Parameters
    ----------
    argv : list of str, default=None
        The arguments; those of the process by default.

    Returns
    -------
    status : int
        0 if all went well, 1 if data, a file or a model would not do, 2 if the
        arguments would not, 130 if the user interrupted it.
    """
    try:
        arguments = _parser().parse_args(argv)
        return _run(arguments)
    except SystemExit as exit:  # of argparse, which has told why
        return exit.code


def _run(arguments):
    for stream in sys.stdout, sys.stderr:  # for letters that a terminal does not have
        stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("always", r"Row \d+ of ")  # --on-bad-row warn
            warnings.showwarning = _show_warning
            COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _abandon(sys.stdout)
        return 1
    except (Exception, KeyboardInterrupt) as error:
        if arguments.traceback:
            raise
        say(sentence(error), file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="sklearn-scinol",
        description="Learn from tables of any size in one pass, with nothing to tune.",
        epilog=EXIT_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        description = command.__doc__
        of_command = commands.add_parser(
            name,
            help=description.partition("\n")[0].rstrip("."),
            description=description,
            epilog=EXIT_STATUS,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(of_command)
        of_command.add_argument(
            "--traceback",
            action="store_true",
            help="show where an error came up, not only what it is",
        )
        of_command.set_defaults(error=of_command.error)
    return parser


def _show_warning(message, *_, **__):
    say(str(message), file=sys.stderr)


def _abandon(stream):
    """Write nothing more to where nobody reads, not even when the process ends."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)

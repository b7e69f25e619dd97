"""What the scripts show and how they are asked: progress, panels, arguments, status."""

import math
import sys
from functools import wraps
from pathlib import Path

# Examples read data as benchmarks do.
sys.path.append(str(Path(__file__).parent / "benchmarks"))


class InputError(Exception):
    """What is wrong with the user's data, in one sentence."""


def show_progress(iterable, description):
    """The iterable, with a progress bar if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return iterable
    return tqdm(iterable, desc=description, delay=1, leave=False)


def panels(number, per_row, width, height):
    """A figure with a number of panels of some size, and these."""
    import matplotlib.pyplot as plt

    n_columns = min(per_row, number)
    n_rows = -(-number // n_columns)
    figure, axes = plt.subplots(
        n_rows,
        n_columns,
        figsize=(width * n_columns + 1, height * n_rows + 0.4),
        layout="constrained",
        squeeze=False,
    )
    for ax in axes.flat[number:]:
        ax.set_axis_off()
    return figure, axes.flat[:number]


def choose(readers, names):
    """Those of the readers that are named; a name without one is skipped."""
    for name in names:
        if name not in readers:
            print(f"Skipped {name}: there is no data set of that name.")
    return {name: read for name, read in readers.items() if name in names}


# Types of arguments; what argparse says of a wrong one has their names in it.


def positive(text):
    """A whole number above 0."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def processes(text):
    """A number of processes; -1 is one for each core."""
    if int(text) == 0:
        raise ValueError
    return int(text)


def rate(text):
    """A learning rate."""
    if not 0 < float(text) < math.inf:
        raise ValueError
    return float(text)


def separator(text):
    r"""A character; \t stands for a tab."""
    (character,) = text.replace("\\t", "\t")
    return character


def add_output_dir(parser, what):
    """Add an option for the folder that `what`, "figure" or "figures", goes to."""
    parser.add_argument(
        "--output-dir",
        type=Path,
        default=Path("build", "demo"),
        metavar="FOLDER",
        help=f"where to write the {what} (default: %(default)s)",
    )


def gives_status(main):
    """Let a script's main function return 0, or 2 where it was given what won't do.

    It says then in a sentence what is wrong with the data, or with a file. A status of
    its own stays.
    """

    @wraps(main)
    def main_with_status(argv=None):
        try:
            return main(argv) or 0
        except InputError as error:
            print(error, file=sys.stderr)
            return 2
        except OSError as error:
            print(f"{error.filename}: {error.strerror}.", file=sys.stderr)
            return 2

    return main_with_status

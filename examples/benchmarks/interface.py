"""Shared parts of scripts: progress, panels, arguments, exit status."""

import math
import sys
from functools import wraps
from pathlib import Path


class InputError(Exception):
    """An error in the user's data, in one sentence."""


def show_progress(iterable, description, total=None):
    """Wrap an iterable in a progress bar if tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return iterable
    return tqdm(iterable, desc=description, total=total, delay=1, leave=False)


def panels(number, per_row, width, height):
    """Return a figure with panels of some size, and its panels."""
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


def legend_below(figure, *entries, ncols):
    """Put a legend below the panels; entries are handles and labels."""
    figure.legend(
        *entries,
        loc="upper center",
        bbox_to_anchor=(0.5, 0),
        ncols=ncols,
        frameon=False,
    )


def save_figure(figure, path, **options):
    """Write a figure, and print where; options are those of `Figure.savefig`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, **({"dpi": 150, "bbox_inches": "tight"} | options))
    print(f"Wrote {path}", flush=True)


def choose(readers, names):
    """Select readers by name; names without a reader are skipped."""
    for name in names:
        if name not in readers:
            print(f"Skipped {name}: there is no data set of that name.")
    return {name: read for name, read in readers.items() if name in names}


# Types of arguments; argparse uses their names in error messages.


def positive(text):
    """Parse an integer above 0."""
    if int(text) < 1:
        raise ValueError
    return int(text)


def processes(text):
    """Parse a number of processes; -1 means one for each core."""
    if int(text) == 0:
        raise ValueError
    return int(text)


def rate(text):
    """Parse a learning rate."""
    if not 0 < float(text) < math.inf:
        raise ValueError
    return float(text)


def separator(text):
    r"""A character; \t stands for a tab."""
    (character,) = text.replace("\\t", "\t")
    return character


#: Learning rates to try for SGD.
SGD_RATES = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2]


def add_rates(parser):
    """Add an option for the learning rates of SGD."""
    parser.add_argument(
        "--rates",
        nargs="+",
        type=rate,
        default=SGD_RATES,
        metavar="RATE",
        help="learning rates for SGD (default: 1e-5, 1e-4, ..., 1e2)",
    )


def add_file_options(parser, target="column to predict"):
    """Add options for a CSV file to learn, which `parse_file_options` checks."""
    parser.add_argument("--data", metavar="FILE", help="CSV file, may be compressed")
    parser.add_argument("--target", metavar="COLUMN", help=target)


def parse_file_options(parser, argv):
    """Parse arguments; a file needs a target, and a target a file."""
    arguments = parser.parse_args(argv)
    if (arguments.data is None) != (arguments.target is None):
        parser.error("--data and --target go together")
    return arguments


def add_separator(parser):
    """Add an option for the separator of columns of a CSV file."""
    parser.add_argument(
        "--separator",
        type=separator,
        default=",",
        metavar="CHARACTER",
        help=r"between the columns, \t for tabs (default: a comma)",
    )


def add_folder_options(parser):
    """Add options for a folder of data sets, and the target of CSV files in it."""
    parser.add_argument(
        "--data-dir", type=Path, metavar="FOLDER", help="data sets of your own"
    )
    parser.add_argument(
        "--target",
        default="target",
        metavar="COLUMN",
        help="column to predict in CSV files (default: %(default)s)",
    )


def add_output_dir(parser, what, folder="demo"):
    """Add an option for the folder, of `build` by default, that `what` goes to."""
    parser.add_argument(
        "--output-dir",
        type=Path,
        default=Path("build", folder),
        metavar="FOLDER",
        help=f"where to write the {what} (default: %(default)s)",
    )


def gives_status(main):
    """Make a script's main function return 0, or 2 after an error in its input.

    The error in the data or in a file is printed in a sentence. A status returned by
    the function is kept.
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

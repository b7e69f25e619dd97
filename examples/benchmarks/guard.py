"""Write tables of measurements, and find what has become worse since."""

import csv
from pathlib import Path

from interface import InputError


def add_options(parser, what, implies=""):
    """Add options for a table to write, and one to compare with."""
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help=f"CSV file to write the {what} to"
    )
    parser.add_argument(
        "--baseline",
        type=Path,
        metavar="FILE",
        help=f"table of {what}: list what is worse{implies}",
    )


def make_folder(path):
    """Make the folder of a table before measuring, so that writing cannot fail."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)


def write(path, columns, rows):
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def read(path, keys, value):
    """Read one column by the values of others; empty if there is no table."""
    if path is None:
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    try:
        return {tuple(row[key] for key in keys): float(row[value]) for row in rows}
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} is not a table that --output has written.") from None


def is_worse(number, before, tolerance):
    """Whether a number is larger than the one before, or NaN."""
    return before is not None and not number <= (1 + tolerance) * before


def report(n_compared, what, worse, tolerance):
    """Print what has become worse; return the exit status, then 1.

    Parameters
    ----------
    n_compared : int
    what : str
        The comparison, such as "losses with quality.csv".
    worse : list of str
        A sentence for each number that has become worse by more than `tolerance`.
    tolerance : float
    """
    print(f"Compared {n_compared} {what}.")
    if worse:
        print(f"Worse by more than {tolerance:.1%}:", *worse, sep="\n")
        return 1
    print(f"None is worse by more than {tolerance:.1%}.")
    return 0

"""Shared parts of the experiments: methods, and cells that are computed once.

A cell is the smallest part of an experiment that is computed by itself, such as one
method with one rate on one data set. Its values are stored in a file, along
with all inputs that determine them. So an interrupted experiment resumes, and a changed
experiment computes only what is new.
"""

import csv
import hashlib
import json
import os
from dataclasses import dataclass, field

import numpy as np
from interface import add_output_dir, show_progress
from joblib import delayed

import sklearn_scinol
from sklearn_scinol.baselines import BaselineClassifier
from sklearn_scinol.learners import ScInOL1, ScInOL2

# %%
# Methods
# -------


COLOURS = {
    "sgd": "#8c6d31",
    "adagrad": "#e6a01d",
    "adam": "#d6409f",
    "nag": "#d62728",
    "sfmd": "#7b4fb5",
    "cocob": "#1f77b4",
    "k17": "#7f7f7f",
    "scinol1": "#6fc7a7",
    "scinol2": "#00705a",
}

#: As published: ScInOLClassifier is more cautious in wide rows.
PUBLISHED = {"scinol1": ScInOL1(), "scinol2": ScInOL2()}


@dataclass(frozen=True)
class Method:
    """An algorithm; `key` is its name in the estimators."""

    name: str
    key: str
    rates: tuple = (None,)  # that are tried
    parameters: dict = field(default_factory=dict)

    @property
    def colour(self):
        return COLOURS[self.key]

    @property
    def is_tuned(self):
        return self.rates != (None,)

    def estimator(self, rate, **options):
        if rate is not None:
            options["learning_rate"] = rate
        algorithm = PUBLISHED.get(self.key, self.key)
        return BaselineClassifier(algorithm, **self.parameters, **options)

    def label(self, rate):
        return self.name if rate is None else f"{self.name}, rate {rate:g}"


# %%
# Cells
# -----


@dataclass
class Cell:
    """A function and its arguments, and all inputs that determine its result."""

    key: dict
    compute: callable
    arguments: tuple

    def __post_init__(self):
        key = {**self.key, "version": sklearn_scinol.__version__}
        self.key = json.loads(json.dumps(key))  # as it is read from its file

    def path(self, folder):
        text = json.dumps(self.key, sort_keys=True)
        return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:24]}.json"

    def values(self, folder):
        """Read the stored values; None if the file is missing or damaged."""
        try:
            stored = json.loads(self.path(folder).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        complete = isinstance(stored, dict) and {"key", "values"} <= stored.keys()
        return stored["values"] if complete and stored["key"] == self.key else None

    def store(self, folder):
        """Compute the cell, and write its file atomically."""
        stored = {"key": self.key, "values": self.compute(*self.arguments)}
        path = self.path(folder)
        temporary = path.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps(stored), encoding="utf-8")
        temporary.replace(path)


def complete(cells, folder, parallel, description):
    """Compute the missing cells, and return the values of all cells, in order."""
    missing = [cell for cell in cells if cell.values(folder) is None]
    # A cell is handed out when another one is finished, so the bar does not run ahead.
    parallel(
        delayed(cell.store)(folder) for cell in show_progress(missing, description)
    )
    return [cell.values(folder) for cell in cells]


#: For `Parallel`: cells take seconds, and each is to be stored when it is finished.
ONE_BY_ONE = {"batch_size": 1, "pre_dispatch": "n_jobs"}


# %%
# Numbers
# -------


def deviation(runs):
    """Return the standard deviation over runs, the first axis; NaN for one run."""
    runs = np.asarray(runs)
    if len(runs) == 1:
        return np.full(runs.shape[1:], np.nan)
    with np.errstate(over="ignore", invalid="ignore"):  # NaN where one is infinite
        return runs.std(axis=0, ddof=1)


def write_csv(path, columns, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


# %%
# Command line
# ------------


def add_options(parser):
    """Add the options that both experiments share."""
    add_output_dir(parser, "figures, numbers and finished cells", "papers")
    parser.add_argument(
        "--n-jobs",
        type=int,
        default=-1,
        metavar="N",
        help="processes to use (default: one for each core)",
    )


def folder_of_cells(output):
    """Make the folders of cells and of figures; return the folder of cells."""
    folder = output / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    return folder

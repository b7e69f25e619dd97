"""
Two views of a table
====================

Prints the log loss of the default mixture behind a
:class:`~sklearn_scinol.preprocessing.TableEncoder`, of predictions made before each row
was learned, in one pass over the rows in their order: with sparse rows alone, with the
dense view alone, and with both views, and the time with both views over that with
sparse rows::

    python examples/benchmarks/table_views.py --data-dir FOLDER

The folder has some of the files adult_raw, bank_additional_full,
census_income_kdd_test, flights_2013_spring and sms_spam, as CSV, perhaps compressed,
with labels of two classes in a column "target". Last come the geometric means.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from interface import InputError, gives_status, show_progress
from raw_table import mean_loss
from scipy.stats import gmean

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

# Names of tables, and columns whose kind is not that of their first values.
KINDS = {
    "adult_raw": {},
    "bank_additional_full": {},
    "census_income_kdd_test": {},
    "flights_2013_spring": {"scheduled": "date"},
    "sms_spam": {"text": "text"},
}
VIEWS = {"sparse": True, "dense": False, "both": "auto"}
CHUNK_ROWS = 1000

COLUMNS = "{:<24}{:>8}{:>9}{:>9}{:>9}{:>15}{:>14}".format
HEADER = COLUMNS("table", "rows", *VIEWS, "both / sparse", "time of both")


def read(path, max_rows):
    """Read a table and its labels; only empty fields are missing."""
    frame = pd.read_csv(path, keep_default_na=False, na_values=[""], nrows=max_rows)
    labels = frame.pop("target")
    return frame, (labels == sorted(labels.unique())[-1]).to_numpy()


def learn(frame, y, kinds, sparse_output):
    """Return the loss of one pass, and its time in seconds."""
    encoder = TableEncoder(kinds=kinds, sparse_output=sparse_output)
    model, said, start = make_online_pipeline(encoder, HedgeClassifier()), [], 0.0
    for first in range(0, len(y), CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        if first == CHUNK_ROWS:  # all is compiled
            start = perf_counter()
        answer = model.partial_fit_predict(
            frame[rows], y[rows], classes=[False, True], method="predict_proba"
        )
        said.append(answer[:, 1])
    return mean_loss(y, np.concatenate(said)), perf_counter() - start


def measure(path, max_rows):
    """Return a line of the table, and its losses."""
    name = path.name.partition(".")[0]
    frame, y = read(path, max_rows)
    results = [
        learn(frame, y, KINDS[name], view)
        for view in show_progress(VIEWS.values(), name)
    ]
    losses, (sparse, _, both) = zip(*results, strict=True)
    ratio = losses[-1] / losses[0]
    cells = [f"{loss:.4f}" for loss in losses]
    times = f"{both / sparse:.2f}"
    return COLUMNS(name, len(y), *cells, f"{ratio:.4f}", times), losses


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Log loss of mixtures that see one view of a table, or both."
    )
    parser.add_argument("--data-dir", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--max-rows", type=int, metavar="N")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    files = [path for name in KINDS for path in arguments.data_dir.glob(f"{name}.csv*")]
    if not files:
        raise InputError(f"There is none of the tables in {arguments.data_dir}.")
    print("\n".join([HEADER, "-" * len(HEADER)]))
    losses = []
    for path in files:
        line, of_table = measure(path, arguments.max_rows)
        losses.append(of_table)
        print(line, flush=True)
    means = gmean(losses, axis=0)
    print(f"\nboth / sparse, geometric mean {means[2] / means[0]:.3f}")
    print(f"both / dense, geometric mean {means[2] / means[1]:.3f}")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)

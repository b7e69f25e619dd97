"""
Raw tables, compared with other packages
========================================

Prints loss and time of learning from raw tables, compared with Vowpal
Wabbit and river if they are installed, and with reading by pyarrow alone::

    python examples/benchmarks/tables.py --data-dir ../shared/data
    python examples/benchmarks/tables.py --parts files --rows 100000

Three parts: "losses" has the log loss of predictions made before each row was learned,
on Adult and on SMS messages, of all packages with their defaults, and of the other
packages with the best of five rates as well. "files" learns from generated files with
18 numbers, two categories and a class: from CSV and Parquet with ScInOL, and from
Vowpal Wabbit's text format with its own driver. "categories" learns from rows in memory
with 13 numbers and 26 categories of up to a million values.

Times are medians over repeats, measured alternately; quote the ratios.
"""

import argparse
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import reading
from competitors import COMPETITORS, river_model, vw_line
from raw_table import best_of_rates, find_tables, mean_loss, ours

from sklearn_scinol import HedgeClassifier, ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder
from sklearn_scinol.streams import read_table

# %%
# Losses
# ------


def losses(arguments):
    if arguments.data_dir is None:
        print("Losses are left out: they need --data-dir.")
        return
    print(f"{'':8}{'learner':24}{'defaults':>10}{'best of 5':>11}{'rate':>7}")
    for table in find_tables(arguments.data_dir):
        for learner in HedgeClassifier, ScInOLClassifier:
            loss = mean_loss(table.y, ours(learner)(table))
            print(f"{table.name:8}{learner.__name__:24}{loss:10.4f}", flush=True)
        rows = table.frame.to_dict("records")
        for name, learn in COMPETITORS.items():
            loss = mean_loss(table.y, learn(rows, table.y))
            p, rate = best_of_rates(learn, rows, table.y)
            best = mean_loss(table.y, p)
            print(
                f"{table.name:8}{name:24}{loss:10.4f}{best:11.4f}{rate:7g}", flush=True
            )


# %%
# Files
# -----


def learn(file):
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    for X, y in read_table(file, target="y"):
        model.partial_fit(X, y, classes=[0, 1])
    return model


def write_vw(table, file):
    """Write a table in Vowpal Wabbit's text format."""
    with file.open("w") as output:
        for batch in table.to_batches(max_chunksize=10_000):
            for row in batch.to_pylist():
                label = row.pop("y")
                output.write(vw_line(row, label) + "\n")


def drive_vw(file):
    """Learn a file with Vowpal Wabbit's own driver."""
    from vowpalwabbit import Workspace

    Workspace(f"--quiet --loss_function logistic -b 18 -d {file}").finish()


def files(arguments):
    table = reading.generate(arguments.rows)
    with TemporaryDirectory() as folder:
        csv, parquet, vw = (
            Path(folder) / f"rows.{end}" for end in ("csv", "parquet", "vw")
        )
        pa.csv.write_csv(table, csv)
        pa.parquet.write_table(table, parquet)
        ways = {
            "pyarrow, the whole CSV file at once": lambda: pa.csv.read_csv(csv),
            "pyarrow, the CSV file in batches": lambda: reading.scan(csv),
            "ScInOL from CSV": lambda: learn(csv),
            "ScInOL from Parquet": lambda: learn(parquet),
        }
        if "Vowpal Wabbit" in COMPETITORS:
            write_vw(table, vw)
            ways["Vowpal Wabbit from its text format"] = lambda: drive_vw(vw)
        del table
        compare(ways, arguments)


def compare(ways, arguments):
    """Print medians of times, and of their ratios to times of others."""
    learn_once = list(ways.values())
    for way in learn_once:
        way()  # compiles, and fills the caches of the disk
    times = np.array(
        [[seconds(way) for way in learn_once] for _ in range(arguments.repeats)]
    )
    head = "".join(f"{f'/ {k + 1}':>8}" for k in range(len(ways)))
    print(f"{'':2} {'':36} {'s':>7}{head}")
    for k, name in enumerate(ways):
        ratios = (median(times[:, k] / times[:, other]) for other in range(len(ways)))
        cells = "".join(f"{ratio:8.2f}" for ratio in ratios)
        print(f"{k + 1:2} {name:36} {median(times[:, k]):7.3f}{cells}", flush=True)


def seconds(way):
    start = perf_counter()
    way()
    return perf_counter() - start


# %%
# Categories
# ----------


def categories(arguments):
    """Print rows per second with 26 categories of up to a million values."""
    n_rows = min(arguments.rows, 200_000)
    random = np.random.default_rng(0)
    columns = {f"n{j}": random.exponential(10.0**j / 100, n_rows) for j in range(13)}
    for j in range(26):
        values = random.zipf(1.1 + 0.02 * j, n_rows) % 1_000_000
        columns[f"c{j}"] = [
            f"{value * 2654435761 % 2**32:08x}" for value in values.tolist()
        ]
    table = pa.table(columns)
    y = random.random(n_rows) < 1 / (1 + columns["n3"])
    rows = table.slice(0, max(n_rows // 50, 1)).to_pylist()
    print(f"{'26 categories and 13 numbers':40} {'rows/s':>10}")

    def learn_all():
        model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
        for start in range(0, n_rows, 2**15):
            chunk = slice(start, start + 2**15)
            X = table.slice(start, 2**15)
            model.partial_fit(X, y[chunk], classes=[False, True])

    def of_river():
        model = river_model(hashes=True)
        for row, label in zip(rows, y[: len(rows)].tolist(), strict=True):
            model.predict_proba_one(row)
            model.learn_one(row, label)

    learn_all()
    speed = n_rows / median(seconds(learn_all) for _ in range(arguments.repeats))
    print(f"{'TableEncoder and ScInOL':40} {speed:10.0f}", flush=True)
    if "river" in COMPETITORS:
        other = len(rows) / median(seconds(of_river) for _ in range(arguments.repeats))
        print(f"{'river':40} {other:10.0f}")
        print(f"{'ratio':40} {speed / other:10.1f}")


PARTS = {"losses": losses, "files": files, "categories": categories}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--data-dir", type=Path, help="with the tables")
    parser.add_argument("--rows", type=int, default=1_000_000, help="default: 1e6")
    parser.add_argument("--repeats", type=int, default=5, help="default: 5")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=[*PARTS])
    arguments = parser.parse_args(arguments)
    for part in arguments.parts:
        PARTS[part](arguments)


if __name__ == "__main__":
    main()

"""
Raw tables, beside Vowpal Wabbit and river
==========================================

Learns two tables by pipelines of `TableEncoder` and a learner with defaults: Adult
[1]_, whose rows are people, and SMS messages [2]_, some of which are spam. The figure
shows the mean log loss over the rows so far, of predictions made before each row was
learned. If they are installed, the logistic regressions of Vowpal Wabbit and river
learn the rows as well: with defaults, and with the best of five learning rates in
hindsight.

The tables are downloaded, or read from a folder with ``adult_raw.csv`` and
``sms_spam.csv``, which may be compressed::

    python examples/benchmarks/raw_table.py --data-dir FOLDER

With ``--generated`` it learns two generated tables of these kinds, without a download.

.. [1] B. Becker, R. Kohavi (1996). "Adult." UCI Machine Learning Repository.
.. [2] T. Almeida, J. Hidalgo, A. Yamakami (2011). "Contributions to the study of SMS
   spam filtering: new collection and results." DocEng.
"""

import argparse
import sys
from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from urllib.request import urlopen
from zipfile import ZipFile

import numpy as np
from competitors import COMPETITORS, RATES
from interface import (
    InputError,
    add_output_dir,
    gives_status,
    panels,
    save_figure,
    show_progress,
)
from sklearn.datasets import fetch_openml

from sklearn_scinol import HedgeClassifier, ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

# %%
# Tables
# ------


class Table(NamedTuple):
    """A table with its labels, in order."""

    name: str
    frame: object  # of pandas, without the labels
    y: np.ndarray  # bool


SMS_ADDRESS = "https://archive.ics.uci.edu/static/public/228/sms+spam+collection.zip"


def fetch_adult():
    data = fetch_openml("adult", version=2, as_frame=True)
    return data.data, data.target == ">50K"


def fetch_sms(address=SMS_ADDRESS):
    import pandas as pd

    with urlopen(address) as response, ZipFile(BytesIO(response.read())) as archive:
        lines = archive.read("SMSSpamCollection").decode().splitlines()
    labels, texts = zip(*(line.split("\t", 1) for line in lines), strict=True)
    return pd.DataFrame({"text": texts}), np.array(labels) == "spam"


def read(folder, name, positive):
    """Read a table from a file, which may be compressed."""
    import pandas as pd

    files = sorted(folder.glob(f"{name}.csv*"))
    if not files:
        raise InputError(f"There is no {name}.csv in {folder}.")
    # Only empty fields are missing: "NA" may be a category, or a word.
    frame = pd.read_csv(files[0], keep_default_na=False, na_values=[""])
    if "target" not in frame:
        raise InputError(f"{files[0]} has no column 'target'.")
    return frame.drop(columns="target"), frame["target"] == positive


N_GENERATED = 5_000


def generated_people():
    """Generate numbers, categories and missing values; some decide the label."""
    import pandas as pd

    random = np.random.default_rng(0)
    age = random.integers(17, 80, N_GENERATED)
    hours = random.choice([20, 35, 40, 40, 40, 60], N_GENERATED)
    job = random.choice(["clerk", "cook", "doctor", "driver", "farmer"], N_GENERATED)
    gain = np.where(
        random.random(N_GENERATED) < 0.1, random.lognormal(8, 1, N_GENERATED), 0.0
    )
    score = -(((age - 48) / 12) ** 2) + (hours - 40) / 15 + (gain > 3_000)
    score += 2.0 * (job == "doctor") - (job == "cook") + random.logistic(size=len(age))
    frame = pd.DataFrame({"age": age, "hours": hours, "job": job, "gain": gain})
    frame.loc[random.random(N_GENERATED) < 0.1, "job"] = None
    frame["hours"] = frame["hours"].mask(random.random(N_GENERATED) < 0.05)
    return frame, score > -0.5


def generated_messages():
    """Generate messages; every tenth word is more frequent in spam."""
    import pandas as pd

    random = np.random.default_rng(1)
    words = np.array([f"word{k}" for k in range(300)])
    spam = random.random(N_GENERATED) < 0.15
    common = 1 / np.arange(1, 301)
    ham_words = common / common.sum()
    often = np.where(np.arange(300) % 10 == 0, 4.0, 1.0) * ham_words
    spam_words = often / often.sum()
    texts = [
        " ".join(random.choice(words, 12, p=spam_words if is_spam else ham_words))
        for is_spam in spam
    ]
    return pd.DataFrame({"text": texts}), spam


def find_tables(folder, generated=False):
    """Return both tables: from a folder, downloaded, or generated."""
    if generated:
        found = {"people": generated_people(), "messages": generated_messages()}
    elif folder is None:
        try:
            found = {"Adult": fetch_adult(), "SMS": fetch_sms()}
        except OSError as error:
            raise InputError(
                f"The tables cannot be downloaded ({error}): pass --data-dir."
            ) from error
    else:
        found = {
            "Adult": read(folder, "adult_raw", ">50K"),
            "SMS": read(folder, "sms_spam", "spam"),
        }
    return [Table(name, frame, np.asarray(y)) for name, (frame, y) in found.items()]


# %%
# Learners
# --------
#
# Each learner predicts the probability of the second label for each row, then learns
# it.


def ours(estimator):
    def learn(table):
        model = make_online_pipeline(TableEncoder(), estimator())
        return model.partial_fit_predict(
            table.frame, table.y, classes=[False, True], method="predict_proba"
        )[:, 1]

    return learn


def best_of_rates(learn, rows, y):
    """Return probabilities at the rate of the lowest log loss, and this rate."""
    said = {rate: learn(rows, y, rate) for rate in RATES}
    best = min(said, key=lambda rate: mean_loss(y, said[rate]))
    return said[best], best


def mean_loss(y, p):
    return row_losses(y, p).mean()


def row_losses(y, p):
    # Some learners give a wrong label probability 1.
    p = np.clip(p, 1e-15, 1 - 1e-15)
    return -np.log(np.where(y, p, 1 - p))


def run(table, with_competitors):
    """Return the probabilities of all learners, by name."""
    said = {
        "Hedge": ours(HedgeClassifier)(table),
        "ScInOL2": ours(ScInOLClassifier)(table),
    }
    if with_competitors:
        rows = table.frame.to_dict("records")
        for name, learn in show_progress(COMPETITORS.items(), table.name):
            said[name] = learn(rows, table.y)
            p, rate = best_of_rates(learn, rows, table.y)
            said[f"{name}, best rate {rate:g}"] = p
    return said


# %%
# Figure
# ------


def draw(tables, of_tables):
    figure, axes = panels(len(tables), 2, 4.8, 3.4)
    for ax, table, said in zip(axes, tables, of_tables, strict=True):
        rows = np.arange(1, len(table.y) + 1)
        for name, p in said.items():
            losses = np.cumsum(row_losses(table.y, p)) / rows
            label = name.partition(" rate")[0]
            dashes = "--" if "best" in name else "-"
            colour = {"Hedge": "C3", "ScInOL2": "C1"}.get(name)
            colour = colour or {"V": "C0", "r": "C2"}[name[0]]
            ax.plot(rows[9:], losses[9:], dashes, color=colour, label=label)
        last = [mean_loss(table.y, p) for p in said.values()]
        ax.set(xscale="log", ylim=(0.8 * min(last), 2 * max(last)))
        ax.set(title=table.name, xlabel="rows", ylabel="mean log loss so far")
    axes[-1].legend(frameon=False, fontsize="small")
    return figure


# %%
# Command line
# ------------

COLUMNS = "{:<10}{:<34}{:>10}{:>10}".format
HEADER = COLUMNS("table", "learner", "log loss", "accuracy")


def add_table_options(parser):
    """Add options for where the tables come from, as of `find_tables`."""
    parser.add_argument(
        "--data-dir", type=Path, metavar="FOLDER", help="where the tables are"
    )
    parser.add_argument(
        "--generated", action="store_true", help="learn tables that are made up"
    )


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Learn from tables as they come, with nothing to tune."
    )
    add_table_options(parser)
    parser.add_argument(
        "--alone", action="store_true", help="leave out learners of other packages"
    )
    add_output_dir(parser, "figure")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    tables = find_tables(arguments.data_dir, arguments.generated)
    print("\n".join([HEADER, "-" * len(HEADER)]))
    of_tables = []
    for table in tables:
        said = run(table, not arguments.alone)
        of_tables.append(said)
        for name, p in said.items():
            loss = f"{mean_loss(table.y, p):.4f}"
            accuracy = f"{np.mean((p > 0.5) == table.y):.4f}"
            print(COLUMNS(table.name, name, loss, accuracy))
        print(flush=True)
    save_figure(draw(tables, of_tables), arguments.output_dir / "raw_table.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)

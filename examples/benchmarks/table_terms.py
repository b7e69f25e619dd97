"""
What a model has learned of a table
===================================

Draws ``plot_terms`` of pipelines that have learned the tables of ``raw_table.py``:
people [1]_ and messages. They are downloaded, read from a folder, or generated::

    python examples/benchmarks/table_terms.py --data-dir FOLDER
    python examples/benchmarks/table_terms.py --generated

.. [1] B. Becker, R. Kohavi (1996). "Adult." UCI Machine Learning Repository.
"""

import argparse
import sys

import numpy as np
from interface import add_output_dir, gives_status, save_figure
from raw_table import add_table_options, find_tables

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

COLUMNS = "{:<10}{:<20}{:<10}{:>10}".format
HEADER = COLUMNS("table", "column", "kind", "variation")


# Labels of both classes, for titles.
LABELS = {"Adult": ["<=50K", ">50K"], "SMS": ["ham", "spam"]}


def draw(table):
    """Learn a table; return the display of its terms."""
    labels = np.array(LABELS.get(table.name, ["no", "yes"]))
    model = make_online_pipeline(TableEncoder(), ScInOLClassifier())
    model.partial_fit(table.frame, labels[table.y.astype(int)], classes=labels)
    return model.plot_terms()


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Plot what a model has learned of the columns of a table."
    )
    add_table_options(parser)
    add_output_dir(parser, "figures")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    print("\n".join([HEADER, "-" * len(HEADER)]))
    for table in find_tables(arguments.data_dir, arguments.generated):
        display = draw(table)
        for term in display.terms:
            variation = f"{term.variation:.2f}"
            print(COLUMNS(table.name, term.column, term.part, variation))
        path = arguments.output_dir / f"terms_of_{table.name.lower()}.png"
        save_figure(display.figure_, path, bbox_inches=None)
        print(flush=True)


if __name__ == "__main__" and (status := main()):
    sys.exit(status)

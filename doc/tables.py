"""Tables of pages, made of what scripts printed.

Each stands below a comment that names a function of this file. To write them again::

    python doc/tables.py
"""

import json
import re
from itertools import groupby
from pathlib import Path

HERE = Path(__file__).parent
PAGES = (
    HERE.parent / "README.md",
    HERE / "benchmarks.md",
    HERE / "coming_from" / "sgd.md",
    HERE / "papers.md",
    HERE / "user_guide" / "evaluation.md",
    HERE / "which_estimator.md",
)
TABLE = re.compile(r"(?<=<!-- doc/tables\.py: )(\w+)( -->\n\n)(?:\|.*\n)*")

ROWS = (
    "dense, d = 5",
    "dense, d = 20",
    "dense, d = 128",
    "dense, d = 784",
    "dense, d = 10,000",
    "dense, d = 54, 7 classes",
    "CSR, 60 of 100,000",
    "CSR, 300 of 1,000,000",
)


def printed(name):
    """Paragraphs of what a script printed."""
    stored = (HERE / "measured" / f"{name}.json").read_text(encoding="utf-8")
    lines = json.loads(stored)["printed"]
    return [[*group] for is_full, group in groupby(lines, bool) if is_full]


def markdown(header, rows):
    lines = ("| " + " | ".join(cells) + " |" for cells in (header, *rows))
    return "\n".join([next(lines), "|---" * len(header) + "|", *lines, ""])


def which():
    """Loss and time / SGD's in `which.py`, by kind of data and number of rows."""
    *_, (header, _, *lines) = printed("which")
    header = "data", "rows", "sets", *re.split("  +", header.strip())[3:]
    rows = [re.split("  +", line.strip()) for line in lines]
    return markdown(header, [[kind, *cells] for kind, *cells in rows])


def grid_search():
    """Test losses of `comparison_with_sgd.py`."""
    _, *of_data, _ = printed("comparison_with_sgd")
    rows = []
    for *_, ours, theirs, _ in of_data:
        losses = (re.search(r"(\S+) ± \S+$", line)[1] for line in (ours, theirs))
        rows.append([ours[:15].strip(), *(f"{float(loss):.3f}" for loss in losses)])
    n_ours, n_theirs = (re.search(r" (\d+) ", line)[1] for line in (ours, theirs))
    header = f"ScInOL2, {n_ours} fits", f"SGD, grid search, {n_theirs} fits"
    return markdown(["data", *header], rows)


def regressors():
    """R² and errors of `fit.py --sgd`."""
    (_, *lines), *_ = printed("fit_sgd")
    rows = []
    for line in lines:
        if not line.startswith("Skipped"):
            rows.append(line.replace("_", " ").rsplit(maxsplit=7))
    header = "data", "R², SGD", "ScInOL", "Newton", "mixture", "error, ScInOL", "Newton"
    return markdown([*header, "mixture"], rows)


def tree_ensembles():
    """Accuracies of `tree_ensembles.py`, of the best ensemble of each package."""
    _, *of_streams = printed("tree_ensembles")
    rows = []
    for title, _, _, *lines in of_streams:
        stream, n_rows = re.match(r"(.*): (\S+) rows", title).groups()
        found = {line[:32].strip(): float(line[32:].split()[0]) for line in lines}
        cells = [f"{found[name]:.3f}" for name in ("same label as before", "Hedge")]
        for package in "MOA", "river":
            best = max(found[name] for name in found if name.endswith(package))
            cells.append(f"{best:.3f}")
        rows.append([f"{stream.replace('_', ' ')}, {n_rows} rows", *cells])
    header = "same label", "the mixture", "best ensemble of MOA", "best of river"
    return markdown(["stream", *header], rows)


def tightness():
    """Bounds of `tightness.py` over what they bound, by data sets."""
    *of_data, _ = printed("tightness")
    rows, names = {}, []
    for title, *lines in of_data:
        names.append(title[: title.index(":")].replace("_", " "))
        for line in lines:
            earlier = rows.setdefault(line[:24].strip(), [])
            earlier += [""] * (len(names) - 1 - len(earlier)) + [line.split()[-1]]
    return markdown(
        ["bound / what it bounds", *names],
        [[name, *r, *[""] * (len(names) - len(r))] for name, r in rows.items()],
    )


def times():
    """µs a row of `throughput.py`, and that over SGD's and SGD's at its fastest."""
    (header, *lines), *_ = printed("throughput")
    learner, engine = header.index("learner"), header.index("engine")
    return {
        (line[:learner].strip(), line[learner:engine].strip()): [
            float(line.split()[k]) for k in (-5, -2, -1)
        ]
        for line in lines
        if line.startswith(("dense", "CSR"))
    }


def throughput():
    """Times in `throughput.py`, over SGD's."""
    measured = times()
    rows = []
    for case in ROWS:
        of_scinol = measured.get((case, "ScInOL, centred")) or measured[case, "ScInOL"]
        others = (
            measured.get((case, name), ["", ""])[1]
            for name in ("AdaImplicit", "OnlineNewton", "Hedge")
        )
        cells = (f"{each:.2f}" if each else "" for each in (*of_scinol, *others))
        rows.append([case, *cells])
    header = "rows", "ScInOL, µs", "/ SGD", "/ fastest SGD"
    others = "AdaImplicit / SGD", "OnlineNewton / SGD", "the mixture / SGD"
    return markdown([*header, *others], rows)


#: In the table of `one_row.py`: names, and what learns single rows and chunks.
ROW_COSTS = {
    "`ScInOLClassifier`": "ScInOLClassifier, ",
    "`OnlineNewtonClassifier`": "OnlineNewtonClassifier, ",
    "`HedgeClassifier`, the mixture": "HedgeClassifier, ",
    "`SGDClassifier`": "SGDClassifier, ",
    "river, `LogisticRegression`": "river, logistic regression",
}


def row_costs():
    """Time of a row with 20 features in `one_row.py`, alone and in a chunk."""
    alone, in_chunk = (
        {line[:37].strip(): line[37:].split() for line in lines[2:]}
        for lines in printed("one_row")[:2]
    )
    rows = []
    for name, way in ROW_COSTS.items():
        cells = alone.get(way + "row_by_row") or alone.get(way + "partial_fit")
        us, ratio = cells or alone[way]
        of_chunk = in_chunk.get(way + "partial_fit", ["", ""])
        rows.append([name, f"{float(us):.0f}", ratio, *of_chunk])
    header = "learner", "a single row, µs", "/ SGD", "in a chunk of 1,000, µs", "/ SGD"
    return markdown(header, rows)


def six_data_sets():
    """Test losses in `scinol_figure2.py`, by method and data set."""
    losses, names, tables = {}, [], printed("scinol_figure2")[1:]
    for (title, *_), (_, _, *lines) in zip(tables[:12:2], tables[1:12:2], strict=True):
        names.append(title.partition(":")[0])
        for line in lines:
            name, *cells = line.split()
            losses.setdefault(name, []).append(cells[-3])  # a rate may come first
    smallest = [min(column, key=float) for column in zip(*losses.values(), strict=True)]
    rows = []
    for name in ("ScInOL2", "ScInOL1", "CoCoB", *sorted(losses, key=losses.get)):
        cells = zip(losses.pop(name, []), smallest, strict=False)
        marked = [f"**{each}**" if each == least else each for each, least in cells]
        rows += [[name, *marked]] if marked else []
    return markdown(["", *names], rows)


def number(text):
    return float(text.strip("%").replace(",", ""))


def renewed(text):
    """A page with its tables as they are made now."""
    return TABLE.sub(lambda found: found[1] + found[2] + globals()[found[1]](), text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")

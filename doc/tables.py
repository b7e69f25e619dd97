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
    HERE / "benchmarks.md",
    HERE / "coming_from" / "sgd.md",
    HERE / "user_guide" / "evaluation.md",
)
TABLE = re.compile(r"(?<=<!-- doc/tables\.py: )(\w+)( -->\n\n)(?:\|.*\n)*")

PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
ROWS = (
    "dense, d = 5",
    "dense, d = 20",
    "dense, d = 54",
    "dense, d = 128",
    "dense, d = 784",
    "dense, d = 10,000",
    "dense, d = 54, 7 classes",
    "CSR, 60 of 100,000",
    "CSR, 100 of 1,000,000",
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


def river():
    """Places in the tables of `river_benchmark.py`."""
    ours, linear = "Hedge, of sklearn-scinol", "river's linear model, run here"
    rows = []
    for title, _, *lines, summary in printed("river_benchmark"):
        data, measure = re.match(r"(.*?)  +(\w+)", title).groups()
        scores = dict(re.match(r"(.*?)  +(\S+)", line).groups() for line in lines)
        best = next(name for name in scores if name not in (ours, linear))
        place = PLACES[int(re.search(r": (\d+) of", summary)[1])]
        data = data.replace(":", ",") + (", error" if measure == "error" else "")
        of_best = f"{scores[best]}, {best}"
        rows.append([data, scores[ours], scores[linear], of_best, place])
    header = "data", "the mixture", "river's linear model", "best of the published"
    return markdown([*header, "place"], rows)


def tree_ensembles():
    """Accuracies of `tree_ensembles.py`, and the best ensemble of each package."""
    _, *of_streams = printed("tree_ensembles")
    rows = []
    for title, _, _, *lines in of_streams:
        stream, n_rows = re.match(r"(.*): (\S+) rows", title).groups()
        found = {line[:32].strip(): float(line[32:].split()[0]) for line in lines}
        cells = [f"{found[name]:.3f}" for name in ("same label as before", "Hedge")]
        for package in "MOA", "river":
            best = max((n for n in found if n.endswith(package)), key=found.get)
            cells.append(f"{found[best]:.3f}, {best.partition(',')[0]}")
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


def one_learner():
    measured = times()
    rows = []
    for case in ROWS:
        of_scinol = measured.get((case, "ScInOL, centred")) or measured[case, "ScInOL"]
        both = *of_scinol, *measured[case, "AdaImplicit"]
        rows.append([case, *(f"{value:.2f}" for value in both)])
    shares = "/ SGD", "/ fastest SGD"
    return markdown(["rows", "ScInOL", *shares, "AdaImplicit", *shares], rows)


def mixtures():
    measured = times()
    rows = []
    for case in ROWS:
        both = measured[case, "Hedge"], measured[case, "Hedge, linear, first order"]
        rows.append([case, *(f"{sgd:.2f} ({fastest:.2f})" for _, sgd, fastest in both)])
    return markdown(
        [
            "rows",
            "the mixture, defaults",
            "linear experts of first order, without pools",
        ],
        rows,
    )


def number(text):
    return float(text.strip("%").replace(",", ""))


def renewed(text):
    """A page with its tables as they are made now."""
    return TABLE.sub(lambda found: found[1] + found[2] + globals()[found[1]](), text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")

"""Tables of pages, made of what scripts printed.

Each stands below a comment that names a function of this file. To write them again::

    python doc/tables.py
"""

import json
import re
from itertools import groupby, pairwise
from pathlib import Path

HERE = Path(__file__).parent
PAGES = (
    HERE / "benchmarks.md",
    HERE / "howto" / "clusters.md",
    HERE / "user_guide" / "alarms.md",
    HERE / "user_guide" / "forests.md",
    HERE / "user_guide" / "intervals.md",
    HERE / "user_guide" / "label_sets.md",
    HERE / "user_guide" / "mixtures.md",
    HERE / "user_guide" / "tables.md",
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


def forests():
    """Scores of `forests.py`, river's and ours, and how much faster ours are."""
    (_, _, *lines), *_ = printed("forests")
    rows = []
    for accuracy, losses, _, faster, _ in zip(*[iter(lines)] * 5, strict=True):
        name, n_rows, n_features, *of_all = accuracy.replace(" ± ", "±").split()
        numbers = [cell.split("±")[0] for cell in of_all]
        numbers += [
            each.split("±")[0] for each in losses.replace(" ± ", "±").split()[2:]
        ]
        river, ours, default, *losses = (f"{float(number):.3f}" for number in numbers)
        size = f"{int(n_rows):,} × {n_features}"
        rows.append([name, size, river, ours, default, *losses, faster.split()[-1]])
    header = "data", "rows × features", "accuracy, river", "`dirichlet=0.5`", "default"
    losses = "log loss, river", "`dirichlet=0.5`", "default", "times faster"
    return markdown([*header, *losses], rows)


def intervals():
    """Coverage and scores of `intervals.py`."""
    (_, _, _, *lines), *_ = printed("intervals")
    rows = []
    for line in lines:
        if line.startswith("Time"):
            continue
        name, *cells = re.split(r"  +", line)
        if name.startswith("mean"):
            cells = ["", *cells]
        n_rows, mean, worst, *ratios = cells
        ratios = [f"{float(ratio):.2f}" for ratio in ratios]
        rows.append([name, f"{int(n_rows):,}" if n_rows else "", mean, worst, *ratios])
    header = "stream", "rows", "off, mean", "worst", "score / adaptive", "/ jackknife"
    return markdown([*header, "/ quantiles"], rows)


def intervals_groups():
    """Coverage of thirds of the rows in `intervals.py`."""
    (_, _, _, *lines), *_ = printed("intervals_groups")
    rows = []
    for line in lines:
        name, *cells = re.split(r"  +", line)
        cells = ["", *cells] if name == "mean" else [f"{int(cells[0]):,}", *cells[1:]]
        rows.append([name, *cells])
    one = "one group: thirds off, mean", "worst", "all rows"
    header = "stream", "rows", *one, "thirds: mean", "worst", "all rows", "score"
    return markdown(header, rows)


def experts():
    """Gains of experts in `experts.py`, in %, in classification and regression."""
    rows = {}
    for (title, *_), lines in pairwise(printed("experts")):
        if title.startswith("What experts"):
            column = 1 if "in regression" in title else 0
            for name, gain in re.findall(r"- (\S+) +\d+ +(\S+)", "\n".join(lines)):
                earned = f"{100 * float(gain) - 100:.2f}"
                rows.setdefault(name, ["", ""])[column] = earned
    header = "expert", "classification, %", "regression, %"
    return markdown(header, [[name, *earned] for name, earned in rows.items()])


def false_alarms():
    """Rows to a false alarm in `alarms.py`."""
    (_, _, *lines), *_ = printed("alarms")
    header = (
        "losses",
        "`false_alarm`",
        "streams",
        "asked for, at least",
        "mean",
        "median",
    )
    rows = []
    for line in lines:
        kind, n_streams, asked, *found = re.split(r"  +", line)
        rows.append([kind, f"{1 / number(asked):g}", n_streams, asked, *found])
    return markdown(header, rows)


def alarm_delays():
    """Mean delays in `alarms.py`."""
    _, *changes = printed("alarms")
    header, cells = ["detector", "rows to a false alarm"], {}
    for title, titles, *lines, _ in changes[:2]:
        before, after = re.findall(r"[\d.]+", title)
        header += [
            f"{before} to {after}, {n}" for n in re.findall("after.*?000", titles)
        ]
        for line in lines:
            false_alarm, *delays = (line[a:b].strip() for a, b in ALARM_COLUMNS)
            row = cells.setdefault(line[:34].strip(), [false_alarm])
            row += [delay.partition(", ")[0] for delay in delays]
    return markdown(header, [[f"`{name}`", *row] for name, row in cells.items()])


#: Columns of the delays in `alarms.py`.
ALARM_COLUMNS = (34, 48), (48, 66), (66, 84)


def calibration():
    """Calibration errors of the mixture in `calibration.py`."""
    (lines,) = printed("calibration")
    rows = []
    for line in lines[1 + [line[0] for line in lines].index("-") :]:
        name, *size, error, chance, by_class, temperature, loss = line.split()
        size = f"{int(size[0]):,} × {size[1]}" if size else ""
        rows.append([name, size, error, chance, by_class, temperature, loss])
    header = "data", "rows × classes", "error", "by chance", "class by class"
    return markdown([*header, "with a temperature", "its log loss / without"], rows)


def label_sets_new_rows():
    """Coverage and size of sets of labels in `label_sets.py`."""
    (lines,) = printed("label_sets_new_rows")
    rows = []
    for line in lines[1 + [line[0] for line in lines].index("-") :]:
        if not line.startswith("labels /"):
            name, *_, off, worst, labels, _, aci, aci_worst, of_aci, aps = line.split()
            rows.append([name, off, worst, labels, aci, aci_worst, of_aci, aps])
    header = "data", "coverage off by", "worst thousand", "labels"
    of_aci = "ACI: off by", "worst thousand", "labels", "labels, APS"
    return markdown([*header, *of_aci], rows)


MIXTURES = {
    "default": "the mixture",
    "first level": "the mean of its experts, without pools",
    "best expert": "its best expert, in hindsight",
    "chosen on other half": "experts chosen on the other half",
    "chosen on same half": "experts chosen on the same half",
}


def chosen_experts():
    """Losses of mixtures in `experts.py`."""
    *_, (_, _, *lines) = printed("experts")
    rows = []
    for line in lines:
        name, numbers = line[:22].strip(), line[22:].split()
        half, below, largest, data, mean, largest_mean, of_mean = numbers
        of_mean = "" if name == "default" else f"{largest_mean}, {of_mean}"
        rows.append([MIXTURES[name], half, below, f"{largest}, {data}", mean, of_mean])
    header = "experts", "/ SGD\\*, median", "sets below 1", "largest"
    return markdown([*header, "/ the mixture, geometric mean", "largest"], rows)


def views():
    """Losses of `table_views.py`: of one view of tables, and of both."""
    (_, _, *lines), _ = printed("table_views")
    rows = []
    for line in lines:
        name, n_rows, *losses, ratio, _ = line.split()
        losses = (f"{float(loss):.3f}" for loss in losses)
        rows.append([name, f"{int(n_rows):,}", *losses, f"{float(ratio):.2f}"])
    header = "table", "rows", "sparse rows", "dense view", "both", "both / sparse"
    return markdown(header, rows)


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


FAMILIES = {"ScInOL": "ScInOL", "OnlineNewton": "Newton steps", "Hedge": "mixture"}


def on_workers(k):
    """Names of models, and the columns of the k-th table of `dask_partitions.py`."""
    for line in printed("dask_partitions")[k][1:]:
        name, *values = re.sub(r", (?=\d)", "  ", line).split()
        yield FAMILIES[name], values


def models_that_travel():
    header = "model", "bytes of its pickle", "copy, ms", "pickle and back, ms"
    rows = (
        [f"{name}, {n_features} features", n_bytes, *times]
        for name, (n_features, n_bytes, *times) in on_workers(2)
    )
    return markdown([*header, "merge of two, ms"], rows)


def partitions():
    header = "time of a partition, ms", "added in order", "two shards, speed-up"
    rows = (
        [name, f"{1e8 / number(rate):.0f}", f"{number(added):.0f} %", speed_up]
        for name, (rate, _, added, _, speed_up) in on_workers(1)
    )
    return markdown(["", *header], rows)


def many_workers():
    header = "", "rows per second", "in order, days", "in shards, minutes", "merging, s"
    rates = (f"{float(f'{number(rate):.3g}'):,.0f}" for _, (rate, *_) in on_workers(1))
    rows = (
        [name, rate, *times]
        for rate, (name, times) in zip(rates, on_workers(5), strict=True)
    )
    return markdown(header, rows)


def number(text):
    return float(text.strip("%").replace(",", ""))


def renewed(text):
    """A page with its tables as they are made now."""
    return TABLE.sub(lambda found: found[1] + found[2] + globals()[found[1]](), text)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")

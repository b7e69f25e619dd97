"""Benchmark scripts run on small data, and say in one sentence what is wrong."""

import re
import sys
from functools import partial

import numpy as np
import pytest
from support.scripts import caller, frames, write_data_sets

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pytest.importorskip("pandas", reason="pandas is not installed")
pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("skops", reason="skops is not installed")

RATES = 2.0 ** np.array([-8, 1, 4])


def few_rows(*_):
    random = np.random.default_rng(0)
    return random.normal(size=(60, 3)), random.integers(2, size=60)


def amounts(n):
    random = np.random.default_rng(0)
    X = random.normal(size=(n, 2))
    return X, X.sum(axis=1) + random.normal(size=n)


def close(figure, *expected, atol=2e-3):
    """Whether a figure is what others say, all of them rounded."""
    return np.allclose(figure, expected, rtol=1e-2, atol=atol)


def no_network(**_):
    raise OSError("there is no network")


RUNS = {}


def case(name, options, said, holds=None, **values):
    """Add a run: options, what is printed, what holds of its groups, small values."""
    RUNS[name] = options, said, holds, values


# The quick ones first.
case(
    "regret_certificate",
    "--only wine --max-rows 60 --output-dir {out}",
    r"ScInOL1 +(\S+) +(\S+) +(\S+) +(\S+).*All 4 certificates hold",
    lambda loss, best, regret, bound: (
        close(regret, loss - best, atol=0.11) and regret < bound
    ),
    RADII=(1.0,),
)
case(
    "adahedge label",
    "--data {data}/rods.csv --target label --output-dir {out}",
    "rods.csv: 90 rows ",
    RATES=RATES,
)
case(
    "merging",
    "--n-jobs 1 --data-dir {data} --only amounts --shards 4",
    r"amounts: 72 rows.* 1 +(\S+) .* 4  second pass +(\S+) +\((\S+)\)",
    lambda one, merged, ratio: close(ratio, merged / one),
    LEARNERS=((ScInOLClassifier, ScInOLRegressor),),
)
case(
    "first_call",
    "--n-repeats 2",
    r"2\.00 s +1\.0 +3\.00 s +0\.50 s",
    measure_apart=lambda _: (2.0, 3.0, 0.5, 0.6),
)
case(
    "adahedge",
    "--output-dir {out}",
    r"expert: ScInOL2 +(\S+) .*median expert +(\S+) .*loss of the weights +(\S+) .*"
    r"mean prediction +(\S+) .*mixability gap +(\S+) .*bound on the regret +(\S+) ",
    lambda best, median, charged, mean, gap, bound: (
        best < charged < gap < bound and mean < charged < median
    ),
    RATES=RATES,
)
case(
    "adahedge amount",
    "--data {data}/rods.csv --target amount --output-dir {out}",
    "rods.csv: 90 rows ",
    RATES=RATES,
)
case(
    "alarms",
    "--streams 4 --delays 20 --output-dir {out}",
    "LossMonitor / ADWIN with as many false alarms: ",
    **{"MAX_ROWS": 4000, "MAX_DELAY": 800, "N_BEFORE": (200, 100)},
    DELTAS=(0.1, 0.9),
)
case(
    "calibration",
    "--n-jobs 1 --data-dir {data} --min-rows 85",
    r"three +90 +3 +(\S+).*\nmedian +(\S+)",
    lambda error, median: 0.0 < error == median < 1.0,
)
case(
    "dask_partitions",
    "--partitions 2 --rows 1500 --repeats 1 --only scinol",
    r"\nScInOL +(\S+) +(\S+) +(\S+)% +(\S+) +(\S+)\n.*\nScInOL +(\S+) +(\S+) ",
    lambda here, there, overhead, merged, ratio, days, minutes: (
        close(overhead / 100, here / there - 1)
        and close(ratio, merged / there, atol=0.01)
        and close([days * 86400, 1e3 * 60 * minutes], 1e12 / here)
    ),
    WIDE=1000,
)
case(
    "dfeg",
    "--output-dir {out}",
    # The synthetic experiment of the paper.
    r"DFEG +0\.931 +1\.025\n.*Kernel GD, rate 1 +4\.509 +49\.486\n"
    r".*diabetes +(\S+) +(\S+) +(\S+) +2 +(\S+) +4096 +1\n",
    lambda zero, dfeg, best, worst: best < dfeg < 1.6 * best < zero < worst / 100,
    fetch_california_housing=no_network,
    RATES=2.0 ** np.array([-10, -4, 1, 6, 12]),
)
case(
    "drift",
    "--n-jobs 1 --max-rows 300 --output-dir {out}",
    "  mixture  ",
    WINDOW=50,
)
case("experts", "--n-jobs 1 --data-dir {data} --only amounts", r"- scinol2 +[\d.]+ ")
case(
    "fit",
    "--only e --max-rows 150 --n-jobs 1",
    r"cancer +\S+ +(\S+) .*wine +\S+ +(\S+) .*diabetes +\S+ +(\S+) .*"
    r"median +(\S+) .*mean +(\S+) .*largest +(\S+) ",
    lambda *found: close(
        found[3:],
        np.median(found[:3]),
        np.prod(found[:3]) ** (1 / 3),
        max(found[:3]),
    ),
    N_FOLDS=2,
    OPTIONS={"one epoch": {"max_iter": 1, "tol": None}},
)
case(
    "forests",
    "--data-dir {data} --seeds 3",
    r"mails +60 +3 .*±",
    mails=few_rows,
    streams=lambda *_: [],
)
case(
    "hedge",
    "--n-jobs 1 --data-dir {data} --only amounts --output-dir {out}",
    r"\namounts +(\S+) +(\S+) +\S+ +(\S+) ",
    lambda hedge, best, ratio: close(ratio, hedge / best),
)
case(
    "history",
    "--rows 600 --learner ScInOL --only demand",
    r"raw columns +(\S+) .*by hand +\S+ .* history +(\S+) ",
    lambda raw, history: history < 0.8 * raw,
    find_spec=lambda _: None,
)
case(
    "implicit_updates",
    "--jobs 1 --shuffles 2 --only wine --only diabetes --output-dir {out}",
    # The paper's synthetic experiment, and four best losses.
    r"OGD +444\.1.*AdaOGD +0\.379.*Implicit +457\.5.*AdaImplicit +0\.153"
    r".*\nwine(?: +[\d.]+ +[1-5]){4} ",
    BETAS=2.0 ** np.array([-20, -10, 0, 10, 20]),
)
case(
    "intervals",
    "",
    r"made\* +500 +(\S+) +(\S+) .*alone: 1\.25 \(3\.00 ",
    lambda mean, worst: 0.0 <= mean <= worst,
    **{"find_spec": lambda _: None, "cost": lambda _: (1.25, 3.0), "BLOCK": 100},
    made_streams=lambda: [("made*", *amounts(500)), ("other", *amounts(500))],
)
case(
    "label_sets",
    "--n-jobs 1 --data-dir {data} --only three --min-rows 80 --skip 30",
    r"three +90 +3 +\S+ +\S+ +(\S+) +\S+ +\S+ +\S+ +(\S+) .*those of ACI: \D+(\S+),",
    lambda ours, theirs, ratio: close(ratio, ours / theirs),
    N_BLOCK=20,
)
case(
    "one_row",
    "--features 2 3 --rows 5 --repeats 1",
    r"SGDClassifier, partial_fit +(\S+) +1\.0+\nSGD\S+ least work +(\S+) +(\S+)\n"
    r".*\nhistory of 3",
    lambda sgd, least, ratio: close(ratio, least / sgd, atol=0.01),
    find_spec=lambda _: None,
)
case("outliers", "", r"wine, 60 rows \| HedgeC", DATA_SETS={"wine": few_rows})
case(
    "raw_table",
    "--data-dir {tables} --alone --output-dir {out}",
    r"Adult +Hedge.*\nSMS +ScInOL2",
)
case("reading", "--rows 3000 --repeats 2", r"csv.*\nparquet.*\nfeather")
case(
    "resume",
    "--rows 4000 --kills 2 --chunk-rows 500 --save-every 500",
    r"scinol +4,000.*\nThe models are equal to the last bit\.",
)
case(
    "scale_out",
    "--n-jobs 1 --output-dir {out}",
    r"ScInOL2 +in order +(\S+) .* ScInOL2 +6 +(\S+) +(\S+) ",
    lambda one, loss, ratio: close(ratio, loss / one),
    **{"N_ROWS": 300, "N_PARTITIONS": 6, "SHARDS": (2, 6)},
    LEARNERS={"ScInOL2": ScInOLClassifier},
)
case("scales", "", r"(?:\| 2\^[\d-]+ \| 0.960 .*){3} refused \| refused \|\n$")
case(
    "scinol_figure1",
    "--runs 2 --n-jobs 1 --output-dir {out}",
    r"NAG, rate \S+ .*ScInOL1 .*ScInOL2 ",
    **{"N_TRAIN": 200, "N_TEST": 1500, "COMPARED": (100, 200)},
)
case(
    "scinol_figure2",
    "--data-dir {tables} --only shuttle --repetitions 2 --epochs 2 --output-dir {out}",
    r"SGD +[\d.e-]+ .*ScInOL2 ",
)
case(
    "second_order",
    "--only wine --n-jobs 1",
    r"wine +(\S+) +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)\n.*median (\S+), largest (\S+)\n",
    lambda *found: close(found[5:], found[2] / min(found[:5])),
    **{"N_ROWS": 3000, "N_FEATURES": 4, "REPEATS": 1},
)
case(
    "table_views",
    "--data-dir {tables} --max-rows 100",
    r"adult_raw +100 +(\S+) +\S+ +(\S+) +(\S+) ",
    lambda sparse, both, ratio: close(ratio, both / sparse),
)
case("table_terms", "--generated --output-dir {out}", "people +age .*\npeople +job")
case(
    "throughput",
    "--engine numpy --repeats 1",
    r"ScInOL1 +numpy +(\S+) +(\S+) +(\S+) +(\S+) +(\S+)\n",
    lambda ours, sgd, fastest, ratio, other: (
        close(ratio, ours / sgd, atol=0.01) and close(other, ours / fastest, atol=0.01)
    ),
    CASES=[("few rows", ("numpy",), few_rows)],
)
case(
    "which",
    "--data-dir {data} --only three --n-jobs 1",
    r"narrow, 90 rows, 2 .* 100 +\S+ +(\S+) \(.*narrow +100 +1 +(\S+) \(",
    lambda of_set, mean: of_set == mean,
)
case(
    "tables",
    "--data-dir {tables} --rows 2000 --repeats 1",
    r"HedgeClassifier.*ScInOL from Parquet",
    COMPETITORS={},
)


@pytest.fixture
def folder(tmp_path):
    """A folder with three data sets and a table."""
    folder = write_data_sets(tmp_path / "data", 90, 90)
    random, lines = np.random.default_rng(0), ["length,colour,label,amount"]
    for length in random.normal(50, 10, 90):
        colour, label = random.choice(["red", "green"]), "long" if length > 50 else "no"
        lines.append(f"{length:.3f},{colour},{label},{length / 10:.3f}")
    (folder / "rods.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", RUNS)
def test_runs(name, script, run, folder, tmp_path):
    """Each prints its table, and draws a figure if it was told where to."""
    options, said, holds, values = RUNS[name]
    module = script(name.split()[0], **values)
    for file, frame in frames().items():
        (tmp_path / "tables").mkdir(exist_ok=True)
        frame.to_csv(tmp_path / "tables" / file, index=False)
    lines = "".join(f"{k % 7},{k % 3}\n" for k in range(90))
    (tmp_path / "tables" / "shuttle.csv").write_text(f"a,target\n{lines}")
    places = {each: tmp_path / each for each in ("data", "out", "tables")}
    out = run(module, *options.format(**places).split())
    found = re.search(said, out, re.DOTALL)
    assert found, out
    groups = [float(group.strip("*").replace(",", "")) for group in found.groups()]
    assert holds is None or holds(*groups), out
    assert bool([*places["out"].glob("*.png")]) == ("{out}" in options)


# Errors are one sentence, with status 2.

#: Scripts that read all data sets of a folder, of which `--only` chooses.
OF_FOLDERS = ["calibration", "drift", "experts", "hedge", "merging", "quality"]
OF_FOLDERS += ["regret_certificate", "tightness", "which"]
OTHERS = ["dfeg", "fit", "implicit_updates", "river_benchmark", "second_order"]
OF_TABLES = ["raw_table", "table_terms", "table_views", "history --only flights"]

#: Options, what is said, and scripts.
WRONG = [
    ("--data-dir {out}/no", "There is no folder .*no", [*OF_FOLDERS, *OTHERS]),
    ("--data-dir {data} --only four", "No data set has 'four'", OF_FOLDERS),
    ("--data-dir {out}", "There is no data set in ", ["dfeg", "quality"]),
    ("--data-dir {out}", "There is no", OF_TABLES),
    ("--output-dir {file}", "file", ["adahedge", "dfeg", "hedge", "no_tuning"]),
    ("", "pip install", ["alarms", "drift --river", "forests", "scale_out"]),
]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [(name, options, said) for options, said, names in WRONG for name in names],
)
def test_wrong_input(name, options, said, script, folder, tmp_path, capsys):
    name, *more = name.split()
    module = script(name)
    if said == "pip install":
        module = script(name, find_spec=lambda _: None)
    places = {each: tmp_path / each for each in ("data", "out", "file")}
    places["out"].mkdir()
    places["file"].touch()
    call = caller(module, capsys, *options.format(**places).split())
    status, _, err = call(*more)
    assert status == 2
    assert re.search(said, err)
    assert err.count("\n") == 1


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_files_larger_than_memory(kind, script, run, tmp_path):
    module = script("out_of_core", BATCH_ROWS=600)
    in_chunks = partial(module.read_table, chunk_rows=200)
    in_process = lambda path, names: {n: module.learn(n, path) for n in names}  # noqa: E731
    script("out_of_core", read_table=in_chunks, run=in_process)
    options = "--gigabytes", 0.0002, "--format", kind, "--output-dir", tmp_path
    found = [line.split() for line in run(module, *options).splitlines()[4:7]]
    assert [line[0] for line in found] == ["ScInOL2", "Hedge", "SGDClassifier"]
    assert all(float(line[3]) > 0 for line in found)
    assert module.peak_memory() > 0 or sys.platform == "win32"

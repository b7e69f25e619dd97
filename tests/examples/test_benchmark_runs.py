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

BETAS = 2.0 ** np.array([-20, -10, 0, 10, 20])
FEW_RATES = {"RATES": 2.0 ** np.array([-8, 1, 4])}
ALONE = {"find_spec": lambda _: None}
ALARMS = {"MAX_ROWS": 4000, "MAX_DELAY": 800, "N_BEFORE": (200, 100)}

LEARNERS = {"ScInOL2": ScInOLClassifier}


def few_rows():
    random = np.random.default_rng(0)
    return random.normal(size=(60, 3)), random.integers(2, size=60)


#: By script: values of names in it, options, and what it prints; the quick ones first.
RUNS = {
    "regret_certificate": (
        {"RADII": (1.0,)},
        "--only wine --max-rows 60 --output-dir {out}",
        "All 4 certificates hold",
    ),
    "adahedge label": (
        FEW_RATES,
        "--data {data}/rods.csv --target label --output-dir {out}",
        "rods.csv: 90 rows ",
    ),
    "merging": (
        {"LEARNERS": ((ScInOLClassifier, ScInOLRegressor),)},
        "--n-jobs 1 --data-dir {data} --only amounts --shards 4",
        "amounts: 72 rows.* 4  second pass ",
    ),
    "first_call": (
        {"measure_apart": lambda _: (2.0, 3.0, 0.5, 0.6)},
        "--n-repeats 2",
        r"2\.00 s +1\.0 +3\.00 s +0\.50 s",
    ),
    "adahedge": (
        FEW_RATES,
        "--output-dir {out}",
        r"best expert: ScInOL2.*best expert \+ bound",
    ),
    "adahedge amount": (
        FEW_RATES,
        "--data {data}/rods.csv --target amount --output-dir {out}",
        "rods.csv: 90 rows ",
    ),
    "alarms": (
        ALARMS | {"DELTAS": (0.1, 0.9)},
        "--streams 4 --delays 20 --output-dir {out}",
        "LossMonitor / ADWIN with as many false alarms: ",
    ),
    "dask_partitions": (
        {"WIDE": 1000},
        "--partitions 2 --rows 1500 --repeats 1 --only scinol",
        r"task +\d.*\nScInOL +\d",
    ),
    "drift": (
        {"WINDOW": 50},
        "--n-jobs 1 --max-rows 300 --output-dir {out}",
        "  mixture  ",
    ),
    "fit": (
        {"N_FOLDS": 2, "OPTIONS": {"one epoch": {"max_iter": 1, "tol": None}}},
        "--only e --max-rows 150 --n-jobs 1",
        r"median .* [01]\.\d+",
    ),
    "forests": (
        {"mails": few_rows, "streams": lambda *_: []},
        "--data-dir {data} --seeds 3",
        r"mails +60 +3 .*±",
    ),
    "implicit_updates": (
        {"BETAS": BETAS},
        "--jobs 1 --shuffles 2 --only wine --only diabetes --output-dir {out}",
        # The paper's synthetic experiment, and four best losses.
        r"OGD +444\.1.*AdaOGD +0\.379.*Implicit +457\.5.*AdaImplicit +0\.153"
        r".*\nwine(?: +[\d.]+ +[1-5]){4} ",
    ),
    "one_row": (
        ALONE,
        "--features 2 3 --rows 5 --repeats 1",
        r"SGDClassifier, partial_fit.* 1\.0+\n.*\nhistory of 3",
    ),
    "outliers": (
        {"DATA_SETS": {"wine": few_rows}},
        "",
        r"wine, 60 rows \| HedgeClassifier \| \d",
    ),
    "raw_table": (
        {},
        "--data-dir {tables} --alone --output-dir {out}",
        r"Adult +Hedge.*\nSMS +ScInOL2",
    ),
    "reading": ({}, "--rows 3000 --repeats 2", r"csv.*\nparquet.*\nfeather"),
    "resume": (
        {},
        "--rows 4000 --kills 2 --chunk-rows 500 --save-every 500",
        r"scinol +4,000.*\nThe models are equal to the last bit\.",
    ),
    "scale_out": (
        {"N_ROWS": 300, "N_PARTITIONS": 6, "SHARDS": (2, 6), "LEARNERS": LEARNERS},
        "--n-jobs 1 --output-dir {out}",
        r"ScInOL2 +in order .* ScInOL2 +6 ",
    ),
    "second_order": (
        {"N_ROWS": 3000, "N_FEATURES": 4, "REPEATS": 1},
        "--only wine --n-jobs 1",
        r"wine +\d.*median (\d\.\d+), largest \1",
    ),
    "table_terms": (
        {},
        "--generated --output-dir {out}",
        "people +age .*\npeople +job",
    ),
    "throughput": (
        {"CASES": [("few rows", ("numpy",), lambda *_: few_rows())]},
        "--engine numpy --repeats 1",
        r"few rows.*ScInOL",
    ),
    "tables": (
        {"COMPETITORS": {}},
        "--data-dir {tables} --rows 2000 --repeats 1",
        r"HedgeClassifier.*ScInOL from Parquet",
    ),
    "scales": ({}, "", r"(\| 2\^[\d-]+ \| 0.960 .*){3} refused \| refused \|\n$"),
}


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
    values, options, said = RUNS[name]
    module = script(name.split()[0], **values)
    for file, frame in frames().items():
        (tmp_path / "tables").mkdir(exist_ok=True)
        frame.to_csv(tmp_path / "tables" / file, index=False)
    places = {each: tmp_path / each for each in ("data", "out", "tables")}
    out = run(module, *options.format(**places).split())
    assert re.search(said, out, re.DOTALL), out
    assert bool([*places["out"].glob("*.png")]) == ("{out}" in options)


# What is wrong is said in one sentence, with status 2.

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

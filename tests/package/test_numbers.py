"""Numbers that pages and docstrings quote are those that scripts print."""

import ast
import json
import math
import re
import tomllib
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import dropwhile
from pathlib import Path

import pytest
from support import ROOT, is_left_out

from sklearn_scinol.estimators.second_order import MAX_COVARIANCES

MEASURED = ROOT / "doc" / "measured"
RUNS = tomllib.loads((MEASURED / "runs.toml").read_text(encoding="utf-8"))
SCRIPTS = {path.stem for path in (ROOT / "examples").glob("*/*.py")}
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in [
        ROOT / "README.md",
        *(ROOT / "doc").rglob("*.md"),
        *(ROOT / "sklearn_scinol").rglob("*.py"),
    ]
    if not {"_build", "generated", "auto_examples"} & {*path.parts}
)

# Other files are named with their folder, such as mixtures/adahedge.py.
SCRIPT = re.compile(r"(?:\bexamples/\w+/|(?<![\w/]))(\w+)\.py\b")
# No part of a name (ScInOL2, a9a), a power (10¹²) or a version (0.19.0).
NUMBER = re.compile(
    r"(?<![\w.,^])(\d{1,3}(?:,\d{3})+|\d+)?(\.\d+)?(?![\w^]|[.,]\d)( %)?"
)
SHOWN = ("|", "![")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef
MADE = re.compile(r"^<!-- doc/tables.py.*\n\n(?:\|.*\n)*", re.MULTILINE)
NOT_QUOTED = re.compile(
    r"^```.*?^```|\$\$.*?\$\$|\$[^$\n]+\$|`[^`]*`|(?:!\[[^]]*)?\]\([^)]*\)|\]\[[^]]*\]"
    r"|\b(?:19|20)\d\d\b|(?:Section|Figure)s? \d+|^---$.*?^---$|\{\w+\}`[^`]*`",
    re.MULTILINE | re.DOTALL,
)


# What was measured.


@cache
def printed(name):
    """Lines that a script printed, of all its runs whose output is stored."""
    lines = []
    for path in sorted(MEASURED.glob("*.json")):
        measured = json.loads(path.read_text(encoding="utf-8"))
        script, *options = measured["command"].split()[1:]
        if Path(script).stem == name:
            lines += [*measured["printed"], " ".join(options), ""]
    return lines


#: Where what texts quote begins, after long tables.
SUMMARY = {"experts": "What experts (-) earn", "fit": "median"}


@cache
def known(name, in_table):
    """Numbers that a script printed, and those derived from them."""
    lines, first = printed(name), SUMMARY.get(name)
    if first and not in_table:
        lines = [*dropwhile(lambda line: not line.startswith(first), lines)]
    found = {value for line in lines for _, value, _ in numbers(line)}
    return found | {*map(float, DERIVED.get(name, list)())}


def column(name, pattern, at):
    """The word at some place of the line that matches a pattern, as a number."""
    (found,) = (line for line in printed(name) if re.match(pattern, line))
    return float(found.split()[at].replace(",", ""))


def of_dfeg():
    """How many times the loss of always predicting 0 the worst rate has."""
    for data in "cal_housing ", "cpusmall ":
        yield column("dfeg", data, 5) / column("dfeg", data, 1)


#: By script: sizes that are not printed, or that follow from what is.
DERIVED = {
    "dfeg": of_dfeg,
    "drift": lambda: [column("river_benchmark", "Elec2: ", 1)],
    "fit": lambda: [5_000],
    "implicit_updates": lambda: [2_000],
    "second_order": lambda: [300_000, 20],
    # Covariances at most, in millions, and features without the intercept.
    "throughput": lambda: [
        MAX_COVARIANCES / 1e6,
        (math.isqrt(8 * MAX_COVARIANCES + 1) - 1) // 2 - 1,
    ],
}


# What is quoted.


def numbers(text):
    """Numbers in a text: as written, their value, and half a unit of the last digit.

    Whole thousands may be rounded ones.
    """
    for match in NUMBER.finditer(text):
        whole, fraction, _ = match.groups(default="")
        if whole or fraction:
            value = float(whole.replace(",", "") + (fraction or ".0"))
            unit = 10.0 ** -max(len(fraction) - 1, 0)
            if whole.endswith(",000") and not fraction:
                unit = 1000.0
            yield match[0], value, unit / 2


def fits(text, value, half, known):
    """Whether a number is one of those that are known, rounded.

    A percentage may also be a share, or what something is above or below 1.
    """
    shown = [(value, half)]
    if text.endswith("%"):
        shown += [
            (abs(c + s * value / 100), half / 100) for c, s in ((0, 1), (1, 1), (1, -1))
        ]
    return any(abs(one - v) <= h * (1 + 1e-9) for v, h in shown for one in known)


def named(text):
    return {name for name in SCRIPT.findall(text) if name in SCRIPTS}


def blocks(text):
    """Parts of a page between empty lines, each with the scripts that it names.

    Tables and figures also take those of the text right before and right after them.
    """
    parts = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    for k, part in enumerate(parts):
        scripts = named(part)
        if part.startswith(SHOWN):
            for side in parts[:k][::-1], parts[k + 1 :]:
                scripts |= named(next((p for p in side if not p.startswith(SHOWN)), ""))
        yield part, scripts


def prose(page):
    """Return the text of a page, or the docstrings of a module as a page has them."""
    text = (ROOT / page).read_text(encoding="utf-8")
    if not page.endswith(".py"):
        return text
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED)]
    docstrings = [ast.get_docstring(node) or "" for node in nodes]
    return "\n\n".join(docstrings).replace("``", "`")


def quoted(page):
    """Numbers that a page quotes, the scripts, and whether they are in a table."""
    text = prose(page)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for part, scripts in blocks(MADE.sub("", text)):
        for line in part.splitlines()[2:] if part.startswith("|") else [part]:
            of_line = named(line) or scripts
            if of_line and all(map(printed, of_line)):
                for number in numbers(NOT_QUOTED.sub(" ", line)):
                    yield number, of_line, part.startswith("|")


def stale(page):
    """Numbers of a page that no script named beside them has printed."""
    return [
        f"{text} of {', '.join(sorted(scripts))}"
        for (text, value, half), scripts, in_table in quoted(page)
        if not any(fits(text, value, half, known(name, in_table)) for name in scripts)
    ]


@pytest.mark.cases(100)
@pytest.mark.parametrize("page", [page for page in PAGES if named(prose(page))])
def test_numbers_are_those_that_scripts_print(page):
    assert not stale(page)


# Sentences that say numbers and places in words, made from the stored output.

COUNTS = "none", "one", "two", "three", "four", "five", "six"
PLACES = "first", "second", "third", "fourth"


def of_line(name, pattern):
    """Groups of each line of a script's output that matches a pattern."""
    return [m.groups() for line in printed(name) if (m := re.search(pattern, line))]


def places_among_learners_of_river():
    better = [int(n) for (n,) in of_line("river_benchmark", r"scinol: (\d+) of the")]
    names = [name for (name,) in of_line("river_benchmark", r"^(\w+): [\d,]+ rows")]
    n_first, (last, other) = better.count(0), max(zip(better, names, strict=True))
    of = f"first on {COUNTS[n_first]} of"
    yield "doc/index.md", f"{of} {COUNTS[len(names)]} data sets"
    many = f"{of} its {COUNTS[len(names)]} data sets, and {PLACES[last]} on {other}"
    yield "doc/benchmarks.md", many


def ensembles_that_are_better():
    """Yield streams on which ensembles are right more often, and times on Elec2."""
    line = r"^(Hedge|.*, (?:MOA|river)) +(\d\.\d+) .*? ([\d.]+)$|^(\w.*): [\d,]+ rows"
    better, times, title = {}, {}, ""
    for name, accuracy, ratio, stream in of_line("tree_ensembles", line):
        if stream:
            title = stream
        elif name == "Hedge":
            ours = float(accuracy)
        else:
            times[title, name] = float(ratio)
            if float(accuracy) > ours:
                better.setdefault(title, []).append(name.split(", ")[1])
    assert better.keys() == {"Agrawal", "covtype_sample92962"}
    assert {*better["Agrawal"]} == {"MOA"}
    assert better["covtype_sample92962"] == ["river"]
    of_moa = COUNTS[len(better["Agrawal"])]
    yield "doc/benchmarks.md", f"{of_moa} ensemble of MOA is right more often on"
    of_moa, of_river = (
        times["elec2", f"adaptive random forest, {package}"]
        for package in ("MOA", "river")
    )
    said = f"{of_moa:.0f} times the CPU time of the mixture, and river's {of_river:.0f}"
    yield "doc/benchmarks.md", said


def time_of_mixtures():
    line = r"^dense, d = (?:5|20|54|128) +Hedge +numba .* ([\d.]+) +[\d.]+$"
    ratios = [float(ratio) for (ratio,) in of_line("throughput", line)]
    for page in "paper", "user_guide/mixtures", "user_guide/scinol":
        yield f"doc/{page}.md", f"{min(ratios):.0f} to {max(ratios):.0f} times"


def time_of_fit():
    line = r"^(Newton|Hedge), fit: ([\d.]+) times the time of SGD, median"
    times = dict(of_line("fit", line))
    newton, mixture = (float(times[name]) for name in ("Newton", "Hedge"))
    said = f"took {newton:.1f} times SGD's time, the mixture {mixture:.0f} times"
    yield "doc/coming_from/sgd.md", said


def losses_of_merging():
    """Yield losses of mixtures and ScInOL over those of learning all in order."""
    line = r"^(\w+): .*test on$|^ +(\d+)  (alone|final) .*?\((\S+)\).*\((\S+)\)$"
    losses, title = {}, ""
    for name, shards, strategy, *of in of_line("merging", line):
        title = name.split("_")[0] if name else title
        losses[title, shards, strategy] = of
    for title in "a9a", "bank", "covtype", "ijcnn1":
        cells = (("8", "final"), ("64", "final"), ("64", "alone"))
        row = " | ".join(losses[title, *cell][0] for cell in cells)
        yield "doc/howto/clusters.md", f"000 rows | {row} |"
    shares = {
        shards: sorted(
            100 * (float(of[1]) - 1)
            for (_, *cell), of in losses.items()
            if cell == [shards, "final"]
        )
        for shards in ("8", "64")
    }
    few, many = (f"{s[0]:.0f} to {s[-1]:.0f} % with {n}" for n, s in shares.items())
    yield "doc/howto/clusters.md", f"ScInOL loses {few} shards and {many}"


def calibration_error():
    ((error, by_chance),) = of_line("calibration", r"^median +([\d.]+) +([\d.]+)")
    said = f"came true is {error} in the median over data sets; labels drawn from the"
    yield "doc/user_guide/mixtures.md", f"{said} probabilities have {by_chance}"


def least_gain():
    """Yield what the least useful default expert earns."""
    line = r"^- (\S+) +\d+ +(\d\.\d+) "
    gains = {}
    for name, gain in of_line("experts", line):
        gains[name] = max(float(gain), gains.get(name, 0.0))
    percent = math.floor(1000 * (min(gains.values()) - 1.0)) / 10
    said = f"the loss without one is at least {percent:g} % higher"
    yield "doc/user_guide/mixtures.md", said


@pytest.mark.parametrize(
    "sentences",
    [
        places_among_learners_of_river,
        ensembles_that_are_better,
        time_of_mixtures,
        time_of_fit,
        losses_of_merging,
        calibration_error,
        least_gain,
    ],
    ids=lambda sentences: sentences.__name__,
)
def test_words_are_those_of_the_numbers(sentences):
    for page, said in sentences():
        text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        assert said.lower() in text.lower()


# What is stored.


def test_list_of_runs():
    """Scripts and figures are there; what is stored is of a run that is listed."""
    for run in RUNS.values():
        assert Path(run["command"].split()[0]).stem in SCRIPTS
        assert all(
            is_left_out(path) or path.is_file()
            for path in (
                ROOT / "doc" / "images" / name for name in run.get("figures", ())
            )
        )
    for path in MEASURED.glob("*.json"):
        measured = json.loads(path.read_text(encoding="utf-8"))
        assert measured["command"] == f"python examples/{RUNS[path.stem]['command']}"
        assert not re.search(r"(?<![\w.])/\w+/", "".join(measured["printed"])), path


def test_tables_are_made_from_what_is_stored():
    """`doc/tables.py` writes them."""
    spec = spec_from_file_location("doc_tables", ROOT / "doc" / "tables.py")
    tables = module_from_spec(spec)
    spec.loader.exec_module(tables)
    for page in tables.PAGES:
        text = page.read_text(encoding="utf-8")
        assert tables.renewed(text) == text
        assert tables.TABLE.search(text)

"""Numbers that pages and docstrings quote are those that scripts print."""

import ast
import json
import math
import re
import tomllib
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from itertools import accumulate, groupby
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


@cache
def for_prose(name):
    """Numbers that a script printed, and those derived from them, for use in a text.

    Of long tables these are only the lines after them.
    """
    lines = printed(name)
    if lines and name in SUMMARY:
        first = next(
            k for k, line in enumerate(lines) if line.startswith(SUMMARY[name])
        )
        lines = lines[first:]
    return values(lines) | derived(name)


@cache
def for_row(name, label):
    """The same, for a row of a table: from lines that have its label, if there are any.

    A label that stands at the head of several lines is that of them all, and that of a
    line is also that of the indented ones below it.
    """
    lines = []
    for full, group in groupby(printed(name), bool):
        paragraph = [*group] if full else []
        heads = accumulate(
            paragraph, lambda head, line: head if line[0] == " " else line
        )
        lines += [
            line
            for line, head in zip(paragraph, heads, strict=True)
            if any(has(text, label) for text in (paragraph[0], head, line))
        ]
    return values(lines) | derived(name) if lines else set()


def has(line, label):
    return re.search(
        rf"(?<!\w){re.escape(label)}(?!\w)", line.lower().replace("_", " ")
    )


def values(lines):
    return {value for line in lines for _, value, _ in numbers(line)}


# What is derived from it.

SUMMARY = {
    "experts": "What experts (-) earn",
    "fit": "median",
    "throughput": "first compiled fit",
}


@cache
def derived(name):
    return {*DERIVED[name]()} if printed(name) and name in DERIVED else set()


def column(name, pattern, at):
    """The word at some place of the lines that match a pattern, as a number."""
    found = [line for line in printed(name) if re.match(pattern, line)]
    return [float(line.split()[at].replace(",", "")) for line in found]


def from_throughput():
    """Sizes of the cases; smallest and largest ratios of several of them.

    Times of rows with 20 features. And how many features and covariances the learner
    of second order takes at most.
    """
    yield MAX_COVARIANCES / 1e6
    yield from column("throughput", "dense, d = (20|54|128) *OnlineNewton", -2)
    yield (math.isqrt(8 * MAX_COVARIANCES + 1) - 1) // 2 - 1  # the intercept
    yield from values([line[:25] for line in printed("throughput")])
    for learner in "ScInOL,", "OnlineNewton ", "Hedge ":
        yield from column("throughput", f"dense, d = 20 *{learner}", -5)
    for cases, learner in [
        ("dense, d = (5|20|54|128|784) ", "ScInOL, centred"),
        ("CSR.* ", "ScInOL "),
        ("dense, d = (5|20|54|100|128) ", "Hedge "),
        ("dense, d = (5|20|54|100|128|784) ", "Hedge, linear"),
        ("dense, d = 10,000 ", "Hedge"),
        ("CSR.* ", "Hedge "),
        ("CSR.* ", "Hedge, 2 jobs"),
    ]:
        for at in -2, -1:
            ratios = column("throughput", f"{cases} *{learner}", at)
            yield from (min(ratios), max(ratios))


def from_implicit():
    """Rows of the target that drifts."""
    yield 2_000


def from_second_order():
    """Of how many data sets, how many not used to choose the prior, how many below 1.

    And the rows and features that the time is measured with.
    """
    ratios = column("second_order", r"\w+( +\d+\.\d{3}){6}$", 3)
    yield from (len(ratios), len(ratios) - 11, sum(ratio < 1 for ratio in ratios))
    yield from (300_000, 20)


def from_fit():
    """Maximum number of rows of a data set."""
    yield 5_000


def from_adahedge():
    """How many rates each of the two kinds of gradient descent has, beside ScInOL2."""
    yield (column("adahedge", "ScInOL2 is the best of", 5)[0] - 1) / 2


def from_dfeg():
    """How many times the loss of always predicting 0 the worst rate has."""
    for data in "cal_housing", "cpusmall":
        yield (column("dfeg", f"{data} ", 5)[0] / column("dfeg", f"{data} ", 1)[0])


def from_drift():
    """Rows of Elec2, which the benchmark of river learns as well."""
    yield from column("river_benchmark", "Elec2: ", 1)


DERIVED = {
    "adahedge": from_adahedge,
    "dfeg": from_dfeg,
    "drift": from_drift,
    "implicit_updates": from_implicit,
    "second_order": from_second_order,
    "throughput": from_throughput,
    "fit": from_fit,
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
    """Numbers that a page quotes from scripts, what they may be, and the scripts."""
    text = prose(page)
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for part, scripts in blocks(MADE.sub("", text)):
        label = ""
        for line in part.splitlines()[2:] if part.startswith("|") else [part]:
            of_line = named(line) or scripts
            if not of_line or not all(map(printed, of_line)):
                continue
            known = [for_prose(name) for name in of_line]
            if part.startswith("|"):
                first = NOT_QUOTED.sub(" ", line.split("|")[1]).strip(" *").lower()
                label = first or label
                known = [
                    for_row(name, label)
                    or for_row(name, label.split(",")[0])
                    or for_prose(name)
                    for name in of_line
                ]
            for number in numbers(NOT_QUOTED.sub(" ", line)):
                yield number, known, of_line


def stale(page):
    """Numbers of a page that no script named beside them has printed."""
    return [
        f"{text} of {', '.join(sorted(scripts))}"
        for (text, value, half), known, scripts in quoted(page)
        if not any(fits(text, value, half, each) for each in known)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if named(prose(page))])
def test_numbers_are_those_that_scripts_print(page):
    assert not stale(page)


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

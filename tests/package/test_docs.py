"""What README and the pages show is so, and what they name is there."""

import re
from importlib import import_module

import pytest
import snippets
from snippets import PAGES, ROOT
from support.public_api import LISTED

BLOCK = re.compile(r"^ *```python\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
# Beside those of the site.
TEXTS = [*PAGES, *(ROOT / f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING"))]


@pytest.mark.slow
@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "pages", [PAGES[:1], PAGES[1::2], PAGES[2::2]], ids=["README", "odd", "even"]
)
def test_snippets(pages):
    """Each runs alone and prints what is shown; `tests/snippets.py --write` helps."""
    said = snippets.run(pages)
    found = [snippet for page in pages for snippet in snippets.snippets(page)]
    assert {s.name for s in found} - {s.name for s in found if s.missing()} == {*said}
    n_least = 20 if len(pages) > 1 else 0
    assert len(said) > n_least or any(s.missing() for s in found)
    wrong = {
        s.name: said[s.name] for s in found if said.get(s.name, s.shown) != s.shown
    }
    assert not wrong, "\n".join(f"{name} prints\n{wrong[name]}" for name in wrong)


@pytest.mark.thorough
def test_snippets_that_are_wrong_are_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint(1)\n```\n\n```text\n2\n```\n\n"
        "```python\nimport os\nprint(__name__, os.listdir())\nx = 1\n```\n\n"
        "```python\nprint(x)\n```\n\n"
        "```python no-run\nprint(y)\n```\n"
    )
    first, second, third = snippets.snippets(page)
    assert (first.shown, second.shown, third.line) == ("2\n", "", 16)
    said = snippets.run([page])
    assert said.pop(first.name) == "1\n"
    assert said.pop(second.name) == "__main__ []\n"
    assert 'page.md:16", line 16' in said[third.name]
    assert "NameError: name 'x' is not defined" in said.pop(third.name)
    assert not said
    snippets.write(page, {first.name: "1\n", second.name: "", third.name: "3\n"})
    assert [s.shown for s in snippets.snippets(page)] == ["1\n", "", "3\n"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_are_of_known_kinds(page):
    """What is not run says so, and is Python all the same; output follows its code."""
    text = page.read_text(encoding="utf-8")
    kind, end = "", 0
    for block in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.M | re.S):
        before, between, (kind, source) = (
            kind,
            text[end : block.start()],
            block.groups(),
        )
        assert kind in ("python", "python no-run", "text", "shell", "bibtex") or (
            kind.startswith("{")
        )
        if kind == "python no-run":
            compile(source, page, "exec")
        if kind == "text":
            assert before.startswith(("python", "shell")), source
            assert not between.strip(), source
        end = block.end()


def slug(heading):
    """The anchor of a heading."""
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")


def anchors(page):
    text = page.read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {*map(slug, headings), *re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    """To files and headings; pages of examples are made from scripts."""
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if target.parent.name == "auto_examples":
            assert target.suffix == ".rst"
            target = ROOT / "examples" / f"{target.stem}.py"
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_have_a_description(page):
    for description, image in re.findall(
        r"!\[(.*?)\]\((.*?)\)", page.read_text(encoding="utf-8"), re.DOTALL
    ):
        assert len(description) >= 20, image
        assert "\n" not in description, "Sphinx would join the words at its ends."


def test_readme_is_short_and_begins_with_its_figure():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 110
    claim, figure = text.split("\n\n")[1:3]
    assert claim.startswith("**")
    assert figure.startswith("![")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_files_that_are_named(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:sklearn_scinol|tests|examples|doc)/[\w./*]*)", text)
    named += re.findall(r"\]\(((?:doc|examples)/[\w./]+)", text)
    assert named
    for name in named:
        assert list(ROOT.glob(name)), name


@pytest.mark.parametrize("name", ["row.svg", "which_estimator.svg"])
def test_diagrams(monkeypatch, name):
    """They are what their script draws, and link to pages of the API."""
    monkeypatch.syspath_prepend(ROOT / "doc")
    diagram = import_module("diagram")
    assert name in diagram.DRAWINGS
    drawn = (ROOT / "doc" / "images" / name).read_text(encoding="utf-8")
    assert drawn == diagram.DRAWINGS[name]()
    links = re.findall(r'href="generated/(.*)\.(\w+)\.html"', drawn)
    assert len(links) == (18 if name == "which_estimator.svg" else 0)
    for module, public in links:
        assert public in LISTED[module]

"""What README and the pages show is so, and what they name is there."""

import re

import pytest
import snippets
from snippets import PAGES, ROOT
from support import is_left_out

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
    found = [s for page in pages for s in snippets.snippets(page) if s.engine is None]
    assert {s.name for s in found} - {s.name for s in found if s.missing()} == {*said}
    assert said or any(s.missing() for s in found)
    wrong = {
        s.name: said[s.name] for s in found if said.get(s.name, s.shown) != s.shown
    }
    assert not wrong, "\n".join(f"{name} prints\n{wrong[name]}" for name in wrong)


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
        assert is_left_out(target) or target.exists(), link
        assert not anchor or anchor in anchors(target), link


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_files_that_are_named(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"`((?:sklearn_scinol|tests|examples|doc)/[\w./*]*)", text)
    named += re.findall(r"\]\(((?:doc|examples)/[\w./]+)", text)
    assert named
    for name in named:
        assert list(ROOT.glob(name)), name

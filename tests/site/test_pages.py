"""The built pages: links, alternative texts, weight, contrast, width on a phone."""

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support import ROOT

# Pages that a visitor looks at first, one of each kind.
PAGES = (
    "index.html",
    "getting_started.html",
    "which_estimator.html",
    "coming_from/sgd.html",
    "howto/index.html",
    "howto/drift.html",
    "user_guide/scinol.html",
    "api.html",
    "generated/sklearn_scinol.HedgeClassifier.html",
    "auto_examples/index.html",
    "auto_examples/plot_drift.html",
)


# As files.


class Page(HTMLParser):
    """Ids, addresses, images and number of titles of a page."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.addresses, self.images, self.n_titles = set(), [], [], 0
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids.add(attributes.get("id"))
        self.addresses += [attributes[k] for k in ("href", "src") if attributes.get(k)]
        self.images += [attributes] if tag == "img" else []
        self.n_titles += tag == "h1"


read = cache(Page)


@pytest.fixture(scope="module")
def files(site):
    return sorted({*site.rglob("*.html")} - {*site.glob("_static/**/*.html")})


def test_links(site, files):
    """Each leads to a file, and to a place in it, if it names one."""
    for path in files:
        for address in read(path).addresses:
            scheme, host, target, _, anchor = urlsplit(address)
            if scheme or host:
                continue
            file = path.parent / unquote(target) if target else path
            file = file / "index.html" if file.is_dir() else file
            assert file.is_file(), f"{path.relative_to(site)}: {address}"
            if anchor and file.suffix == ".html":
                found = unquote(anchor) in read(file.resolve()).ids
                assert found, f"{path.relative_to(site)}: {address}"


def test_images_are_described(site, files):
    """Figures in a sentence; logo and thumbnails have their names beside them."""
    for path in files:
        for image in read(path).images:
            named = image["src"].endswith(("/logo.svg", "_thumb.png"))
            assert image["alt"].count(" ") >= 3 or named, f"{path}: {image['src']}"


def test_pages_show_no_folder_of_the_build(files):
    for path in files:
        text = path.read_text(encoding="utf-8")
        assert str(ROOT) not in text, path
        assert str(Path.home()) + "/" not in text, path
        assert not re.search(r"\w*Warning: ", text), path


# In a browser.


@pytest.mark.parametrize("from_file", [False, True])
def test_home(open_page, from_file):
    """The home page opens from a server and from a folder."""
    assert open_page("index.html", from_file=from_file).title().startswith("sklearn-")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_everyone_can_read(open_page, violations, path, dark):
    assert not violations(open_page(path, dark=dark))


# Elements wider than their place, but for code and formulas.
SCROLLED = """() => [document.documentElement, ...document.querySelectorAll("main *")]
  .filter((e) => e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1
    && e.checkVisibility({ visibilityProperty: true })
    && getComputedStyle(e).overflowX != "hidden"
    && !e.closest("pre, mjx-container, .math, svg"))
  .map((e) => e.outerHTML.slice(0, 200))"""


def test_phone(site, files, open_page):
    """No page scrolls sideways on a phone, nor does a part that is no code."""
    page = open_page("index.html", width=390)
    home = page.url.removesuffix("index.html")
    for path in files:
        page.goto(f"{home}{path.relative_to(site)}", wait_until="domcontentloaded")
        assert not page.evaluate(SCROLLED), path

"""Open the built pages in headless Chromium.

`make doc` builds the pages, and `pip install -e ".[site]"` installs what tests of them
need but for Chromium or Chrome, which has to be on the PATH. `make site` does this:

    SITE=doc/_build pytest tests/site

Without SITE these tests are skipped, so that others do not depend on a build.
"""

import os
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from support import ROOT

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
OPTIONS += ["--disable-component-update", "--disable-sync", "--no-first-run"]
HEIGHT = 900


@pytest.fixture(scope="module")
def site():
    """The folder of the built pages."""
    if "SITE" not in os.environ:
        pytest.skip("SITE does not name a folder of built pages")
    return ROOT / os.environ["SITE"]


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Log nothing."""


@pytest.fixture(scope="module")
def server(site):
    """The address of a server of the pages, without a slash at its end."""
    handler = partial(QuietHandler, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")  # while it runs, no other test could run an event loop
def browser(site):
    """Chromium, as Playwright's `Browser`."""
    from playwright.sync_api import sync_playwright

    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert program, f"none of {', '.join(BROWSERS)} is installed"
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path=program, args=OPTIONS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(site, server, browser):
    """Open a page from the server or a file, with options of `Browser.new_page`.

    The test fails if a page logs an error, asks for what is not there or for anything
    outside of the site.
    """
    pages, errors = [], []

    def open_page(path, width=1280, dark=False, from_file=False, **options):
        base = f"{site.resolve().as_uri() if from_file else server}/"
        page = browser.new_page(
            viewport={"width": width, "height": HEIGHT},
            color_scheme="dark" if dark else "light",
            **options,
        )
        pages.append(page)

        def check(is_good, message):
            if not is_good:
                errors.append(f"{path}: {message}")

        inside = (base, "data:", "blob:")
        page.on("request", lambda each: check(each.url.startswith(inside), each.url))
        page.on("response", lambda each: check(each.status < 400, each.url))
        page.on("console", lambda each: check(each.type != "error", each.text))
        page.on("pageerror", lambda error: check(False, error))
        page.goto(f"{base}{path}")
        return page

    yield open_page
    for page in pages:
        page.close()
    assert not errors


@pytest.fixture(scope="module")
def violations(site):
    """Elements of a page that break rules of WCAG 2.2, or axe's best practices."""
    from axe_playwright_python.base import AXE_FILE_PATH

    script = Path(AXE_FILE_PATH).read_text("utf-8")

    def violations(page):
        # Colours change slowly when a page becomes dark.
        page.evaluate("document.getAnimations().forEach((one) => one.finish())")
        page.evaluate(script)
        # Loading style sheets again, by other addresses, is for experimental rules.
        options = {"resultTypes": ["violations"], "preload": False}
        found = page.evaluate("options => axe.run(options)", options)["violations"]
        return [
            f"{rule['id']}: {node['failureSummary']} {node['html']}"
            for rule in found
            for node in rule["nodes"]
        ]

    return violations

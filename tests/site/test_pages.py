"""The built pages, in a browser."""

import pytest


@pytest.mark.parametrize("from_file", [False, True])
def test_home(open_page, from_file):
    """The home page opens from a server and from a folder."""
    assert open_page("index.html", from_file=from_file).title().startswith("sklearn-")


def test_violations(open_page, violations):
    """The check notices a colour that is too pale, and says where."""
    page = open_page("index.html")
    page.evaluate("document.querySelector('h1').style.color = '#eee'")
    (found,) = [one for one in violations(page) if "#eee" in one or "eeeeee" in one]
    assert found.startswith("color-contrast")

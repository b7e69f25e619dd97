"""Pages of classes, and the flowchart that leads to them."""

import pytest

CLASSES = (
    "HedgeClassifier",
    "OnlineConformalRegressor",
    "ScInOLClassifier",
    "preprocessing.TableEncoder",
)
HEDGE = "generated/sklearn_scinol.HedgeClassifier.html"


@pytest.mark.parametrize("name", CLASSES)
def test_summary_and_example_are_on_the_first_screen(open_page, name):
    page = open_page(f"generated/sklearn_scinol.{name}.html")
    for what in "p", "div.highlight":
        box = page.locator(f"dl.class > dd {what}").first.bounding_box()
        assert box["y"] + box["height"] < 900


@pytest.mark.parametrize("start", ["", "#sklearn_scinol.HedgeClassifier.fit"])
def test_links_unfold_entries(open_page, start):
    page = open_page(HEDGE + start)
    entry = page.locator("[id='sklearn_scinol.HedgeClassifier.predict_proba']")
    assert entry.is_visible() == bool(start)
    page.locator("table.autosummary a", has_text="predict_proba").click()
    entry.wait_for()
    assert 0 <= entry.bounding_box()["y"] < 900


def test_flowchart(open_page):
    """On a phone it is as large as drawn, and its boxes are links."""
    page = open_page("which_estimator.html", width=390)
    chart = page.locator("svg.which-estimator")
    assert chart.bounding_box()["width"] > 350
    chart.get_by_role("link", name="Hedge Classifier").click()
    assert page.url.endswith(HEDGE)

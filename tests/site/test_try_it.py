"""The demonstration on the page "Try it", driven in a browser."""

import re

import numpy as np
import pytest
from support import ROOT

from sklearn_scinol import ScInOLClassifier

PAGE = "try_it.html"
N_ROWS = 2000


@pytest.fixture
def finished(open_page):
    """Open the page with finished curves, as where motion is to be reduced."""

    def finished(**options):
        page = open_page(PAGE, reduced_motion="reduce", **options)
        assert rows(page) == N_ROWS
        return page

    return finished


def rows(page):
    return int(page.locator("[data-try-it] svg").get_attribute("data-rows"))


def status(page):
    return page.get_by_role("status").filter(has_text="row").inner_text()


def sgd_in_words(page):
    """The mean loss of SGD, as the text below the curves has it."""
    return re.search(r"The mean loss of SGD is (.*?)\. ", status(page)).group(1)


def drawn(page, name):
    """The path of a curve."""
    return page.locator(f'path[data-curve="{name}"]').get_attribute("d")


def losses(page, name):
    """The mean losses that a curve shows after each fourth row."""
    ticks = [
        float(re.search(r" ([\d.]+)H", path.get_attribute("d")).group(1))
        for path in page.locator("[data-part=axes] path:not([data-curve])").all()
    ]
    places = np.array(re.findall(r" ([\d.-]+)", drawn(page, name)), dtype=float)
    low, high = 0.4, 1.0
    return low + (places - ticks[0]) / (ticks[-1] - ticks[0]) * (high - low)


@pytest.mark.parametrize("from_file", [False, True])
def test_curves(finished, from_file):
    """They are those of the package."""
    page = finished(from_file=from_file)
    stream = page.evaluate(f"tryIt.makeStream({N_ROWS}, 1)")
    X, y = np.array(stream["X"]), np.array(stream["y"])
    p = ScInOLClassifier().partial_fit_predict(
        X, y, classes=[0, 1], method="predict_proba"
    )
    means = np.cumsum(-np.log(p[np.arange(N_ROWS), y])) / np.arange(1, N_ROWS + 1)
    found = losses(page, "ScInOL2")
    np.testing.assert_allclose(found, means[3::4], atol=1e-3)
    assert f"the mean loss of ScInOL2 is {means[-1]:.2f}" in status(page)
    sgd = losses(page, "SGD")
    assert f"The mean loss of SGD is {sgd[-1]:.2f}" in status(page)
    assert sgd[-1] > found[-1] + 0.02


def test_unit(finished):
    """Changes SGD's curve, and not ScInOL2's."""
    page = finished()
    slider = page.get_by_role("slider", name="First feature")
    slider.focus()
    before, seen = drawn(page, "ScInOL2"), [sgd_in_words(page)]
    for key, n_times, words in [
        ("ArrowRight", 2, "100 times as large"),
        ("End", 1, "10,000 times as large"),
        ("Home", 1, "10,000 times as small"),
    ]:
        for _ in range(n_times):
            page.keyboard.press(key)
        assert slider.get_attribute("aria-valuetext") == words
        assert f"with the first feature {words}" in status(page)
        assert "ScInOL2 is 0.44, as in every unit" in status(page)
        assert drawn(page, "ScInOL2") == before
        assert sgd_in_words(page) not in seen
        seen.append(sgd_in_words(page))
    assert losses(page, "SGD")[-1] > losses(page, "ScInOL2")[-1] + 0.1


def test_rate(finished):
    """Changes SGD's curve, and not ScInOL2's; the text says which rate is the best."""
    page = finished()
    slider = page.get_by_role("slider", name="Learning rate")
    slider.focus()
    before = drawn(page, "ScInOL2")
    page.keyboard.press("Home")
    assert slider.get_attribute("aria-valuetext") == "0.00001"
    assert losses(page, "SGD")[-1] > 0.69
    assert "times too small: with 0.1, the best on the slider" in status(page)
    page.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext") == "10"
    assert losses(page, "SGD")[-1] > 1
    assert "times too large: with 0.1, the best on the slider" in status(page)
    for _ in range(8):
        page.keyboard.press("ArrowLeft")
    assert slider.get_attribute("aria-valuetext") == "0.1"
    assert "is the best on the slider" in status(page)
    assert "too" not in status(page)
    assert losses(page, "SGD")[-1] < 0.43
    assert drawn(page, "ScInOL2") == before


def test_animation(open_page):
    """Rows come one after another; it pauses, goes on, restarts and ends."""
    page = open_page(PAGE)
    page.wait_for_selector("[data-try-it] svg[data-rows]:not([data-rows='0'])")
    page.get_by_role("button", name="Pause").press("Enter")
    paused = rows(page)
    assert 0 < paused < N_ROWS
    assert status(page).startswith(f"After {paused:,} rows")
    assert len(losses(page, "ScInOL2")) == paused // 4
    page.wait_for_timeout(300)
    assert rows(page) == paused
    page.get_by_role("button", name="Continue").press("Enter")
    more = "n => document.querySelector('[data-try-it] svg').dataset.rows > n"
    page.wait_for_function(more, arg=paused + 100)
    assert status(page) == "Each row is predicted, then learned …"
    page.wait_for_function(more, arg=N_ROWS - 1)
    assert page.get_by_role("button", name="Pause").is_disabled()
    assert status(page).startswith("After 2,000 rows")
    page.get_by_role("button", name="Restart").press("Enter")
    page.wait_for_function("n => !(" + more[5:] + ")", arg=N_ROWS - 1)


def test_two_demonstrations(finished):
    """A page may have several, which do not depend on each other."""
    page = finished()
    page.evaluate("document.body.append(document.createElement('div'))")
    page.evaluate("document.body.lastChild.setAttribute('data-try-it', '')")
    page.add_script_tag(path=ROOT / "doc" / "_static" / "try_it" / "try_it.js")
    ids = page.eval_on_selector_all("[data-try-it] [id]", "all => all.map((e) => e.id)")
    assert len({*ids}) == len(ids) == 6
    first, second = page.get_by_role("slider", name="First feature").all()
    second.press("End")
    assert first.get_attribute("aria-valuetext") == "unchanged"
    words = [
        one.inner_text() for one in page.locator("[data-try-it] [role=status]").all()
    ]
    assert ["unchanged" in one for one in words] == [True, False]


def test_phone(finished):
    """Nothing is wider than the screen, whatever the numbers."""
    page = finished(width=390)
    page.get_by_role("slider", name="First feature").press("End")
    page.get_by_role("slider", name="Learning rate").press("End")
    assert "SGD is more than 1,000" in status(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    edge = page.locator("[data-try-it] svg").bounding_box()
    for label in page.locator("[data-try-it] svg text").all():
        box = label.bounding_box()
        assert box["x"] >= edge["x"], label.inner_html()
        assert box["x"] + box["width"] <= edge["x"] + edge["width"], label.inner_html()


def luminance(color):
    """The relative luminance of WCAG, of a colour as `rgb(1, 2, 3)`."""
    values = np.array(re.findall(r"[\d.]+", color)[:3], dtype=float) / 255
    power = ((values + 0.055) / 1.055) ** 2.4
    return np.where(values <= 0.04045, values / 12.92, power) @ [0.2126, 0.7152, 0.0722]


def test_colors(finished):
    """They follow the mode, and have the contrast that WCAG asks for."""
    seen = []
    for dark in False, True:
        page = finished(dark=dark)

        def style(selector, name, page=page):
            script = f"e => getComputedStyle(e).{name}"
            return page.locator(selector).first.evaluate(script)

        background = style("body", "backgroundColor")
        for selector, name, least in [
            ("[data-try-it] svg text", "fill", 4.5),
            ("[data-curve=ScInOL2]", "stroke", 3),
            ("[data-curve=SGD]", "stroke", 3),
            ("[data-curve=guessing]", "stroke", 3),
        ]:
            color = style(selector, name)
            dim, bright = sorted([luminance(color), luminance(background)])
            assert (bright + 0.05) / (dim + 0.05) >= least, (selector, color, dark)
            seen.append(color)
    assert len({*seen}) == len(seen)
    assert style("[data-curve=ScInOL2]", "strokeDasharray") == "none"
    assert style("[data-curve=SGD]", "strokeDasharray") != "none"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_accessibility(finished, violations, width, dark):
    assert not violations(finished(width=width, dark=dark))


def test_without_javascript(open_page):
    page = open_page(PAGE, java_script_enabled=False)
    words = page.locator("[data-try-it] noscript")
    assert "needs JavaScript" in words.inner_html()
    assert words.bounding_box()["height"] > 0


def test_global_names(finished, open_page):
    """The page has one more than others."""
    names = "Object.keys(window)"
    others = {*open_page("start.html").evaluate(names)}
    assert {*finished().evaluate(names)} - others == {"tryIt"}

"""The demonstration on the page "Try it", driven in a browser."""

import re

import numpy as np
import pytest

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


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_accessibility(finished, violations, width, dark):
    assert not violations(finished(width=width, dark=dark))

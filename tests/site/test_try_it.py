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
        shown = page.locator("[data-try-it] svg").get_attribute("data-rows")
        assert int(shown) == N_ROWS
        return page

    return finished


def status(page):
    return page.get_by_role("status").filter(has_text="row").inner_text()


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


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        (
            "First feature",
            {"ArrowRight": "10 times as large", "End": "10,000 times as"},
        ),
        ("Learning rate", {"Home": "0.00001", "End": "10"}),
    ],
)
def test_sliders(finished, name, steps):
    """They change SGD's curve, and not ScInOL2's."""
    page = finished()
    slider = page.get_by_role("slider", name=name)
    slider.focus()
    before, seen = drawn(page, "ScInOL2"), {drawn(page, "SGD")}
    for key, value in steps.items():
        page.keyboard.press(key)
        assert slider.get_attribute("aria-valuetext").startswith(value)
        assert drawn(page, "ScInOL2") == before
        seen.add(drawn(page, "SGD"))
    assert len(seen) == 1 + len(steps)
    assert losses(page, "SGD")[-1] > losses(page, "ScInOL2")[-1] + 0.1


def test_best_rate(finished):
    """The text says which rate is the best."""
    page = finished()
    page.get_by_role("slider", name="Learning rate").focus()
    for key, n_times, words in (
        ("Home", 1, "times too small: with 0.1, the best on the slider"),
        ("End", 1, "times too large: with 0.1, the best on the slider"),
        ("ArrowLeft", 8, "is the best on the slider"),
    ):
        for _ in range(n_times):
            page.keyboard.press(key)
        assert words in status(page)
    assert "too" not in status(page)
    assert losses(page, "SGD")[-1] < 0.43


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_accessibility(finished, violations, width, dark):
    assert not violations(finished(width=width, dark=dark))

"""The list of the API, and how pages of classes are made of docstrings."""

from collections import Counter
from inspect import isclass, signature

import pytest
from support import ROOT
from support.public_api import public_objects


@pytest.fixture
def class_pages(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "doc")
    import class_pages

    return class_pages


def test_parameters_of_long_lists_have_a_heading(class_pages):
    """Each has one, and what has one is a parameter."""
    lists = [
        [*signature(each).parameters] for each in public_objects() if isclass(each)
    ]
    names = {name for names in lists if len(names) > 10 for name in names}
    assert len(names) > 40
    assert Counter(names) == Counter(
        name for listed in class_pages.GROUPS.values() for name in listed
    )


def test_groups(class_pages, monkeypatch):
    lines = ["Summary.", "", ":Parameters:", ""]
    for name in "tol", "loss", "verbose", "max_iter":
        lines += [f"    **{name}** : int", f"        See **{name}**.", ""]
    lines += ["", ":Attributes:", "", "    **coef_** : float", "        Weight.", ""]
    assert class_pages.grouped(lines) == lines
    assert class_pages.grouped(lines[:2]) == lines[:2]
    monkeypatch.setattr(class_pages, "MAX_UNGROUPED", 3)
    grouped = class_pages.grouped(lines)
    assert grouped[:2] + grouped[-6:] == lines[:2] + lines[-6:]
    headings = [line for line in grouped if line.startswith(":")]
    assert headings == [
        ":What to learn:",
        ":Epochs of fit:",
        ":Resources and reproducibility:",
        ":Attributes:",
    ]
    at = grouped.index(":Epochs of fit:")
    assert grouped[at : at + 6] == [":Epochs of fit:", "", *lines[4:7], lines[13]]
    assert sorted(filter(str.strip, grouped[2:at])) == [
        *("        See **loss**.", "    **loss** : int", ":What to learn:"),
    ]


def test_signatures(class_pages):
    short = "(estimator=None, *, coverage=0.9)"
    assert class_pages.shortened(short, 33) == short
    assert class_pages.shortened(short, 32) == "(estimator=None, *, ...)"
    assert class_pages.shortened(short, 23) == "(estimator=None, ...)"
    assert class_pages.shortened(short, 20) == "(...)"

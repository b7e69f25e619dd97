"""Copies of every kind of model go on where the original would."""

import pytest
from sklearn.base import clone
from support.comparisons import assert_identical
from support.copies import COPIES
from support.kinds import KINDS
from support.registry import ENGINES, paired

WAYS = ["saved", "skops", "pickle", "joblib", "deepcopy"]


@pytest.mark.cases(60)
@pytest.mark.parametrize(
    ("kind", "way", "engine"), paired([*KINDS], WAYS, ENGINES), indirect=["engine"]
)
def test_copies_go_on(kind, way, engine, tmp_path):
    kind = KINDS[kind]
    original = kind.learn(clone(kind.estimator), 0)
    copy = COPIES[way](original, tmp_path / "model")
    said = kind.answers(original)
    kind.learn(copy, 1)
    assert kind.answers(original) == said
    kind.learn(original, 1)
    assert kind.answers(copy) == kind.answers(original)
    if not hasattr(original, "steps"):
        assert_identical(vars(copy), vars(original))

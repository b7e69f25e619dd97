"""Copies of every kind of model go on where the original would, mapped ones as well."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support.comparisons import assert_identical
from support.copies import COPIES, mapped, saved
from support.kinds import KINDS
from support.registry import ENGINES, paired
from support.tables import late_table

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder

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


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_mapped_models_go_on(kind, tmp_path):
    """Where others would: after they were saved, and after rows that are refused."""
    model = kind.learn(clone(kind.estimator), 0)
    X, y = kind.rows()[:4], kind.targets()[:4]
    X = X.toarray() if sparse.issparse(X) else X.copy()
    X[2, 1] = np.inf
    copy = mapped(model, tmp_path / "model")
    with pytest.raises(ValueError, match="contains infinity"):
        copy.partial_fit(kind.container(X), y)
    for each in copy, saved(copy, tmp_path / "other"):
        assert kind.answers(each) == kind.answers(model)
    kind.learn(copy, 1)
    assert kind.answers(copy) == kind.answers(kind.learn(model, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)
def test_tables_in_both_views(engine, tmp_path):
    rows, labels = late_table(), np.arange(260) % 2
    encoder = TableEncoder(kinds={"message": "text"}, n_hashed=32, n_named=3)
    model = make_online_pipeline(encoder, HedgeClassifier())
    model.partial_fit(rows[:250], labels[:250], classes=[0, 1])
    later = rows[250:259]
    of_chunk, of_rows = (mapped(model, tmp_path / "model") for _ in range(2))
    with pytest.raises(ValueError, match="unseen labels"):
        of_chunk.partial_fit(later, np.full(9, 7))
    assert_identical(of_chunk.predict_proba(later), model.predict_proba(later))
    by_row, expected = of_rows.row_by_row(), model.row_by_row()
    for row in later:
        probability = expected.predict_proba_one(row)
        assert_identical(by_row.predict_proba_one(row), probability)
        by_row.learn_one(row, 1)
        expected.learn_one(row, 1)
    of_chunk.partial_fit(later, np.ones(9, int))
    for copy in of_chunk, of_rows:
        assert_identical(copy.predict_proba(later), model.predict_proba(later))

"""Models whose arrays are mapped from a file, to be read only."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from support.comparisons import assert_identical
from support.copies import mapped
from support.kinds import KINDS
from support.tables import late_table

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_bad_rows_are_refused_in_the_same_words(kind, tmp_path):
    model = kind.learn(clone(kind.estimator), 0)
    X, y = kind.rows()[:4], kind.targets()[:4]
    X = X.toarray() if sparse.issparse(X) else X.copy()
    X[2, 1] = np.inf
    copy = mapped(model, tmp_path / "model")
    with pytest.raises(ValueError, match="contains infinity"):
        copy.partial_fit(kind.container(X), y)
    assert kind.answers(copy) == kind.answers(model)
    kind.learn(copy, 1)
    assert kind.answers(copy) == kind.answers(kind.learn(model, 1))


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)
def test_tables_in_both_views(engine, tmp_path):
    rows, labels, n_rows = late_table(), np.arange(260) % 2, 250
    encoder = TableEncoder(kinds={"message": "text"}, n_hashed=32, n_named=3)
    model = make_online_pipeline(encoder, HedgeClassifier())
    model.partial_fit(rows[:n_rows], labels[:n_rows], classes=[0, 1])
    later = rows[n_rows:][:9]
    copies = [mapped(model, tmp_path / "model") for _ in range(3)]
    assert_identical(copies[0].predict_proba(later), model.predict_proba(later))
    with pytest.raises(ValueError, match="unseen labels"):
        copies[1].partial_fit(later, np.full(9, 7))
    by_row, expected = copies[2].row_by_row(), model.row_by_row()
    for row in later:
        probability = expected.predict_proba_one(row)
        assert_identical(by_row.predict_proba_one(row), probability)
        by_row.learn_one(row, 1)
        expected.learn_one(row, 1)
    copies[1].partial_fit(later, np.ones(9, int))
    for copy in copies[1:]:
        assert_identical(copy.predict_proba(later), model.predict_proba(later))

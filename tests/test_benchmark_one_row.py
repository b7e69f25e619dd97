"""The benchmark script about rows that come alone."""

import numpy as np
import pytest


@pytest.fixture
def one_row(load):
    return load("one_row")


@pytest.fixture(params=[False, True])
def has_river(one_row, monkeypatch, request):
    monkeypatch.setattr(one_row, "find_spec", lambda name: request.param or None)
    monkeypatch.setattr(one_row, "of_river", lambda X, y: lambda i: None)
    return request.param


def test_tables(one_row, has_river, capsys):
    arguments = ["--features", "2", "3", "--rows", "5", "--repeats", "1"]
    assert one_row.main(arguments) == 0
    tables = capsys.readouterr().out.strip().split("\n\n")
    assert [table.split(" features")[0] for table in tables] == ["2", "3"]
    for table in tables:
        lines = table.splitlines()[2:]
        assert len(lines) == 8 + has_river
        assert lines[0].startswith("SGDClassifier, partial_fit")
        assert float(lines[0].split()[-1]) == 1.0
        assert all(float(line.split()[-2]) >= 0.0 for line in lines)


def test_ways_learn_the_same(one_row):
    """Each learns every row that it is asked to, and predictions learn none."""
    X, y = one_row.data(30, 3)
    for way, learned in (
        (one_row.by_partial_fit, 10),
        (one_row.by_rows, 10),
        (one_row.predictions_by_rows, 0),
    ):
        estimator = one_row.ScInOLClassifier()
        learn = way(estimator, X, y)
        for i in range(10):
            learn(i)
        assert estimator.n_samples_seen_ == 30 + learned
    assert set(np.unique(y)) == {0, 1}


def test_of_river(one_row):
    pytest.importorskip("river", reason="river is not installed")
    learn = one_row.of_river(*one_row.data(10, 3))
    for i in range(10):
        learn(i)


def test_bad_arguments(one_row, capsys):
    with pytest.raises(SystemExit):
        one_row.main(["--rows", "0"])
    assert "argument --rows: invalid positive value: '0'" in capsys.readouterr().err

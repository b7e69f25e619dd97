"""The benchmark script about rows that come alone."""

import numpy as np
import pytest

from sklearn_scinol.pipeline import make_online_pipeline


@pytest.fixture
def one_row(load):
    return load("one_row")


@pytest.fixture(params=[False, True])
def has_river(one_row, monkeypatch, request):
    monkeypatch.setattr(one_row, "find_spec", lambda name: request.param or None)
    for name in "of_river", "dicts_of_river":
        monkeypatch.setattr(one_row, name, lambda X, y: lambda i: None)
    return request.param


@pytest.mark.thorough
def test_tables(one_row, has_river, capsys):
    arguments = ["--features", "2", "3", "--rows", "5", "--repeats", "1"]
    assert one_row.main(arguments) == 0
    *tables, of_dicts = capsys.readouterr().out.strip().split("\n\n")
    assert [table.split(" features")[0] for table in tables] == ["2", "3"]
    for table in tables:
        lines = table.splitlines()[2:]
        assert len(lines) == 8 + has_river
        assert lines[0].startswith("SGDClassifier, partial_fit")
        assert float(lines[0].split()[-1]) == 1.0
        assert all(float(line.split()[-2]) >= 0.0 for line in lines)
    lines = of_dicts.splitlines()
    assert lines[0].startswith("dicts, generated")
    assert lines[2].startswith("ScInOLClassifier, row_by_row")
    assert float(lines[2].split()[-1]) == 1.0
    assert len(lines) == 6 + has_river


def write_adult(folder, n=30):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"age": np.arange(n), "job": ["a", "b", ""] * (n // 3)})
    frame["target"] = np.where(frame["age"] % 4 < 2, ">50K", "<=50K")
    frame.to_csv(folder / "adult_raw.csv.gz", index=False)


@pytest.mark.thorough
def test_rows_of_adult(one_row, has_river, tmp_path, capsys):
    write_adult(tmp_path)
    rows, y = one_row.adult(tmp_path, 20)
    assert rows[1:3] == [{"age": 1, "job": "b"}, {"age": 2}]
    assert y.tolist() == [True, True, False, False] * 5
    arguments = ["--features", "2", "--rows", "40", "--repeats", "1"]
    assert one_row.main([*arguments, "--data-dir", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.strip().split("\n\n")[-1].splitlines()
    assert lines[0].startswith("dicts of Adult")
    assert len(lines) == 6 + has_river


@pytest.mark.thorough
def test_folders_without_adult(one_row, tmp_path, capsys):
    pytest.importorskip("pandas", reason="pandas is not installed")
    arguments = ["--features", "2", "--rows", "1", "--repeats", "1"]
    arguments += ["--data-dir", str(tmp_path)]
    for make, words in (
        (lambda: None, "There is no data set in"),
        (lambda: (tmp_path / "a.csv").write_text("a\n1\n"), "There is no adult_raw"),
        (lambda: (tmp_path / "adult_raw.csv").write_text("a\n1\n"), "no column 'targ"),
    ):
        make()
        assert one_row.main(arguments) == 2
        assert words in capsys.readouterr().err


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


def test_ways_of_dicts_learn_the_same(one_row, monkeypatch):
    pipelines = []

    def make(*steps):
        pipelines.append(make_online_pipeline(*steps))
        return pipelines[-1]

    monkeypatch.setattr(one_row, "make_online_pipeline", make)
    rows, y = one_row.dicts(30)
    assert len(rows) == 30
    assert 0 < y.sum() < 30
    for way in one_row.dicts_by_partial_fit, one_row.dicts_by_rows:
        learn = way(one_row.ScInOLClassifier(), rows, y)
        for i in range(10):
            learn(i)
    by_calls, by_rows = pipelines
    assert by_calls.n_samples_seen_ == by_rows.n_samples_seen_ == 40
    assert by_calls.cumulative_loss_ == by_rows.cumulative_loss_


def test_of_river(one_row):
    pytest.importorskip("river", reason="river is not installed")
    for learn in (
        one_row.of_river(*one_row.data(10, 3)),
        one_row.dicts_of_river(*one_row.dicts(10)),
    ):
        for i in range(10):
            learn(i)


def test_bad_arguments(one_row, capsys):
    with pytest.raises(SystemExit):
        one_row.main(["--rows", "0"])
    assert "argument --rows: invalid positive value: '0'" in capsys.readouterr().err

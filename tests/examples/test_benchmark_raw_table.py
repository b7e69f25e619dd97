"""The example of tables as they come, its competitors and the benchmark of both."""

import io
import sys
import zipfile
from functools import partial
from importlib import import_module

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
pandas = pytest.importorskip("pandas", reason="pandas is not installed")


@pytest.fixture
def example(load):
    return load("raw_table")


@pytest.fixture
def competitors(example):
    return import_module("competitors")


def frames(n=120):
    random = np.random.default_rng(0)
    ages = random.integers(20, 70, n)
    cities = random.choice(["Oslo", "Rome", "NA"], n)
    adult = pandas.DataFrame({"age": ages, "city": cities, "gain": ages * 1e3})
    adult.loc[::7, "gain"] = np.nan
    adult["target"] = np.where(ages + 9 * (cities == "Oslo") > 50, ">50K", "<=50K")
    is_spam = random.random(n) < 0.4
    texts = np.where(is_spam, "win a free prize", "see you at home tonight")
    sms = pandas.DataFrame({"text": texts, "target": np.where(is_spam, "spam", "ham")})
    return {"adult_raw.csv.gz": adult, "sms_spam.csv": sms}


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    for name, frame in frames().items():
        frame.to_csv(folder / name, index=False)
    return folder


@pytest.mark.thorough
def test_tables_from_a_folder(example, folder, tmp_path, capsys):
    status = example.main(
        ["--data-dir", str(folder), "--output-dir", str(tmp_path), "--alone"]
    )
    out, err = capsys.readouterr()
    assert (status, err) == (0, "")
    found = [line.split() for line in out.splitlines()[2:-1] if line]
    assert [line[:2] for line in found] == [
        [table, learner]
        for table in ("Adult", "SMS")
        for learner in ("Hedge", "ScInOL2")
    ]
    for *_, loss, accuracy in found:
        assert 0 < float(loss) < 0.69
        assert 0.6 < float(accuracy) <= 1
    assert (tmp_path / "raw_table.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", ["Vowpal Wabbit", "river"])
def test_competitors_learn(competitors, name):
    if name not in competitors.COMPETITORS:
        pytest.skip(f"{name} is not installed")
    for frame in frames().values():
        y = (frame.pop("target").isin([">50K", "spam"])).to_numpy()
        p = competitors.COMPETITORS[name](frame.to_dict("records"), y)
        assert np.mean((p > 0.5)[60:] == y[60:]) > 0.55


@pytest.mark.thorough
def test_benchmark(load, monkeypatch, folder, capsys):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    load("raw_table")
    script = import_module("tables")
    monkeypatch.setattr(script, "COMPETITORS", {})
    script.main(["--data-dir", str(folder), "--rows", "2000", "--repeats", "1"])
    out = capsys.readouterr().out
    assert out.count("HedgeClassifier") == 2
    assert "ScInOL from Parquet" in out
    speed = float(out.splitlines()[-1].split()[-1])
    assert speed > 0
    script.main(["--parts", "losses"])
    assert "they need --data-dir" in capsys.readouterr().out


@pytest.mark.thorough
def test_files_larger_than_memory(load, tmp_path, capsys, monkeypatch):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    example = load("out_of_core")
    monkeypatch.setattr(example, "BATCH_ROWS", 600)
    in_chunks = partial(example.read_table, chunk_rows=200)
    monkeypatch.setattr(example, "read_table", in_chunks)
    monkeypatch.setattr(
        example, "run", lambda path, names: {n: example.learn(n, path) for n in names}
    )
    for kind in "parquet", "csv":
        status = example.main(
            ["--gigabytes", "0.0002", "--format", kind, "--output-dir", str(tmp_path)]
        )
        out, err = capsys.readouterr()
        assert (status, err) == (0, "")
        found = [line.split() for line in out.splitlines()[4:7]]
        assert [line[0] for line in found] == ["ScInOL2", "Hedge", "SGDClassifier"]
        assert all(float(line[3]) > 0 for line in found)
        assert (tmp_path / "out_of_core.png").exists()
    assert example.main(["--gigabytes", "0"]) == 2
    assert example.peak_memory() > 0 or sys.platform == "win32"


def test_only_empty_cells_are_missing(example, folder):
    adult, _ = example.find_tables(folder)
    assert {*adult.frame["city"]} == {"Oslo", "Rome", "NA"}
    assert adult.frame["gain"].isna().sum() == 18


def test_tables_as_they_are_published(example, tmp_path, monkeypatch, capsys):
    adult = frames()["adult_raw.csv.gz"]
    bunch = type("Bunch", (), {})()
    bunch.target, bunch.data = adult.pop("target"), adult
    monkeypatch.setattr(example, "fetch_openml", lambda *_, **__: bunch)
    file = tmp_path / "sms.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("readme", "")
        archive.writestr("SMSSpamCollection", "ham\tHi there, ü\nspam\tWin\ta prize\n")
    address = file.as_uri()
    frame, y = example.fetch_sms(address)
    assert frame["text"].tolist() == ["Hi there, ü", "Win\ta prize"]
    assert y.tolist() == [False, True]
    monkeypatch.setattr(example, "urlopen", lambda _: io.BytesIO(file.read_bytes()))
    tables = example.find_tables(None)
    assert [(table.name, len(table.y)) for table in tables] == [
        ("Adult", 120),
        ("SMS", 2),
    ]

    def refuse(_):
        raise OSError("no network")

    monkeypatch.setattr(example, "urlopen", refuse)
    assert example.main([]) == 2
    assert "no network): pass --data-dir" in capsys.readouterr().err

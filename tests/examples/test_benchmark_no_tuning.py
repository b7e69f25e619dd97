"""The benchmark of learning rates: bundled data, and files of users."""

import gzip
import re
from dataclasses import replace

import numpy as np
import pytest

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def example(load):
    return load("no_tuning")


@pytest.fixture
def run(example, tmp_path, capsys, monkeypatch):
    """Call the example with a CSV file of some text; its status, stdout and stderr.

    Without mixtures, which take most of the time, and read files as others do.
    """
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    monkeypatch.setattr(example, "HedgeClassifier", ScInOLClassifier)
    monkeypatch.setattr(example, "HedgeRegressor", ScInOLRegressor)

    def run(text, *options, target="y", name="data.csv"):
        file = tmp_path / name
        open_file = gzip.open if name.endswith(".gz") else open
        with open_file(file, "wb") as stream:
            stream.write(text if isinstance(text, bytes) else text.encode())
        status = example.main(
            [
                *("--data", str(file), "--target", target),
                *("--output-dir", str(tmp_path / "figures")),
                *("--jobs", "1", "--rates", "0.1"),
                *options,
            ]
        )
        return status, *capsys.readouterr()

    return run


def csv(n_rows=60, seed=0):
    """Columns of numbers, text and missing values; a class and an amount to predict."""
    random = np.random.default_rng(seed)
    lines = ["length,colour,note,y,amount"]
    for row in range(n_rows):
        length = random.normal(500, 100)
        colour = random.choice(["red", "green", "pale, blue", ""])
        label = "yes" if length + 100 * (colour == "red") > 550 else "no"
        amount = length / 10 + random.normal()
        shown = "" if row == 7 else f"{length:.3f}"
        lines.append(f'{shown},"{colour}",note {row},{label},{amount:.3f}')
    return "\n".join(lines) + "\n"


@pytest.mark.thorough
def test_bundled_data(example, tmp_path, capsys, monkeypatch):
    data_sets = {data_set.name: data_set for data_set in example.bundled_data_sets()}
    assert list(data_sets) == ["breast cancer", "digits", "wine", "diabetes"]
    small = []
    for name in "digits", "diabetes":
        rows = data_sets[name].read
        few = example.Rows(rows.X[:40], rows.y[:40])
        small.append(replace(data_sets[name], read=few, n_rows=40))
    monkeypatch.setattr(example, "bundled_data_sets", lambda: small)
    figures = tmp_path / "figures"
    status = example.main(
        ["--rates", "0.1", "--jobs", "1", "--output-dir", str(figures)]
    )
    assert status == 0
    out = capsys.readouterr().out
    for name in ("digits", "diabetes"):
        assert name in out
    for method in ("Hedge", "ScInOL1", "ScInOL2", "SGD, raw", "SGD, standardised"):
        assert out.count(f"{method}  ") >= 2
    sentences = " ".join(out.split())
    assert "units that are powers of two, by nothing, to the last bit." in sentences
    assert sorted(path.name for path in figures.iterdir()) == [
        "loss_against_rate.svg",
        "no_tuning.png",
        "no_tuning_random_units.png",
    ]


@pytest.mark.thorough
def test_quick(example, tmp_path, capsys, monkeypatch):
    """A first table has no mixtures, the second one has them in raw units."""
    (rows,) = (
        each for each in example.bundled_data_sets() if each.name == "breast cancer"
    )
    few = example.Rows(rows.read.X[:30], rows.read.y[:30])
    small = [replace(rows, read=few, n_rows=30), replace(rows, name="digits")]
    monkeypatch.setattr(example, "bundled_data_sets", lambda: small)
    options = ["--quick", "--rates", "0.1", "--jobs", "1"]
    assert example.main([*options, "--output-dir", str(tmp_path)]) == 0
    first, *_, last = capsys.readouterr().out.split("Mean loss of one pass")[1:]
    assert "digits" not in first + last
    assert "Hedge" not in first
    (hedge,) = (line for line in last.splitlines() if "Hedge   " in line)
    (scinol,) = (line for line in last.splitlines() if "ScInOL2   " in line)
    assert hedge.split()[-4] == "-" != scinol.split()[-4]
    assert len([*tmp_path.iterdir()]) == 2


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz"])
def test_classes(run, name):
    status, out, err = run(csv(30), "--chunk-size", "15", name=name)
    assert (status, err) == (0, "")
    # length, amount, three of four colours, all notes but one
    assert "30 rows, 34 features after encoding; target 'y', 2 classes." in out


def test_encoding(example, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    file = tmp_path / "data.csv"
    file.write_text("a,b,y\n1,u,0.5\n,v,1.5\n3,,2.5\n,w,3.5\n7,u,4.5\n")
    stream = example.open_csv(file, "y", chunk_size=3)
    X, y = (np.concatenate(arrays) for arrays in zip(*stream(), strict=True))
    # The mean of the first chunk for what is missing; v, nothing and w, but not u.
    expected = [[1, 0, 0, 0], [2, 1, 0, 0], [3, 0, 1, 0], [2, 0, 0, 1], [7, 0, 0, 0]]
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(y, [0.5, 1.5, 2.5, 3.5, 4.5])
    assert (stream.n_rows, stream.n_features) == (5, 4)


def test_blocks(example):
    X = np.arange(500.0)[:, np.newaxis]
    (data_set, *_) = example.bundled_data_sets()
    data_set.read = example.Rows(X, X[:, 0])
    blocks = list(data_set.blocks(units=2.0))
    np.testing.assert_array_equal(np.concatenate([block for block, _ in blocks]), 2 * X)
    np.testing.assert_array_equal(np.concatenate([y for _, y in blocks]), X[:, 0])
    n_before = 0
    for _, y in blocks:
        assert len(y) <= max(1, n_before / 20)
        n_before += len(y)


# What may be wrong: one sentence, status 2.

LATE = csv() + "500,red,last,maybe,50\n"


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", [], "is empty."),
        ("a,b\n1,2\n", [], "There is no column 'y' in .* are a, b."),
        ("a,y\n1,u\n2,\n", [], "Row 2 of .* has no target in column 'y'."),
        ("a,y\n1,2\n4,5,6\n", [], "Row 2 of .* has 3 values, not 2."),
        (
            "a,y\nü,2\n".encode("latin-1"),
            [],
            "Row 1 of .* has text in column 'a' that is not UTF-8.",
        ),
        ("a,y\n1,2\ninf,5\n", [], "has the value inf in column 'a'"),
        (
            "a,y\n" + "1,0.5\n" * 200_000 + "?,0.7\n",  # beyond the first megabyte
            [],
            "Row 200001 of .* has '\\?' in column 'a', which is not a number.",
        ),
        (LATE, ["--chunk-size", "20"], "class 'maybe' of 'y' first shows up in row 61"),
    ],
)
def test_bad_file(run, text, options, words):
    status, out, err = run(text, *options)
    assert (status, out) == (2, "")
    assert err.endswith(".\n")
    assert err.count("\n") == 1
    assert re.search(words, err)

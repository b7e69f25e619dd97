"""The example of AdaHedge: bundled data, a user's own files, and what can be wrong."""

import re

import numpy as np
import pytest
from support.scripts import caller

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def example(load, monkeypatch):
    """The example with three rates."""
    module = load("adahedge")
    monkeypatch.setattr(module, "RATES", 2.0 ** np.array([-8, 1, 4]))
    return module


@pytest.fixture
def run(example, tmp_path, capsys):
    return caller(example, capsys, "--output-dir", tmp_path / "figures")


def total(out, name):
    """The total loss in a line of the table."""
    (number,) = re.findall(rf"^{re.escape(name)}.*? ([\d,]+\.\d) ", out, re.M)
    return float(number.replace(",", ""))


@pytest.mark.thorough
def test_bundled_data(run, tmp_path):
    status, out, err = run()
    assert (status, err) == (0, "")
    best, charged = total(out, "best expert: ScInOL2"), total(out, "AdaHedge, loss")
    assert best < charged < total(out, "best expert + twice")
    assert total(out, "best expert + twice") < total(out, "best expert + bound")
    assert total(out, "AdaHedge, mean prediction") < charged
    assert charged < total(out, "median expert")
    sentences = " ".join(out.split())
    assert "ScInOL2 is the best of 7 experts. Up to row " in sentences
    assert "it was not: AdaOGD, rate 2 led." in sentences
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["adahedge.png"]


def test_mean_prediction_costs_no_more(example):
    """In each row: the losses are convex."""
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.ones(4), size=50)
    weights[0] = [0, 0, 0, 1]
    amounts, y = random.normal(size=(50, 4)), random.normal(size=50)
    probabilities = random.random((50, 4))
    for predictions, losses, classes in (
        (amounts, np.abs(amounts - y[:, np.newaxis]), None),
        (np.log(probabilities), -np.log(probabilities), [0, 1]),
    ):
        of_mixture = example.mixture_losses(weights, predictions, y, classes)
        charged = (weights * losses).sum(axis=1)
        assert (of_mixture <= charged * (1 + 1e-12)).all()
        assert of_mixture.sum() < 0.9 * charged.sum()
    mixed = (weights * probabilities).sum(axis=1)
    np.testing.assert_allclose(of_mixture, -np.log(mixed), rtol=1e-12)


def test_order_of_the_bundled_rows(example):
    stream = example.digits()
    ((X, y),) = stream.chunks()
    assert X.shape == (1797, 64)
    assert (X.min(), X.max()) == (0, 1)
    assert (np.diff(y[:899]) >= 0).all()
    assert np.bincount(y[899:]).min() > 50
    assert (np.diff(y[899:]) < 0).sum() > 300


@pytest.fixture
def file(tmp_path):
    """A CSV file with a class and an amount to predict."""
    random = np.random.default_rng(0)
    lines = ["length,colour,label,amount"]
    for _ in range(90):
        length, colour = random.normal(50, 10), random.choice(["red", "green"])
        label = "long" if length + 5 * (colour == "red") > 52 else "short"
        lines.append(f"{length:.3f},{colour},{label},{length / 10:.3f}")
    file = tmp_path / "rods.csv"
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize("target", ["label", "amount"])
def test_own_data(run, file, target):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    status, out, err = run("--data", file, "--target", target)
    assert (status, err) == (0, "")
    assert out.startswith("rods.csv: 90 rows ")
    assert "of 90 rows" in " ".join(out.split())
    assert total(out, "AdaHedge, loss") < total(out, "best expert + twice")


def test_chunks_are_scaled_by_what_was_seen(example):
    chunks = [(np.array([[2.0], [-4.0]]), [0, 1]), (np.array([[1.0], [8.0]]), [0, 1])]
    stream = example.Stream("", lambda: iter(chunks), 4, [0, 1])
    scaled = np.concatenate([X[:, 0] for X, _ in stream.chunks()])
    np.testing.assert_array_equal(scaled, [0.5, -1, 0.125, 1])


# What may be wrong: one sentence, status 2.


def test_bad_data(run, file, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    missing = tmp_path / "missing.csv"
    assert run("--data", missing, "--target", "label") == (
        *(2, ""),
        f"There is no file {missing}.\n",
    )
    status, out, err = run("--data", file, "--target", "width")
    assert (status, out) == (2, "")
    assert err.startswith("There is no column 'width' in ")


def test_folder_that_cannot_be_written(example, tmp_path, capsys):
    occupied = tmp_path / "file"
    occupied.touch()
    assert example.main(["--output-dir", str(occupied)]) == 2
    assert str(occupied) in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--data", "a.csv"], ["--target", "label"]])
def test_data_and_target_go_together(example, options, capsys):
    with pytest.raises(SystemExit) as exit:
        example.main(options)
    assert exit.value.code == 2
    assert "go together" in capsys.readouterr().err

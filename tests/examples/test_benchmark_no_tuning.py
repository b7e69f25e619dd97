"""The benchmark of learning rates: bundled data, and files of users."""

import re

import numpy as np
import pytest
from support.scripts import caller

from sklearn_scinol import ScInOLClassifier, ScInOLRegressor

pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture
def example(script):
    return script("no_tuning")


def test_encoding(example, tmp_path):
    file = tmp_path / "data.csv"
    file.write_text("a,b,y\n1,u,0.5\n,v,1.5\n3,,2.5\n,w,3.5\n7,u,4.5\n")
    stream = example.open_csv(file, "y", chunk_size=3)
    X, y = (np.concatenate(arrays) for arrays in zip(*stream(), strict=True))
    # The mean of the first chunk for what is missing; v, nothing and w, but not u.
    expected = [[1, 0, 0, 0], [2, 1, 0, 0], [3, 0, 1, 0], [2, 0, 0, 1], [7, 0, 0, 0]]
    np.testing.assert_array_equal(X, expected)
    np.testing.assert_array_equal(y, [0.5, 1.5, 2.5, 3.5, 4.5])
    assert (stream.n_rows, stream.n_features) == (5, 4)


LONG = "a,y\n" + "1,0.5\n" * 200_000 + "?,0.7\n"  # beyond the first megabyte


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "There is no column 'y' in .* are a, b."),
        ("a,y\n1,u\n2,\n", "Row 2 of .* has no target in column 'y'."),
        (LONG, "Row 200001 of .* has '\\?' in column 'a', which is not a number."),
        ("a,y\n" + "1,b\n2,c\n" * 30 + "3,d\n", "class 'd' of 'y' first .* in row 61"),
    ],
)
def test_bad_file(script, capsys, tmp_path, text, words):
    """Mixtures take long, and are left out."""
    learners = {"HedgeClassifier": ScInOLClassifier, "HedgeRegressor": ScInOLRegressor}
    (tmp_path / "data.csv").write_text(text)
    call = caller(
        script("no_tuning", **learners), capsys, "--data", tmp_path / "data.csv"
    )
    options = "--target", "y", "--chunk-size", 20, "--jobs", 1, "--rates", 0.1
    status, out, err = call(*options, "--output-dir", tmp_path)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert re.search(words, err)

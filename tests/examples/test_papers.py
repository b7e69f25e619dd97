"""The experiments of the ScInOL paper: what they learn from and keep."""

import numpy as np
import pytest
from joblib import Parallel
from scipy import sparse

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def cells(script):
    return script("cells")  # which shows bars of progress


@pytest.fixture
def figure2(script):
    return script("scinol_figure2")


def test_cells_are_computed_once(cells, tmp_path):
    computed = []

    def compute(number):
        computed.append(number)
        return {"square": number**2, "bound": [float("inf"), float("nan")]}

    def values(numbers, **key):
        todo = [
            cells.Cell({"number": n, "pair": (n, n), **key}, compute, (n,))
            for n in numbers
        ]
        return cells.complete(todo, tmp_path, Parallel(n_jobs=1), "")

    assert [value["square"] for value in values([2, 3])] == [4, 9]
    assert [value["square"] for value in values([3, 4, 2])] == [9, 16, 4]
    assert computed == [2, 3, 4]
    # Whatever else determines them makes them other cells.
    values([2], epochs=5)
    assert computed == [2, 3, 4, 2]
    np.testing.assert_equal(values([2])[0]["bound"], [np.inf, np.nan])


@pytest.mark.parametrize(
    "damage", ["", '{"key": {"a', "[]", '{"key": {}, "values": 1}']
)
def test_damaged_cells_are_computed_again(cells, tmp_path, damage):
    cell = cells.Cell({"number": 3}, lambda: 9, ())
    cell.store(tmp_path)
    assert cell.values(tmp_path) == 9
    cell.path(tmp_path).write_text(damage)
    assert cell.values(tmp_path) is None
    assert cells.complete([cell], tmp_path, Parallel(n_jobs=1), "") == [9]


def test_encoding(figure2):
    """Numbers, whether one is missing; then text without its first category."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pd.DataFrame(
        {
            "length": [1.5, np.nan, 3.0, 4.0],
            "colour": ["red", None, "NA", "red"],
            "size": pd.Categorical(["s", "m", "s", np.nan]),
            "flag": [1, 0, 0, 1],
        }
    )
    X = figure2.encode(frame)
    expected = [
        [1.5, 1, 0, 1, 0, 1, 0],
        [0.0, 0, 1, 0, 1, 0, 0],
        [3.0, 0, 0, 0, 0, 1, 0],
        [4.0, 1, 0, 1, 0, 0, 1],
    ]
    np.testing.assert_array_equal(sparse.csr_array(X).toarray(), expected)


def test_layout_and_split(figure2):
    X = np.zeros((9, 5))
    X[:, 0] = np.arange(1, 10)
    y = np.array(list("abcabcabc"))
    few = figure2.data_set(X, y)
    assert few.X.format == "csr"
    np.testing.assert_array_equal(few.y, [0, 1, 2] * 3)
    many = figure2.data_set(sparse.csr_matrix(X[:, :2]), y)
    assert isinstance(many.X, np.ndarray)
    assert few.digest != many.digest

    train, test = few.split(0)
    assert (len(train), len(test)) == (6, 3)
    assert set(train) | set(test) == set(range(9))
    assert list(few.split(1)[0]) != list(train)
    train, test = figure2.data_set(X, y, n_train=4).split(1)
    np.testing.assert_array_equal(np.arange(9)[train], range(4))
    np.testing.assert_array_equal(np.arange(9)[test], range(4, 9))
    with pytest.raises(figure2.InputError, match="the same in all rows"):
        figure2.data_set(X, np.ones(9))

"""The experiments of the ScInOL paper: what they learn from and keep."""

import numpy as np
import pytest
from joblib import Parallel

pytest.importorskip("matplotlib", reason="matplotlib is not installed")


@pytest.fixture
def cells(script):
    return script("cells")  # which shows bars of progress


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

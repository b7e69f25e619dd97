"""The benchmark script about two views of tables."""

import numpy as np
import pandas as pd
import pytest
from support.tables import table

from sklearn_scinol import HedgeClassifier
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder


@pytest.fixture
def script(load):
    return load("table_views")


@pytest.mark.thorough
def test_table(script, tmp_path, capsys):
    frame = pd.DataFrame(table(120))[["age", "city"]]
    frame["target"] = np.where(frame["age"] > 40, "yes", "no")
    frame.to_csv(tmp_path / "adult_raw.csv.gz", index=False)
    assert script.main(["--data-dir", str(tmp_path), "--max-rows", "100"]) == 0
    _, _, line, _, means, _ = capsys.readouterr().out.splitlines()
    name, n_rows, *losses, ratio, _ = line.split()
    assert (name, n_rows) == ("adult_raw", "100")
    assert float(means.split()[-1]) == pytest.approx(float(ratio), abs=1e-3)
    frame, y = script.read(tmp_path / "adult_raw.csv.gz", 100)
    model = make_online_pipeline(TableEncoder(), HedgeClassifier())
    model.partial_fit(frame, y, classes=[False, True])
    assert float(losses[-1]) == pytest.approx(model.cumulative_loss_ / 100, abs=1e-4)


def test_no_tables(script, tmp_path, capsys):
    assert script.main(["--data-dir", str(tmp_path)]) == 2
    assert "There is none of the tables" in capsys.readouterr().err

"""Reports of `learn` and `predict`, printed and as JSON."""

import json
import re
from pathlib import Path

import pytest

from sklearn_scinol.persistence import load

BLOCK_BYTES = 500

SKIP = "--on-bad-row skip --model m.skops"
LEARN = "learn a.csv --target y --estimator scinol --quiet"


@pytest.fixture
def rows():
    """Rows of a file in which 3 of 100 are bad; inputs change after 60."""
    lines = []
    for i in range(100):
        age = "" if i % 4 == 3 else i % 10 + 100 * (i == 80)
        city = "abc"[i % 3] if i < 60 else i % 3
        lines.append(f"{age},{city},{i % 2}")
    lines[2], lines[33], lines[34] = "1,2", "1,2", "1,2,3,4"
    Path("a.csv").write_text("\n".join(["age,city,y", *lines]))
    return lines


def report(path="r.json"):
    return json.loads(Path(path).read_text())


@pytest.mark.parametrize("steps", ["", " --key city"], ids=["", "history"])
def test_learn(works, rows, steps):
    out = works(f"{LEARN} {SKIP}{steps} --report r.json")
    found = report()
    assert found["rows"] == 100
    assert found["bad_rows"] == {"has 2 values, not 3": 2, "has 4 values, not 3": 1}
    assert re.search(r"bad rows left out +3\n +2  has 2 values, not 3\n", out)
    columns = found["columns"]
    assert {*columns} == {"age", "city"}
    assert columns["age"]["missing"] == 25 / 97
    ages = [row.split(",")[0] for row in rows if row.count(",") == 2]
    ages = [float(age) for age in ages if age]
    n_out = sum(x > max(ages[:i]) for i, x in enumerate(ages) if i)
    assert columns["age"]["out_of_range"] == n_out / 97
    assert columns["city"]["changed_type"] == 40 / 97
    model = load("m.skops")
    assert {name: model.input_report_[name] for name in columns} == columns
    assert re.search(r"age +25\.77% .* 7\.22%", out)
    assert {*found["scores"]} == {"neg_log_loss", "accuracy"}
    assert {*found["seconds"]} == {"read", "learned", "compiled"}
    assert min(found["rows_per_second"].values()) > 0


def test_predict(run, rows):
    run(LEARN, SKIP)
    Path("b.csv").write_text("age,city\n5,a\n,new\n777,new\n1\n5,0\n")
    argv = f"predict b.csv {SKIP} --report r.json"
    status, out, _ = run(argv, "--output p.csv")
    assert status == 0
    found = report()
    assert found["bad_rows"] == {"has 1 values, not 2": 1}
    columns = found["columns"]
    assert columns["age"] == {
        "missing": 0.25,
        "unseen": 0.0,
        "out_of_range": 0.25,
        "changed_type": 0.0,
    }
    assert columns["city"]["unseen"] == 0.5  # both: none was learned
    assert columns["city"]["changed_type"] == 0.25
    assert "rows predicted per second" in out
    assert run(argv)[1] == Path("p.csv").read_text()  # lines alone


def test_no_report_destroys_what_is_read(fails, run, rows):
    fails(LEARN, "--report a.csv", words="is an input")
    run(LEARN, SKIP)
    fails(f"predict a.csv {SKIP} --report m.skops", words="is an input")

"""Shares of missing, unseen, out-of-range and changed values of a stream."""

import json
from copy import deepcopy

import numpy as np
import pytest

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.merging import merge_models
from sklearn_scinol.persistence import load, save
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import TableEncoder


def _rows(n, seed=0):
    """Rows with numbers, categories with and without columns, and missing values."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        row = {
            "age": float(np.round(rng.normal() * (1 + i / n), 3)),
            "city": f"c{rng.integers(1 + i // 3)}",
            "code": str(i) if i > n // 2 else "a",
            "flag": bool(rng.integers(2)),
            "late": None if i < n // 4 else "x",
        }
        rows.append({k: None if rng.random() < 0.05 else v for k, v in row.items()})
    return [{**rows[0], "age": 0.0, "city": "c0", "code": "a", "flag": True}, *rows[1:]]


def _naive(rows, n_named, start=0):
    """Count what differs from the rows before, from row `start` on: the report."""
    names = [*rows[0]]
    events = {name: np.zeros((4, len(rows)), bool) for name in names}
    for name in names:
        given = []
        for i, value in enumerate(row[name] for row in rows):
            missing, unseen, out, changed = range(4)
            if value is None:
                events[name][missing, i] = True
                continue
            if name in ("city", "code", "late"):
                events[name][unseen, i] = value not in given
                first = given[0] if given else value
                events[name][changed, i] = value.isdigit() != first.isdigit()
            if name == "age" and given:
                events[name][out, i] = not min(given) <= value <= max(given)
            given.append(value)
    return {name: e[:, start:].mean(axis=1).tolist() for name, e in events.items()}


def _learned(rows, size, **options):
    kinds = {"code": "category", "late": "category"}
    encoder = TableEncoder(**{"n_named": 8, "kinds": kinds} | options)
    for i in range(0, len(rows), size):
        encoder.partial_fit(rows[i : i + size])
    return encoder


def _model(rows):
    """Learn rows one by one, after the first."""
    model = make_online_pipeline(TableEncoder(n_named=8), ScInOLClassifier())
    model.partial_fit(rows[:1], [0], classes=[0, 1])
    learner = model.row_by_row()
    for i, row in enumerate(rows[1:]):
        learner.learn_one(row, i % 2)
    return model


@pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)
def test_report_has_the_shares_of_a_slow_count(engine):
    rows = _rows(2500)
    report = _learned(rows, 700).input_report_
    for start, end in (0, ""), (1024, "_lately"):
        for name, shares in _naive(rows, 8, start).items():
            keys = "missing", "unseen", "out_of_range", "changed_type"
            found = [report[name][key + end] for key in keys]
            assert found == pytest.approx(shares), (name, end)
    assert report["code"]["changed_type_lately"] > 0.7
    assert json.loads(json.dumps(report)) == report


@pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)
def test_chunks_and_single_rows_change_nothing(engine):
    rows = _rows(1200)
    kinds = {"kinds": None}
    whole = _learned(rows[:1], 1, **kinds).partial_fit(rows[1:])
    expected = whole.input_report_
    encoder = _learned(rows[:1], 1, **kinds)
    for part in np.array_split(np.arange(1, len(rows)), 37):
        encoder.partial_fit([rows[i] for i in part])
    assert encoder.input_report_ == expected
    assert _model(rows).input_report_ == expected


def test_predictions_and_failed_calls_change_nothing():
    rows = _rows(300)
    model = _model(rows)
    before = model.input_report_
    model.predict(rows)
    model.row_by_row().predict_one(rows[0] | {"city": "new"})
    bad = [rows[0] | {"city": "new"}, rows[1] | {"age": "forty"}]
    with pytest.raises(ValueError, match="age"):
        model.partial_fit(bad, [0, 1])
    with pytest.raises(ValueError, match="y"):
        model.row_by_row().learn_one(rows[0] | {"city": "new"}, 7)
    assert model.input_report_ == before


def test_saving_and_merging_keep_counts(tmp_path):
    rows = _rows(900)
    start = _learned(rows[:300], 300)
    save(start, tmp_path / "model.skops")
    parts = [load(tmp_path / "model.skops") for _ in range(2)]
    assert parts[0].input_report_ == start.input_report_
    for part, own in zip(parts, (rows[300:500], rows[500:]), strict=True):
        part.partial_fit(own)
    merged = merge_models(parts, start=start)
    for name, of_column in merged.input_report_.items():
        n_missing = sum(row[name] is None for row in rows)
        assert of_column["missing"] == n_missing / 900
        assert of_column["missing_lately"] == 0.0


@pytest.mark.parametrize("engine", ["numpy", "numba"], indirect=True)
def test_flags_are_what_each_row_would_count(engine):
    rows = _rows(700)
    encoder = _learned(rows[:500], 500)
    before = encoder.input_report_
    flags = encoder.input_flags(rows[500:])
    assert encoder.input_report_ == before
    for i in range(500, 700, 7):
        after = deepcopy(encoder).partial_fit(rows[i : i + 1]).input_report_
        for name, of_column in flags.items():
            for measure, of_rows in of_column.items():
                n_more = after[name][measure] * 501 - before[name][measure] * 500
                assert round(n_more) == of_rows[i - 500], (i, name, measure)

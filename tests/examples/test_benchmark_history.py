"""Streams and scores of the benchmark of histories."""

import numpy as np
import pytest

pd = pytest.importorskip("pandas", reason="pandas is not installed")


def small(script, name):
    return script.STREAMS[name](1200, np.random.default_rng(0))


@pytest.mark.parametrize("name", ["fraud", "demand", "sensors", "clicks"])
def test_columns_by_hand_know_no_label_before_it_comes(load, name):
    """Nor a later row: other labels and rows after a row leave it as it is."""
    stream = small(load("history"), name)
    frame, y = stream.frame, stream.y
    assert frame[stream.time].is_monotonic_increasing
    made = stream.by_hand(frame, y, stream.delay)
    for r in 300, 700, 1100:
        late = frame[stream.time] + pd.Timedelta(seconds=stream.delay)
        other = np.where(late <= frame[stream.time][r], y, y[::-1])
        changed = frame.copy()
        for column in frame.select_dtypes("number"):
            changed.loc[r + 1 :, column] = 77
        again = stream.by_hand(changed, other, stream.delay)
        pd.testing.assert_frame_equal(again[: r + 1].tail(1), made[: r + 1].tail(1))


@pytest.mark.thorough
def test_scores(load, capsys, monkeypatch):
    script = load("history")
    monkeypatch.setattr(script, "find_spec", lambda _: None)
    options = "--rows", "3000", "--learner", "ScInOL", "--only", "demand"
    assert script.main(options) == 0
    _, _, constant, raw, _, history = capsys.readouterr().out.splitlines()
    errors = [float(line.split()[-2]) for line in (raw, history)]
    assert errors[1] < 0.8 * errors[0]
    stream = script.make_demand(3000, np.random.default_rng(0))
    half = stream.y[1500:]
    expected = np.abs(half - np.median(half)).mean()
    assert float(constant.split()[-1]) == pytest.approx(expected, abs=1e-3)

"""Tables with all kinds of columns, and what an encoder of them has learned."""

import datetime as dt
import pickle
from copy import deepcopy

import numpy as np
from hypothesis import strategies as st

WORDS = [
    *("free", "entry", "in", "a", "weekly", "competition", "to", "win", "final"),
    *("tickets", "Été", "naïve", "2wks", "!"),
]

KINDS = {
    "age": "number",
    "gain": "number",
    "noise": "number",
    "constant": "number",
    "city": "category",
    "flag": "boolean",
    "when": "date",
    "message": "text",
}

PAIRS = [("city", "flag"), ("age", "city"), ("gain", "flag", "city")]

SETTINGS = {"interactions": PAIRS, "n_named": 12, "n_quantiles": 3}

N_MISSING = {"age": 3, "city": 20, "flag": 1, "when": 11, "message": 2, "gain": 130}

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.floats(-3, 3).map(lambda value: round(value, 1)),
    st.text(max_size=12),
    st.sampled_from(["a", "b", "1", "true", "2020-01-01", "a b c d"]),
    st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2262, 1, 1)),
)

NAMES = st.sampled_from(["a", "b", "c", "d"])


def table(n=260, seed=0):
    """Rows that are dicts, with gaps."""
    rng = np.random.default_rng(seed)

    def text():
        return " ".join(rng.choice(WORDS, rng.integers(3, 8)))

    def moment():
        day = dt.date(2019, 1, 1) + dt.timedelta(days=int(rng.integers(900)))
        return dt.datetime.combine(day, dt.time(int(rng.integers(24)), 30))

    rows = []
    for r in range(n):
        row = {
            "age": int(rng.integers(15, 90)),
            "gain": float(rng.choice([0.0, 0.0, 0.0, rng.exponential(1e4)])),
            "noise": float(rng.normal(1e6, 1e3)),
            "constant": 3.0,
            "city": f"c{int(rng.exponential(4))}",
            "flag": bool(rng.integers(2)),
            "when": moment(),
            "message": text(),
        }
        for name in row:
            if r and name != "constant" and rng.random() < 0.1:
                row[name] = None
        rows.append(row)
    return rows


def late_table(n=260):
    """Rows whose columns are missing at first, each for another time."""
    rows = table(n)
    for name, n_missing in N_MISSING.items():
        for row in rows[:n_missing]:
            row[name] = None
    return rows


def state_of(encoder):
    """All that was learned, with names that are remembered in one piece."""
    attributes = deepcopy(vars(encoder))
    if encoder.__sklearn_is_fitted__():
        hashed = attributes["_encoding"].hashed
        attributes["names"] = sorted(hashed.names().items())
        hashed.remembered = []
    return pickle.dumps(deepcopy(attributes), protocol=3)  # without random origins

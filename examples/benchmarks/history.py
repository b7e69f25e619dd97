"""
History of keys
===============

What a stream knows of a card, a shop, a machine or a user, for ScInOL and the default
mixture: without it (raw columns), written by hand with pandas, and by
:class:`~sklearn_scinol.preprocessing.OnlineHistory`::

    python examples/benchmarks/history.py
    python examples/benchmarks/history.py --data-dir FOLDER --only flights
    python examples/benchmarks/history.py --only fraud --rows 20000

Streams: transactions of cards, of which some are stolen and used in bursts, with labels
two days late; hourly demand of six shops, known an hour later; machines with sensors,
which fail within an hour of a label that comes an hour late; users who click, or not
within ten minutes; and departures from New York from ``flights_2013_spring.csv`` in the
folder, which may be compressed, with delays known three hours after the schedule. Each
row is predicted when it comes, and learned, as it was encoded then, when its label
comes. Keys are those by default for cards and machines; elsewhere they are named: shop,
and shop with hour; user, topic and both; carrier, origin and destination. Those of the
flights were named after a look at the losses with the aircraft, too.

Scores are of the second half of the rows: average precision and log loss, or the mean
absolute error. Last come the rows per second. If river is installed, its `Agg` and
`TargetAgg` are measured on the transactions as well, with the lines that a user writes.
"""

import argparse
import inspect
import sys
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import pandas as pd
from interface import InputError, gives_status, positive, show_progress
from sklearn.base import clone
from sklearn.metrics import average_precision_score, log_loss

from sklearn_scinol import (
    HedgeClassifier,
    HedgeRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.evaluation import progressive_validation
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import OnlineHistory, TableEncoder

HOUR, DAY = 3600.0, 86_400.0
START = pd.Timestamp("2026-01-05")

CHUNK_ROWS = 1000
VARIANTS = "raw columns", "by hand", "history"
CLASSES, AMOUNTS = ["average_precision", "neg_log_loss"], ["neg_mean_absolute_error"]

COLUMNS = "{:<9}{:<9}{:<16}{:>11}{:>12}{:>10}".format
HEADER = COLUMNS("stream", "learner", "columns", "precision", "loss, error", "rows / s")


class Stream(NamedTuple):
    """A stream of events in order of time."""

    frame: pd.DataFrame
    y: np.ndarray
    time: str
    delay: float  # of labels, in seconds
    keys: list | None  # for OnlineHistory
    by_hand: object  # makes a frame with columns of history


# %%
# Streams
# -------


def make_fraud(n_rows, rng, n_cards=2000):
    """Transactions of cards, some of which are stolen: bursts, half in five shops."""
    days = n_rows / 2200.0
    rate = rng.gamma(1.5, size=n_cards)
    n_stolen = n_rows // 650
    n_fair = n_rows - 10 * n_stolen
    card = rng.choice(n_cards, n_fair, p=rate / rate.sum())
    seconds = rng.uniform(0.0, days * DAY, n_fair)
    typical, favourites = (
        rng.normal(3.2, 0.8, n_cards),
        rng.integers(60, size=(n_cards, 4)),
    )
    shop = favourites[card, rng.integers(4, size=n_fair)]
    elsewhere = rng.random(n_fair) < 0.25
    shop[elsewhere] = rng.integers(60, size=elsewhere.sum())
    bought = rng.integers(np.where(rng.random(10 * n_stolen) < 0.5, 5, 60))
    burst_card = np.repeat(rng.integers(n_cards, size=n_stolen), 10)
    gaps = rng.exponential(240.0, (n_stolen, 10)).cumsum(axis=1)
    begins = rng.uniform(0.0, days * DAY - HOUR, (n_stolen, 1))
    frame = pd.DataFrame(
        {
            "when": np.concatenate([seconds, (begins + gaps).ravel()]),
            "card": np.concatenate([card, burst_card]),
            "shop": np.concatenate([shop, bought]),
            "stolen": np.repeat([False, True], [n_fair, 10 * n_stolen]),
        }
    )
    amount = typical[frame["card"]] + 0.7 * frame["stolen"]
    frame["amount"] = np.exp(rng.normal(amount, 0.6)).round(2)
    frame = frame.sort_values("when", ignore_index=True)
    frame["when"] = START + pd.to_timedelta(frame["when"].round(), unit="s")
    for name in "card", "shop":
        frame[name] = f"{name}" + frame[name].astype(str)
    y = frame.pop("stolen").to_numpy()
    return Stream(frame, y, "when", 2 * DAY, None, fraud_by_hand)


def fraud_by_hand(frame, y, delay):
    """Fifteen lines of pandas."""
    by_card = frame.groupby("card")
    made = pd.DataFrame(index=frame.index)
    made["count"] = np.log1p(by_card.cumcount())
    gap = by_card["when"].diff().dt.total_seconds()
    made["gap"] = np.log1p(gap)
    made["gap_of_three"] = np.log1p(by_card["when"].diff(3).dt.total_seconds())
    made["last"] = by_card["amount"].shift()
    mean = by_card["amount"].transform(lambda x: x.shift().ewm(alpha=0.1).mean())
    made["ratio"] = np.log(frame["amount"] / mean)
    recent = by_card["amount"].transform(lambda x: x.shift().rolling(4, 1).mean())
    made["recent_ratio"] = np.log(recent / mean)
    late = frame[["card", "when"]].assign(label=y.astype(float))
    late["share"] = late.groupby("card")["label"].transform(
        lambda x: x.ewm(alpha=0.2).mean()
    )
    late["when"] += pd.Timedelta(seconds=delay)
    late = late.drop(columns="label")
    known = pd.merge_asof(frame[["card", "when"]], late, on="when", by="card")
    return frame.join(made).assign(share=known["share"].to_numpy())


def make_demand(n_rows, rng, n_shops=6):
    """Hourly demand of shops, whose level moves."""
    n_hours = n_rows // n_shops
    hours = np.arange(n_hours)
    of_day = 1.0 + 0.5 * np.sin(2 * np.pi * (hours % 24 - 9) / 24)
    of_week = np.where(hours // 24 % 7 >= 5, 1.3, 1.0)
    rows = []
    for shop in range(n_shops):
        level, log_level = np.log(rng.uniform(40.0, 160.0)), np.empty(n_hours)
        moved = 0.0
        for hour in hours:
            moved = 0.985 * moved + rng.normal(0.0, 0.06)
            log_level[hour] = level + moved
        own = of_day ** rng.uniform(0.6, 1.2) * of_week
        demand = rng.poisson(np.exp(log_level) * own)
        rows.append(pd.DataFrame({"hour": hours, "shop": f"shop{shop}", "y": demand}))
    frame = pd.concat(rows).sort_values(["hour", "shop"], ignore_index=True)
    y = frame.pop("y").to_numpy(float)
    frame.insert(0, "when", START + pd.to_timedelta(frame.pop("hour"), unit="h"))
    keys = ["shop", ("shop", "hour")]
    return Stream(frame, y, "when", HOUR, keys, demand_by_hand)


def demand_by_hand(frame, y, delay):
    """Last hours, and the same hour of days before."""
    by_shop = frame.assign(y=y).groupby("shop")["y"]
    made = {f"lag_{lag}": by_shop.shift(lag) for lag in (1, 2, 3, 24, 48, 168)}
    made["day"] = by_shop.transform(lambda x: x.shift().rolling(24, 1).mean())
    return frame.assign(**made)


def make_sensors(n_rows, rng, n_machines=40):
    """Machines whose temperature and vibration rise before they fail."""
    machine = rng.integers(n_machines, size=n_rows)
    seconds = np.sort(rng.uniform(0.0, n_rows * 30.0, n_rows))
    base = rng.normal([60.0, 2.0], [12.0, 0.6], (n_machines, 2))
    fails = {
        m: np.sort(rng.uniform(0.0, seconds[-1], int(seconds[-1] / (2 * DAY)) + 1))
        for m in range(n_machines)
    }
    left = np.empty(n_rows)
    for m in range(n_machines):
        rows = machine == m
        places = np.searchsorted(fails[m], seconds[rows])
        left[rows] = np.append(fails[m], np.inf)[places] - seconds[rows]
    rise = np.exp(-left / (2 * HOUR))
    noise = rng.normal(0.0, [2.0, 0.15], (n_rows, 2))
    values = base[machine] + noise + rise[:, np.newaxis] * [8.0, 0.7]
    frame = pd.DataFrame(
        {
            "when": START + pd.to_timedelta(seconds, unit="s"),
            "machine": [f"machine{m}" for m in machine],
            "temperature": values[:, 0].round(2),
            "vibration": values[:, 1].round(3),
            "load": rng.uniform(0.0, 1.0, n_rows).round(2),
        }
    )
    return Stream(frame, left < HOUR, "when", HOUR, None, sensors_by_hand)


def sensors_by_hand(frame, y, delay):
    """Differences from the means of each machine."""
    made = {}
    for name in "temperature", "vibration":
        by_machine = frame.groupby("machine")[name]
        slow = by_machine.transform(lambda x: x.shift().ewm(alpha=0.02).mean())
        fast = by_machine.transform(lambda x: x.ewm(alpha=0.3).mean())
        made |= {f"{name}_above": frame[name] - slow, f"{name}_trend": fast - slow}
    return frame.assign(**made)


def make_clicks(n_rows, rng, n_users=1500, n_topics=12):
    """Users who see topics, in sessions, and click on what they like by now."""
    user = rng.choice(n_users, n_rows, p=rng.dirichlet(np.full(n_users, 0.5)))
    seconds = np.sort(rng.uniform(0.0, n_rows * 20.0, n_rows))
    likes = rng.normal(-2.0, 1.2, (n_users, n_topics))
    topic = rng.integers(n_topics, size=n_rows)
    clicked, last = np.empty(n_rows, bool), {}
    for r in range(n_rows):
        before, mood = last.get(user[r], (-np.inf, 0.0))
        mood *= np.exp(-(seconds[r] - before) / HOUR)
        score = likes[user[r], topic[r]] + mood - 0.3 * (seconds[r] - before < 60.0)
        clicked[r] = rng.random() < 1.0 / (1.0 + np.exp(-score))
        last[user[r]] = seconds[r], mood + (1.5 if clicked[r] else -0.3)
    frame = pd.DataFrame(
        {
            "when": START + pd.to_timedelta(seconds, unit="s"),
            "user": [f"user{u}" for u in user],
            "topic": [f"topic{t}" for t in topic],
            "position": rng.integers(1, 6, n_rows),
        }
    )
    keys = ["user", "topic", ("user", "topic"), ()]
    return Stream(frame, clicked, "when", 600.0, keys, clicks_by_hand)


def clicks_by_hand(frame, y, delay):
    """Rates of users and of their topics, from labels known by then."""
    gap = frame.groupby("user")["when"].diff().dt.total_seconds()
    made = frame.assign(gap=np.log1p(gap))
    for names in ["user"], ["user", "topic"]:
        late = frame[[*names, "when"]].assign(label=y.astype(float))
        share = late.groupby(names)["label"].transform(
            lambda x: x.ewm(alpha=0.1).mean()
        )
        late = late.drop(columns="label").assign(share=share)
        late["when"] += pd.Timedelta(seconds=delay)
        known = pd.merge_asof(frame[[*names, "when"]], late, on="when", by=names)
        made["_".join(names)] = known["share"].to_numpy()
    return made


def read_flights(folder):
    """Departures from New York: is the flight late at its destination?"""
    paths = [*folder.glob("flights_2013_spring.csv*")]
    if not paths:
        raise InputError(f"There is no flights_2013_spring.csv in {folder}.")
    frame = pd.read_csv(paths[0], parse_dates=["scheduled"])
    y = (frame.pop("target") == "late").to_numpy()
    keys = ["carrier", "origin", "dest", ()]
    return Stream(frame, y, "scheduled", 3 * HOUR, keys, flights_by_hand)


def flights_by_hand(frame, y, delay):
    """Shares of late flights by carrier, origin and destination, known by then."""
    made = frame.copy()
    for name in "carrier", "origin", "dest":
        late = frame[[name, "scheduled"]].assign(label=y.astype(float))
        share = late.groupby(name)["label"].transform(
            lambda x: x.ewm(alpha=0.05).mean()
        )
        late = late.drop(columns="label").assign(share=share)
        late["scheduled"] += pd.Timedelta(seconds=delay)
        known = pd.merge_asof(frame[[name, "scheduled"]], late, on="scheduled", by=name)
        made[f"{name}_share"] = known["share"].to_numpy()
    return made


STREAMS = {
    "fraud": make_fraud,
    "demand": make_demand,
    "sensors": make_sensors,
    "clicks": make_clicks,
}
ROWS = {"fraud": 200_000, "demand": 12_000, "sensors": 50_000, "clicks": 50_000}

# %%
# Learning
# --------


def measure(stream, learner, variant):
    """Return the scores of the second half of the rows, and rows per second."""
    frame, y, steps = stream.frame, stream.y, [TableEncoder(), learner]
    if variant == "by hand":
        frame = stream.by_hand(frame, y, stream.delay)
    elif variant == "history":
        steps.insert(0, OnlineHistory(stream.keys, stream.time))
    is_label, n = y.dtype == bool, len(y)
    chunks = [slice(r, r + CHUNK_ROWS) for r in range(0, n, CHUNK_ROWS)]
    result = progressive_validation(
        make_online_pipeline(*steps),
        ((frame.iloc[rows], y[rows]) for rows in chunks),
        metrics=CLASSES if is_label else AMOUNTS,
        classes=[False, True] if is_label else None,
        window=n // 2,
        delay=timedelta(seconds=stream.delay),
        time=stream.time,
        progress=False,
    )
    scores = [abs(curve[-1]) for curve in result.window_curves.values()]
    return scores, n / result.seconds


def score_constant(y):
    """Return the scores of the best constant for the second half of the rows."""
    y = y[len(y) // 2 :]
    if y.dtype != bool:
        return [np.abs(y - np.median(y)).mean()]
    share = y.mean()
    return [share, log_loss(y, np.full(len(y), share))]


def learners(y):
    """Return the learners of a stream by name."""
    if y.dtype == bool:
        return {"ScInOL": ScInOLClassifier(), "mixture": HedgeClassifier()}
    return {"ScInOL": ScInOLRegressor(), "mixture": HedgeRegressor()}


# %%
# river
# -----


def make_river():
    """Make the history of a card of river's parts, before its logistic regression."""
    from river import compose, feature_extraction, linear_model, preprocessing, stats
    from river.utils import Rolling

    history = compose.Select("amount")
    for how in stats.Count(), stats.EWMean(0.25), stats.EWMean(1 / 32):
        history += feature_extraction.Agg(on="amount", by="card", how=how)
    for how in stats.EWMean(0.25), Rolling(stats.Mean, window_size=32):
        history += feature_extraction.TargetAgg(by="card", how=how)
    scale = preprocessing.StandardScaler()
    return history | scale | linear_model.LogisticRegression()


def make_own():
    """Make the same of this package."""
    return make_online_pipeline(
        OnlineHistory(time="when"), TableEncoder(), ScInOLClassifier()
    )


def measure_river(stream):
    """Return the scores of river, and rows per second."""
    from river.compose import learn_during_predict
    from river.stream import simulate_qa

    model, n, said = make_river(), len(stream.y), np.zeros(len(stream.y))
    rows = zip(stream.frame.to_dict("records"), stream.y, strict=True)
    delay, start = timedelta(seconds=stream.delay), perf_counter()
    for i, x, label in simulate_qa(rows, "when", delay):
        if label is None:
            with learn_during_predict():
                said[i] = model.predict_proba_one(x).get(True, 0.0)
        else:
            model.learn_one(x, label)
    seconds, half = perf_counter() - start, slice(n // 2, None)
    y, said = stream.y[half], said[half]
    scores = (
        average_precision_score(y, said),
        log_loss(y, np.clip(said, 1e-9, 1 - 1e-9)),
    )
    return scores, n / seconds


def n_lines(function):
    """Return the number of lines of a function, without the first two."""
    lines = inspect.getsource(function).splitlines()[2:]
    return sum(1 for line in lines if line.strip())


# %%
# The tables
# ----------


def print_line(name, variant, learner, scores, speed, more=""):
    cells = [f"{value:.4f}" if len(scores) > 1 else f"{value:.3f}" for value in scores]
    cells = cells if len(cells) > 1 else ["", *cells]
    speed = f"{speed:,.0f}" if speed else ""
    print(COLUMNS(name, learner, variant, *cells, speed) + more, flush=True)


def parse(argv):
    parser = argparse.ArgumentParser(description="Scores with the history of keys.")
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER")
    parser.add_argument("--rows", type=positive, metavar="N", help="of made streams")
    parser.add_argument("--seed", type=int, default=0)
    names = [*STREAMS, "flights"]
    parser.add_argument("--only", action="append", choices=names, default=[])
    parser.add_argument(
        "--learner", action="append", choices=["ScInOL", "mixture"], default=[]
    )
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    if "flights" in arguments.only and arguments.data_dir is None:
        raise InputError("flights needs --data-dir FOLDER.")
    names = [*STREAMS, *(["flights"] if arguments.data_dir else [])]
    print("\n".join([HEADER, "-" * len(HEADER)]))
    for name in [each for each in names if each in (arguments.only or names)]:
        if name == "flights":
            stream = read_flights(arguments.data_dir)
        else:
            rng = np.random.default_rng(arguments.seed)
            stream = STREAMS[name](arguments.rows or ROWS[name], rng)
        print_line(name, "best constant", "", score_constant(stream.y), None)
        chosen = {
            learner: each
            for learner, each in learners(stream.y).items()
            if learner in (arguments.learner or [learner])
        }
        variants = [(each, v) for each in chosen for v in VARIANTS]
        for learner, variant in show_progress(variants, name):
            scores, speed = measure(stream, clone(chosen[learner]), variant)
            print_line(name, variant, learner, scores, speed)
        if name == "fraud" and find_spec("river"):
            lines = f"  ({n_lines(make_river)} lines, here {n_lines(make_own)})"
            print_line(name, "Agg, TargetAgg", "river", *measure_river(stream), lines)


if __name__ == "__main__" and (status := main()):
    sys.exit(status)

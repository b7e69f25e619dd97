"""
Prediction intervals along streams
==================================

Learns intervals of 90 % by `OnlineConformalRegressor` around `HedgeRegressor`, each row
predicted before it is learned, and prints for each stream

- how far the coverage of each 1,000 rows is from 90 %, in points: mean and worst,
- the interval score (Winkler 1972) over that of adaptive conformal inference (Gibbs and
  Candès 2021) around the same predictions, with the best of seven steps in hindsight,
- if river is installed, the same over those of its regression jackknife around linear
  regression, and of a pair of linear quantile regressions, both with standardised
  features and targets::

    python examples/benchmarks/intervals.py
    python examples/benchmarks/intervals.py --data-dir FOLDER

The method was chosen on the streams marked with an asterisk. Data in the folder are
looked for as ``elec2.csv`` or ``.csv.gz``. Some targets are columns of data sets of
classification. The last 20,000 rows are learned, and all but the first 200 scored.

In the end it prints what intervals cost: the time of `partial_fit` with intervals over
that without, with 20 features, medians over repeats in turns.

With ``--groups`` it prints instead, with and without ``groups="auto"``, how far the
coverage of each third of the rows by their widths is from 90 %, and the worst 1,000
rows of a third; the mean over all 1,000 rows as above; and the ratio of the scores.
"""

import argparse
import sys
from bisect import insort
from importlib.util import find_spec
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter

import numpy as np
from quality import gives_status, show_progress
from sklearn.datasets import make_friedman1, make_friedman2

from sklearn_scinol import HedgeRegressor, OnlineConformalRegressor, ScInOLRegressor

MAX_ROWS, N_UNSCORED, BLOCK = 20_000, 200, 1000
ALPHA = 0.1
STEPS = 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1

COLUMNS = "{:<24}{:>7}{:>7}{:>7}{:>10}{:>10}{:>10}".format
HEADERS = (
    COLUMNS("", "", "points", "off", "score", "over", ""),
    COLUMNS("", "rows", "mean", "worst", "adaptive", "jackknife", "quantiles"),
)
GROUP_COLUMNS = "{:<24}{:>7}{:>7}{:>9}{:>7}{:>7}{:>9}{:>7}{:>8}".format
GROUP_HEADERS = (
    GROUP_COLUMNS("", "", "one", "group", "", "thirds", "", "", "score"),
    GROUP_COLUMNS("", "rows", *["thirds", "worst", "all"] * 2, "ratio"),
)


# Streams.


def made_streams():
    """Yield names, rows and targets that are drawn at random."""
    rng, n = np.random.default_rng(0), MAX_ROWS
    X = rng.normal(size=(n, 10)) * 10.0 ** rng.integers(-3, 4, 10)
    y = X @ (rng.normal(size=10) / X.std(axis=0)) + rng.normal(size=n)
    yield "stationary*", X, y
    yield "half swapped", X, np.where(np.arange(n) < n // 2, y, -y)
    X = rng.normal(size=(n, 5))
    y = X.sum(axis=1) + np.exp(X[:, 0]) * rng.normal(size=n)
    yield "unequal noise*", X, y
    X = rng.standard_t(3, size=(n, 4))
    scale = np.where(np.arange(n) // 5000 % 2, 3.0, 0.3)
    yield "jumps of noise*", X, X.sum(axis=1) + scale * rng.standard_t(3, size=n)
    yield "friedman1", *make_friedman1(n, noise=1.0, random_state=0)
    yield "friedman2, skewed", *skewed(*make_friedman2(n, random_state=0))
    yield "rented bikes*", *rented_bikes(rng)


def skewed(X, y):
    """Return targets with noise that is skewed, and grows with the target."""
    return X, y * np.random.default_rng(1).gamma(4.0, 0.25, size=len(y))


def rented_bikes(rng, n=17_500):
    """Draw hourly counts with seasons, weekdays, weather and growth."""
    t = np.arange(n)
    hour, day = t % 24, t // 24 % 7
    drift = 0.02 * rng.normal(size=n).cumsum()
    year, within_day = 2 * np.pi * t / 8760, np.sin(np.pi * hour / 24)
    warmth = 15 - 10 * np.cos(year) + 5 * np.sin(2 * np.pi * hour / 24) + drift
    rush = np.exp(-((hour - 8) ** 2) / 4) + 1.3 * np.exp(-((hour - 17.5) ** 2) / 6)
    mean = 20 + 4 * np.clip(warmth, 0, None) * (0.3 + within_day**2)
    mean += 250 * rush * (day < 5)
    mean += 100 * (day >= 5) * np.exp(-((hour - 14) ** 2) / 20)
    mean *= 1 + t / n
    counts = rng.negative_binomial(8, 8 / (8 + mean)).astype(float)
    return np.column_stack([hour, day, warmth, t // 730 % 12]), counts


#: Columns of data sets of classification that are predicted from the others.
TARGETS = {
    "elec2": {
        "price*": "nswprice",
        "demand*": "nswdemand",
        "price in Victoria": "vicprice",
        "transfer": "transfer",
    },
    "covtype_sample92962": {"elevation": 0},
    "page_blocks": {"black pixels": -1},
    "pendigits": {"last x": -2},
    "bank_additional_full": {"Euribor": "euribor3m"},
}
REGRESSION = ("cal_housing", "cpusmall", "kin8nm", "abalone")
IN_ORDER = "elec2", "bank_additional_full"


def streams_of_folder(folder):
    """Yield names, rows and targets of the data sets that are at hand."""
    import pandas as pd

    for name in [*TARGETS, *REGRESSION]:
        paths = [*folder.glob(f"{name}.csv*")]
        if not paths:
            print(f"{name} is not at hand.")
            continue
        table = pd.read_csv(paths[0])
        if name not in IN_ORDER:
            table = table.sample(frac=1.0, random_state=0)
        table = table.iloc[-MAX_ROWS:]
        rows = table.drop(columns="target").select_dtypes("number")
        if name in REGRESSION:
            yield f"{name}*", rows.to_numpy(float), table["target"].to_numpy(float)
            continue
        for title, column in TARGETS[name].items():
            column = rows.columns[column] if isinstance(column, int) else column
            y = rows[column].to_numpy(float)
            X = rows.drop(columns=column).to_numpy(float)
            yield f"{name.split('_')[0]}, {title}", X, y


# Intervals.


def ours(X, y, groups=None):
    """Return predictions and intervals, each before its target is learned."""
    model = OnlineConformalRegressor(HedgeRegressor(random_state=0), groups=groups)
    methods = ["predict", "predict_interval"]
    predictions, intervals = model.partial_fit_predict(X, y, method=methods)
    return predictions, *intervals.T


def adaptive(errors, step):
    """Return half the widths of adaptive conformal inference, of all errors so far."""
    seen, alpha, widths = [], ALPHA, np.zeros(len(errors))
    for t, error in enumerate(np.abs(errors).tolist()):
        n = len(seen)
        if n:
            k = int(np.ceil((1.0 - alpha) * (n + 1)))
            widths[t] = 0.0 if k < 1 else seen[min(k, n) - 1]
        alpha += step * (ALPHA - float(error > widths[t]))
        insort(seen, error)
    return widths


def of_river(X, y):
    """Return the intervals of river's jackknife, and of a pair of quantiles."""
    from river import conf, linear_model, optim, preprocessing

    def scaled(loss=None):
        regressor = linear_model.LinearRegression(loss=loss)
        return preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(
            regressor
        )

    jackknife = conf.RegressionJackknife(scaled(), confidence_level=1.0 - ALPHA)
    quantiles = [
        scaled(optim.losses.Quantile(level)) for level in (ALPHA / 2, 1.0 - ALPHA / 2)
    ]
    found = np.zeros((2, 2, len(y)))
    for t, (values, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(enumerate(values))
        interval = jackknife.predict_one(x, with_interval=True)
        if hasattr(interval, "lower"):
            found[0, :, t] = interval.lower, interval.upper
        jackknife.learn_one(x, target)
        found[1, :, t] = sorted(model.predict_one(x) for model in quantiles)
        for model in quantiles:
            model.learn_one(x, target)
    return found


def score(y, lower, upper):
    """Return the mean interval score of the rows that count."""
    outside = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return (upper - lower + 2.0 / ALPHA * outside)[N_UNSCORED:].mean()


def deviations(y, lower, upper):
    """Return how far the coverage of each block is from its level, in points."""
    is_inside = ((lower <= y) & (y <= upper))[N_UNSCORED:]
    n_blocks = len(is_inside) // BLOCK
    blocks = is_inside[: n_blocks * BLOCK].reshape(n_blocks, BLOCK)
    return 100.0 * np.abs(blocks.mean(axis=1) - (1.0 - ALPHA))


def of_thirds(y, lower, upper):
    """Return how far thirds by width are from the level, and their worst block."""
    scored = slice(N_UNSCORED, None)
    y, lower, upper = y[scored], lower[scored], upper[scored]
    order = np.argsort(upper - lower, kind="stable")
    thirds = [np.sort(rows) for rows in np.array_split(order, 3)]
    shares = [np.mean((lower <= y)[rows] & (y <= upper)[rows]) for rows in thirds]
    # Unscored rows come first, which `deviations` leaves out.
    padded = [np.append(np.zeros(N_UNSCORED, int), rows) for rows in thirds]
    blocks = [deviations(y[rows], lower[rows], upper[rows]) for rows in padded]
    off = 100.0 * np.abs(np.array(shares) - (1.0 - ALPHA))
    return off.mean(), np.concatenate(blocks).max()


def measure_groups(X, y):
    """Return the cells of a line of the table of groups."""
    cells, scores = [], []
    for groups in None, "auto":
        _, lower, upper = ours(X, y, groups)
        mean = deviations(y, lower, upper).mean()
        cells += [*of_thirds(y, lower, upper), mean]
        scores.append(score(y, lower, upper))
    return [*cells, scores[1] / scores[0]]


def print_groups(streams):
    """Print the table of groups."""
    print("\n".join([*GROUP_HEADERS, "-" * len(GROUP_HEADERS[0])]))
    found = []
    for name, X, y in streams:
        found.append(measure_groups(X, y))
        print(GROUP_COLUMNS(name, len(y), *in_cells(found[-1])), flush=True)
    *points, ratios = np.array(found).T
    means = [each.mean() for each in points]
    print(GROUP_COLUMNS("mean", "", *in_cells([*means, geometric_mean(ratios)])))


def in_cells(numbers):
    """Return the numbers of a line of the table of groups as text."""
    return [*(f"{each:.2f}" for each in numbers[:-1]), f"{numbers[-1]:.3f}"]


def measure(X, y, has_river):
    """Return deviations in points, and ratios of scores to those of the others."""
    p, lower, upper = ours(X, y)
    own = score(y, lower, upper)
    widths = [adaptive(y - p, step) for step in show_progress(STEPS, "steps")]
    others = [min(score(y, p - width, p + width) for width in widths)]
    if has_river:
        others += [score(y, *ends) for ends in of_river(X, y)]
    points = deviations(y, lower, upper)
    return points, [own / other for other in others]


def cost(estimator, n=5000, n_repeats=7):
    """Return the time of learning with intervals over that without."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 20))
    y = X.sum(axis=1) + rng.normal(size=n)
    times = [], []
    for _ in range(n_repeats + 1):  # the first one compiles
        for found, make in zip(
            times,
            (estimator, lambda: OnlineConformalRegressor(estimator())),
            strict=True,
        ):
            model, start = make(), perf_counter()
            model.partial_fit(X, y)
            found.append(perf_counter() - start)
    without, with_intervals = (median(found[1:]) for found in times)
    return with_intervals / without, 1e6 * (with_intervals - without) / n


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Compare prediction intervals along streams."
    )
    parser.add_argument("--data-dir", type=Path, metavar="FOLDER")
    parser.add_argument("--groups", action="store_true")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    streams = [*made_streams()]
    if arguments.data_dir is not None:
        streams += streams_of_folder(arguments.data_dir)
    if arguments.groups:
        print_groups(streams)
        return
    has_river = find_spec("river") is not None
    if not has_river:
        print("river is not installed.")
    print("\n".join([*HEADERS, "-" * len(HEADERS[0])]))
    results = {"chosen on": [], "others": []}
    for name, X, y in streams:
        points, ratios = measure(X, y, has_river)
        found = points.mean(), points.max(), *ratios
        results["chosen on" if name.endswith("*") else "others"].append(found)
        print(line(name, len(y), found), flush=True)
    for name, found in results.items():
        mean, worst, *ratios = np.array(found).T
        means = map(geometric_mean, ratios)
        print(line(f"mean, {name}", "", (mean.mean(), worst.max(), *means)))
    for estimator in HedgeRegressor, ScInOLRegressor:
        ratio, microseconds = cost(estimator)
        print(
            f"Time with intervals over that of {estimator.__name__} alone: {ratio:.2f} "
            f"({microseconds:.2f} µs a row more)."
        )


def line(name, n_rows, numbers):
    """Return a line of the table."""
    mean, worst, *ratios = numbers
    cells = [f"{mean:.2f}", f"{worst:.1f}", *(f"{ratio:.3f}" for ratio in ratios)]
    return COLUMNS(name, n_rows, *cells, *[""] * (5 - len(cells)))


if __name__ == "__main__" and (status := main()):
    sys.exit(status)

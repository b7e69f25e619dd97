"""
Alarms: false ones, and delays
==============================

Measures how many rows pass until `LossMonitor` raises an alarm, while nothing changes
and after a change, beside detectors of river with their defaults, and river's ADWIN
with the parameter that gives it as many false alarms::

    python examples/benchmarks/alarms.py

The losses are those of labels, 1 if wrong and 0 if right, with an error rate that
changes; without a change also losses of other kinds. A false alarm is the first alarm
of a stream in which nothing changes. The delay is the number of rows from the change to
the first alarm after it, in streams without an alarm before. Streams end after 200,000
rows, and 20,000 rows after a change; a detector that is silent until then counts with
these. river has to be installed, `pip install river` does it.
"""

import argparse
import sys
from importlib.util import find_spec

import numpy as np
from interface import (
    InputError,
    add_output_dir,
    gives_status,
    panels,
    positive,
    processes,
    save_figure,
    show_progress,
)
from joblib import Parallel, delayed

from sklearn_scinol.evaluation import LossMonitor

MAX_ROWS, MAX_DELAY = 200_000, 20_000
CHUNK_ROWS = 1_600
N_STREAMS = 10_000  # without a change, at the default level
N_DELAYS = 1_000

#: Losses that stay what they are, and the rate of false alarms that is asked for.
STATIONARY = {
    "error rate 0.1": (lambda rng, n: rng.random(n) < 0.1, 1e-4),
    "error rate 0.01": (lambda rng, n: rng.random(n) < 0.01, 1e-3),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1e-3),
    "Cauchy": (lambda rng, n: rng.standard_cauchy(n), 1e-3),
}
CHANGES = (0.1, 0.2), (0.1, 0.15), (0.2, 0.1)  # of the error rate
N_BEFORE = 5_000, 1_000

LEVELS = 3e-4, 1e-4, 3e-5  # of the figure
DELTAS = 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 0.9  # of ADWIN

# %%
# Detectors
# ---------
#
# Each is a function that makes one: a function that takes losses and returns the place
# of the first alarm among them, or None.


def of_scinol(false_alarm):
    monitor = LossMonitor(false_alarm)

    def update(losses):
        places = monitor.update(losses)
        return int(places[0]) if places.size else None

    return update


def of_river(name, **parameters):
    from river import drift

    detector = (drift.binary.DDM if name == "DDM" else getattr(drift, name))(
        **parameters
    )

    def update(losses):
        for place, loss in enumerate(losses.tolist()):
            detector.update(loss)
            if detector.drift_detected:
                return place
        return None

    return update


class Detector:
    """A detector by its name and parameters, which processes can be sent."""

    def __init__(self, name, **parameters):
        self.name, self.parameters = name, parameters

    def __call__(self):
        make = of_scinol if self.name == "LossMonitor" else of_river
        names = () if self.name == "LossMonitor" else (self.name,)
        return make(*names, **self.parameters)

    def __str__(self):
        values = (f"{name}={value:g}" for name, value in self.parameters.items())
        return f"{self.name}({', '.join(values)})"


# %%
# Rows until an alarm
# -------------------


def rows_to_alarm(update, generate, rng, max_rows):
    """Return the number of rows up to the first alarm, at most `max_rows`."""
    for start in range(0, max_rows, CHUNK_ROWS):
        place = update(generate(rng, min(CHUNK_ROWS, max_rows - start)))
        if place is not None:
            return start + place + 1
    return max_rows


def false_alarm(make, kind, seed):
    generate = STATIONARY[kind][0] if isinstance(kind, str) else wrong_labels(kind)
    return rows_to_alarm(make(), generate, np.random.default_rng(seed), MAX_ROWS)


def wrong_labels(rate):
    return lambda rng, n: (rng.random(n) < rate).astype(float)


def delay(make, before, after, n_before, seed):
    """Return the delay, or None if there is an alarm before the change."""
    rng, update = np.random.default_rng(seed), make()
    if update(wrong_labels(before)(rng, n_before)) is not None:
        return None
    return rows_to_alarm(update, wrong_labels(after), rng, MAX_DELAY)


class Runs:
    """Runs over many streams, in several processes."""

    def __init__(self, n_jobs):
        self.parallel = Parallel(n_jobs=n_jobs, batch_size=20)
        self.known = {}

    def false_alarms(self, make, kind, n_streams):
        """Return the rows to a false alarm in each stream."""
        key = str(make), kind, n_streams
        if key not in self.known:
            seeds = range(n_streams)
            tasks = (delayed(false_alarm)(make, kind, seed) for seed in seeds)
            self.known[key] = np.array(self.parallel(tasks))
        return self.known[key]

    def delays(self, make, before, after, n_before, n_streams):
        tasks = (
            delayed(delay)(make, before, after, n_before, seed)
            for seed in range(n_streams)
        )
        return np.array([each for each in self.parallel(tasks) if each is not None])


def as_often(runs, rate, target, n_streams):
    """Return ADWIN with a mean time to a false alarm near `target`."""
    times = [
        runs.false_alarms(Detector("ADWIN", delta=delta), rate, n_streams).mean()
        for delta in DELTAS
    ]
    delta = np.exp(np.interp(-np.log(target), -np.log(times), np.log(DELTAS)))
    return Detector("ADWIN", delta=round(float(delta), 3))


# %%
# Tables
# ------


def print_bound(runs, n_streams):
    """Print the mean times to a false alarm in streams in which nothing changes."""
    print("Rows to the first false alarm")
    columns = "{:<18}{:>10}{:>10}{:>10}{:>10}".format
    print(columns("losses", "streams", "asked", "mean", "median"))
    for kind, (_, level) in show_progress(STATIONARY.items(), "false alarms"):
        make = Detector("LossMonitor", false_alarm=level)
        times = runs.false_alarms(make, kind, n_streams)
        numbers = n_streams, 1 / level, times.mean(), np.median(times)
        print(columns(kind, *(f"{number:,.0f}" for number in numbers)), flush=True)


LINE = "{:<34}{:>14}{:>18}{:>18}".format


def print_delays(runs, before, after, detectors, n_streams):
    """Print means and medians of delays; return the means by detector.

    Rows to a false alarm are measured in fewer streams for all but the first two.
    """
    print(f"\nError rate {before:g}, then {after:g}")
    titles = (f"after {n:,}" for n in N_BEFORE)
    print(LINE("rows", "false alarm", *titles))
    means = {}
    for k, make in enumerate(detectors):
        n_stationary = n_streams if k < 2 else max(n_streams // 10, 2)
        times = runs.false_alarms(make, before, n_stationary)
        sign = "≥ " if times.max() == MAX_ROWS else ""
        cells, found = [f"{sign}{times.mean():,.0f}"], []
        for n_before in N_BEFORE:
            delays = runs.delays(make, before, after, n_before, n_streams)
            is_enough = delays.size >= 20
            mean = delays.mean() if is_enough else np.nan
            found.append(mean)
            cells.append(f"{mean:,.0f}, {np.median(delays):,.0f}" if is_enough else "-")
        means[str(make)] = found
        print(LINE(str(make), *cells), flush=True)
    return means


# %%
# Figure
# ------


def draw(runs, n_streams):
    """Draw delays against rows to a false alarm."""
    changes = CHANGES[:2]
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    figure, axes = panels(len(changes), len(changes), 4.5, 3.2)
    curves = {
        "LossMonitor": [Detector("LossMonitor", false_alarm=a) for a in LEVELS],
        "ADWIN": [Detector("ADWIN", delta=delta) for delta in DELTAS],
        "ADWIN, default": [Detector("ADWIN")],
        "DDM, default": [Detector("DDM")],
        "PageHinkley, default": [Detector("PageHinkley")],
    }
    for name, makes in show_progress(curves.items(), "figure"):
        times = [
            runs.false_alarms(make, 0.1, max(n_streams // 4, 2)).mean()
            for make in makes
        ]
        for ax, (before, after) in zip(axes, changes, strict=True):
            delays = [
                runs.delays(make, before, after, N_BEFORE[0], n_streams)
                for make in makes
            ]
            points = [
                (time, each.mean())
                for time, each in zip(times, delays, strict=True)
                if each.size >= 20
            ]
            ax.plot(
                *zip(*points, strict=True) if points else ([], []), "o-", label=name
            )
            ax.set(
                title=f"error rate {before:g}, then {after:g}",
                xlabel="rows to a false alarm",
                xscale="log",
                yscale="log",
            )
            ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            ax.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
            ax.yaxis.set_minor_formatter(NullFormatter())
    axes[0].set_ylabel("delay, rows")
    axes[0].legend(fontsize="small")
    return figure


# %%
# Command line
# ------------


def parse(argv):
    parser = argparse.ArgumentParser(
        description="Measure false alarms and delays of detectors of changes."
    )
    parser.add_argument("--streams", type=positive, default=N_STREAMS, metavar="N")
    parser.add_argument("--delays", type=positive, default=N_DELAYS, metavar="N")
    parser.add_argument("--n-jobs", type=processes, default=1)
    add_output_dir(parser, "figure")
    return parser.parse_args(argv)


@gives_status
def main(argv=None):
    arguments = parse(argv)
    if find_spec("river") is None:
        raise InputError("river is not installed: `pip install river` does it.")
    runs = Runs(arguments.n_jobs)
    print_bound(runs, arguments.streams)
    ours, n = Detector("LossMonitor", false_alarm=1e-4), arguments.delays
    for before, after in CHANGES:
        target = runs.false_alarms(ours, before, n).mean()
        adwin = as_often(runs, before, target, max(n // 2, 2))
        others = [Detector(name) for name in ("ADWIN", "DDM", "PageHinkley")]
        means = print_delays(runs, before, after, [ours, adwin, *others], n)
        ratios = np.divide(means[str(ours)], means[str(adwin)])
        words = " and ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"LossMonitor / ADWIN with as many false alarms: {words}", flush=True)
    save_figure(draw(runs, n), arguments.output_dir / "alarms.png")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)

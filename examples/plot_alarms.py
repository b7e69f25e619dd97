"""
============================================
Alarms when a model is no longer what it was
============================================

A model in use may get worse without anybody noticing: customers change, a sensor ages,
other people fill in the forms. :class:`~sklearn_scinol.evaluation.LossMonitor` takes
the losses of its predictions, as the labels become known, and raises an alarm when they
have changed. There is nothing to set but the rate of false alarms.

The digits that come with scikit-learn are not shuffled: different people have written
different parts of them. One model learns the first 600 digits, and is then in use as it
is; the other one goes on learning, each digit after it has been predicted. The figure
shows the mean log loss of the latest 100 digits, the alarms, and since when the losses
have changed according to each. After 1,500 digits comes handwriting that both models
find difficult, and the one that goes on learning less so.
"""

import argparse
import sys

import matplotlib.pyplot as plt
import numpy as np
from interface import add_output_dir, gives_status
from sklearn.datasets import load_digits

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import LossMonitor

N_LEARNED, WINDOW = 600, 100


def log_losses(p, y):
    return -np.log(np.maximum(p[np.arange(len(y)), y], 1e-15))


def losses_in_use(X, y):
    """Return log losses of the later rows, by a model that learns them or not."""
    first, later = slice(None, N_LEARNED), slice(N_LEARNED, None)
    model = ScInOLClassifier().partial_fit(X[first], y[first], classes=np.arange(10))
    frozen = model.predict_proba(X[later])
    learning = model.partial_fit_predict(X[later], y[later], method="predict_proba")
    return {
        "learned 600 digits": log_losses(frozen, y[later]),
        "goes on learning": log_losses(learning, y[later]),
    }


def draw(losses, alarms):
    figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
    for name, values in losses.items():
        means = np.convolve(values, np.full(WINDOW, 1 / WINDOW), mode="valid")
        rows = np.arange(len(means)) + N_LEARNED + WINDOW
        (line,) = ax.plot(rows, means, label=name)
        for alarm in alarms[name]:
            row, change = N_LEARNED + alarm.row, N_LEARNED + alarm.change
            ax.axvline(row, color=line.get_color(), linestyle="--", label="alarm")
            ax.axvspan(change, row, color=line.get_color(), alpha=0.1)
    ax.set(xlabel="digits", ylabel=f"log loss of {WINDOW} digits", ylim=(0, None))
    ax.legend()
    return figure


@gives_status
def main(argv=None):
    parser = argparse.ArgumentParser(description="Watch the losses of two models.")
    add_output_dir(parser, "figure")
    arguments = parser.parse_args(argv)
    losses = losses_in_use(*load_digits(return_X_y=True))
    alarms = {}
    for name, values in losses.items():
        monitor = LossMonitor()
        monitor.update(values)
        alarms[name] = monitor.alarms_
        for alarm in monitor.alarms_:
            row, change = N_LEARNED + alarm.row, N_LEARNED + alarm.change
            print(f"{name}: {alarm.direction} at {row}, since about {change}")
        if not monitor.alarms_:
            print(f"{name}: no alarm")
    path = arguments.output_dir / "alarms_digits.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(losses, alarms).savefig(path, dpi=150)
    print(f"Wrote {path}")


if __name__ == "__main__" and (status := main()):
    sys.exit(status)

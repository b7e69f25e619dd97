"""The dense view of a table, row by row, from its description."""

import datetime as dt
import math
from collections import defaultdict
from itertools import pairwise

import numpy as np

from sklearn_scinol.tables.columns import TOKEN

EPOCH = dt.datetime(1970, 1, 1)


class Means:
    """Running means of targets by keys, in dicts."""

    def __init__(self, n_targets, start, n_start):
        self.total, self.weight = np.full(n_targets, n_start * start), n_start
        self.by_key = defaultdict(lambda: (np.zeros(n_targets), 0.0))

    def of_all(self):
        return self.total / self.weight if self.weight else self.total

    def of_key(self, key, smooth):
        total, n = self.by_key.get(key, (0.0, 0.0))
        return (total + smooth * self.of_all()) / (n + smooth)

    def learn(self, keys, y, c):
        for key in keys:
            total, n = self.by_key[key]
            self.by_key[key] = total + c * np.array(y), n + c
        self.total, self.weight = self.total + c * np.array(y), self.weight + c


def words_of(text):
    words = TOKEN.findall(text.lower())
    return words + [" ".join(pair) for pair in pairwise(words)]


def log_odds(shares):
    shares = np.clip(shares, 1e-6, 1.0 - 1e-6)
    return np.log(shares / (1.0 - shares))


def parts_of(when):
    """Return the seconds, hour, weekday and day of the year of a date."""
    day = dt.datetime(when.year, when.month, when.day)
    first = dt.datetime(when.year, 1, 1)
    hour = (when - day).total_seconds() / 3600.0
    seconds = (when - EPOCH).total_seconds()
    return [seconds, hour, float(when.weekday()), float((day - first).days)]


def dense_view(rows, kinds, targets, c, are_shares):
    """Return the dense rows of dicts, each before its targets are learned.

    Targets are lists, of shares of classes or of numbers, with weights `c`.
    """
    k = len(targets[0])
    means = Means(k, 1.0 / (k + 1), 1.0) if are_shares else Means(k, 0.0, 0.0)
    sums, counts, view = {}, {}, []
    link = log_odds if are_shares else np.array

    def filled(place, value):
        if value is None:
            return sums.get(place, 0.0) / max(counts.get(place, 0), 1)
        sums[place] = sums.get(place, 0.0) + value
        counts[place] = counts.get(place, 0) + 1
        return value

    for row, y, weight in zip(rows, targets, c, strict=True):
        values, keys = [], []
        for name, kind in kinds.items():
            value = row.get(name)
            if kind in ("number", "boolean"):
                is_missing = value is None or value != value
                values.append(filled(name, None if is_missing else float(value)))
            elif kind == "date":
                parts = [None] * 4 if value is None else parts_of(value)
                values += [filled((name, j), part) for j, part in enumerate(parts)]
                keys.append((name, value and value.date()))
                values += [*means.of_key(keys[-1], 20.0)]
            elif kind == "category":
                keys.append((name, value))
                values += [*means.of_key(keys[-1], 20.0)]
            else:
                words = [(name, word) for word in words_of(value or "")]
                keys += words
                of_all, n = means.of_all(), len(words)
                of_words = np.array([means.of_key(word, 2.0) for word in words])
                of_words = of_words.reshape(n, k)
                values += [*(of_words.mean(axis=0) if n else of_all)]
                values += [*(link(of_words) - link(of_all)).sum(axis=0)]
                values.append(math.log(1 + n))
        n_missing = sum(row.get(name) is None for name in kinds)
        view.append([*values, n_missing])
        means.learn(keys, y, weight)
    return view

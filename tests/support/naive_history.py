"""History of keys in plain Python: one dict a key, variances and medians as written."""

from math import exp, log, nan, sqrt
from statistics import median_low

HALF_LIVES = 1, 60, 1440, 10080


class NaiveHistory:
    """What rows and labels have told of at most `n_places` values of a key."""

    def __init__(self, n_places, n_values, n_targets):
        self.n_places, self.n_values, self.n_targets = n_places, n_values, n_targets
        self.known = {}  # in the order in which keys were last seen

    def features(self, key, t, unit, values, scale=1.0):
        """Return the features of a row, from what came before."""
        of_key = self.known.get(key)
        if of_key is None:
            n_missing = 7 * self.n_values + 4 * self.n_targets
            return [0.0, nan, 0.0, 0.0, 0.0, 0.0] + [nan] * n_missing
        gap = t - of_key["time"]
        found = [log(1 + of_key["count"]), log(1 + gap / scale)]
        for h, count in zip(HALF_LIVES, of_key["decayed"], strict=True):
            found.append(log(1 + count * self.kept(gap, h * unit)))
        for x, past in zip(values, of_key["values"], strict=True):
            found.append(past[-1] if past else nan)
            for alpha in 1 / 4, 1 / 32:
                found += self.compared(x, past, alpha)
        for k in range(self.n_targets):
            past = [target[k] for target in of_key["targets"]]
            found.append(past[-1] if past else nan)
            for alpha in 1 / 2, 1 / 8, 1 / 64:
                found.append(self.moments(past, alpha)[0] if past else nan)
        return found

    def add(self, key, t, unit, values):
        """Add a row."""
        new = {
            "time": nan,
            "count": 0,
            "decayed": [0.0] * len(HALF_LIVES),
            "values": [[] for _ in range(self.n_values)],
            "targets": [],
        }
        of_key = self.known.pop(key, new)
        if of_key is new and len(self.known) == self.n_places:
            del self.known[next(iter(self.known))]
        self.known[key] = of_key  # the last one
        gap = t - of_key["time"]
        of_key["time"], of_key["count"] = t, of_key["count"] + 1
        of_key["decayed"] = [
            1 + count * self.kept(gap, h * unit)
            for h, count in zip(HALF_LIVES, of_key["decayed"], strict=True)
        ]
        for x, past in zip(values, of_key["values"], strict=True):
            if x == x:
                past.append(x)

    def add_label(self, key, targets):
        """Add the label of a row that came before, if its key is known."""
        if key in self.known:
            self.known[key]["targets"].append(targets)

    @staticmethod
    def kept(gap, half_life):
        return exp(-log(2) * gap / half_life) if gap > 0 else 1.0

    @staticmethod
    def moments(past, alpha):
        """Return running mean and variance of all values of the past."""
        mean = variance = 0.0
        for n, x in enumerate(past):
            step = max(alpha, 1 / (n + 1))
            variance = (1 - step) * (variance + step * (x - mean) ** 2)
            mean += step * (x - mean)
        return mean, variance

    def compared(self, x, past, alpha):
        """Return the mean, the difference of `x`, and that in deviations."""
        if not past:
            return [nan, nan, nan]
        mean, variance = self.moments(past, alpha)
        difference = x - mean
        if abs(difference) < 1e-13 * max(abs(x), abs(mean)):
            difference = 0.0
        ratio = nan
        if x == x and len(past) > 1:
            ratio = 10.0 if difference > 0 else -10.0
            if variance > 0:
                ratio = max(-10.0, min(10.0, difference / sqrt(variance)))
            if difference == 0:
                ratio = 0.0
        return [mean, difference, ratio]


def in_order(times):
    """Return times of rows that do not go back, where NaN stands for missing."""
    last, found = nan, []
    for t in times:
        last = max(last, t) if last == last and t == t else (t if t == t else last)
        found.append(last)
    return found


def units(times):
    """Return the unit of times after each row: the median of the first 100 gaps."""
    last, gaps, found = nan, [], []
    for t in times:
        if t - last > 0 and len(gaps) < 100:
            gaps.append(t - last)
        last = t
        found.append(median_low(gaps) if gaps else 1.0)
    return found

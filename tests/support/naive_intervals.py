"""Slow reference of prediction intervals, in plain Python.

Sums over all rows are taken anew for each row.
"""

import math

import numpy as np

from sklearn_scinol import ScInOLRegressor

RATES = 0.2, 0.01, 0.0
STEP = 0.05


def standardised(column, is_learned):
    """Standardise each value by the values learned up to it, and itself."""
    found, column = [], np.array(column)
    for r, value in enumerate(column):
        values = [*column[:r][is_learned[:r]], value]
        sd = np.std(values)
        found.append((value - np.mean(values)) / sd if sd > 0.0 else 0.0)
    return found


def mean_size(errors, weights, rate):
    """Mean absolute error, where weights fall by `rate` with each later row."""
    learned = np.array(weights) > 0.0
    if not learned.any():
        return 0.0
    decay = (1.0 - rate) ** np.arange(learned.sum())[::-1]
    return np.average(
        np.abs(errors)[learned], weights=np.array(weights)[learned] * decay
    )


def thirds(values, is_learned):
    """Return the third of each value, by the mean and deviation up to it."""
    return [
        0 if each <= -0.43 else 1 if each <= 0.43 else 2
        for each in standardised(values, is_learned)
    ]


def correct(corrections, ends, levels, error, step):
    """Move corrections of ends by a step on the pinball losses of an error."""
    for i, (end, level) in enumerate(zip(ends, levels, strict=True)):
        if error != end:
            corrections[i] += step * (float(error > end) - (1.0 - level))


def interval_offsets(errors, weights, features, deviations, levels, groups=None):
    """Return lower and upper offsets before each row, and corrections after all.

    Features are standardised, levels are ascending, and groups labels, "auto" (of
    thirds) or None. Corrections are lists by group,
    of all rows with the key None.
    """
    n = len(errors)
    sizes = [
        [mean_size(errors[:r], weights[:r], rate) for rate in RATES] for r in range(n)
    ]
    units = [of_row[1] for of_row in sizes]
    scaled = [e / u if u > 0.0 else 0.0 for e, u in zip(errors, units, strict=True)]
    has_errors = [any(weights[:r]) for r in range(n)]
    weights = [c if u > 0.0 else 0.0 for c, u in zip(weights, units, strict=True)]
    rows = []
    for r in range(n):
        ratios = [sizes[r][0], sizes[r][2]]
        if deviations is not None:
            ratios.append(deviations[r])
        u = units[r]
        ratios = [min(ratio / u, 10.0) if u > 0.0 else 0.0 for ratio in ratios]
        # Rounded, so that values that are equal but for rounding have the same bin.
        rows.append(np.float32([*ratios, *features[r]]).astype(float))
    probabilities = [(1.0 - a) / 2.0 for a in reversed(levels)]
    probabilities += [(1.0 + a) / 2.0 for a in levels]
    quantiles = [
        ScInOLRegressor(
            loss="quantile", quantile=p, additive=True, center=False
        ).partial_fit_predict(rows, scaled, sample_weight=weights)
        for p in probabilities
    ]
    quantiles = np.sort(np.column_stack(quantiles), axis=1)
    if groups == "auto":
        is_learned = [c > 0.0 for c in weights]
        widths = [math.log1p(row[-1] - row[0]) for row in quantiles]
        of_width = thirds(widths, is_learned)
        of_prediction = thirds([row[0] for row in features], is_learned)
        sizes, places = ("narrow", "medium", "wide"), ("low", "middle", "high")
        pairs = zip(of_width, of_prediction, strict=True)
        groups = [f"{sizes[w]}, {places[p]}" for w, p in pairs]
    of_groups, heaviest = {}, {}
    least = most = 0.0
    lower, upper, k = [], [], len(levels)
    for r, group in enumerate(groups or [None] * n):
        ends = [min(max(q, least), most) for q in quantiles[r]]
        for each in dict.fromkeys([None, group]):
            corrections = of_groups.setdefault(each, [0.0] * len(ends))
            ends = [q + more for q, more in zip(ends, corrections, strict=True)]
            for j in range(k):  # from the narrowest interval outwards
                low, high = ends[k - 1 - j], ends[k + j]
                if j > 0:
                    low, high = min(low, ends[k - j]), max(high, ends[k + j - 1])
                elif low > high:
                    low = high = (low + high) / 2.0
                ends[k - 1 - j], ends[k + j] = low, high
            if weights[r] > 0.0:
                heaviest[each] = max(heaviest.get(each, 0.0), weights[r])
                step = STEP * (0.2 if groups and each is None else 1.0)
                step *= weights[r] / heaviest[each]
                correct(corrections, ends, probabilities, scaled[r], step)
        if has_errors[r]:
            lower.append([units[r] * end for end in reversed(ends[:k])])
            upper.append([units[r] * end for end in ends[k:]])
        else:
            lower.append([-math.inf] * k)
            upper.append([math.inf] * k)
        if weights[r] > 0.0:
            least, most = min(least, scaled[r]), max(most, scaled[r])
    return np.array(lower), np.array(upper), of_groups

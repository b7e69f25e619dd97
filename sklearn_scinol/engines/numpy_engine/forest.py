"""Forests of trees, a row at a time."""

import numpy as np

from ...learners import mondrian_tree


def learn_forest(
    nodes, trees, rows, targets, weights, deviations, room, log, out, start
):
    n_trees, n = len(trees.links), len(out)
    with np.errstate(all="ignore"):
        for k in range(start // n, n_trees):
            tree = mondrian_tree.one_tree(trees, k)
            for r in range(max(start - k * n, 0), n):
                c = weights.to_mean[r] if weights.given[r] > 0.0 else 0.0
                if c > 0.0 and mondrian_tree.is_full(tree):
                    mondrian_tree.unmark_saved(trees, log)
                    return k * n + r
                row = k, n_trees, r, rows.X[r], targets[r], c, deviations[r]
                mondrian_tree.learn_row(nodes, tree, *row, room, log, out[r])
    mondrian_tree.unmark_saved(trees, log)
    return n_trees * n

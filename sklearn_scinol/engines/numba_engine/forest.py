"""Loops over the rows that a forest of trees learns."""

from functools import cache

from ...learners import mondrian_tree
from .compiling import compiled, runs_loop


@runs_loop
def learn_forest(nodes, *arguments):
    """Predict rows, each before it is learned; return where room runs out."""
    return _loop(type(nodes)), (nodes, *arguments), None


@cache
def _loop(nodes):
    # Tree after tree: all of one may fit into the caches of a processor.
    def learn_forest(
        nodes, trees, rows, targets, weights, deviations, room, log, out, start
    ):
        n_trees, n = trees.links.shape[0], out.shape[0]
        for k in range(start // n, n_trees):
            tree = mondrian_tree.one_tree(trees, k)
            for r in range(max(start - k * n, 0), n):
                c = weights.to_mean[r] if weights.given[r] > 0.0 else 0.0
                if c > 0.0 and mondrian_tree.is_full(tree):
                    mondrian_tree.unmark_saved(trees, log)
                    return k * n + r
                x, y, deviation = rows.X[r], targets[r], deviations[r]
                mondrian_tree.learn_row(
                    nodes, tree, k, n_trees, r, x, y, c, deviation, room, log, out[r]
                )
        mondrian_tree.unmark_saved(trees, log)
        return n_trees * n

    return compiled(learn_forest)

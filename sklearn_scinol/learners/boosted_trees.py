"""Sums of trees, which predict rows."""

from .._portable import each, exact


@exact
def add_trees(roots, depths, links, thresholds, values, X, starts, nodes, out):
    """Add the values of the leaves of rows to predictions.

    `roots` and `depths` are of trees; `links` has the feature of each node, and its
    children: a row goes to the left if its value is at most the threshold. A leaf is
    its own left child, with an infinite threshold. `X` has all values in one axis, and
    `starts` the places of the first one of each row. The leaves of the last tree are
    left in `nodes`.
    """
    for k in range(roots.size):
        for r in each(0, nodes.size):
            nodes[r] = roots[k]
        for _ in range(depths[k]):
            for r in each(0, nodes.size):  # at a time: rows do not wait for others
                node = nodes[r]
                x = X[starts[r] + links[node, 0]]
                nodes[r] = links[node, 1 + (x > thresholds[node])]
        for j in range(out.shape[1]):
            for r in each(0, nodes.size):
                out[r, j] += values[nodes[r], j]

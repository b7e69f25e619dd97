r"""Running shares of labels, which forget earlier rows.

With :math:`\phi` the share that is forgotten, a row of class y and weight c changes the
number of rows :math:`n_k` that are remembered of each of K classes by

.. math:: n_k \leftarrow (1 - \phi) n_k + c\, 1[y = k].

With n the sum of these, a class has the probability :math:`(n_k + \alpha) / (n + \alpha
K)`, as if each class had :math:`\alpha` rows in advance.
"""

from .._portable import exact


@exact
def learn_rows(counts, targets, weights, kept, prior, out):
    """Predict rows, each before it is learned, unless its weight is 0.

    `counts` has the numbers of rows that are remembered of each class, or with each
    label, and of all. Each row leaves the share `kept` of earlier ones. Targets are
    indices of classes, or 1 and 0 for each output. `out` is filled with probabilities
    of classes, or odds of labels; each class has `prior` rows in advance.
    """
    n_outputs = out.shape[1]
    has_codes = targets.shape[1] < n_outputs
    for r in range(out.shape[0]):
        c = weights.to_mean[r] if weights.given[r] > 0.0 else 0.0
        for k in range(n_outputs):
            count, total = counts[k], counts[n_outputs]
            others = total + n_outputs * prior if has_codes else total - count + prior
            out[r, k] = (count + prior) / others
        if c > 0.0:
            for k in range(n_outputs):
                is_own = targets[r, 0] == k if has_codes else targets[r, k] > 0.0
                counts[k] = kept * counts[k] + (c if is_own else 0.0)
            counts[n_outputs] = kept * counts[n_outputs] + c

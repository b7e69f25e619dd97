"""Transformer of categories into running means of a target."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Literal

from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._docstrings import inherit_descriptions
from ..transforms.bins import N_QUANTILES
from .tabular import TableTransformer


@inherit_descriptions
class OnlineTargetEncoder(TableTransformer):
    """Encodes categories by running means of the target, on a stream.

    A category becomes the mean of the targets of earlier rows with the same value,
    shrunk towards the mean m of all earlier targets: ``(s + smooth m) / (n + smooth)``
    for n rows whose targets have the sum s [1]_. A row is encoded before its own target
    is learned. So no row knows its own target, unlike rows that a
    :class:`~sklearn.preprocessing.TargetEncoder` has been fitted to, and no folds are
    needed.

    Targets are labels or numbers. Labels of K classes have K - 1 means, the shares of
    all classes but the first; numbers have one mean for each output. There are means of
    at most 8 classes or outputs. Missing values are a category. A value that is new has
    the mean of all.

    Parameters
    ----------
    smooth : float, default=20.0
        Number of rows that the mean of all counts for.
    n_hashed : int, default=2**18
        Number of places for means, to which values are hashed: values that share one
        share a mean. However many values come, means take 8 bytes for each place, and
        8 more for each mean.

    See Also
    --------
    TableEncoder : Tables with columns of all kinds.
    sklearn.preprocessing.TargetEncoder : Means over all rows at once.

    Notes
    -----
    In an :class:`~sklearn_scinol.pipeline.OnlinePipeline` it gets the labels of rows
    after it has encoded them. :meth:`transform` encodes with what is known by now.

    The first mean of all has one more row that has each class equally, and is 0 for
    numbers. Means are in the unit of the target.

    References
    ----------
    .. [1] D. Micci-Barreca (2001). "A preprocessing scheme for high-cardinality
       categorical attributes in classification and prediction problems". SIGKDD
       Explorations 3(1).

    Examples
    --------
    >>> from sklearn_scinol.preprocessing import OnlineTargetEncoder
    >>> X = [["Oslo"], ["Rome"], ["Oslo"], ["Oslo"]]
    >>> encoder = OnlineTargetEncoder(smooth=1.0)
    >>> encoder.partial_fit_transform(X, [10.0, 20.0, 12.0, 11.0])
    array([[ 0. ],
           [10. ],
           [12.5],
           [12. ]])
    >>> encoder.transform([["Oslo"], ["Turku"]]).round(2)
    array([[11.56],
           [13.25]])
    """

    _parameter_constraints: dict = {
        **TableTransformer._parameter_constraints,
        "smooth": [Interval(Real, 0, None, closed="neither")],
        "n_hashed": [Interval(Integral, 1, 2**30, closed="both")],
    }

    def __init__(
        self,
        smooth: float = 20.0,
        *,
        n_hashed: int = 2**18,
        missing_columns: Literal["error", "ignore"] = "error",
        new_columns: Literal["error", "ignore"] = "error",
    ) -> None:
        self.smooth = smooth
        self.n_hashed = n_hashed
        self.missing_columns = missing_columns
        self.new_columns = new_columns

    # How it is done.

    def _names_out(self):
        return self._dense.names(self._encoding.groups)[:-1]

    _lacking = {"kinds": None, "interactions": None, "sparse_output": False}
    _lacking |= {"n_named": 1, "n_quantiles": N_QUANTILES}

    def _wants_targets(self, last):
        return True

    def _targets(self, y, classes):
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but "
                "the target y is None."
            )
        return super()._targets(y, classes)

    def _learn_rows(self, X, learn, reset, targets, **keywords):
        if reset and targets is None:  # what kind of means there are
            check_is_fitted(self)
        return super()._learn_rows(X, learn, reset, targets, **keywords)

    def _find_kinds(self, frame):
        return dict.fromkeys(frame.names, "category")

    def _encode_stacked(self, *arguments):
        D = super()._encode_stacked(*arguments)
        return D[:, :-1]  # the last column has the number of missing values

    def _merge_state(self, engine, shards, sources):
        placements = super()._merge_state(engine, shards, sources)
        own = slice(-1)  # see `_encode_stacked`: the last one is in neither model
        return [
            each and each.take(own).reversed().take(own).reversed()
            for each in placements
        ]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

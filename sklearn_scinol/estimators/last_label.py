"""Classifier that predicts the labels that came last."""

from __future__ import annotations

from numbers import Real
from typing import Literal

from sklearn.utils._param_validation import Interval

from .._docstrings import inherit_descriptions
from .._typing import ClassWeight
from ..models.last_label import LastLabelModel
from .classifier import OnlineClassifier
from .forest import DIRICHLET
from .one_pass import OnePassMixin


@inherit_descriptions
class LastLabelClassifier(OnePassMixin, OnlineClassifier):
    r"""Classifier that expects the labels that came last, whatever the features are.

    It is a baseline for streams, on which labels often come in runs or in turns: a
    model of the features should beat it. As an expert of
    :class:`~sklearn_scinol.HedgeClassifier`, where it is by default, it adds what the
    last labels tell to what the features tell.

    A row costs O(n_classes).

    Parameters
    ----------
    forgetting : float, default=0.95
        Share of earlier rows that each row takes away. With 1 the last label alone
        counts, with 0 all labels count alike.
    dirichlet : float, default=None
        Number of rows that each class has in advance, from 1e-10 to 1e10; None stands
        for ``0.5 / n_classes``.

    See Also
    --------
    sklearn_scinol.HedgeClassifier : Mixture of experts, of which this is one.
    sklearn.dummy.DummyClassifier : Predicts by the labels of all rows at once.

    Notes
    -----
    With :math:`\phi` for `forgetting`, a row of class y and weight c changes the number
    of rows :math:`n_k` that are remembered of each of K classes by

    .. math:: n_k \leftarrow (1 - \phi) n_k + c\, 1[y = k].

    The weight is relative to the mean of those up to the row. With n the sum over the
    classes, a class has the probability :math:`(n_k + \alpha) / (n + \alpha K)`, where
    :math:`\alpha` is `dirichlet`. It is 0.0005 in the default expert: so little that a
    mixture sees which labels came before the last one. The loss is the logarithmic one.
    Each of several labels a row is predicted alone, as one of two classes.

    A prediction is for the row that comes next: all rows of a call have the same one.
    Where labels are late, the last one is the last that came. With
    :func:`~sklearn_scinol.merge_models` the numbers :math:`n_k` are means over the
    models by their rows, or with ``forgetting=0`` sums.

    Examples
    --------
    >>> from sklearn_scinol.baselines import LastLabelClassifier
    >>> X = [[0.0]] * 6
    >>> y = ["on", "on", "on", "off", "off", "off"]
    >>> model = LastLabelClassifier()
    >>> model.partial_fit_predict(X, y, classes=["off", "on"]).tolist()
    ['off', 'on', 'on', 'on', 'off', 'off']
    >>> model.predict_proba(X[:1]).round(3)
    array([[0.839, 0.161]])
    """

    _own_constraints: dict = {
        "forgetting": [Interval(Real, 0.0, 1.0, closed="both")],
        "dirichlet": DIRICHLET,
    }
    _lacking = {"loss": "log_loss"}

    def __init__(
        self,
        *,
        forgetting: float = 0.95,
        dirichlet: float | None = None,
        class_weight: ClassWeight = None,
        new_classes: Literal["error", "add"] = "error",
    ) -> None:
        self.forgetting = forgetting
        self.dirichlet = dirichlet
        self.class_weight = class_weight
        self.new_classes = new_classes

    _model_types = (LastLabelModel,)

    def _new_model(self, X, loss):
        sizes = X.shape[1], self._n_outputs(loss)
        return LastLabelModel(
            loss,
            *sizes,
            forgetting=float(self.forgetting),
            dirichlet=None if self.dirichlet is None else float(self.dirichlet),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

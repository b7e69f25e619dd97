"""A model of every kind, and rows that it learns."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier

from sklearn_scinol import (
    AdaFTRLClassifier,
    AdaFTRLRegressor,
    AdaImplicitClassifier,
    AdaImplicitRegressor,
    DFEGClassifier,
    DFEGRegressor,
    HedgeClassifier,
    HedgeRegressor,
    MondrianForestClassifier,
    MondrianForestRegressor,
    OnlineConformalClassifier,
    OnlineConformalRegressor,
    OnlineExtraTreesClassifier,
    OnlineExtraTreesRegressor,
    OnlineKNeighborsClassifier,
    OnlineKNeighborsRegressor,
    OnlineNewtonClassifier,
    OnlineNewtonRegressor,
    ScInOLClassifier,
    ScInOLRegressor,
)
from sklearn_scinol.baselines import (
    BaselineClassifier,
    BaselineRegressor,
    LastLabelClassifier,
)
from sklearn_scinol.learners import BASELINES
from sklearn_scinol.pipeline import make_online_pipeline
from sklearn_scinol.preprocessing import (
    OnlineBinner,
    OnlineScaler,
    RandomFourierFeatures,
    TableEncoder,
)

N_ROWS = 24
CLASSES = np.array(["a", "b", "c"])


class Kind(NamedTuple):
    """An estimator, and how it gets the rows of its stream."""

    estimator: BaseEstimator
    n_outputs: int = 1
    container: type = np.array
    n_labels: int = 0

    def learn(self, model, half):
        """Learn a half of the stream, 0 or 1."""
        start = half * N_ROWS // 2
        here = slice(start, start + N_ROWS // 2)
        classes = {}
        if is_classifier(model) and not self.n_labels:
            classes["classes"] = CLASSES if self.n_outputs > 1 else CLASSES[:2]
        return model.partial_fit(self.rows()[here], self.targets()[here], **classes)

    def answers(self, model):
        """Return predictions of the first rows, as a list."""
        ask = model.predict
        for method in "predict_interval", "predict_set", "decision_function":
            if hasattr(model, method):
                ask = getattr(model, method)
                break
        return ask(self.rows()[:6]).tolist()

    # Made without random numbers, which may be others with another NumPy.

    def rows(self):
        numbers = 7919 * np.arange(1, 3 * N_ROWS + 1) % 1013
        X = (numbers.reshape(N_ROWS, 3) / 512 - 1.0) * [1.0, 0.01, 3.0]
        X[::3, 1] = 0.0
        if getattr(self.estimator, "kernel", None) == "precomputed":
            return X @ X.T
        return self.container(X)

    def targets(self):
        if self.n_labels:
            numbers = np.arange(N_ROWS * self.n_labels) ** 2 % 11
            return (numbers % 2).reshape(N_ROWS, self.n_labels)
        numbers = np.arange(N_ROWS * self.n_outputs) ** 2 % 11
        if not is_classifier(self.estimator):
            shape = (N_ROWS, self.n_outputs) if self.n_outputs > 1 else N_ROWS
            return numbers.reshape(shape) / 4.0
        return CLASSES[numbers[:N_ROWS] % (3 if self.n_outputs > 1 else 2)]


def experts(ours, baseline):
    kernel = DFEGClassifier if is_classifier(ours()) else DFEGRegressor
    scaled = baseline("adagrad", center="auto", scale=True)
    return [("scinol", ours()), ("adagrad", scaled), ("kernel", kernel())]


OF_LABELS = experts(ScInOLClassifier, BaselineClassifier)
OF_NUMBERS = experts(ScInOLRegressor, BaselineRegressor)
CROSSED = {"kinds": {"x1": "category"}, "interactions": [("x0", "x1")]}
ENCODER = TableEncoder(**CROSSED, n_hashed=8, n_named=4)
FEW_FEATURES = {"random_features": 5, "random_state": 0}
WIDE = {"shared_covariance": True, "clip_deviations": 1.5, **FEW_FEATURES}
AS_GIVEN = {"center": False, "scale": False}
SEEDED = {"random_state": 0}


KINDS = {
    "scinol2": Kind(ScInOLClassifier(scale=True, average=5), 3),
    "scinol2-new_classes": Kind(
        ScInOLClassifier(class_weight="balanced", new_classes="add"), 3
    ),
    "scinol1": Kind(ScInOLRegressor("quantile", algorithm="scinol1"), 2),
    "quantiles": Kind(ScInOLRegressor(loss="quantile", quantile=[0.1, 0.5, 0.9])),
    "scinol2-sparse": Kind(
        ScInOLRegressor("huber", scale=True, standardize_target=True),
        container=sparse.csr_array,
    ),
    "constant-sparse": Kind(
        AdaImplicitClassifier(algorithm="constant", scale=True, moment_forgetting=0.1),
        3,
        sparse.csr_array,
    ),
    "scinol2-clipped": Kind(ScInOLRegressor(clip_ratio=1.5)),
    "table": Kind(make_online_pipeline(OnlineScaler(), ENCODER, ScInOLClassifier()), 3),
    "bins": Kind(make_online_pipeline(OnlineBinner(5), ScInOLRegressor())),
    "fourier": Kind(
        make_online_pipeline(
            RandomFourierFeatures(n_components=5, random_state=0), ScInOLRegressor()
        )
    ),
    "adaimplicit": Kind(AdaImplicitRegressor("squared_error", radius=2.0), 2),
    "iomd": Kind(AdaImplicitClassifier("squared_hinge", algorithm="iomd", average=3)),
    "adaftrl-koolen": Kind(AdaFTRLRegressor("epsilon_insensitive")),
    "adaftrl-orabona_pal": Kind(AdaFTRLClassifier("hinge", tuning="orabona_pal"), 3),
    "dfeg": Kind(DFEGClassifier(class_weight={"a": 2.0, "b": 1.0})),
    "online_newton": Kind(OnlineNewtonClassifier()),
    "online_newton-classes": Kind(OnlineNewtonClassifier(forgetting=0.01), 3),
    "online_newton-shared_covariance": Kind(
        OnlineNewtonClassifier(forgetting=0.01, shared_covariance=True), 3
    ),
    "online_newton-random_features": Kind(OnlineNewtonClassifier(**FEW_FEATURES)),
    "online_newton-wide": Kind(OnlineNewtonClassifier(**WIDE, **AS_GIVEN), 3),
    "online_newton-regression": Kind(OnlineNewtonRegressor("huber", clip_ratio=2.0), 2),
    "online_newton-vovk": Kind(OnlineNewtonRegressor(vovk=True, **AS_GIVEN)),
    "kernel": Kind(DFEGClassifier(kernel="rbf", average=True), 3),
    "kernel-budget": Kind(DFEGRegressor(kernel="poly", max_support=6)),
    "kernel-sparse": Kind(DFEGRegressor(kernel="rbf"), 2, sparse.csr_array),
    "kernel-precomputed": Kind(DFEGClassifier(kernel="precomputed")),
    "neighbors": Kind(OnlineKNeighborsClassifier(3, window=9), 3),
    "neighbors-candidates": Kind(
        OnlineKNeighborsClassifier(3, window=9, n_candidates=4), 3
    ),
    "neighbors-regression": Kind(OnlineKNeighborsRegressor(window=9), 2),
    "forest": Kind(MondrianForestClassifier(2, **SEEDED), 3),
    "forest-regression": Kind(MondrianForestRegressor(2, **SEEDED), 2),
    "extra-trees": Kind(
        OnlineExtraTreesClassifier(2, penalty=0.0, window=20, **SEEDED), 3
    ),
    "extra-trees-regression": Kind(
        OnlineExtraTreesRegressor(2, penalty=0.0, **SEEDED), 2
    ),
    "last-label": Kind(LastLabelClassifier(), 3),
    "last-label-sparse": Kind(
        LastLabelClassifier(class_weight="balanced"), 3, sparse.csr_array
    ),
    "constant": Kind(
        AdaImplicitRegressor(algorithm="constant", standardize_target=True)
    ),
    "additive": Kind(ScInOLClassifier(additive=True), 3),
    "hedge": Kind(HedgeClassifier(OF_LABELS), 3),
    "hedge-regression": Kind(HedgeRegressor(OF_NUMBERS), 2),
    "label-sets": Kind(OnlineConformalClassifier(ScInOLClassifier()), 3),
    "label-sets-by-column": Kind(
        OnlineConformalClassifier(ScInOLClassifier(), groups=[0, 1]), 3
    ),
    "intervals-by-thirds": Kind(
        OnlineConformalRegressor(ScInOLRegressor(), groups="auto")
    ),
    "intervals": Kind(
        OnlineConformalRegressor(
            HedgeRegressor(OF_NUMBERS), confidence_level=[0.5, 0.9]
        ),
        2,
    ),
    "hedge-quantiles": Kind(
        HedgeRegressor(OF_NUMBERS, loss="quantile", quantile=[0.1, 0.9])
    ),
    "scinol2-labels": Kind(ScInOLClassifier(average=5), n_labels=3),
    "forest-labels": Kind(MondrianForestClassifier(2, **SEEDED), n_labels=2),
    "extra-trees-labels": Kind(
        OnlineExtraTreesClassifier(2, penalty=0.0, **SEEDED), n_labels=2
    ),
    "last-label-labels": Kind(LastLabelClassifier(), n_labels=3),
    "hedge-labels": Kind(HedgeClassifier(OF_LABELS), n_labels=2),
    **{f"baseline-{name}": Kind(BaselineRegressor(name)) for name in BASELINES},
}

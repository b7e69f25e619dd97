"""Progressive validation of classifiers of several labels a row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    f1_score,
    hamming_loss,
    log_loss,
    make_scorer,
    roc_auc_score,
)
from sklearn.neural_network import MLPClassifier

from sklearn_scinol import ScInOLClassifier
from sklearn_scinol.evaluation import progressive_validation

N_ROWS = 120


def data(n_labels):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 4))
    Y = X[:, :n_labels] + rng.normal(size=(N_ROWS, n_labels)) > 0.0
    return X, Y.astype(int)


def stream(X, Y, container=np.asarray, size=30):
    for start in range(0, N_ROWS, size):
        rows = slice(start, start + size)
        yield X[rows], container(Y[rows])


def mean_over_labels(metric, Y, P, **keywords):
    return np.mean([metric(*each, **keywords) for each in zip(Y.T, P.T, strict=True)])


#: What each scorer stands for, of labels, predicted labels and probabilities.
EXPECTED = {
    "neg_log_loss": lambda Y, L, P, **c: -mean_over_labels(log_loss, Y, P, **c),
    "accuracy": lambda Y, L, P, **c: accuracy_score(Y, L, **c),
    "neg_brier_score": lambda Y, L, P, **c: (
        -mean_over_labels(brier_score_loss, Y, P, **c)
    ),
    "roc_auc": lambda Y, L, P, **c: roc_auc_score(Y, P, **c),
    "average_precision": lambda Y, L, P, **c: average_precision_score(Y, P, **c),
    "f1_macro": lambda Y, L, P, **c: f1_score(Y, L, average="macro", **c),
    "f1_micro": lambda Y, L, P, **c: f1_score(Y, L, average="micro", **c),
}


@pytest.mark.thorough
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_labels", [2, 3])
def test_metrics(n_labels, container):
    X, Y = data(n_labels)
    model = ScInOLClassifier()
    P = model.partial_fit_predict(X, Y, method="predict_proba")
    for name, expected in EXPECTED.items():
        result = progressive_validation(
            ScInOLClassifier(), stream(X, Y, container), metrics=name, progress=False
        )
        assert_allclose(result.scores[name], expected(Y, P > 0.5, P), rtol=1e-12)


def test_default_metrics_weights_and_windows():
    X, Y = data(3)
    c = np.random.default_rng(1).integers(0, 3, N_ROWS) / 2.0
    P = ScInOLClassifier().partial_fit_predict(
        X, Y, sample_weight=c, method="predict_proba"
    )
    halves = [slice(0, 60), slice(60, None)]
    result = progressive_validation(
        ScInOLClassifier(),
        [(X[rows], Y[rows], c[rows]) for rows in halves],
        window=20,
        progress=False,
    )
    assert [*result.scores] == ["neg_log_loss", "accuracy"]
    learned = np.flatnonzero(c)
    latest = learned[-20:]
    for name, score in result.scores.items():
        expected = EXPECTED[name]
        for rows, actual in (
            (learned, score),
            (latest, result.window_curves[name][-1]),
        ):
            of_rows = Y[rows], P[rows] > 0.5, P[rows]
            assert_allclose(actual, expected(*of_rows, sample_weight=c[rows]))


def test_metrics_of_labels_together():
    """One pass of scores, by which labels are told, with other metrics of labels."""
    X, Y = data(3)
    model = ScInOLClassifier(loss="hinge")
    labels = model.partial_fit_predict(X, Y)
    metrics = {
        "hamming": make_scorer(hamming_loss, greater_is_better=False),
        "auc": "roc_auc",
    }
    result = progressive_validation(
        ScInOLClassifier(loss="hinge"), stream(X, Y), metrics=metrics, progress=False
    )
    assert_allclose(result.scores["hamming"], -hamming_loss(Y, labels))
    result = progressive_validation(
        ScInOLClassifier(loss="hinge"), stream(X, Y), progress=False
    )
    assert result.scores == {"accuracy": accuracy_score(Y, labels)}


def test_other_packages():
    X, Y = data(3)
    model = MLPClassifier((3,), random_state=0)
    result = progressive_validation(model, stream(X, Y), progress=False)
    by_hand = MLPClassifier((3,), random_state=0)
    answers = []
    for number, (rows, labels) in enumerate(stream(X, Y)):
        if number:
            answers.append(by_hand.predict_proba(rows))
        by_hand.partial_fit(rows, labels, classes=range(3))
    P = np.concatenate(answers)
    for name, score in result.scores.items():
        assert_allclose(score, EXPECTED[name](Y[30:], P > 0.5, P), rtol=1e-12)


def test_metrics_that_do_not_take_labels():
    X, Y = data(2)
    with pytest.raises(ValueError, match="multilabel-indicator is not supported"):
        progressive_validation(
            ScInOLClassifier(),
            stream(X, Y),
            metrics="balanced_accuracy",
            progress=False,
        )

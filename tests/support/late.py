"""Labels that come late, plainly: rows by keys, one row and one label at a time."""

from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer

from sklearn_scinol.evaluation import progressive_validation


def plainly(model, rows, y, times, known, method="predict", c=None, **classes):
    """Predict each row at its time, and learn its label when that is known.

    Labels that are never known have the time None. Returns labels and predictions of
    the rows that are scored, in the order in which they are learned.
    """
    late = model.row_by_row(**classes).with_late_labels(max_waiting=len(y))
    labels, predictions, predicted, waiting = [], [], {}, []

    def learn(until):
        due = [i for i in waiting if known[i] is not None and known[i] <= until]
        for i in sorted(due, key=lambda i: (known[i], i)):
            late.learn_one(i, y[i], None if c is None else c[i])
            waiting.remove(i)
            if i in predicted:
                labels.append(y[i])
                predictions.append(predicted[i])

    for i in range(len(y)):
        learn(times[i])
        waiting.append(i)
        try:
            predicted[i] = getattr(late, f"{method}_one")(rows[i], i)
        except NotFittedError:
            late.keep_one(rows[i], i)
    learn(max(each for each in known if each is not None))
    return labels, predictions


def validated(model, stream, method="predict", **given):
    """Labels and predictions of the rows that are scored, in order, and the result."""
    rows = []

    def metric(y, predictions, **weights):
        rows[:] = y, predictions
        return 0.0

    metrics = {"rows": make_scorer(metric, response_method=method)}
    given |= {"metrics": metrics, "progress": False}
    result = progressive_validation(model, stream, **given)
    return *rows, result

"""The scale on which a mixture takes the mean of its experts."""

import numpy as np

from ..losses import JOINT, as_targets, identity
from ..losses.methods import is_by_output

# Bound on probabilities of estimators from elsewhere: a class may have probability 0
# and still come.
MIN_LOG_PROBABILITY = np.log(np.finfo(np.float64).eps)


class MixingScale:
    """The scale on which experts are mixed: predictions, or probabilities of scores.

    Under a convex loss the mean of predictions costs at most the mean of the experts'
    losses. With a loss that has a link, probabilities are mixed. The mixture is then
    charged the mix loss for the learning rate 1, which is at most the mean of the
    experts' losses, and far less where these differ much.

    Parameters
    ----------
    n_classes : int or None
        Number of classes of which a row has one; 2 for each of several labels, None in
        regression.

    Attributes
    ----------
    kind : {"mean", "log_odds", "softmax"}
        How engines take the mean.
    """

    def __init__(self, loss, n_outputs, n_classes):
        self.loss = loss
        self.n_outputs = n_outputs
        self.n_classes = n_classes
        self.kind = "mean"
        if hasattr(loss, "log_probabilities"):
            self.kind = "softmax" if self.shares_weights else "log_odds"

    @property
    def shares_weights(self):
        """Whether outputs share their weights, as those of three and more classes."""
        return self.n_classes is not None and self.n_classes > 2

    @property
    def learning_rate(self):
        """Rate for which the loss of the mixture is mixable, or None."""
        return None if self.kind == "mean" else 1.0

    @property
    def key(self):
        """Key of the scale."""
        return identity(self.loss), self.n_outputs, self.n_classes, self.kind

    def of_weights(self, k):
        """Return the scale of one set of weights."""
        if not is_by_output(self.loss):
            return self
        return MixingScale(self.loss.of_output(k), 1, self.n_classes)

    def methods(self, is_native):
        """Names of the methods to ask an estimator for, the first that it has."""
        if self.kind == "mean":
            return ("decision_function",) if self.n_classes else ("predict",)
        if not is_native:
            return "predict_proba", "decision_function"
        if self.kind == "log_odds":
            return ("decision_function",)  # which is log odds
        return "predict_log_proba", "decision_function"

    def from_decision(self, p, loss):
        """Convert predictions of a model with some loss.

        A model of one output makes the same prediction for all of several quantiles.
        """
        if is_by_output(self.loss):
            return np.ascontiguousarray(np.broadcast_to(p, (len(p), self.n_outputs)))
        if self.kind != "softmax" or type(loss) in JOINT.values():
            return p
        link = getattr(loss, "log_probabilities", None)
        return p if link is None else np.ascontiguousarray(link(p))

    def read(self, answer, method):
        """Convert what a method of an estimator returned, to shape (n, n_outputs)."""
        if method == "predict_proba":
            if self.n_outputs > 1 and self.kind == "log_odds":
                answer = np.stack([1.0 - answer, answer], axis=-1)
            with np.errstate(divide="ignore"):
                answer = np.maximum(np.log(answer), MIN_LOG_PROBABILITY)
            if self.kind == "log_odds":
                answer = answer[..., 1] - answer[..., 0]
        answer = answer.reshape(len(answer), -1)
        if is_by_output(self.loss):
            answer = np.broadcast_to(answer, (len(answer), self.n_outputs))
        return np.ascontiguousarray(answer)

    def targets(self, y):
        """Convert indices of classes, or one-vs-rest targets, to those of the loss."""
        codes = y if y.ndim == 1 else y.argmax(axis=1)
        return as_targets(codes, self.loss, self.n_outputs)

    def losses_of_weights(self, k, losses):
        """Select losses for a set of weights, of losses (..., n_outputs or 1)."""
        if not self.shares_weights:
            return losses[..., k]
        return losses[..., 0] if losses.shape[-1] == 1 else losses.sum(axis=-1)

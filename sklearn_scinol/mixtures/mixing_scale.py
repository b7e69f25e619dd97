"""What experts say, as a mixture takes the mean of it."""

import numpy as np

from ..losses import identity

__all__ = ["MixingScale"]

# What an expert from elsewhere holds to be impossible may happen all the same.
MIN_LOG_PROBABILITY = np.log(np.finfo(np.float64).eps)


class MixingScale:
    """What is mixed: predictions, or the probabilities that belong to scores.

    A convex loss charges the mean of predictions no more than the mean of what it
    charges the experts; with classes, all outputs have the same weights. Of a loss with
    a link probabilities are mixed. The loss is convex in them, and more than that: the
    mixture is charged the mix loss for the learning rate 1, which is never more than
    the mean of the experts' losses and far less where these differ much.

    Parameters
    ----------
    loss : Loss
    n_outputs : int
    n_classes : int or None
        None in regression.

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
            self.kind = "log_odds" if n_outputs == 1 else "softmax"

    @property
    def learning_rate(self):
        """Rate that the loss of the mixture is mixable with, or None."""
        return None if self.kind == "mean" else 1.0

    def has(self, loss):
        """Whether this is its own loss."""
        return identity(loss) == identity(self.loss)

    def methods(self, is_native):
        """Methods of estimators to ask, in this order."""
        if self.kind == "mean":
            return ("decision_function",) if self.n_classes else ("predict",)
        if not is_native:
            return "predict_proba", "decision_function"
        if self.n_outputs == 1:
            return ("decision_function",)  # which is log odds
        return "predict_log_proba", "decision_function"

    def of_decision(self, p, loss):
        """Predictions under a loss of this package, as what is mixed."""
        if self.kind != "softmax" or loss.joint:
            return p
        link = getattr(loss, "log_probabilities", None)
        return p if link is None else link(p)

    def read(self, answer, method):
        """Answer of a method of an estimator, as one of shape (n, n_outputs)."""
        if method == "predict_proba":
            with np.errstate(divide="ignore"):
                answer = np.maximum(np.log(answer), MIN_LOG_PROBABILITY)
            if self.n_outputs == 1:
                answer = answer[:, 1:] - answer[:, :1]
        return np.ascontiguousarray(answer.reshape(len(answer), -1))

    def prior_prediction(self, n):
        """Answer of an expert that has learned nothing: all classes are the same."""
        return np.zeros((n, self.n_outputs))

    def of_hedge(self, k, losses):
        """Of losses (..., n_outputs or 1), those of the set of weights `k`."""
        if not self.n_classes:
            return losses[..., k]
        return losses[..., 0] if losses.shape[-1] == 1 else losses.sum(axis=-1)

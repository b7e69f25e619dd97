"""Slow reference of running shares of labels, by sums over all rows, in fractions."""

from fractions import Fraction

__all__ = ["LastLabels"]


class LastLabels:
    """The labels of all rows so far, with their weights."""

    def __init__(self, forgetting, prior=0.5):
        self.kept, self.prior = 1 - Fraction(forgetting), Fraction(prior)
        self.rows = []

    def predict(self, classes):
        """Return probabilities of classes, by weights that fall with age."""
        found, total = dict.fromkeys(classes, Fraction(0)), Fraction(0)
        for age, (label, c) in enumerate(reversed(self.rows)):
            found[label] += self.kept**age * c
            total += self.kept**age * c
        total, own = total + self.prior, self.prior / len(classes)
        return [float((count + own) / total) for count in found.values()]

    def learn(self, label, c):
        """Learn a row, of a weight relative to the mean up to it."""
        if c > 0.0:
            self.rows.append((label, Fraction(c)))

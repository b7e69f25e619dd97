"""Loop over the labels of rows."""

from ...learners import label_shares
from .compiling import runs_loop, strict

_learn_labels = strict(label_shares.learn_rows)


@runs_loop
def learn_labels(*arguments):
    """Predict rows by shares of labels, each before it is learned."""
    return _learn_labels, arguments, None

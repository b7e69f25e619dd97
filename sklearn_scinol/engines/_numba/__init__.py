"""The loops over rows compiled by Numba: one coordinate at a time.

The only place that imports Numba. The formulas of a learner and a loss are compiled
from the same source that NumPy runs: as methods, looked up in the class of the
NamedTuple that a kernel is given. A kernel is a loop put together from these and from
parts that depend on the learner, as plain functions that it closes over.

What makes the loops fast, each measured: no check for division by zero
(``error_model``); permission to reorder sums, without which they are not vectorised;
one compiled variant for a single output; the state of dense rows as one contiguous
array a field, that of sparse rows as one record a coordinate, gathered into contiguous
buffers for the row and put back after it.
"""

from ._combination import learn_combination
from ._linear import learn
from ._rounds import learn_rounds

__all__ = ["learn", "learn_combination", "learn_rounds"]

"""The loops compiled by Numba: one coordinate at a time.

The only place that imports Numba. The formulas of a learner and a loss are compiled
from the same source that NumPy runs: `flattening/` puts them, and the parts of a loop
that depend on the learner, in place of their calls, so that Numba compiles one function
a loop.

What makes the loops fast, each measured: no check for division by zero
(``error_model``); permission to reorder sums, without which they are not vectorised;
one compiled variant for a single output; the state of dense rows as one contiguous
array a field, that of sparse rows as one record a coordinate; a coordinate's state in
registers while a row's pass works on it; dense rows learned by the pass that predicts
the next one.
"""

from numpy import stack

from ...blocks import run
from .compiling import run_loop
from .learning import learn_rows
from .losses import compute_losses, norm
from .matrices import inverse
from .mixing import learn_rounds, mix
from .neighbors import learn_neighbors
from .recording import Recorder, SavedArrays
from .sharing import share_compiling
from .tables import find_slots, hash_strings, join_entries
from .transforms import (
    add_codes,
    first_values,
    fourier_features,
    transform_rows,
)

#: See :class:`Engine`. Signals wait for compiled code to end.
LEARNS_AT_ONCE = True

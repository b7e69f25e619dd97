"""The loops in NumPy: a row at a time, all coordinates and outputs at once."""

import numpy as np
from numpy import stack

from ..._portable import inverse
from ...blocks import run
from .learning import learn_rows
from .losses import compute_losses, norm
from .mixing import learn_rounds, mix
from .neighbors import learn_neighbors
from .tables import find_slots, hash_strings, join_entries
from .transforms import (
    add_codes,
    first_values,
    fourier_features,
    transform_rows,
)

#: See :class:`Engine`. Python may be interrupted anywhere.
LEARNS_AT_ONCE = False

#: See :class:`Engine`. NumPy does not record calls, whose overhead matters little.
Recorder = None

#: See :class:`Engine`. Nothing is compiled.
share_compiling = None


def run_loop(loop, *arguments):
    with np.errstate(all="ignore"):
        return loop(*arguments)

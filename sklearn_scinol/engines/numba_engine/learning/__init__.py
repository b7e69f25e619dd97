"""Learning rows one after the other: the loops over dense and over sparse rows.

Both take the same steps with a row, in `steps` and `outputs`; what a loop does not
need, by its :class:`.arguments.Variant`, is left out when it is compiled. They differ
in how a row is loaded, and in when it is learned: a sparse row at once, a dense row by
the pass over coordinates that predicts the next one.
"""

from .call import learn_call, learn_rows

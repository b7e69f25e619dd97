"""Learning rows one after the other: the loop over dense or over sparse rows.

What rows of one kind, or a learner, do not need, by the :class:`.arguments.Variant`, is
left out when the loop is compiled. Kinds differ in how a row is loaded, and in when it
is learned: a sparse row at once, a dense row by the pass over coordinates that predicts
the next one.
"""

from .call import learn_call, learn_rows

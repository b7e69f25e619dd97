"""Put a function and all that it calls together as one flat function.

Numba takes 60 to 80 ms for each function that compiled code calls, however short, and
compiles branches that are never taken. So formulas are put in place before Numba sees
them: a call becomes the body of what it calls, a branch whose condition is known the
branch that is taken, a NamedTuple its fields. Formulas, learners and losses stay
ordinary Python.
"""

from .flattener import Flattener
from .source import parsed
from .values import getter, named, shape, structure

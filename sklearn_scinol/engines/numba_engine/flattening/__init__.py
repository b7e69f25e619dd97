"""Put a function and all that it calls together as one flat function.

Numba takes 60 to 80 ms for each function that compiled code calls, however short, and
compiles branches that are never taken. So formulas are put in place before Numba sees
them: a call becomes the body of what it calls, a branch whose condition is known the
branch that is taken, a NamedTuple its fields. Formulas, learners and losses stay
ordinary Python, and :func:`flatten` returns what became of them.
"""

import ast

from .flattener import Flattener
from .source import parsed, walk
from .unneeded import without_unread
from .values import getter, named, names_of, shape, structure


def flatten(function, values, flattener, takes_all=False):
    """Flatten a function whose arguments stand for `values`.

    It takes the parts of the arguments that it reads, or all of them. Returns the
    source, global names in it, and the names of the parts of arguments that it takes.
    """
    flattener.main(function, values)
    body = without_unread(flattener.block) or [ast.Pass()]
    arguments = [name for value in values for name in names_of(value)]
    if not takes_all:
        read = {node.id for node in walk(body) if isinstance(node, ast.Name)}
        arguments = [name for name in arguments if name in read]
    definition = ast.FunctionDef(
        function.__name__,
        ast.arguments([], [*map(ast.arg, arguments)], None, [], [], None, []),
        body,
        [],
    )
    definition.type_params = []
    module = ast.fix_missing_locations(ast.Module([definition], []))
    return ast.unparse(module), flattener.globals, arguments

"""Loops that learners have as they stand."""

from functools import cache

from .compiling import OPTIONS, STRICT, compiled, is_exact, runs_loop


@runs_loop
def run_loop(loop, *arguments):
    """Run a loop; return what it returns."""
    kinds = tuple(type(each) for each in arguments if isinstance(each, tuple))
    return _compiled(loop, kinds), arguments, None


@cache
def _compiled(loop, kinds):
    return compiled(loop, STRICT if is_exact(loop) else OPTIONS)

"""Loops that learners have as they stand."""

from functools import cache

from .compiling import OPTIONS, STRICT, compiled, is_exact, runs_loop


@runs_loop
def run_loop(loop, *arguments):
    """Run a loop; return what it returns."""
    return _compiled(loop, type(arguments[0])), arguments, None


@cache
def _compiled(loop, kind):
    return compiled(loop, STRICT if is_exact(loop) else OPTIONS)

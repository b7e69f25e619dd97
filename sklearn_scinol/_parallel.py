"""Calls in threads, some at a time."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from time import sleep

import sklearn
from joblib import effective_n_jobs

from ._rollback import finish
from .config import config_context, get_config

# Seconds between two looks at whether threads have ended, after an error.
WAIT = 1e-3


def run_in_turn(calls):
    """Run calls, which are tuples of a function and arguments; return the results."""
    return [function(*arguments) for function, *arguments in calls]


@contextmanager
def workers(n_jobs):
    """Give a function that does what :func:`run_in_turn` does, in some threads.

    When it returns or raises, no call runs any more that can change this memory.
    """
    n_threads = effective_n_jobs(n_jobs)
    if n_threads == 1:
        yield run_in_turn
        return
    call = partial(_call_configured, get_config(), sklearn.get_config())
    # joblib's own would look for results every 10 ms only, and leave calls running when
    # it is interrupted.
    with ThreadPoolExecutor(n_threads) as pool:
        yield lambda calls: _run_in_threads(pool, call, calls)


def _run_in_threads(pool, call, calls):
    """Run calls in threads; after an error, wait for calls that have begun."""
    running, has_failed = set(), False

    def run(each):
        this = object()
        running.add(this)
        try:
            return None if has_failed else call(*each)
        finally:
            running.discard(this)

    def wait():
        # The pool's own locks may be in any state when its calls are interrupted.
        while running:
            sleep(WAIT)

    try:
        return list(pool.map(run, calls))
    except BaseException:
        has_failed = True
        finish(wait)
        raise


def _call_configured(config, sklearn_config, function, *arguments):
    """Call a function in a thread that has no configuration."""
    with config_context(**config), sklearn.config_context(**sklearn_config):
        return function(*arguments)

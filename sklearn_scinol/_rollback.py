"""Rollback of estimators after calls that fail or are interrupted."""

from contextvars import ContextVar, copy_context

from ._locks import locks_of
from ._state import restore_attributes

# The last step of the pipeline that learns, and the pipeline's list of rollbacks.
_last_step: ContextVar = ContextVar("last_step", default=(None, None))


def finish(function):
    """Call a function until it ends, then raise the last interruption."""
    interruption = None
    while True:
        try:
            function()
            break
        except KeyboardInterrupt as error:
            interruption = error
    if interruption is not None:
        raise interruption


def roll_back(rollbacks):
    """Call functions that restore a state, the last one first."""
    for rollback in reversed(rollbacks):
        rollback()


class rollback_on_error:
    """Restore the attributes of an estimator if the block raises.

    The block gets a list to append functions to, which restore what it changes in
    place. The last one is called first, and each perhaps more than once.
    """

    def __init__(self, estimator):
        self._estimator = estimator
        self._before = vars(estimator).copy()
        self._rollbacks = []
        around = rollbacks_around(estimator)
        if around is not None:
            around.append(self._restore)

    def __enter__(self):
        return self._rollbacks

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            finish(self._restore)

    def _restore(self):
        # An interruption may have ended the wait for readers.
        locks_of(self._estimator).wait_for_readers()
        restore_attributes(self._estimator, self._before)
        roll_back(self._rollbacks)


def learn_as_last_step(step, rollbacks, learn, /, *args, **keywords):
    """Call a method `learn` of the last step of a pipeline.

    An estimator of this package adds its own rollback to the pipeline's: an
    interruption may come after it has learned, and before the pipeline is done.
    """
    context = copy_context()
    context.run(_last_step.set, (step, rollbacks))
    return context.run(learn, *args, **keywords)


def rollbacks_around(estimator):
    """Return the rollbacks of the pipeline whose last step is learning, if any."""
    step, rollbacks = _last_step.get()
    return rollbacks if step is estimator else None

"""Calls that fail or are interrupted, and how estimators become what they were."""

from contextvars import ContextVar, copy_context

from ._locks import locks_of

__all__ = ["finish", "learn_as_last_step", "rollback_on_error", "rollbacks_around"]

# The last step of the pipeline that is learning, and the pipeline's list of rollbacks.
_last_step: ContextVar = ContextVar("last_step", default=(None, None))


def finish(function):
    """Call a function until no interruption ends it, then raise the last one.

    Parameters
    ----------
    function : callable
        May be called again wherever it was interrupted.
    """
    interruption = None
    while True:
        try:
            function()
            break
        except KeyboardInterrupt as error:
            interruption = error
    if interruption is not None:
        raise interruption


class rollback_on_error:
    """Restore the attributes of an estimator if the block raises.

    The block is given a list, for functions that restore what is changed in place. The
    last one is called first, and each perhaps more than once.
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
        # Some may read, if the wait for them was what an interruption ended.
        locks_of(self._estimator).wait_for_readers()
        vars(self._estimator).clear()
        vars(self._estimator).update(self._before)
        for rollback in reversed(self._rollbacks):
            rollback()


def learn_as_last_step(step, rollbacks, learn, /, *args, **keywords):
    """Call a method by which the last step of a pipeline learns.

    Parameters
    ----------
    step : estimator
    rollbacks : list of callable
        The pipeline's. An estimator of this package adds how to restore it, since an
        interruption may come when it has learned, and the pipeline has not.
    learn : callable
    *args, **keywords
        What it is called with.
    """
    context = copy_context()
    context.run(_last_step.set, (step, rollbacks))
    return context.run(learn, *args, **keywords)


def rollbacks_around(estimator):
    """The list of the pipeline whose last step is learning, if it is the estimator."""
    step, rollbacks = _last_step.get()
    return rollbacks if step is estimator else None

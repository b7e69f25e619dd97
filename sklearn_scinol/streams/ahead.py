"""Work that is done ahead, in threads that end with whoever asked for it.

Threads only ever do a bounded piece of work and never wait for somebody to take it, so
that there is nothing to be stuck in: not when an iteration is abandoned, and not when
the interpreter ends, which waits for them.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

__all__ = ["map_ahead", "read_ahead"]

#: What the names of threads begin with.
NAME = "sklearn_scinol.streams"

DONE = object()


def read_ahead(iterator, n):
    """Yield what a generator yields, of which up to `n` are made ahead in a thread."""
    if n == 0:
        yield from iterator
        return
    # The pool ends first, so that no thread is in the generator when it is closed.
    with closing(iterator), _Pool(1) as pool:
        waiting = deque(pool.submit(next, iterator, DONE) for _ in range(n))
        while (item := waiting.popleft().result()) is not DONE:
            waiting.append(pool.submit(next, iterator, DONE))
            yield item


def map_ahead(function, items, n_threads):
    """Yield what a function makes of each item, in order, computed in threads."""
    if n_threads == 0:
        yield from map(function, items)
        return
    with _Pool(n_threads) as pool:
        waiting = deque()
        for item in items:
            waiting.append(pool.submit(function, item))
            if len(waiting) > n_threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


class _Pool(ThreadPoolExecutor):
    """Threads that finish what they are at, and begin nothing else, in the end."""

    def __init__(self, n_threads):
        super().__init__(n_threads, thread_name_prefix=NAME)

    def __exit__(self, *_):
        self.shutdown(cancel_futures=True)

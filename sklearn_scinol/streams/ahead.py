"""Iterators that work ahead in threads, which end with the iteration.

Threads do bounded pieces of work and never wait for a consumer: nothing blocks when an
iteration is abandoned, nor when the interpreter ends, which waits for them.
"""

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from .arrow import pa

#: Prefix of the names of threads.
NAME = "sklearn_scinol.streams"

DONE = object()


def read_ahead(iterator, n):
    """Yield the items of a generator, which a thread computes up to `n` ahead."""
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
    """Yield the function of each item, in order, computed in threads."""
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


def open_bytes(data):
    """Copy bytes to a file in the memory of pyarrow."""
    # Its threads could not release memory of Python while the interpreter ends.
    buffer = pa.allocate_buffer(len(data))
    memoryview(buffer).cast("B")[:] = data
    return pa.BufferReader(buffer)


class _Pool(ThreadPoolExecutor):
    """Threads that finish their work, and begin no other, at exit."""

    def __init__(self, n_threads):
        super().__init__(n_threads, thread_name_prefix=NAME)

    def __exit__(self, *_):
        self.shutdown(cancel_futures=True)

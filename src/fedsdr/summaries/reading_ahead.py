"""Read the next batch while sums of this one are formed."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fedsdr.blas_threads import allowed_threads

Item = TypeVar("Item")

_END: Any = object()


def read_ahead(read: Callable[[], Iterator[Item]]) -> Iterator[Item]:
    """Read one item ahead, in a thread of its own, if there are two threads.

    Parameters
    ----------
    read : callable without parameters
        Function that returns a generator. All of it runs in one thread, so that it may
        hold a connection to a database.

    Yields
    ------
    object
        What the generator yields. Its errors are raised here, and it is closed when
        the caller stops.
    """
    if allowed_threads() == 1:
        yield from read()
        return
    with ThreadPoolExecutor(1) as pool:
        items = pool.submit(read).result()
        try:
            ahead = pool.submit(next, items, _END)
            while (item := ahead.result()) is not _END:
                ahead = pool.submit(next, items, _END)
                yield item
        finally:
            pool.submit(getattr(items, "close", lambda: None)).result()

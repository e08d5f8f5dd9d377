"""How many threads products of matrices may use."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


class _Pinned:
    """Number of threads before BLAS was kept to one, and by how many callers."""

    lock = Lock()
    callers = 0
    threads = 1


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def allowed_threads() -> int:
    """Return how many threads a large computation may use.

    Returns
    -------
    int
        Number of threads that BLAS has, or had before `single_threaded_blas`; at most
        the number of cores of this process. The user sets it by ``threadpoolctl``, or
        by variables such as ``OPENBLAS_NUM_THREADS`` before Python starts.
    """
    threads = _Pinned.threads if _Pinned.callers else _blas_threads()
    return max(1, min(threads, _cores()))


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread for a while.

    The working sets are small matrices, for which threads cost more than they give:
    measured here, two threads on two busy cores made a 150 x 150 eigendecomposition a
    hundred times slower. Large products of rows are divided among threads of our own,
    see `allowed_threads`.

    Yields
    ------
    None
        Nothing.
    """
    with _Pinned.lock:
        if not _Pinned.callers:
            _Pinned.threads = _blas_threads()
        _Pinned.callers += 1
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        with _Pinned.lock:
            _Pinned.callers -= 1


def _blas_threads() -> int:
    pools = [one for one in _controller().lib_controllers if one.user_api == "blas"]
    return max((int(one.num_threads) for one in pools), default=1)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

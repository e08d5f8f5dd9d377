"""BLAS threads, set deliberately."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[object]:
    """Keep BLAS to one thread for a while.

    Returns
    -------
    context manager
        The working sets are small matrices, for which threads cost more than they
        give: measured here, two threads on two busy cores made a 150 x 150
        eigendecomposition a hundred times slower.
    """
    return _controller().limit(limits=1, user_api="blas")

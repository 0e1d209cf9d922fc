"""One thread for matrices of a hundred rows: more of them wait for each other longer than they compute."""

from __future__ import annotations

import importlib
from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller(scipy: bool) -> ThreadpoolController:
    if scipy:  # its own BLAS beside NumPy's: loaded later, it would keep all of its threads
        importlib.import_module("scipy.linalg")
    return ThreadpoolController()


def one_thread(scipy: bool = True) -> AbstractContextManager[object]:
    """Within this, BLAS and LAPACK use one thread: the cells' blocks are small, and there are many.

    Where only NumPy multiplies, SciPy's BLAS need not be loaded: `scipy=False`.
    """
    limit: AbstractContextManager[object] = _controller(scipy).limit(limits=1, user_api="blas")
    return limit

"""One thread for matrices of a hundred rows: more of them wait for each other longer than they compute."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[object]:
    """Within this, BLAS and LAPACK use one thread: the cells' blocks are small, and there are many."""
    limit: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit

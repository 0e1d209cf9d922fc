"""How many threads BLAS and LAPACK use: a direct solve multiplies many small matrices, and few large ones.

Threads that wait for one another turn in circles: on a machine that does something else, too, two of them take several
times as long as one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from ..lazily import after_import

LARGE = 1000  # columns of a matrix whose factor pays for the threads


@cache
def _controller(scipy: bool) -> ThreadpoolController:
    """Of the BLAS that are loaded: NumPy's, and SciPy's own once it is there."""
    return ThreadpoolController()


def _loaded() -> bool:
    return "scipy.linalg" in sys.modules


_before: list[int] = []  # the threads that there were outside of `one_thread`


@contextmanager
def one_thread() -> Iterator[None]:
    """Within this, BLAS and LAPACK use one thread, also those that SciPy loads within."""
    with ExitStack() as limits:
        inside = True

        def limit() -> None:
            if inside:
                limits.enter_context(_controller(_loaded()).limit(limits=1, user_api="blas"))

        if not _before:
            blas = [each for each in _controller(_loaded()).info() if each["user_api"] == "blas"]
            _before.append(max((each["num_threads"] for each in blas), default=1))
            limits.callback(_before.clear)
        limit()
        if not _loaded():
            after_import("scipy.linalg", limit)
        try:
            yield
        finally:
            inside = False


@contextmanager
def every_thread(columns: int) -> Iterator[None]:
    """Within `one_thread`, as many threads as there were before for a matrix of many columns."""
    if columns < LARGE or not _before:
        yield
        return
    with _controller(_loaded()).limit(limits=_before[0], user_api="blas"):
        yield

"""One thread for BLAS and LAPACK: a direct solve multiplies many small matrices and few large ones.

Threads that wait for one another keep their cores busy: if anything else is running, two of them take several times as
long as one. Also, sums that are split between threads are not the same to the last bit.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

from ..lazily import after_import


@cache
def _controller(scipy: bool) -> ThreadpoolController:
    """Controls the loaded BLAS libraries: NumPy's, and SciPy's own once that is loaded."""
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside this context, BLAS and LAPACK use one thread, also those that SciPy loads meanwhile."""
    with ExitStack() as limits:
        inside = True

        def limit() -> None:
            if inside:
                loaded = _controller("scipy.linalg" in sys.modules)
                limits.enter_context(loaded.limit(limits=1, user_api="blas"))

        limit()
        if "scipy.linalg" not in sys.modules:
            after_import("scipy.linalg", limit)
        try:
            yield
        finally:
            inside = False

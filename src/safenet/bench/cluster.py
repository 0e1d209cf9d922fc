"""The same work on a Dask cluster: Dask sends tasks to workers, and to another worker if one dies.

The workers need this package and, to continue from a checkpoint after a death, the run folders at the same path; they
never open the store. Dask gives up a task that killed several workers; its row then says so.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from typing import Any

from ..errors import SafeNetError

PATIENCE = "30s"  # how long a scheduler may take to answer


class Cluster:
    """An engine over the workers of the scheduler at `address`; `resources`, such as {"GPU": 1}, are passed to Dask."""

    def __init__(self, address: str | None, resources: dict[str, float] | None = None) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise SafeNetError("the engine dask needs Dask", "pip install 'safenet-pde[dask]'") from None
        if not address:
            raise SafeNetError(
                "--engine dask needs the address of a scheduler", "e.g. --address tcp://10.0.0.1:8786"
            )
        try:
            connect: Any = Client  # Dask has no types
            self._client = connect(address, timeout=PATIENCE)
        except (OSError, ValueError) as obstacle:
            raise SafeNetError(f"no Dask scheduler answers at {address}: {obstacle}", "start one") from None
        self._executor: Executor = self._client.get_executor(resources=resources or {}, pure=False)
        # On a GPU, the seeds of a configuration run together.
        self.together = bool(resources)

    @property
    def slots(self) -> int:
        """Twice the current number of threads: each has its next task already queued."""
        threads: int = sum(self._client.nthreads().values())
        return max(1, 2 * threads)

    def submit(self, task: dict[str, Any]) -> Future[list[dict[str, Any]]]:
        return self._executor.submit(remote_work, task)

    def close(self) -> None:
        """Cancel the unfinished tasks and leave the cluster running."""
        self._executor.shutdown(wait=False)
        self._client.close()


def remote_work(task: dict[str, Any]) -> list[dict[str, Any]]:
    """`work`, imported on the worker."""
    from ..backend import cache_compilations
    from .work import work

    cache_compilations()
    return work(task)

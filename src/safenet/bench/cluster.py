"""The same work on a Dask cluster: Dask moves tasks to workers, and to others when a worker dies.

The workers need this package and, to go on from a checkpoint after a death, the run folders at the same path; they
never see the store. A task that took several workers with it is given up by Dask, and is then a row that says so.
"""

from __future__ import annotations

from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from ..errors import SafeNetError


class Cluster:
    """An engine over the workers of the scheduler at `address`; `resources`, such as {"GPU": 1}, are Dask's."""

    def __init__(self, folder: Path, address: str | None, resources: dict[str, float] | None = None) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise SafeNetError("the engine dask needs Dask", "pip install 'safenet[dask]'") from None
        if not address:
            raise SafeNetError("the engine dask has no address", "e.g. --address tcp://10.0.0.1:8786")
        try:
            connect: Any = Client  # Dask has no types
            self._client = connect(address, timeout="30s")
        except (OSError, ValueError) as obstacle:
            raise SafeNetError(f"no Dask scheduler answers at {address}: {obstacle}", "start one") from None
        self._executor: Executor = self._client.get_executor(resources=resources or {}, pure=False)
        # A GPU takes the seeds of a configuration together.
        self.together = bool(resources)

    @property
    def slots(self) -> int:
        """As many tasks as there are threads now, and one in hand for each, so that none waits for us."""
        threads: int = sum(self._client.nthreads().values())
        return max(1, 2 * threads)

    def submit(self, task: dict[str, Any]) -> Future[list[dict[str, Any]]]:
        return self._executor.submit(remote_work, task)

    def close(self) -> None:
        """Take back what has not begun or ended, and leave the cluster as it is."""
        self._executor.shutdown(wait=False)
        self._client.close()


def remote_work(task: dict[str, Any]) -> list[dict[str, Any]]:
    """`work`, imported where it is done."""
    from ..backend import cache_compilations
    from .work import work

    cache_compilations()
    return work(task)

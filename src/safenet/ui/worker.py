"""A process that solves: jobs come in as lines of JSON; phases, residuals and the outcome go back.

A separate process can be stopped, keeps the page responsive while it works, and loads JAX before the first job comes.
"""

from __future__ import annotations

import json
import signal
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import library
from ..errors import SafeNetError
from ..problem import loads
from ..run.folder import remove_if_empty
from ..run.outlook import Outlook
from ..run.progress import Monitor

EVERY = 0.2  # seconds between two lines of the same kind


def say(**event: Any) -> None:
    """Send one line to the page."""
    print(json.dumps(event), flush=True)


class Telling(Monitor):
    """Reports the progress of a solve, a few times a second."""

    def __init__(self) -> None:
        self.spoke, self.outlook = 0.0, Outlook()

    def expect(self, costs: Sequence[float], sure: bool = True) -> None:
        self.outlook.expect(costs, sure)

    def limit(self, end: float) -> None:
        self.outlook.end = end

    def _at(self, name: str, detail: str, fraction: float | None, **more: float) -> None:
        if fraction is not None:
            self.outlook.reached(fraction)
        if self._due():
            said = " · ".join(filter(None, (detail, str(self.outlook))))
            say(phase=name, detail=said, fraction=fraction, **more)

    def _due(self) -> bool:
        due = time.monotonic() - self.spoke > EVERY
        self.spoke = time.monotonic() if due else self.spoke
        return due

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        self._at(name, detail, fraction)

    def step(self, iteration: int, loss: float) -> None:
        if self._due():
            say(residual=loss)

    def level(self, unknowns: int, residual: float) -> None:
        say(residual=residual)

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        self._at("training", f"{iteration} of {total}", iteration / max(total, 1), residual=loss)


def carry_out(job: dict[str, Any]) -> None:
    """Solve one problem, and tell the page how it ended."""
    from ..solving.door import solve

    try:
        say(phase="reading the problem", detail="", fraction=None)
        problem = library.with_library_reference(loads(job["problem"], job["source"]))
        folder = Path(job["folder"])
        solution = solve(problem, job["solver"], out=folder, budget=job["budget"], monitor=Telling())
        say(done=str(solution.result.outcome), folder=job["folder"])
    except SafeNetError as error:
        say(failed=str(error))
    except KeyboardInterrupt:
        say(failed="Stopped before there was anything to keep.")
    except Exception as error:
        say(failed=f"{type(error).__name__}: {error}")
    finally:
        remove_if_empty(Path(job["folder"]))


def main() -> None:
    """Solve jobs until the input ends; an interruption ends the job, not the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # the result contains them
    from ..backend import cache_compilations
    from ..solving import door  # noqa: F401  (JAX takes seconds to load: before the first job comes)

    cache_compilations()
    say(ready=True)
    for line in sys.stdin:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            carry_out(json.loads(line))
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


if __name__ == "__main__":
    main()

"""Benchmarks: suites of cases as data, engines that run them, and a store that keeps the results.

summary = sn.bench.run("paper-main", "runs/main", scale="smoke")   # or a suite file; a second call runs what is missing
rows = sn.bench.Store("runs/main").rows()                            # l2re, seconds, outcome, curves, …
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import attributes

if TYPE_CHECKING:
    from .case import Case
    from .catalogue import Suite, names, suite
    from .exchange import export, merge
    from .running import Summary, run
    from .store import Row, Store

# Imported when first used: the names of the suites need not wait for JAX.
_HOMES = {
    "Case": "case",
    "Row": "store",
    "Store": "store",
    "Suite": "catalogue",
    "Summary": "running",
    "export": "exchange",
    "merge": "exchange",
    "names": "catalogue",
    "run": "running",
    "suite": "catalogue",
}

__all__ = [
    "Case",
    "Row",
    "Store",
    "Suite",
    "Summary",
    "export",
    "merge",
    "names",
    "run",
    "suite",
]

__getattr__, __dir__ = attributes(__name__, _HOMES)

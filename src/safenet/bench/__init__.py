"""Benchmarks: suites of cases as data, engines that carry them out, a store that keeps what came of them.

summary = sn.bench.run("paper-main", "runs/main", scale="smoke")     # or a suite file; again, it does what is missing
rows = sn.bench.Store("runs/main").rows()                            # l2re, seconds, outcome, curves, …
sn.bench.tables()                                                    # the paper's printed numbers, to stand beside
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .case import Case
    from .catalogue import Suite, names, suite
    from .exchange import export, merge
    from .printed import claims, quoted, tables
    from .running import Summary, run
    from .store import Row, Store

# Imported when first used: the names of the suites need not wait for JAX.
_HOMES = {
    "Case": "case",
    "Row": "store",
    "Store": "store",
    "Suite": "catalogue",
    "Summary": "running",
    "claims": "printed",
    "export": "exchange",
    "merge": "exchange",
    "names": "catalogue",
    "quoted": "printed",
    "run": "running",
    "suite": "catalogue",
    "tables": "printed",
}

__all__ = [
    "Case",
    "Row",
    "Store",
    "Suite",
    "Summary",
    "claims",
    "export",
    "merge",
    "names",
    "quoted",
    "run",
    "suite",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])

"""The page: every claim, table and figure of the paper with ours beside it, from stores and their exports.

report.write(["runs/main", "results/schedule-1.jsonl"], page="page.html", markdown="tables.md", latex="tables.tex")
report.ledger(report.read(["runs/main"]))      # claim, finding, verdict
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import attributes

if TYPE_CHECKING:
    from .judging import Entry, ledger
    from .results import Results, read
    from .writing import write

# Imported when first used: the command line need not wait for JAX.
_HOMES = {
    "Entry": "judging",
    "Results": "results",
    "ledger": "judging",
    "read": "results",
    "write": "writing",
}

__all__ = ["Entry", "Results", "ledger", "read", "write"]

__getattr__, __dir__ = attributes(__name__, _HOMES)

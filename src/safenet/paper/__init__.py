"""The study of the paper, on top of `bench` and `report`: its printed numbers and claims beside our measurements.

paper.tables()                                 # the printed numbers; paper.claims(), paper.quoted()
paper.ledger(paper.read(["runs/main"]))        # claim, finding, verdict
paper.write(["runs/main", "results/paper-main.jsonl"], page="page.html", markdown="tables.md", latex="tables.tex")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import attributes

if TYPE_CHECKING:
    from .evidence import Evidence, read
    from .judging import Entry, ledger
    from .printed import claims, quoted, tables
    from .writing import write

# Imported when first used: the command line need not wait for JAX.
_HOMES = {
    "Entry": "judging",
    "Evidence": "evidence",
    "claims": "printed",
    "ledger": "judging",
    "quoted": "printed",
    "read": "evidence",
    "tables": "printed",
    "write": "writing",
}

__all__ = ["Entry", "Evidence", "claims", "ledger", "quoted", "read", "tables", "write"]

__getattr__, __dir__ = attributes(__name__, _HOMES)

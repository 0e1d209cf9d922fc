"""Any comparison on one page: tables, figures and fields of runs, from stores and their exports.

report.write(["runs/mine", "before.jsonl"], page="page.html", markdown="tables.md", latex="tables.tex")
report.read(["runs/mine"]).groups              # (problem, method, recipe, options, scale) → rows of the seeds
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import attributes

if TYPE_CHECKING:
    from .results import Results, read
    from .writing import write

# Imported when first used: the command line need not wait for JAX.
_HOMES = {"Results": "results", "read": "results", "write": "writing"}

__all__ = ["Results", "read", "write"]

__getattr__, __dir__ = attributes(__name__, _HOMES)

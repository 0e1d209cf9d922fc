"""Sources → rows → statistics over the seeds of a configuration: median, spread, mean ± sd, how many diverged.

A configuration is (problem, method, recipe, options) at a scale: the share of the recipe's iterations, the points and
the precision. Runs of different scales are never mixed, nor different problems of the same name: only the library's is
called `wave`.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from ..bench.case import protocol
from ..bench.exchange import merge
from ..bench.naming import called
from ..bench.store import FAILED, Row, Store
from ..errors import SafeNetError
from ..networks.methods import METHODS, Method, settled
from ..problem.toml import loads
from ..run.result import Outcome
from ..train.recipes import RECIPES

SIZES = ("precision", "points", "condition_points", "iterations")  # a variant's part of the scale


@dataclass(frozen=True, order=True)
class Scale:
    """How much of the recipe's iterations, how many points inside and on each condition, in which precision."""

    share: float
    interior: int
    condition: int
    precision: str

    def __str__(self) -> str:
        return f"{100 * self.share:g}% of the iterations, {self.sizes}"

    @property
    def brief(self) -> str:
        return f"{100 * self.share:g}%, {self.sizes}"

    @property
    def sizes(self) -> str:
        return f"{self.interior:,} + {self.condition:,} points, {self.precision}"


ITS_OWN = Scale(1.0, 0, 0, "float64")  # a direct solver chooses its sizes by itself
Configured = tuple[str, str, str, frozenset[tuple[str, str]]]  # problem, method, recipe, options as JSON
Key = tuple[str, str, str, frozenset[tuple[str, str]], Scale]


@dataclass(frozen=True)
class Summary:
    """The values of several seeds, ∞ for a run that diverged; `failed` counts the runs without a value."""

    values: tuple[float, ...]
    failed: int = 0

    @property
    def seeds(self) -> int:
        return len(self.values)

    @property
    def finite(self) -> tuple[float, ...]:
        return tuple(value for value in self.values if math.isfinite(value))

    @property
    def diverged(self) -> int:
        return self.seeds - len(self.finite)

    @property
    def median(self) -> float:
        """∞ where half of the seeds or more diverged."""
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float] | None:
        return (min(self.finite), max(self.finite)) if self.finite else None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.finite) if self.finite else math.inf

    @property
    def deviation(self) -> float | None:
        """Sample standard deviation, with n − 1; None for a single seed."""
        return statistics.stdev(self.finite) if len(self.finite) > 1 else None


class Results:
    """All rows of the sources. `folders` may contain run folders: DIR/runs/ID.

    `groups` maps (problem, method, recipe, options, scale) to the rows of its seeds. For a direct solve, the method is
    the solver's name and the recipe is empty.
    """

    def __init__(self, rows: Iterable[Row], folders: Sequence[Path] = ()) -> None:
        given = tuple(rows)
        self.rows = tuple(row for row in given if counts(row))
        self.outdated = len(given) - len(self.rows)
        self.folders = tuple(folders)
        self._called = called(row.configuration["problem"] for row in self.rows)
        self.groups: dict[Key, list[Row]] = {}
        # A run with a spectrum repeats the plain run, and one that nothing scored repeats the one that is scored by a
        # direct solve: it counts only if its seed has no other run.
        for row in sorted(self.rows, key=_repeats):
            options = options_of(row)
            how = row.method or row.solver, row.recipe or ""
            key = (*configuration_key(self.problem(row), *how, options), scale_of(row))
            group = self.groups.setdefault(key, [])
            if row.seed not in {other.seed for other in group if _repeats(other) < _repeats(row)}:
                group.append(row)

    def problem(self, row: Row) -> str:
        """What the row's problem is called: wave, convection beta=5, mine nu=0.02"""
        return self._called[row.configuration["problem"]]

    def folder(self, row: Row) -> Path | None:
        """The folder with the saved solution of a row's last attempt, if that folder was among the sources."""
        found = [path for place in self.folders for path in sorted((place / "runs").glob(f"{row.id}*"))]
        found = [path for path in found if (path / "solution.npz").is_file()]
        return found[-1] if found else None


def errors(rows: Sequence[Row], of: str = "l2re") -> Summary | None:
    """The errors of the seeds, or their residuals (of="residual"); None if no row has one."""
    values = [math.inf if row.outcome == Outcome.DIVERGED else getattr(row, of) for row in rows]
    known = tuple(value for value in values if value is not None)
    return Summary(known, sum(row.outcome == FAILED for row in rows)) if known else None


# ---- what a row is


def _repeats(row: Row) -> tuple[bool, bool]:
    return "spectrum" in row.configuration, "reference" not in row.configuration


def counts(row: Row) -> bool:
    """Whether it was run by the current protocol."""
    return bool(row.configuration.get("protocol") == protocol(row.configuration.get("plan", {})))


def options_of(row: Row) -> dict[str, Any]:
    """Options that differ from the method as it is now; a row's variant says what differed when it was written."""
    options = {name: value for name, value in row.variant.items() if name not in SIZES}
    plan, usual = row.configuration["plan"], METHODS.get(row.method or "")
    recipe = RECIPES.get(row.recipe or "")
    if usual is None or recipe is None or recipe.network or "network" not in plan:
        return options
    k = plan["network"].get("k", usual.k)
    if k != usual.k and not alike(row.configuration["problem"], usual, k):
        return options | {"k": k}
    return options


@cache
def alike(problem: str, usual: Method, k: str) -> bool:
    """Whether this k gives the same network for the problem, given as text, as the method's own."""
    try:
        stated = loads(problem)
        return settled(stated, replace(usual, k=k)) == settled(stated, usual)
    except SafeNetError:  # a later version's problem
        return False


def scale_of(row: Row) -> Scale:
    plan = row.configuration["plan"]
    if "phases" not in plan:
        return ITS_OWN
    recipe = RECIPES.get(row.recipe or "")
    whole = recipe.phases[0].iterations if recipe is not None else None
    done = plan["phases"][0].get("iterations") if plan["phases"] else None
    share = float(f"{done / whole:.3g}") if whole and done else 1.0
    return Scale(share, plan["interior"], plan["condition"], plan["precision"])


def configuration_key(problem: str, method: str, recipe: str, options: Mapping[str, Any]) -> Configured:
    """Options equal to the method's own values are dropped: `activation = "tanh"` is the method itself."""
    usual = METHODS.get(method)
    said = {k: v for k, v in options.items() if usual is None or getattr(usual, k, None) != v}
    return problem, method, recipe, frozenset((k, json.dumps(v)) for k, v in said.items())


# ---- sources


def read(sources: Sequence[str | Path]) -> Results:
    """Folders of `safenet bench`, their .db files and .jsonl exports, together."""
    return Results(*gathered(sources))


def gathered(sources: Sequence[str | Path]) -> tuple[list[Row], list[Path]]:
    """The rows of all sources, and those sources that are folders."""
    if not sources:
        raise SafeNetError("there is nothing to report on", "e.g. safenet report runs/main -o page.html")
    paths = [Path(source) for source in sources]
    with tempfile.TemporaryDirectory() as place, Store(place) as together:
        for path in paths:
            merge(together, path)
        rows = together.rows()
    folders = [path.parent if path.suffix == ".db" else path for path in paths]
    return rows, [path for path in folders if path.is_dir()]

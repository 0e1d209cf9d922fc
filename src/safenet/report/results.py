"""Sources → rows → what the seeds of a configuration say together: median, spread, mean ± sd, how many diverged.

A configuration is (problem, method, recipe, options) at a scale: the share of the recipe's iterations, the points and
the precision. Runs of different scales are never mixed, nor are problems of one name: `wave` is the library's alone.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..bench.case import protocol
from ..bench.exchange import merge
from ..bench.naming import called
from ..bench.store import FAILED, Row, Store
from ..errors import SafeNetError
from ..networks.methods import METHODS
from ..train.recipes import SCHEDULES

Configuration = tuple[str, str, str, Mapping[str, Any]]  # problem, method, recipe, options
DIVERGED = "diverged"
SIZES = ("precision", "interior", "condition", "iterations")  # of a row's variant: its scale


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
    def nearness(self) -> tuple[bool, Scale]:
        """Of scales with equally many rows: with the paper's points before any other, then the largest."""
        return (self.interior, self.condition) == (PAPER.interior, PAPER.condition), self

    @property
    def brief(self) -> str:
        return f"{100 * self.share:g}%, {self.sizes}"

    @property
    def sizes(self) -> str:
        return f"{self.interior:,} + {self.condition:,} points, {self.precision}"


PAPER = Scale(1.0, 20_000, 2_000, "float32")
ADAM = 100_000  # iterations of schedule 4, after which spectra are compared, and after
EARLY = 0.03  # of them


@dataclass(frozen=True)
class Summary:
    """What several seeds gave: one value each, ∞ for a run that diverged; `failed` runs gave none."""

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
        """∞, the paper's «*», where half of the seeds or more diverged."""
        return statistics.median(self.values)

    @property
    def spread(self) -> tuple[float, float] | None:
        return (min(self.finite), max(self.finite)) if self.finite else None

    @property
    def mean(self) -> float:
        return statistics.fmean(self.finite) if self.finite else math.inf

    @property
    def deviation(self) -> float | None:
        """Of the sample, with n − 1; None for a single seed."""
        return statistics.stdev(self.finite) if len(self.finite) > 1 else None


@dataclass(frozen=True)
class Look:
    """λ_max of the loss's Hessian after Adam at some scale; `density`: log₁₀|λ|, ρ₊, ρ₋ where it is known."""

    problem: str
    method: str
    scale: Scale
    lambda_max: float
    density: np.ndarray | None = field(default=None, compare=False)


class Results:
    """All that the sources hold. `folders` are those where runs may lie: DIR/runs/ID."""

    def __init__(self, rows: Iterable[Row], folders: Sequence[Path] = (), looks: Sequence[Look] = ()) -> None:
        given = tuple(rows)
        self.rows = tuple(row for row in given if counts(row))
        self.outdated = len(given) - len(self.rows)
        self._called = called(row.configuration["problem"] for row in self.rows)
        self.folders, self.looks = tuple(folders), (*looks, *filter(None, map(self._look, self.rows)))
        self._groups: dict[tuple[Any, ...], list[Row]] = {}
        # A run with a spectrum is the plain one once more: it counts as a seed where there is no other.
        for row in sorted(self.rows, key=lambda row: "spectrum" in row.configuration):
            options = {name: value for name, value in row.variant.items() if name not in SIZES}
            key = (*configuration_key(self.problem(row), row.method, row.recipe, options), scale_of(row))
            group = self._groups.setdefault(key, [])
            if "spectrum" not in row.configuration or row.seed not in {other.seed for other in group}:
                group.append(row)

    def problem(self, row: Row) -> str:
        """What the row's problem is called: wave, convection beta=5, mine nu=0.02"""
        return self._called[row.configuration["problem"]]

    def _look(self, row: Row) -> Look | None:
        found = row.result.get("spectrum")
        if not found or row.recipe != "paper-4":
            return None
        density = row.curves.get("density")
        return Look(self.problem(row), row.method, scale_of(row), found["lambda_max"], density)

    def groups(self) -> Iterable[tuple[tuple[Any, ...], list[Row]]]:
        """((problem, method, recipe, options, scale), rows of the seeds)"""
        return self._groups.items()

    def at(self, scale: Scale) -> View:
        return View(self, scale)

    def scales(self, recipes: Iterable[str] | None = None) -> list[Scale]:
        """Those with rows of these recipes, the ones with most rows first, of those the nearest to the paper's."""
        wanted = None if recipes is None else set(recipes)
        found: Counter[Scale] = Counter()
        for (*_, recipe, _options, scale), rows in self._groups.items():
            if wanted is None or recipe in wanted:
                found[scale] += len(rows)
        return sorted(found, key=lambda scale: (found[scale], scale.nearness), reverse=True)

    def plain(self, problem: str) -> list[Row]:
        """Rows of methods as they are named, at whatever scale: counts and paces do not ask for it."""
        return [
            row
            for (name, _, _, options, _), rows in self._groups.items()
            if name == problem and not options
            for row in rows
        ]

    def parameters(self, problem: str, method: str) -> int | None:
        """Of the network as it is named; the default recipe counts the unknowns of whatever it chose instead."""
        rows = [
            row for row in self.plain(problem) if row.method == method and row.recipe.startswith("paper-")
        ]
        return max((row.parameters for row in rows if row.parameters), default=None)

    def best(self, wanted: Iterable[Configuration]) -> View | None:
        """At the paper's scale where any of these configurations has a row, else where most have one.

        A single iteration is a count of parameters and no training.
        """
        found: Counter[Scale] = Counter()
        sought = {
            configuration_key(problem, method, recipe, options) for problem, method, recipe, options in wanted
        }
        for key, rows in self._groups.items():
            found[key[-1]] += key[:-1] in sought and any(row.iterations != 1 for row in rows)
        if not found or not max(found.values()):
            return None
        return self.at(
            PAPER if found[PAPER] else max(found, key=lambda scale: (found[scale], scale.nearness))
        )

    def spectral(self) -> View | None:
        """Where spectra are compared: at the paper's scale if any is of it, else at the largest."""
        found = {look.scale for look in self.looks}
        if not found:
            return None
        return self.at(PAPER if found & {PAPER, staged(PAPER, EARLY)} else max(found))

    def folder(self, row: Row) -> Path | None:
        """Where the network of a row lies: its last attempt, if its folder was a source."""
        found = [path for place in self.folders for path in sorted((place / "runs").glob(f"{row.id}*"))]
        found = [path for path in found if (path / "solution.npz").is_file()]
        return found[-1] if found else None


@dataclass(frozen=True)
class View:
    """The results at one scale: all that a claim is judged by."""

    results: Results
    scale: Scale

    def rows(self, problem: str, method: str, recipe: str, **options: Any) -> list[Row]:
        key = (*configuration_key(problem, method, recipe, options), self.scale)
        return sorted(self.results._groups.get(key, ()), key=lambda row: row.seed)

    def all(self) -> list[Row]:
        """Every row at this scale, whatever its options."""
        return [row for key, rows in self.results._groups.items() if key[-1] == self.scale for row in rows]

    def error(self, problem: str, method: str, recipe: str, **options: Any) -> Summary | None:
        """Relative L² errors of the seeds; None without a row that gave one."""
        return errors(self.rows(problem, method, recipe, **options))

    def median(self, problem: str, method: str, recipe: str, **options: Any) -> float | None:
        summary = self.error(problem, method, recipe, **options)
        return None if summary is None else summary.median

    def curve(self, problem: str, method: str, recipe: str, **options: Any) -> np.ndarray:
        """(iteration, median over the seeds of the error so far)"""
        rows = [row for row in self.rows(problem, method, recipe, **options) if len(row.curves["error"])]
        return median_curve([row.curves["error"] for row in rows], [_afterwards(row) for row in rows])


def _afterwards(row: Row) -> float:
    """The error once a run has ended: ∞ if it diverged, the last if it stalled, unknown if the curve ended before."""
    iteration, error = row.curves["error"][-1]
    if row.outcome == DIVERGED:
        return math.inf
    return float(error) if row.iterations is not None and iteration >= row.iterations else math.nan


def errors(rows: Sequence[Row], of: str = "l2re") -> Summary | None:
    """What the seeds gave, or their `residual`; None without a row that gave one."""
    values = [math.inf if row.outcome == DIVERGED else getattr(row, of) for row in rows]
    known = tuple(value for value in values if value is not None)
    return Summary(known, sum(row.outcome == FAILED for row in rows)) if known else None


def median_curve(curves: Sequence[np.ndarray], after: Sequence[float]) -> np.ndarray:
    """Medians in log-space at all iterations where half of the curves or more are known.

    Each is interpolated between its own points, and then has the error `after` (nan: not known).
    """
    if not curves:
        return np.empty((0, 2))
    at = np.unique(np.concatenate([curve[:, 0] for curve in curves]))
    tiny = np.finfo(float).tiny
    logs = np.array(
        [
            np.interp(at, curve[:, 0], np.log(np.maximum(curve[:, 1], tiny)), math.nan, np.log(end))
            for curve, end in zip(curves, np.maximum(after, tiny), strict=True)
        ]
    )
    known = 2 * np.sum(~np.isnan(logs), axis=0) >= len(curves)
    found = np.column_stack([at[known], np.exp(np.nanmedian(logs[:, known], axis=0))])
    return found if len(found) > 1 else np.empty((0, 2))


# ---- what a row is


def counts(row: Row) -> bool:
    """Whether it was run by today's protocol."""
    return bool(row.configuration.get("protocol") == protocol(row.configuration.get("plan", {})))


def scale_of(row: Row) -> Scale:
    plan = row.configuration["plan"]
    whole = getattr(SCHEDULES.get(row.recipe, (None,))[0], "iterations", None)
    done = plan["phases"][0].get("iterations") if plan["phases"] else None
    share = float(f"{done / whole:.3g}") if whole and done else 1.0
    return Scale(share, plan["interior"], plan["condition"], plan["precision"])


def staged(scale: Scale, share: float) -> Scale:
    """The same after so much of its iterations."""
    return replace(scale, share=float(f"{share * scale.share:.3g}"))


def configuration_key(problem: str, method: str, recipe: str, options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Options at the method's own values say nothing: `activation = "tanh"` is the method itself."""
    usual = METHODS.get(method)
    said = {k: v for k, v in options.items() if usual is None or getattr(usual, k, None) != v}
    return problem, method, recipe, frozenset((k, json.dumps(v)) for k, v in said.items())


# ---- sources


def read(sources: Sequence[str | Path]) -> Results:
    """Folders of `safenet bench`, their .db files, .jsonl exports, and .json files of measured spectra, together."""
    if not sources:
        raise SafeNetError("there is nothing to report on", "e.g. safenet report runs/main -o page.html")
    paths = [Path(source) for source in sources]
    looks = [look for path in paths if path.suffix == ".json" for look in _looks(path)]
    stores = [path for path in paths if path.suffix != ".json"]
    with tempfile.TemporaryDirectory() as place, Store(place) as together:
        for path in stores:
            merge(together, path)
        rows = together.rows()
    folders = [path.parent if path.suffix == ".db" else path for path in stores]
    return Results(rows, [path for path in folders if path.is_dir()], looks)


def _looks(path: Path) -> list[Look]:
    """Of a file that benchmarks/spectra.py wrote: {"runs": {name: {problem, method, iterations, hessian: …}}}."""
    try:
        runs = json.loads(path.read_text("utf-8"))["runs"].values()
        return [
            Look(
                run["problem"],
                run["method"],
                staged(PAPER, run["iterations"] / ADAM),
                float(run["hessian"]["lambda_max"]),
            )
            for run in runs
        ]
    except OSError as obstacle:
        raise SafeNetError(f"cannot read {path}: {obstacle.strerror}", "check the path") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SafeNetError(
            f"{path} holds no spectra",
            "give a store, its export (.jsonl), or what benchmarks/spectra.py wrote",
        ) from None

"""rows → evidence about the paper: medians, curves and eigenvalues at one scale, the paper's if it has rows."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import library
from ..bench.naming import statement
from ..bench.store import FAILED, Row
from ..errors import SafeNetError
from ..networks.methods import METHODS
from ..report.results import (
    ITS_OWN,
    Results,
    Scale,
    Summary,
    alike,
    configuration_key,
    errors,
    gathered,
    options_of,
    scale_of,
)
from ..run.result import Outcome

Configuration = tuple[str, str, str, Mapping[str, Any]]  # problem, method, recipe, options
OURS = "safe-net-literal"  # the paper's SAFE-NET
PRINTED_K = "auto"  # the paper's printed rule: k = 1 unless u = 0 on both faces
PAPER = Scale(1.0, 20_000, 2_000, "float32")
ADAM = 100_000  # iterations of schedule 4: spectra are compared after all of them
EARLY = 0.03  # and after this share of them


@dataclass(frozen=True)
class Look:
    """λ_max of the loss's Hessian after Adam at some scale; `density`: log₁₀|λ|, ρ₊, ρ₋ if known.

    `squares` is the density of JᵀJ, the Hessian's part that remains where residuals vanish, above rounding errors.
    """

    problem: str
    method: str
    scale: Scale
    lambda_max: float
    density: np.ndarray | None = field(default=None, compare=False)
    k: str = ""  # the rule for its frequencies, if not the current one
    squares: np.ndarray | None = field(default=None, compare=False)

    @property
    def near_one(self) -> float | None:
        """The share of eigenvalues with 0.1 ≤ |λ| < 10."""
        if self.density is None:
            return None
        mass = self.density[:, 1] + self.density[:, 2]
        return float(np.sum(mass[np.abs(self.density[:, 0]) < 1]) / np.sum(mass))


class Evidence(Results):
    """Rows, and spectra of the Hessian (`looks`): from rows by schedule 4 and from other files."""

    def __init__(self, rows: Iterable[Row], folders: Sequence[Path] = (), looks: Sequence[Look] = ()) -> None:
        super().__init__(rows, folders)
        self.looks = (*looks, *filter(None, map(self._look, self.rows)))
        # The paper trains networks: its claims are judged by nothing else.
        self.trained = {key: rows for key, rows in self.groups.items() if key[-1] != ITS_OWN}

    def _look(self, row: Row) -> Look | None:
        found = row.result.get("spectrum")
        if not found or row.recipe != "paper-4" or row.method is None:
            return None
        k = options_of(row).get("k", "")
        return Look(
            self.problem(row), row.method, scale_of(row), found["lambda_max"], row.curves.get("density"), k
        )

    def at(self, scale: Scale) -> View:
        return View(self, scale)

    def scales(self, recipes: Iterable[str] | None = None) -> list[Scale]:
        """Scales that have rows of these recipes, those with most rows first; ties by nearness to the paper's scale."""
        wanted = None if recipes is None else set(recipes)
        found: Counter[Scale] = Counter()
        for (*_, recipe, _options, scale), rows in self.trained.items():
            if wanted is None or recipe in wanted:
                found[scale] += len(rows)
        return sorted(found, key=lambda scale: (found[scale], _nearness(scale)), reverse=True)

    def plain(self, problem: str) -> list[Row]:
        """Rows of methods without options, at any scale: parameter counts and paces do not depend on it."""
        return [
            row
            for (name, _, _, options, _), rows in self.trained.items()
            if name == problem and not options
            for row in rows
        ]

    def parameters(self, problem: str, method: str) -> int | None:
        """The number of parameters of the method without options, from rows by the paper's schedules."""
        rows = [
            row
            for row in self.plain(problem)
            if row.method == method and (row.recipe or "").startswith("paper-")
        ]
        return max((row.parameters for row in rows if row.parameters), default=None)

    def best(self, wanted: Iterable[Configuration]) -> View | None:
        """The view at the paper's scale if any of these configurations has a row there, else where most have one.

        Rows of a single iteration do not count: they only measure the number of parameters.
        """
        found: Counter[Scale] = Counter()
        sought = {configuration_key(*configuration) for configuration in wanted}
        for key, rows in self.trained.items():
            found[key[-1]] += key[:-1] in sought and any(row.iterations != 1 for row in rows)
        if not found or not max(found.values()):
            return None
        return self.at(
            PAPER if found[PAPER] else max(found, key=lambda scale: (found[scale], _nearness(scale)))
        )

    def spectral(self) -> View | None:
        """The view in which spectra are compared: at the paper's scale if it has any, else at the largest."""
        found = {look.scale for look in self.looks}
        if not found:
            return None
        return self.at(PAPER if found & {PAPER, staged(PAPER, EARLY)} else max(found))


def _nearness(scale: Scale) -> tuple[bool, Scale]:
    """The order of scales with equally many rows: those with the paper's points first, then the largest."""
    return (scale.interior, scale.condition) == (PAPER.interior, PAPER.condition), scale


def staged(scale: Scale, share: float) -> Scale:
    """The same scale after this share of its iterations."""
    return replace(scale, share=float(f"{share * scale.share:.3g}"))


@dataclass(frozen=True)
class View:
    """The evidence at one scale: everything that a claim is judged by."""

    results: Evidence
    scale: Scale
    k: str = ""  # another rule for the frequencies of the paper's network
    seed: int | None = None  # only this seed, in cells that have it
    seeds: list[int] = field(default_factory=list, compare=False)  # of each cell; filled while judging

    def rows(self, problem: str, method: str, recipe: str, **options: Any) -> list[Row]:
        if k := self._k_of(problem, method):
            options = {"k": k, **options}
        key = (*configuration_key(problem, method, recipe, options), self.scale)
        rows = sorted(self.results.trained.get(key, ()), key=lambda row: row.seed)
        if counted := sum(row.outcome != FAILED for row in rows):
            self.seeds.append(counted)
        return [row for row in rows if row.seed == self.seed] or rows

    def _k_of(self, problem: str, method: str) -> str:
        """This view's k, if it gives another network; else empty."""
        return (
            self.k if self.k and method == OURS and not alike(_text(problem), METHODS[OURS], self.k) else ""
        )

    def looks(self, problem: str, share: float = 1.0) -> list[Look]:
        """The spectra of the Hessian after this share of schedule 4."""
        scale = staged(self.scale, share)
        found = [
            look
            for look in self.results.looks
            if (look.problem, look.scale, look.k) == (problem, scale, self._k_of(problem, look.method))
        ]
        self.seeds.extend(Counter(look.method for look in found).values())
        return found

    def all(self) -> list[Row]:
        """Every row at this scale, whatever its options."""
        return [row for key, rows in self.results.trained.items() if key[-1] == self.scale for row in rows]

    def error(self, problem: str, method: str, recipe: str, **options: Any) -> Summary | None:
        """Relative L² errors of the seeds; None if no row has one."""
        return errors(self.rows(problem, method, recipe, **options))

    def median(self, problem: str, method: str, recipe: str, **options: Any) -> float | None:
        summary = self.error(problem, method, recipe, **options)
        return None if summary is None else summary.median

    def curve(self, problem: str, method: str, recipe: str, **options: Any) -> np.ndarray:
        """(iteration, median over the seeds of the error so far)"""
        rows = [row for row in self.rows(problem, method, recipe, **options) if len(row.curves["error"])]
        return median_curve([row.curves["error"] for row in rows], [_afterwards(row) for row in rows])


@cache
def _text(problem: str) -> str:
    """A library problem as text."""
    return statement(library.problem(problem))


def _afterwards(row: Row) -> float:
    """The error after a run's end: ∞ if it diverged, the curve's last if that reaches the end, else nan (unknown)."""
    iteration, error = row.curves["error"][-1]
    if row.outcome == Outcome.DIVERGED:
        return math.inf
    return float(error) if row.iterations is not None and iteration >= row.iterations else math.nan


def median_curve(curves: Sequence[np.ndarray], after: Sequence[float]) -> np.ndarray:
    """Medians in log-space, at all iterations where at least half of the curves are known.

    Each curve is interpolated between its points; beyond its end, it has the error `after` (nan: unknown).
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


# ---- sources


def read(sources: Sequence[str | Path]) -> Evidence:
    """Read the sources that `report.read` accepts, and .json files of measured spectra."""
    paths = [Path(source) for source in sources]
    looks = [look for path in paths if path.suffix == ".json" for look in _looks(path)]
    stores = [path for path in paths if path.suffix != ".json"]
    rows, folders = gathered(stores) if stores or not looks else ([], [])
    return Evidence(rows, folders, looks)


def _decades(spectrum: Mapping[str, Any]) -> np.ndarray | None:
    """Eigenvalues counted by decades, {decade: [positive, negative]}, as a density at the middle of each."""
    counts = {int(decade): both for decade, both in spectrum.get("decades", {}).items()}
    if not counts:
        return None
    table = np.array([[decade + 0.5, *counts[decade]] for decade in sorted(counts)])
    table[:, 1:] /= table[:, 1:].sum()
    return table


def _looks(path: Path) -> list[Look]:
    """From a file that benchmarks/spectra.py wrote: {"runs": {name: {problem, method, iterations, hessian: …}}}."""
    try:
        runs = json.loads(path.read_text("utf-8"))["runs"].values()
        return [
            Look(
                run["problem"],
                run["method"],
                staged(PAPER, run["iterations"] / ADAM),
                float(run["hessian"]["lambda_max"]),
                _decades(run["hessian"]),
                run.get("k", ""),
                _decades(run.get("gauss-newton", {})),
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

"""Diffusion in time and flows, in the plane and in space: quadratic triangles or tetrahedra, RODAS steps, finer meshes.

Every level has cells finer by √2 and a lower tolerance in time, and costs only a few times as much as the last, so that
stopping at a tolerance or a budget wastes little. The error is estimated from the difference of two levels, and with
three of them from the rate at which it falls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...errors import SafeNetError
from ...fields.field import values
from ...fields.triangles import Triangles
from ...measure.heldout import held_out, interior_points
from ...measure.relative import TINY, relative
from ...problem import Problem
from ...problem.facts.fact import fact
from ...problem.facts.posedness import left_free
from ...problem.facts.structure import breaks
from ...problem.geometry.mesh import ROUND, Mesh, mesh_of
from ...problem.geometry.region import Region
from ...problem.geometry.shapes import Box
from ...problem.geometry.solid import Solid
from ...problem.geometry.tetrahedra import obstacle as no_tetrahedra
from ...problem.geometry.tetrahedra import tetrahedra
from ...problem.weak_form import weak_form
from ...run.budget import Budget
from ...run.progress import Monitor
from ...run.result import SOLVED_BELOW
from ..ending import failure
from ..one_pass import OnePass
from ..state import Direct, levels
from ..thresholds import (
    EVOLVE_ACROSS,
    EVOLVE_AROUND,
    EVOLVE_DEARER,
    EVOLVE_FINER,
    EVOLVE_GAIN,
    EVOLVE_IN_TIME,
    EVOLVE_LONGEST,
    EVOLVE_POINTS,
    EVOLVE_RATES,
)
from .assembly import Assembly
from .rosenbrock import EDGE, System, steps
from .steady import steady


@dataclass(frozen=True)
class Evolve(OnePass):
    """Quadratic finite elements and Rosenbrock steps, for diffusion and flows in the plane and in space.

    Levels of finer triangles or tetrahedra until the estimated error is below `tolerance`, with at most `unknowns`
    values at any one time.

    Examples:
        >>> sn.Evolve(tolerance=1e-3).obstacle(decay) is None
        False
    """

    name: ClassVar[str] = "evolve"
    tolerance: float = 1e-3
    unknowns: int = 150_000
    only_above: float = 0.0

    def obstacle(self, problem: Problem) -> str | None:
        """Why a problem is neither diffusion (in time, or in space) nor a flow with pressure; None if it is one."""
        try:
            weak = weak_form(problem)
        except SafeNetError as refusal:
            return refusal.message
        if weak.space == 2 and problem.time is None and not any(map(weak.linear_field, weak.tested)):
            return "it is steady and has no pressure"
        if weak.space == 3:
            body = _body(problem)
            assert isinstance(body, Solid)
            if (reason := no_tetrahedra(body)) is not None:
                return reason
        missing = [n for n, c in zip(weak.tested, weak.mass, strict=True) if c != 0 and n not in weak.start]
        if missing:
            return f"{missing[0]} has no initial value"
        return next(iter(left_free(problem)), None)

    def aimed(self, tol: float) -> Evolve:
        return replace(self, tolerance=tol)

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        """A state for each level; a resumed run continues with the next."""
        state = state or Direct(cursor={"level": 0, "apart": None})
        dearer = _finer(_body(problem).dimension) ** EVOLVE_DEARER
        return levels(state, budget, partial(self._level, problem, monitor, budget), (dearer, dearer))

    def _level(self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct) -> Direct:
        level = int(state.cursor["level"])
        if state.field is not None and self._next(state.field) > self.unknowns:
            reason = f"stopped: the next level needs more than {self.unknowns} unknowns"
            return replace(state, done=True, final=True, reason=reason)
        monitor.phase(self.name, "a mesh" if level == 0 else f"mesh {level + 1}")
        assembly = Assembly(problem, meshed(problem, level))
        size = int(assembly.offsets[-1])
        if problem.time is None:
            found, ended = self._newton(assembly, monitor, budget, state.field), ""
        else:
            found, ended = self._march(assembly, in_time(state), monitor, budget)
        state = replace(state, evaluations=state.evaluations + assembly.evaluations)
        if found is None and budget.over():
            return replace(state, stopped=True)
        if found is None:
            reason = "Newton's method does not converge to a steady state"
            return replace(state, done=True, given_up=state.field is None, final=True, reason=reason)
        if ended == "stopped":
            return replace(state, field=state.field or found, stopped=True)
        if ended:
            reached = float(np.asarray(found.times)[-1])
            reason, final = failure(problem, found, reached)
            if state.field is None:
                state = replace(state, field=found, cursor={"t": reached})
                return replace(state, done=True, given_up=True, final=final, reason=reason)
            reason = f"on a finer mesh the time steps fail at t = {reached:.4g}; this is the result of the mesh before"
            return replace(state, done=True, final=True, reason=reason)
        error, apart = _error(problem, state, found)
        found = replace(found, error=error)
        worst = float(error[-1])
        monitor.level(size, worst)
        # Two meshes may agree on something wrong: the equations themselves have to hold, too.
        done = bool(worst < self.tolerance) and held_out(problem, found).worst < SOLVED_BELOW
        sizes = f"{len(found.cells)} {assembly.cells} and {len(found.times) - 1} steps"
        reason = f"estimated error below {self.tolerance:g}, {sizes}"
        cursor = {"level": level + 1, "apart": apart}
        reason = reason if done else ""
        return Direct(
            found, worst, level + 1, state.evaluations, cursor, done=done, final=done, reason=reason
        )

    @staticmethod
    def _next(field: Triangles) -> int:
        """About how many unknowns the next level will have."""
        return int(sum(np.shape(own)[1] for own in field.values) * _finer(np.shape(field.nodes)[1]))

    def _newton(self, assembly: Assembly, monitor: Monitor, budget: Budget, coarser: Any) -> Triangles | None:
        """The steady state, starting from the one on coarser cells or from rest."""

        def show(what: str) -> None:
            monitor.phase(self.name, f"{len(assembly.mesh.cells)} {assembly.cells}, {what}")

        guess = None
        if coarser is not None:
            before = values(coarser, assembly.mesh.nodes)
            sizes = zip(assembly.names, assembly.sizes, strict=True)
            columns = [assembly.problem.unknowns.index(name) for name in assembly.names]
            guess = np.concatenate([before[:size, k] for k, (_, size) in zip(columns, sizes, strict=True)])
        y = steady(assembly, guess, show, budget.over)
        if y is None:
            return None
        parts = tuple(y[None, assembly.part(name)] for name in assembly.names)
        unknown = np.full(len(parts) + 1, np.nan)
        return Triangles(parts, np.zeros(1), assembly.mesh.nodes, assembly.mesh.cells, unknown)

    def _march(
        self, assembly: Assembly, tolerance: float, monitor: Monitor, budget: Budget
    ) -> tuple[Triangles, str]:
        """Steps from the beginning of time to the end, or until it is stopped or no step is short enough."""
        problem = assembly.problem
        axis = problem.axes[-1]
        system, plain = _system(assembly), assembly.start(axis.lo)
        stops = np.array([axis.lo, *breaks(problem)[-1], axis.hi])
        y = assembly.with_sides(axis.lo, plain)
        # A repeated time is a jump: sides switch, or do not agree with the initial values.
        jumps = np.abs(y - plain)[_moving(assembly)].max(initial=0.0) > 1e-9 * np.abs(y).max()
        times, states, ended = (
            [axis.lo, axis.lo] if jumps else [axis.lo],
            [plain, y] if jumps else [y],
            "failed",
        )
        for t, after in steps(system, y, stops, tolerance, EVOLVE_LONGEST * axis.length):
            times.append(t)
            states.append(after)
            if t in stops[1:-1]:
                times.append(t)
                states.append(assembly.with_sides(t + EDGE * axis.length, after))
            share = (t - axis.lo) / axis.length
            monitor.phase(self.name, f"t = {t:.4g}, {len(assembly.mesh.cells)} {assembly.cells}", share)
            if t >= axis.hi:
                ended = ""
            elif budget.over():
                ended = "stopped"
                break
        whole = np.stack(states)
        # Unknowns without an initial value, such as a pressure, begin with their value after the first step.
        for i in reversed(range(len(times) - 1)):
            if i == 0 or times[i] == times[i - 1]:
                whole[i] = np.where(_moving(assembly), whole[i], whole[i + 1])
        parts = tuple(whole[:, assembly.part(name)] for name in assembly.names)
        unknown = np.full(len(parts) + 1, np.nan)
        mesh = assembly.mesh
        return Triangles(parts, np.array(times), mesh.nodes, mesh.cells, unknown), ended


@fact
def meshed(problem: Problem, level: int) -> Mesh:
    """Triangles or tetrahedra in the region, or in the box, whose sides are pieces 0, 1, …; finer on every level."""
    body = _body(problem)
    # The cells' size follows from the root of the area or volume, not from the length: channels are long.
    finer = EVOLVE_FINER**level
    size = body.measure ** (1 / body.dimension) / EVOLVE_ACROSS[body.dimension] / finer
    if isinstance(body, Region):
        return mesh_of(body, size, int(ROUND * finer))
    return tetrahedra(body, size, int(EVOLVE_AROUND * finer))


@fact
def _body(problem: Problem) -> Region | Solid:
    if problem.region is not None:
        return problem.region
    space = [axis for axis in problem.axes if not axis.is_time]
    where: dict[str, Any] = {
        str(2 * i + e): _on(i, axis.bounds[e], axis.length) for i, axis in enumerate(space) for e in (0, 1)
    }
    sides: dict[str, Any] = {axis.name: axis.bounds for axis in space}
    return Region(Box(**sides), where) if len(space) == 2 else Solid(Box(**sides), where)


def _on(axis: int, value: float, length: float) -> Any:
    return lambda points: np.abs(points[:, axis] - value) < 1e-9 * length


def _moving(assembly: Assembly) -> np.ndarray:
    """Which unknowns have a time derivative."""
    whole = np.zeros(int(assembly.offsets[-1]), bool)
    for name, c in zip(assembly.weak.tested, assembly.weak.mass, strict=True):
        whole[assembly.part(name)] = c != 0
    return whole


def _system(assembly: Assembly) -> System:
    counted = _moving(assembly)

    def scale(size: np.ndarray) -> np.ndarray:
        """The largest value of each field; fields without a time derivative do not count."""
        found = np.full(len(size), 1e300)
        largest = max(float(size[counted].max()), TINY)
        for name in assembly.names:
            part = assembly.part(name)
            if counted[part.start]:
                found[part] = max(float(size[part].max()), 1e-3 * largest)
        return found

    return System(
        assembly.residual, assembly.jacobian, assembly.mass, assembly.constant, assembly.factored, scale
    )


def in_time(state: Direct) -> float:
    """The tolerance of a time step on the next level.

    The errors of all steps may add up to a share of the difference expected of the finer mesh. When the size of the
    cells halves, the tolerance falls at least by √10, so that two levels also differ by their errors in time, and at
    most by 10."""
    halvings, apart = int(state.cursor["level"]) * np.log2(EVOLVE_FINER), state.cursor["apart"]
    least, most = 10.0 ** -(3.5 + halvings), 10.0 ** -(4 + halvings / 2)
    if apart is None or state.field is None:
        return float(least)
    steps_before = len(state.field.times) - 1
    return float(np.clip(EVOLVE_IN_TIME * apart / EVOLVE_GAIN / steps_before, least, most))


def _finer(dimension: int) -> float:
    """How many times as many cells the next level has."""
    return float(EVOLVE_FINER**dimension)


def _error(problem: Problem, state: Direct, found: Triangles) -> tuple[np.ndarray, float | None]:
    """The error of each field and of all: the difference of two levels over 2^p − 1, p the rate at which it fell, or 2.

    No rate is better than that of the elements: a difference that fell faster is small by chance, and is enlarged as if
    it had fallen at that rate."""
    unknown = np.full(len(problem.unknowns) + 1, np.nan)
    if state.field is None:
        return unknown, None
    points = interior_points(problem, EVOLVE_POINTS)
    own = values(found, points)
    apart = relative(own - values(state.field, points), own)
    together, before = max(float(apart[-1]), TINY), state.cursor["apart"]
    halved = np.log2(EVOLVE_FINER)
    if before is None:
        return apart / (EVOLVE_GAIN**halved - 1), together
    worst, best = np.power(EVOLVE_RATES, halved)
    rate, luck = before / together, max(1.0, before / best / together)
    return luck * apart / (np.clip(rate, worst, best) - 1), together

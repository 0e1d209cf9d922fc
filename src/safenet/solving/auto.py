"""facts → solvers, with the reasons: the one place where a way to solve a problem is chosen.

no axis but time                 → an integrator of ordinary differential equations
steady, linear, on rectangles    → exact solutions where there are any, then elements of high degree
on a region of the plane         → polynomials on cells; in time triangles and Rosenbrock steps
conservation laws with jumps      → finite volumes
jumps or bends in its formulas   → polynomials on cells that end there, marched in time if there is time
linear, constant coefficients    → exact solutions of the equation, coefficients from the conditions
linear, in a plane with sides    → marching on a grid, unless symmetry decouples the waves
linear                           → least squares on one series; marching or cells if that is not resolved, and
                                   marching before it where initial values bend, jump, or disagree with faces
nonlinear, smooth, periodic      → exponential steps on a Fourier grid, also where faces are mirrors
nonlinear, with initial values   → marching: on cells where space is a line, else on a grid where conditions allow
steady flows, few digits         → quadratic triangles with pressure
nonlinear, otherwise             → Newton on one series; on cells if that is not resolved
where no direct solver suits     → a network
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from ..direct import Cells, Conserve, Elements, Evolve, Fourier, Integrate, LeastSquares, March, Modes, Sparse
from ..direct.modal_rows import decoupled
from ..direct.solver import Solver
from ..direct.volumes.conserve import steepens
from ..problem import Problem
from ..problem.facts.agreement import bends, clashes, corners
from ..problem.facts.conservation import conservation
from ..problem.facts.direction import fastest_wave
from ..problem.facts.jumping import jumping
from ..problem.facts.structure import axis_kinds, breaks, middle_parities, named_frequencies
from ..problem.weak_form import weak_form
from ..run.result import SOLVED_BELOW, checked_tolerance
from .thresholds import (
    EXACT_ABOVE,
    FEW_MODES,
    FINER_ABOVE,
    HALF_WAVES,
    LINE_TOLERANCE,
    PERIODS,
)

KINDS = {
    "periodic": "periodic in {}",
    "sine": "odd about the faces of {} (sine series)",
    "cosine": "even about the faces of {} (cosine series)",
}
MIDDLE = {1: "even about", -1: "odd about"}
MARCHED = {
    "cells": "Newton on cells that follow the solution, one time slab after another",
    "grid": "Newton at the nodes of a grid, one time slab after another",
    "series": "Newton on one series in each time slab",
}


Choice = tuple[tuple[Solver, ...], tuple[str, ...]]


@dataclass(frozen=True)
class Auto:
    """Choose the solver from the detected structure of a problem; `result.reasons` says why.

    `tol` is the relative error to aim at; by default, as small as it can be at a reasonable cost.

    Examples:
        >>> sn.solve(decay, sn.Auto()).result.outcome
        <Outcome.SOLVED: 'solved'>
    """

    name: ClassVar[str] = "auto"
    tol: float | None = None  # the relative error to aim at; more digits are kept if they cost nothing

    def __post_init__(self) -> None:
        checked_tolerance(self.tol)

    def choice(self, problem: Problem) -> tuple[tuple[Solver, ...], tuple[str, ...]]:
        """The direct solvers to try one after another, and the reasons; no solvers if only a network is left."""
        for rule in (*RULES, self._flow, _steady):
            found = rule(problem)
            if found is not None:
                solvers, reasons = found
                tol = self.tol
                return (solvers if tol is None else tuple(each.aimed(tol) for each in solvers)), reasons
        return (), ("no direct solver suits this problem: a network is trained",)

    def _flow(self, problem: Problem) -> Choice | None:
        """Steady flows on triangles: cells give more digits, but slower, and not if the sides contradict each other."""
        few = self.tol is not None and self.tol >= Evolve().tolerance
        if (
            problem.time is not None
            or not (few or corners(problem))
            or Evolve().obstacle(problem) is not None
        ):
            return None
        reason = (
            "a steady flow: Newton on triangles, started from rest or by raising the Reynolds number step by step; "
            "then finer meshes"
        )
        return (Evolve(),), (reason,)


def _ordinary(problem: Problem) -> Choice | None:
    if Integrate().obstacle(problem) is not None:
        return None
    reason = (
        "a system without space: DOP853, or LSODA where it turns out to be stiff; the error from tighter runs"
    )
    return (Integrate(),), (reason,)


def _rectangles(problem: Problem) -> Choice | None:
    """Elements, after sums of exact solutions if there are any; least squares and cells if elements give up."""
    if Elements().obstacle(problem) is not None:
        return None
    if jumping(problem):
        return (Elements(),), ("a coefficient jumps under a derivative: elements that end at its jumps",)
    reason = "steady, linear, of second order: high-degree elements on rectangles, refined at corners"
    exact = problem.region is None and Modes().obstacle(problem) is None
    series = problem.region is None and LeastSquares().obstacle(problem) is None
    solvers: list[Solver] = [Modes(unknowns=FEW_MODES)] if exact else []
    solvers.append(Elements(only_above=EXACT_ABOVE))
    solvers += [LeastSquares(only_above=EXACT_ABOVE)] if series else []
    return (*solvers, Cells(only_above=FINER_ABOVE)), (_structure(problem), reason)


def _region(problem: Problem) -> Choice | None:
    if problem.region is None:
        return None
    if Evolve().obstacle(problem) is None:
        where, cells = (
            ("a region of the plane", "triangles") if problem.plane else ("a shape in space", "tetrahedra")
        )
        how = f"quadratic {cells}, {'Newton' if problem.time is None else 'steps in time'}, finer meshes"
        return (Evolve(),), (f"{where}: {how}",)
    if problem.plane is None:
        return (), ("no direct solver suits this shape in space: a network is trained",)
    reason = "a region of the plane: polynomials on cells, refined where the residual is largest"
    return (Cells(),), (reason,)


def _torn(problem: Problem) -> Choice | None:
    """Jumps that are transported or that form; and in the plane, layers too thin for waves and polynomials."""
    if Conserve().obstacle(problem) is not None:
        return None
    law = conservation(problem)
    # On a line cells follow a viscous layer, and viscosity smooths a jump at the start.
    if (law.viscous and (len(problem.axes) == 2 or not law.nonlinear)) or not steepens(problem):
        return None
    what = "has layers thinner than a hundredth of the domain" if law.viscous else "jumps"
    conserved = (
        f"{', '.join(problem.unknowns)} are conserved" if len(problem.unknowns) > 1 else "a conservation law"
    )
    reason = f"{conserved}, and the solution {what}: finite volumes, the error in the mean of |u|"
    return (Conserve(),), (reason,)


def _seamed(problem: Problem) -> Choice | None:
    """Piecewise formulas: on a line, cells march; any march can end its slabs at breaks in time; but no grid can have
    breaks in space."""
    seams, march = _seams(problem), March()
    marches, cells = march.obstacle(problem) is None, Cells().obstacle(problem) is None
    if not seams or not (marches or cells):
        return None
    reason = (f"the formulas break at {seams}: polynomials on cells that end there",)
    torn = len(problem.axes) > 2 and any(breaks(problem, conditions=False)[: problem.time])
    return ((march,) if marches and not (torn and cells) else (Cells(),)), reason


def _linear(problem: Problem) -> Choice | None:
    if not problem.linear:
        return None
    if problem.tables and len(problem.axes) == 1 and Cells().obstacle(problem) is None:
        return (Cells(),), ("linear on a line, with a spline through a table: polynomials on cells",)
    if problem.tables and March().obstacle(problem) is None and March().kind(problem) == "cells":
        reason = (
            "linear, with an interpolated table of limited smoothness: cells, one time slab after another"
        )
        return (March(), LeastSquares(only_above=SOLVED_BELOW)), (reason,)
    if (waves := _half_waves(problem)) > HALF_WAVES and Cells().obstacle(problem) is None:
        reason = f"linear on a line, {waves:.0f} half waves: polynomials on cells as short as these"
        behind = (LeastSquares(only_above=SOLVED_BELOW),) if LeastSquares().obstacle(problem) is None else ()
        return (Cells(), *behind), (reason,)
    solvers: list[Solver] = []
    reasons = [_structure(problem)]
    # Waves that decouple are cheap enough to resolve a bend at a face; no series over all time resolves it.
    bent = _smoothing(problem) and (
        any(breaks(problem)[: problem.time]) or (bool(bends(problem)) and not decoupled(problem))
    )
    if Modes().obstacle(problem) is None and not bent:
        reasons.append(
            "linear with constant coefficients: exact solutions, their coefficients from the conditions"
        )
        solvers.append(Modes())
    march = March(only_above=FINER_ABOVE)
    marches = march.obstacle(problem) is None
    series = LeastSquares().obstacle(problem) is None
    if marches and len(problem.axes) > 2 and march.kind(problem) == "grid" and not decoupled(problem):
        reason = f"linear in a box with non-periodic sides, where the modes are coupled: {MARCHED['grid']}"
        behind = (LeastSquares(only_above=SOLVED_BELOW),) if series else ()
        return (March(), *behind), (reasons[0], reason)
    if marches and march.kind(problem) != "series" and (bent or clashes(problem)):
        how = "has a bend or a jump" if bent else "jumps"
        reasons.append(f"linear, but the solution {how} at the start: one time slab after another")
        solvers += [march, *([LeastSquares(only_above=SOLVED_BELOW)] if series else [])]
    else:
        reasons += ["linear: the coefficients of one series are one least-squares solve"] if series else []
        solvers += [LeastSquares(only_above=EXACT_ABOVE)] if series else []
        solvers += [march] if marches else []
    if Sparse().obstacle(problem) is None:
        reasons.append("many dimensions: least squares for a growing list of products of polynomials")
        solvers.append(Sparse(only_above=FINER_ABOVE if solvers else 0.0))
    if not marches and Cells().obstacle(problem) is None:
        solvers.append(Cells(only_above=FINER_ABOVE))
    return (tuple(solvers), tuple(reasons)) if solvers else None


def _half_waves(problem: Problem) -> float:
    """Of the fastest wave in formulas, or of the equations' own, on a line; 0 in more dimensions, and where exact
    solutions take all of them."""
    if len(problem.axes) > 1 or Modes().obstacle(problem) is None:
        return 0.0
    return fastest_wave(problem) * problem.axes[0].length / math.pi


def _waves(problem: Problem) -> Choice | None:
    """Nonlinear and smooth, in a periodic or mirror-symmetric box; a march follows if the spectrum stops decaying."""
    if problem.linear or Fourier().obstacle(problem) is not None:
        return None
    reason = "nonlinear and smooth with initial values: exponential steps on a Fourier grid"
    marches = (March(),) if March().obstacle(problem) is None else ()
    # On a line, more digits take only seconds.
    waves = Fourier(tolerance=LINE_TOLERANCE) if len(problem.axes) == 2 else Fourier()
    return (waves, *marches), (_structure(problem), reason)


def _marched(problem: Problem) -> Choice | None:
    march = March()
    if march.obstacle(problem) is not None:
        return None
    kind = march.kind(problem)
    assert kind is not None
    if kind == "grid" and _driven_long(problem) and Evolve().obstacle(problem) is None:
        reason = "driven for many periods: quadratic triangles and steps in time; slabs of a grid would be too many"
        return (Evolve(), March(only_above=SOLVED_BELOW)), (reason,)
    if kind == "series" and Evolve().obstacle(problem) is None and _pressed(problem):
        reason = "a flow with a pressure that a grid does not take: quadratic triangles, steps in time, finer meshes"
        return (Evolve(), March(only_above=SOLVED_BELOW)), (reason,)
    reason = f"nonlinear with initial values: {MARCHED[kind]}"
    return (march,), ((reason,) if kind == "cells" else (_structure(problem), reason))


def _pressed(problem: Problem) -> bool:
    """Whether an unknown is a pressure."""
    weak = weak_form(problem)
    return any(map(weak.linear_field, weak.tested))


def _driven_long(problem: Problem) -> bool:
    """Whether the data oscillate for more than PERIODS periods."""
    assert problem.time is not None
    fastest = max(named_frequencies(problem)[problem.time], default=0.0)
    return fastest * problem.axes[-1].length > 2 * math.pi * PERIODS


def _steady(problem: Problem) -> Choice | None:
    solvers: list[Solver] = []
    reasons = [_structure(problem)]
    if LeastSquares().obstacle(problem) is None:
        obstacle = March().obstacle(problem)
        reasons.append(f"nonlinear, not marched ({obstacle}): Newton on one series, whole domain")
        solvers.append(LeastSquares())
    if Cells().obstacle(problem) is None:
        reasons.append("then, where that is not resolved, in cells" if solvers else "Newton on cells")
        solvers.append(Cells(only_above=FINER_ABOVE if solvers else 0.0))
    reasons.append(
        "nonlinear and steady: there may be other solutions; Newton's method starts from the conditions"
    )
    return (tuple(solvers), tuple(reasons)) if solvers else None


def _smoothing(problem: Problem) -> bool:
    """u_t = a u_xx + …: non-smooth only at the start, from which series and polynomials over all time never recover."""
    name = problem.unknowns[0]
    return (
        len(problem.unknowns) == 1
        and len(problem.axes) == 2
        and problem.time_order(name) == 1
        and problem.order(0, name) == 2
    )


def _seams(problem: Problem) -> str:
    """Where equations break, and the times at which conditions do: x = 0.5, t = 0.25, 0.75; "" if nowhere."""
    found = list(breaks(problem, conditions=False))
    if problem.time is not None:
        found[problem.time] = breaks(problem)[problem.time]
    named = zip(problem.axis_names, found, strict=True)
    return ", ".join(f"{name} = {', '.join(f'{c:.3g}' for c in places)}" for name, places in named if places)


def _structure(problem: Problem) -> str:
    parts: list[str] = []
    for i, axis in enumerate(problem.axes):
        kinds: dict[Any, None] = dict.fromkeys(kinds[i] for kinds in axis_kinds(problem).values())
        parts += [KINDS[kind].format(axis.name) for kind in kinds if kind in KINDS]
        signs = dict.fromkeys(signs[i] for signs in middle_parities(problem).values())
        parts += [f"{MIDDLE[sign]} the middle of {axis.name}" for sign in signs if sign]
    return "; ".join(parts) or "no symmetry in the symbols: harmonics and polynomials on every axis"


RULES = (_ordinary, _rectangles, _region, _torn, _seamed, _linear, _waves, _marched)

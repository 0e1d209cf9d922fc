"""The default: phases chosen from the symbols, with the reasons; and why a recipe may not suit a problem."""

from __future__ import annotations

from dataclasses import replace

from ..direct.cells import Subdivision, subdivision_obstacle
from ..direct.direct import FAILED, LeastSquares, Marching, axis_bases, first_modes, unknowns_of
from ..direct.march import SlabMarching, time_obstacle
from ..direct.march_on_cells import CellMarching
from ..direct.march_on_grid import TensorMarching
from ..direct.modes import Modes, modes_obstacle
from ..measure.rows.grid_conditions import tensor_obstacle
from ..problem import Problem
from ..problem.facts.agreement import clashes
from ..problem.facts.structure import axis_kinds, breaks, middle_parities
from .optimisers.levenberg import LevenbergMarquardt
from .phases import Phase

# From rough to fine: an answer early, then digits while they are cheap. The first march is never given up.
MARCHES: tuple[Marching, ...] = (
    Marching(tail=1e-3, work=1e300),
    Marching(tail=1e-5, only_above=1e-7),
    Marching(tail=1e-7, only_above=1e-7),
)
CELL_MARCHES: tuple[CellMarching, ...] = (
    CellMarching(tail=1e-4, work=1e300, insist=True, shortest=1e-3, narrowest=1e-3),
    CellMarching(tail=1e-6, only_above=1e-7),
    CellMarching(tail=1e-8, only_above=1e-8),
)
GRID_MARCHES: tuple[TensorMarching, ...] = (
    TensorMarching(tail=1e-4, work=1e300, insist=True, shortest=1e-3, most=100_000),
    TensorMarching(tail=1e-7, only_above=1e-7, shortest=1e-7),
)


def default_schedule(
    problem: Problem, name: str, given: bool = False
) -> tuple[tuple[Phase, ...], tuple[str, ...]]:
    """The phases for a problem, and why.

    on a region of the plane         → polynomials on cells
    jumps or bends in its formulas   → polynomials on cells that end there, marched in time where there is one
    linear, constant coefficients    → exact solutions of the equation, amplitudes from the conditions
    linear                           → least squares on the linear form; marching or cells if that is not resolved, and
                                       marching before it where initial values bend, jump, or disagree with faces
    nonlinear, with initial values   → marching: on cells where space is a line, else on a grid where conditions allow
    nonlinear, otherwise             → Newton on the linear form; on cells if that is not resolved
    and in every case the network by Levenberg–Marquardt if the linear form fails;
    a method or network options that the user names are trained as they are, by Levenberg–Marquardt.
    """
    if name != "safe-net" or given:
        return (LevenbergMarquardt(200),), ("a network was asked for: trained by Levenberg–Marquardt",)
    reasons = [_structure_reason(problem)]
    phases: list[Phase] = []
    marches, obstacle = _marches(problem)
    if problem.region is not None:
        reasons = ["a region of the plane: Newton on polynomials in cells, split where the remainder is"]
        phases.append(Subdivision(degree=_degree(problem)))
    elif (seams := _seams(problem)) and (marches or subdivision_obstacle(problem) is None):
        reasons = [f"the formulas break at {seams}: polynomials on cells that end there"]
        # On a line cells march, and a march of any kind ends its slabs at breaks in time; no grid has breaks in space.
        torn = len(problem.axes) > 2 and any(breaks(problem, conditions=False)[: problem.time])
        if marches and not (torn and subdivision_obstacle(problem) is None):
            phases += marches
        else:
            phases.append(Subdivision(degree=_degree(problem)))
    elif problem.linear:
        bent = _smoothing(problem) and any(breaks(problem)[: problem.time])
        if modes_obstacle(problem) is None and not bent:
            reasons.append(
                "linear with constant coefficients: exact solutions, their amplitudes from the conditions"
            )
            phases.append(Modes())
        fine: list[Phase] = [replace(march, only_above=1e-6) for march in marches]
        if marches and isinstance(marches[0], SlabMarching) and (bent or clashes(problem)):
            how = "has a bend or a jump" if bent else "jumps"
            reasons.append(f"linear, but the solution {how} at the start: slab by slab in time")
            phases += [*fine, LeastSquares(only_above=FAILED)]
        else:
            reasons.append("linear: the amplitudes of the linear form are one least-squares solve")
            phases += [LeastSquares(only_above=1e-10), *fine]
        if not marches and subdivision_obstacle(problem) is None:
            phases.append(Subdivision(degree=_degree(problem), only_above=1e-6))
    elif marches and isinstance(marches[0], CellMarching):
        reasons = [
            "nonlinear with initial values: Newton on cells that follow the solution, slab by slab in time"
        ]
        phases += marches
    elif marches and isinstance(marches[0], TensorMarching):
        reasons.append("nonlinear with initial values: Newton at the nodes of a grid, slab by slab in time")
        phases += marches
    elif marches:
        reasons.append("nonlinear with initial values: Newton on the linear form, slab by slab in time")
        phases += marches
    else:
        reasons.append(f"nonlinear, not marched ({obstacle}): Newton on the linear form, whole domain")
        phases.append(LeastSquares(general="chebyshev"))
        if subdivision_obstacle(problem) is None:
            reasons.append("then, where that is not resolved, in cells")
            phases.append(Subdivision(degree=_degree(problem), only_above=1e-6))
    # A linear form that misses its equation by a tenth has failed: the nonlinear network may still do it. Ten steps
    # that hardly lower its loss are no rescue.
    phases.append(LevenbergMarquardt(150, decrease=0.05))
    return tuple(phases), tuple(reasons)


def _smoothing(problem: Problem) -> bool:
    """u_t = a u_xx + …: what is not smooth is so at the start only. Series and polynomials never get over it."""
    name = problem.unknowns[0]
    return (
        len(problem.unknowns) == 1
        and len(problem.axes) == 2
        and problem.time_order(name) == 1
        and problem.order(0, name) == 2
    )


def _degree(problem: Problem) -> int:
    """Of polynomials on cells: high where it costs little, on a line, or in a plane without Newton steps."""
    return 16 if len(problem.axes) == 1 else 10 if problem.linear and len(problem.axes) == 2 else 6


def _marches(problem: Problem) -> tuple[tuple[Marching | CellMarching | TensorMarching, ...], str | None]:
    """How a problem is marched in time, or why it is not: on a line cells cost little and follow any front."""
    jumping = bool(clashes(problem))
    if cell_marching_obstacle(problem) is None:
        # What the first slab makes of a jump lasts: the shorter it is, the less.
        rough, *fine = CELL_MARCHES
        return (replace(rough, shortest=1e-5 if jumping else rough.shortest), *fine), None
    if grid_marching_obstacle(problem) is None:
        # A jump at the start no grid resolves, it only decays: a finer march would try in vain.
        return (GRID_MARCHES[:1] if jumping else GRID_MARCHES), None
    obstacle = marching_obstacle(problem)
    return (MARCHES if obstacle is None else ()), obstacle


def _seams(problem: Problem) -> str:
    """Where equations break, and conditions in the course of time: x = 0.5, t = 0.25, 0.75; "" if nowhere."""
    found = list(breaks(problem, conditions=False))
    if problem.time is not None:
        found[problem.time] = breaks(problem)[problem.time]
    named = zip(problem.axis_names, found, strict=True)
    return ", ".join(f"{name} = {', '.join(f'{c:.3g}' for c in places)}" for name, places in named if places)


MIDDLE = {1: "even about", -1: "odd about"}


def _structure_reason(problem: Problem) -> str:
    words = {
        "periodic": "periodic in {}",
        "sine": "odd about the faces of {} (sine series)",
        "cosine": "even about the faces of {} (cosine series)",
    }
    parts = []
    for i, axis in enumerate(problem.axes):
        kinds = dict.fromkeys(kinds[i] for kinds in axis_kinds(problem).values())
        parts += [words[kind].format(axis.name) for kind in kinds if kind in words]
        signs = dict.fromkeys(signs[i] for signs in middle_parities(problem).values())
        parts += [f"{MIDDLE[sign]} the middle of {axis.name}" for sign in signs if sign]
    return "; ".join(parts) or "no symmetry in the symbols: harmonics and polynomials on every axis"


def least_squares_obstacle(problem: Problem) -> str | None:
    """Why one linear form cannot serve the whole domain, or None if it can."""
    return None if problem.region is None else "its domain is not a box"


def marching_obstacle(problem: Problem) -> str | None:
    """Why a problem cannot be marched in time with one linear form a slab, or None if it can."""
    obstacle = time_obstacle(problem)
    if obstacle:
        return obstacle
    phase = Marching()
    modes = first_modes(problem, phase.least)
    modes[-1] = phase.degree
    size = unknowns_of(axis_bases(problem, modes, "chebyshev", (0.0, 1.0)))
    return f"a slab would need {size} amplitudes" if size > phase.unknowns else None


def cell_marching_obstacle(problem: Problem) -> str | None:
    """Why a problem cannot be marched in time on cells, or None if it can."""
    obstacle = time_obstacle(problem)
    return obstacle or (None if len(problem.axes) == 2 else "space is not a line")


def grid_marching_obstacle(problem: Problem) -> str | None:
    """Why a problem cannot be marched in time on a grid, or None if it can."""
    return time_obstacle(problem) or tensor_obstacle(problem)


OBSTACLES = {
    "least-squares": least_squares_obstacle,
    "variable-projection": lambda problem: None if problem.linear else "it is not linear",
    "marching": marching_obstacle,
    "cell-marching": cell_marching_obstacle,
    "grid-marching": grid_marching_obstacle,
    "cells": subdivision_obstacle,
    "modes": modes_obstacle,
}

"""A schedule is a tuple of phases; a recipe is its name. `default` is chosen from the symbols, with its reasons.

paper-1    30k Adam, 10k L-BFGS                 paper-3a   20k Adam, 20k L-BFGS
paper-3b   10k Adam, 30k L-BFGS                 paper-3c    5k Adam, 35k L-BFGS
paper-3d   25k Adam, 10k L-BFGS, 5k Adam        paper-3e   Adam to a plateau, L-BFGS to 40k in all
paper-4   100k Adam                             paper-2    3k Adam, 10k L-BFGS, Adam to 37k in all, 3k L-BFGS,
                                                           for each of five rates; the lowest loss wins
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..errors import SafeNetError, nearest
from ..networks.methods import Method, method
from ..problem import Problem
from ..problem.structure import axis_kinds, middle_parities
from .adam import Adam
from .budget import multiplications_per_second, seconds, within
from .direct import LeastSquares, Marching, axis_bases, first_modes, unknowns_of
from .lbfgs import LBFGS
from .levenberg import LevenbergMarquardt
from .points import SAMPLERS
from .subdivision import Subdivision, subdivision_obstacle

Phase = Adam | LBFGS | LevenbergMarquardt | LeastSquares | Marching | Subdivision
DIRECT = (
    LeastSquares,
    Marching,
    Subdivision,
)  # phases that build a form; the others move a network's parameters
PHASES: dict[str, type[Phase]] = {
    phase.__name__: phase for phase in (Adam, LBFGS, LevenbergMarquardt, *DIRECT)
}
# From rough to fine: an answer early, then digits while they are cheap. The first march is never given up.
MARCHES: tuple[Marching, ...] = (
    Marching(tail=1e-3, work=1e300),
    Marching(tail=1e-5, only_above=1e-7),
    Marching(tail=1e-7, only_above=1e-7),
)
SCHEDULES: dict[str, tuple[Phase, ...]] = {
    "paper-1": (Adam(30_000), LBFGS(10_000)),
    # η, a constant in the first phase, is halved in the second Adam.
    "paper-2": (Adam(3_000, decay=1.0), LBFGS(10_000), Adam(24_000, rate=5e-4), LBFGS(3_000)),
    "paper-3a": (Adam(20_000), LBFGS(20_000)),
    "paper-3b": (Adam(10_000), LBFGS(30_000)),
    "paper-3c": (Adam(5_000), LBFGS(35_000)),
    "paper-3d": (Adam(25_000), LBFGS(10_000), Adam(5_000)),
    "paper-3e": (Adam(40_000, patience=1_000), LBFGS(40_000)),
    "paper-4": (Adam(100_000),),
    "least-squares": (LeastSquares(),),
    "marching": MARCHES,
    "cells": (Subdivision(),),
    "levenberg-marquardt": (LevenbergMarquardt(200),),
}
# Where a phase gets what those before have left: the iterations in all at which it ends (0: its own count).
UNTIL: dict[str, tuple[int, ...]] = {"paper-2": (0, 0, 37_000, 0), "paper-3e": (0, 40_000)}
RATES: dict[str, tuple[float, ...]] = {"paper-2": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)}
RECIPES: dict[str, str] = {
    "default": "chosen from the symbols: least squares, marching in time, cells, or Levenberg–Marquardt",
    "paper-1": "the paper's schedule 1: 30k Adam, then 10k L-BFGS",
    "paper-2": "schedule 2: Adam and L-BFGS twice, for each of five rates; the lowest training loss wins",
    "paper-3a": "20k Adam, then 20k L-BFGS",
    "paper-3b": "10k Adam, then 30k L-BFGS",
    "paper-3c": "5k Adam, then 35k L-BFGS",
    "paper-3d": "25k Adam, 10k L-BFGS, 5k Adam",
    "paper-3e": "Adam until the loss is on a plateau, then L-BFGS, 40k in all",
    "paper-4": "100k Adam",
    "least-squares": "Gauss–Newton on the linear form, over the whole domain",
    "marching": "Gauss–Newton on the linear form, in slabs of time",
    "cells": "Gauss–Newton on polynomials in cells, split where the remainder is",
    "levenberg-marquardt": "200 Levenberg–Marquardt steps on the network",
}


@dataclass(frozen=True)
class Plan:
    """Everything that decides a run, as data: the same plan on the same machine gives the same bits.

    With `variants` it is several runs, of which one is chosen: each variant names what it changes, the `rate` (of the
    first Adam, later ones in proportion), the `residual_weight` or both. `select` says by what: the final training
    `loss`, or the held-out `residual` where the losses differ in their weights and do not compare. Never by the error.
    """

    method: str = "safe-net"
    recipe: str = "default"
    seed: int = 0
    precision: str = "float64"
    network: Method = field(default_factory=Method)
    interior: int = 20_000
    condition: int = 2_000
    sampler: str = "uniform"
    residual_weight: float = 1.0
    condition_weight: float = 100.0
    phases: tuple[Phase, ...] = ()
    until: tuple[int, ...] = ()
    variants: tuple[dict[str, float], ...] = ()
    select: str = "loss"
    reasons: tuple[str, ...] = ()

    def phase(self, index: int, done: int) -> Phase:
        """The phase at its place, after `done` iterations of those before it."""
        phase, total = self.phases[index], self.until[index] if self.until else 0
        if not total or isinstance(phase, DIRECT):
            return phase
        return replace(phase, iterations=max(0, total - done))

    @property
    def candidates(self) -> tuple[Plan, ...]:
        """The single runs that the plan consists of: itself, or one for each variant."""
        return tuple(self._varied(**variant) for variant in self.variants) or (self,)

    def _varied(self, rate: float | None = None, residual_weight: float | None = None) -> Plan:
        weight = self.residual_weight if residual_weight is None else residual_weight
        rates = [phase.rate for phase in self.phases if isinstance(phase, Adam)]
        phases = tuple(
            replace(phase, rate=phase.rate / rates[0] * rate) if rate and isinstance(phase, Adam) else phase
            for phase in self.phases
        )
        return replace(self, phases=phases, variants=(), residual_weight=weight)

    def to_json(self) -> str:
        data = asdict(self)
        data["phases"] = [{"phase": type(phase).__name__, **asdict(phase)} for phase in self.phases]
        return json.dumps(data, indent=1)

    @staticmethod
    def from_json(text: str) -> Plan:
        data = json.loads(text)
        data["network"] = Method(**data["network"])
        data["phases"] = tuple(PHASES[phase.pop("phase")](**phase) for phase in data["phases"])
        # Absent from the plans of earlier versions.
        for name in ("until", "variants", "reasons"):
            data[name] = tuple(data.get(name, ()))
        return Plan(**data)


def make_plan(
    problem: Problem,
    *,
    method_name: str = "safe-net",
    recipe: str = "default",
    seed: int = 0,
    precision: str | None = None,
    scale: float = 1.0,
    interior: int | None = None,
    condition: int | None = None,
    sampler: str | None = None,
    budget: str | float | None = None,
    **options: Any,
) -> Plan:
    """Resolve names and options into a plan. `scale` multiplies the iterations of every optimiser; `budget` is a
    time such as `60s`, resolved here, by measuring the machine, into sizes."""
    chosen = method(method_name, **options)
    if recipe not in RECIPES:
        raise SafeNetError(f"there is no recipe {recipe!r}", nearest(recipe, RECIPES))
    if precision not in (None, "float32", "float64"):
        raise SafeNetError(
            f"there is no precision {precision!r}", nearest(str(precision), ("float32", "float64"))
        )
    if seed < 0:
        raise SafeNetError(f"the seed is {seed}", "give a whole number from 0 on")
    if not 0 < scale < math.inf:
        raise SafeNetError(f"the scale is {scale}", "give a positive number, e.g. 0.01 for a hundredth")
    for name, count in (("points", interior), ("condition points", condition)):
        if count is not None and count < 1:
            raise SafeNetError(f"{count} {name} are too few", "give at least 1")
    if sampler is not None and sampler not in SAMPLERS:
        raise SafeNetError(f"there is no sampler {sampler!r}", nearest(sampler, SAMPLERS))
    paper = recipe.startswith("paper-")
    plan = Plan(
        method=method_name,
        recipe=recipe,
        seed=seed,
        precision=precision or ("float32" if paper else "float64"),
        network=chosen,
        interior=interior or (20_000 if paper else 4_000),
        condition=condition or (2_000 if paper else 400),
        sampler=sampler or ("uniform" if paper else "sobol"),
        until=tuple(round(scale * total) for total in UNTIL.get(recipe, ())),
        variants=_variants(recipe, chosen),
        select="residual" if chosen.weight_grid else "loss",
    )
    if recipe == "default":
        phases, reasons = default_schedule(problem, method_name, given=bool(options))
        if (
            any(isinstance(phase, LevenbergMarquardt) for phase in phases)
            and not options
            and method_name == "safe-net"
        ):
            plan = replace(plan, network=replace(chosen, features=64, width=32))
    else:
        phases, reasons = SCHEDULES[recipe], ()
    obstacle = OBSTACLES[recipe](problem) if recipe in OBSTACLES else None
    if obstacle:
        other = "cells" if problem.region is not None else "least-squares"
        raise SafeNetError(
            f"the recipe {recipe} does not suit {problem.name}: {obstacle}", f"use --recipe {other}"
        )
    if plan.precision == "float32" and any(isinstance(p, LevenbergMarquardt) for p in phases):
        raise SafeNetError(
            "Levenberg–Marquardt needs float64", "leave out --precision, or choose a paper recipe"
        )
    if budget is not None:
        work = seconds(str(budget)) * multiplications_per_second()
        rows = plan.interior * len(problem.equations) + plan.condition * len(problem.conditions)
        parameters = plan.network.features * plan.network.width + plan.network.depth * plan.network.width**2
        phases = tuple(within(phase, work, rows, parameters, problem.linear) for phase in phases)
        reasons = (*reasons, f"sizes for a budget of {budget} on this machine")
    if plan.variants:
        measure = {"loss": "final training loss", "residual": "held-out residual"}[plan.select]
        reasons = (*reasons, f"the best of {len(plan.variants)} runs, by the {measure}")
    return replace(plan, phases=tuple(_scaled(phase, scale) for phase in phases), reasons=reasons)


def _variants(recipe: str, chosen: Method) -> tuple[dict[str, float], ...]:
    """Every rate of the recipe with every weight of the method; none where there is nothing to choose."""
    rates: list[dict[str, float]] = [{"rate": rate} for rate in RATES.get(recipe, ())]
    weights: list[dict[str, float]] = [{"residual_weight": weight} for weight in chosen.weight_grid]
    if not rates and not weights:
        return ()
    return tuple(rate | weight for rate in rates or [{}] for weight in weights or [{}])


def _scaled(phase: Phase, scale: float) -> Phase:
    if isinstance(phase, DIRECT) or scale == 1.0:
        return phase
    shorter = replace(phase, iterations=max(1, round(scale * phase.iterations)))
    # A patience is a number of iterations, too.
    if isinstance(shorter, Adam) and shorter.patience:
        return replace(shorter, patience=max(1, round(scale * shorter.patience)))
    return shorter


def default_schedule(
    problem: Problem, name: str, given: bool = False
) -> tuple[tuple[Phase, ...], tuple[str, ...]]:
    """The phases for a problem, and why.

    on a region of the plane         → polynomials on cells
    linear                           → least squares on the linear form; marching if that is not resolved
    nonlinear, with initial values   → marching
    nonlinear, otherwise             → Newton on the linear form; on cells if that is not resolved
    and in every case the network by Levenberg–Marquardt if the linear form fails;
    a method or network options that the user names are trained as they are, by Levenberg–Marquardt.
    """
    if name != "safe-net" or given:
        return SCHEDULES["levenberg-marquardt"], ("a network was asked for: trained by Levenberg–Marquardt",)
    reasons = [_structure_reason(problem)]
    phases: list[Phase] = []
    obstacle = marching_obstacle(problem)
    if problem.region is not None:
        reasons = ["a region of the plane: Newton on polynomials in cells, split where the remainder is"]
        # Without Newton steps a high degree costs little, and what is linear and steady is smooth inside.
        phases.append(Subdivision(degree=10) if problem.linear and len(problem.axes) == 2 else Subdivision())
    elif problem.linear:
        reasons.append("linear: the amplitudes of the linear form are one least-squares solve")
        phases.append(LeastSquares())
        if obstacle is None:
            phases += [replace(march, only_above=1e-6) for march in MARCHES]
    elif obstacle is None:
        reasons.append("nonlinear with initial values: Newton on the linear form, slab by slab in time")
        phases += MARCHES
    else:
        reasons.append(f"nonlinear, not marched ({obstacle}): Newton on the linear form, whole domain")
        phases.append(LeastSquares(general="chebyshev"))
        if subdivision_obstacle(problem) is None:
            reasons.append("then, where that is not resolved, in cells")
            phases.append(Subdivision(only_above=1e-6))
    # A linear form that misses its equation by a tenth has failed: the nonlinear network may still do it.
    phases.append(LevenbergMarquardt(150))
    return tuple(phases), tuple(reasons)


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
    """Why a problem cannot be marched in time, or None if it can."""
    if problem.region is not None:
        return least_squares_obstacle(problem)
    time = problem.time
    if time is None:
        return "it has no time axis"
    if not any(problem.time_order(name) for name in problem.unknowns):
        return "no equation has a time derivative"
    for condition in problem.conditions:
        if time not in condition.free and not condition.initial:
            return f"the condition {condition.text} looks ahead in time"
    phase = Marching()
    modes = first_modes(problem, phase.least)
    modes[time] = phase.degree
    size = unknowns_of(axis_bases(problem, modes, "chebyshev", (0.0, 1.0)))
    if size > phase.unknowns:
        return f"a slab would need {size} amplitudes"
    return None


OBSTACLES = {
    "least-squares": least_squares_obstacle,
    "marching": marching_obstacle,
    "cells": subdivision_obstacle,
}

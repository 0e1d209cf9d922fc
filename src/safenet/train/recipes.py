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
from dataclasses import asdict, dataclass, field, fields, replace
from numbers import Integral, Real
from typing import Any

from ..direct.cells import Subdivision
from ..direct.direct import LeastSquares
from ..direct.modes import Modes
from ..errors import SafeNetError, nearest
from ..measure.points import SAMPLERS
from ..networks.methods import Method, method
from ..problem import Problem
from ..solving.old_budget import multiplications_per_second, seconds, within
from .choice import CELL_MARCHES, GRID_MARCHES, MARCHES, OBSTACLES, default_schedule
from .optimisers.adam import Adam
from .optimisers.lbfgs import LBFGS
from .optimisers.levenberg import LevenbergMarquardt
from .optimisers.nncg import NNCG
from .optimisers.ssbroyden import SSBroyden
from .optimisers.varpro import VariableProjection
from .phases import DIRECT, DOUBLE, PHASES, Phase
from .staging import Stage

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
    "cell-marching": CELL_MARCHES,
    "grid-marching": GRID_MARCHES,
    "cells": (Subdivision(),),
    "modes": (Modes(),),
    "levenberg-marquardt": (LevenbergMarquardt(200),),
    "adaptive-points": (LevenbergMarquardt(200, resample=20),),
    "multi-stage": (LevenbergMarquardt(100), Stage(100)),
    "variable-projection": (VariableProjection(100),),
    "ssbroyden": (Adam(1_000), SSBroyden(20_000)),
    "nncg": (Adam(11_000), LBFGS(30_000), NNCG(2_000)),
}
# What a recipe asks of safe-net where the user says nothing: no hidden layer, or one that a dense matrix can follow.
NETWORKS: dict[str, dict[str, int]] = {
    "variable-projection": {"features": 64, "depth": 0},
    "ssbroyden": {"features": 64, "width": 32},
    "multi-stage": {"features": 32, "width": 16},
}
# Where a phase gets what those before have left: the iterations in all at which it ends (0: its own count).
UNTIL: dict[str, tuple[int, ...]] = {"paper-2": (0, 0, 37_000, 0), "paper-3e": (0, 40_000)}
RATES: dict[str, tuple[float, ...]] = {"paper-2": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)}
SCOUT = 0  # the seed that tries rates, or a method's weights, for all seeds
RECIPES: dict[str, str] = {
    "default": "chosen from the symbols: modes, least squares, marching in time, cells, or Levenberg–Marquardt",
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
    "cell-marching": "Gauss–Newton on polynomials in cells, in slabs of time",
    "grid-marching": "Newton at the nodes of a grid, in slabs of time, by fast products",
    "cells": "Gauss–Newton on polynomials in cells, split where the remainder is",
    "modes": "a sum of exact solutions from the dispersion relation, its amplitudes from the conditions",
    "levenberg-marquardt": "200 Levenberg–Marquardt steps on the network",
    "adaptive-points": "the same, with new points where the residual is large after every 20 steps",
    "multi-stage": "100 Levenberg–Marquardt steps, then 100 on a second network for what the first has left",
    "variable-projection": "linear problems: amplitudes by least squares, frequencies by Levenberg–Marquardt",
    "ssbroyden": "1k Adam, then 20k self-scaled Broyden steps with a dense inverse Hessian",
    "nncg": "11k Adam, 30k L-BFGS, then 2k NysNewton-CG, the schedule of Rathore et al. (2024)",
}


@dataclass(frozen=True)
class Plan:
    """Everything that decides a run, as data: the same plan on the same machine gives the same bits.

    With `variants` it is several runs, of which one is chosen: each variant names what it changes, the `rate` (of the
    first Adam, later ones in proportion), the `residual_weight` or both. `select` says by what: the final training
    `loss`, or the held-out `residual` where the losses differ in their weights and do not compare. Never by the error.
    The runs of one seed, SCOUT, choose for all: the paper searches "per PDE", and a search for each of five seeds would
    be 25 runs instead of nine.
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
        """The runs among which one is chosen: one for each variant, by the seed that tries them; or itself alone."""
        return tuple(replace(plan, seed=SCOUT) for plan in self.settled) or (self,)

    @property
    def settled(self) -> tuple[Plan, ...]:
        """For each variant the run that it would be, should it be chosen."""
        return tuple(self._varied(**variant) for variant in self.variants)

    @property
    def scouts(self) -> bool:
        """Whether the chosen candidate is the run itself already."""
        return not self.variants or self.seed == SCOUT

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


OPTIONS = {  # of a method, and of `make_plan` beside its names
    *(item.name for item in fields(Method)),
    *("seed", "precision", "scale", "interior", "condition", "sampler", "budget"),
}


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
    for name in options:
        if name not in OPTIONS:
            raise SafeNetError(f"there is no option {name!r}", nearest(name, OPTIONS))
    asked = NETWORKS.get(recipe, {}) if method_name == "safe-net" else {}
    chosen = method(method_name, **(asked | options))
    if recipe not in RECIPES:
        raise SafeNetError(f"there is no recipe {recipe!r}", nearest(recipe, RECIPES))
    if precision not in (None, "float32", "float64"):
        raise SafeNetError(
            f"there is no precision {precision!r}", nearest(str(precision), ("float32", "float64"))
        )
    if not _whole(seed, 0):
        raise SafeNetError(f"the seed is {seed!r}", "give a whole number from 0 on")
    if not isinstance(scale, Real) or not 0 < scale < math.inf:
        raise SafeNetError(f"the scale is {scale!r}", "give a positive number, e.g. 0.01 for a hundredth")
    for name, count in (("points", interior), ("condition points", condition)):
        if count is not None and not _whole(count, 1):
            raise SafeNetError(f"{count!r} {name} cannot be drawn", "give a whole number, at least 1")
    if sampler is not None and sampler not in SAMPLERS:
        raise SafeNetError(f"there is no sampler {sampler!r}", nearest(sampler, SAMPLERS))
    paper = recipe.startswith("paper-")
    plan = Plan(
        method=method_name,
        recipe=recipe,
        seed=int(seed),
        precision=precision or ("float32" if paper else "float64"),
        network=chosen,
        interior=int(interior or (20_000 if paper else 4_000)),
        condition=int(condition or (2_000 if paper else 400)),
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
    short = [phase.name for phase in phases if isinstance(phase, DOUBLE)]
    if plan.precision == "float32" and short:
        raise SafeNetError(f"{short[0]} needs float64", "leave out --precision, or choose a paper recipe")
    if budget is not None:
        work = seconds(str(budget)) * multiplications_per_second()
        rows = plan.interior * len(problem.equations) + plan.condition * len(problem.conditions)
        parameters = plan.network.features * plan.network.width + plan.network.depth * plan.network.width**2
        phases = tuple(within(phase, work, rows, parameters) for phase in phases)
        reasons = (*reasons, f"sizes for a budget of {budget} on this machine")
    if plan.variants:
        measure = {"loss": "final training loss", "residual": "held-out residual"}[plan.select]
        reasons = (*reasons, f"the best of {len(plan.variants)} variants, by the {measure} of seed {SCOUT}")
    return replace(plan, phases=tuple(_scaled(phase, scale) for phase in phases), reasons=reasons)


def _whole(value: Any, least: int) -> bool:
    """NumPy's whole numbers are as good; 1.0 and "1" are slips."""
    return isinstance(value, Integral) and int(value) >= least


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

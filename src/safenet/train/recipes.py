"""A recipe is a named schedule with settings for points, precision and network. New ones are lines in the table.

paper-1    30k Adam, 10k L-BFGS                 paper-3a   20k Adam, 20k L-BFGS     (-1-torch: 200k L-BFGS)
paper-3b   10k Adam, 30k L-BFGS                 paper-3c    5k Adam, 35k L-BFGS
paper-3d   25k Adam, 10k L-BFGS, 5k Adam        paper-3e   Adam to a plateau, L-BFGS to 40k in all
paper-4   100k Adam                             paper-2    3k Adam, 10k L-BFGS, Adam to 37k in all, 3k L-BFGS,
                                                           for each of five rates; the lowest loss wins
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import jax

from ..errors import SafeNetError, nearest
from ..networks.methods import TRAINED_DENSELY
from ..problem import Problem
from ..problem.facts.structure import carried
from .optimisers.adam import Adam, MultiAdam
from .optimisers.lbfgs import LBFGS
from .optimisers.levenberg import LevenbergMarquardt
from .optimisers.nncg import NNCG
from .optimisers.ssbroyden import SSBroyden
from .optimisers.varpro import VariableProjection
from .phases import Phase
from .staging import Stage


@dataclass(frozen=True)
class Recipe:
    """Phases, and the settings that go with them unless the user gives others."""

    phases: tuple[Phase, ...]
    sparing: tuple[Phase, ...] = ()  # used instead where a dense inverse Hessian would not fit
    until: tuple[int, ...] = ()  # the total of iterations at which a phase ends (0: after its own count)
    rates: tuple[float, ...] = ()  # the rates of the first Adam to choose from
    network: Mapping[str, Any] = field(
        default_factory=dict
    )  # options for safe-net, e.g. to suit a dense inverse Hessian
    precision: str = "float64"
    interior: int = 4_000
    condition: int = 400
    sampler: str = "sobol"
    linear: bool = False  # for linear problems only
    reason: str = ""  # why it has these sizes, where they depend on the problem


_paper = partial(Recipe, precision="float32", interior=20_000, condition=2_000, sampler="uniform")

RECIPES: dict[str, Recipe] = {
    # Sizes for a GPU, where 60,000 steps take about a minute; `SMALL` has those for a CPU.
    "default": Recipe(
        (Adam(1_000), SSBroyden(60_000, resample=500)),
        sparing=(Adam(1_000), LBFGS(60_000)),
        network=TRAINED_DENSELY,
        interior=10_000,
        condition=1_000,
    ),
    "paper-1": _paper((Adam(30_000), LBFGS(10_000))),
    # Iterations as counted by the code that the paper follows: one call of torch's `step` is up to 20 of ours.
    "paper-1-torch": _paper((Adam(30_000), LBFGS(200_000, history=100))),
    # η, a constant in the first phase, is halved in the second Adam.
    "paper-2": _paper(
        (Adam(3_000, decay=1.0), LBFGS(10_000), Adam(24_000, rate=5e-4), LBFGS(3_000)),
        until=(0, 0, 37_000, 0),
        rates=(1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    ),
    "paper-3a": _paper((Adam(20_000), LBFGS(20_000))),
    "paper-3b": _paper((Adam(10_000), LBFGS(30_000))),
    "paper-3c": _paper((Adam(5_000), LBFGS(35_000))),
    "paper-3d": _paper((Adam(25_000), LBFGS(10_000), Adam(5_000))),
    "paper-3e": _paper(
        (Adam(40_000, patience=1_000), LBFGS(40_000)),
        until=(0, 40_000),
    ),
    "paper-4": _paper((Adam(100_000),)),
    "multiadam": _paper((MultiAdam(30_000), LBFGS(10_000))),
    "ssbroyden": Recipe(
        (Adam(1_000), SSBroyden(20_000)),
        network={"features": 64, "width": 32},
    ),
    "levenberg-marquardt": Recipe((LevenbergMarquardt(200),)),
    "adaptive-points": Recipe(
        (LevenbergMarquardt(200, resample=20),),
    ),
    "multi-stage": Recipe(
        (LevenbergMarquardt(100), Stage(100)),
        network={"features": 32, "width": 16},
    ),
    "variable-projection": Recipe(
        (VariableProjection(100),),
        network={"features": 64, "depth": 0},
        linear=True,
    ),
    "nncg": Recipe(
        (Adam(11_000), LBFGS(30_000), NNCG(2_000)),
    ),
}
# Two layers and 2,000 points make steps three times as cheap; fronts need more of both.
SMALL = replace(
    RECIPES["default"],
    phases=(Adam(1_000), SSBroyden(30_000, resample=500)),
    sparing=(Adam(1_000), LBFGS(30_000)),
    network={**TRAINED_DENSELY, "features": 32, "width": 20, "depth": 2},
    interior=2_000,
    condition=200,
)
SMALL_FOR_FRONTS = replace(SMALL, network={**SMALL.network, "depth": 3}, interior=4_000)
FRONTS = "{} is multiplied by an unknown, so fronts may form: three layers and 4,000 points instead of two and 2,000"


def recipe(name: str, problem: Problem | None = None) -> Recipe:
    """The recipe of that name; the default has sizes for the device and, on a CPU, for the problem."""
    if name not in RECIPES:
        raise SafeNetError(f"there is no recipe {name!r}", nearest(name, RECIPES))
    if name != "default" or jax.default_backend() != "cpu":
        return RECIPES[name]
    steep = carried(problem) if problem is not None else None
    return replace(SMALL_FOR_FRONTS, reason=FRONTS.format(steep)) if steep else SMALL


def scaled(phase: Phase, scale: float) -> Phase:
    """The phase with `scale` times its iterations, and its patience, which counts iterations too, scaled alike."""
    if scale == 1.0:
        return phase
    counts = {name: getattr(phase, name) for name in phase.counted}
    return replace(phase, **{name: max(1, round(scale * count)) for name, count in counts.items() if count})

"""Methods, problems and schedules as the paper calls them."""

from __future__ import annotations

import math

from ..report.words import Names, percent
from .evidence import PAPER

METHODS = {
    "pinn": "PINN",
    "fls-pinn": "FLS-PINN",
    "w-pinn": "W-PINN",
    "w-pinn-grid": "W-PINN, grid",
    "rba-pinn": "RBA-PINN",
    "rff": "RFF",
    "rff-tuned": "RFF, tuned",
    "rbf": "RBF",
    "rbf-p": "RBF-P",
    "safe-net-literal": "SAFE-NET",
    "safe-net": "SAFE-NET, ours",
    "auto": "direct solver",
}
PROBLEMS = {
    "wave": "Wave",
    "reaction": "Reaction",
    "diffusion": "Diffusion",
    "heat2d": "Heat",
    "convection": "Convection",
    "allen-cahn": "Allen–Cahn",
    "burgers": "Burgers",
    "backstep": "Navier–Stokes",
    "nh-heat": "Non-hom. heat",
}
NAMES = Names(METHODS, PROBLEMS, {PAPER: "the paper's"})
method, problem = NAMES.method, NAMES.problem


def schedule(recipe: str) -> str:
    """paper-3a → Schedule 3a"""
    return f"Schedule {recipe.removeprefix('paper-')}" if recipe.startswith("paper-") else recipe


def lower(gain: float) -> str:
    """28% lower, 3.1% higher"""
    if not math.isfinite(gain):
        return "diverged"
    return f"{percent(gain)} lower" if gain >= 0 else f"{percent(-gain)} higher"

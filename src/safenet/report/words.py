"""Numbers and names as a reader wants them."""

from __future__ import annotations

import math

from ..bench.projection import duration

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
STAR = "✱"  # the paper's mark of a run that diverged
NONE = "–"


def method(name: str) -> str:
    return METHODS.get(name, name)


def problem(name: str) -> str:
    """convection beta=5 → Convection beta=5"""
    word, *changes = name.split(" ")
    return " ".join([PROBLEMS.get(word, word), *changes])


def schedule(recipe: str) -> str:
    """paper-3a → Schedule 3a"""
    return f"Schedule {recipe.removeprefix('paper-')}" if recipe.startswith("paper-") else recipe


def short(value: float | None) -> str:
    """1.2e-3; ✱ for what diverged, – for what is not there."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return STAR
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def printed(value: float) -> str:
    """As the paper prints it, without zeros at the end: 1.21e-3, 2.1e4"""
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def count(value: float | None) -> str:
    """6,793"""
    return NONE if value is None else f"{value:,.0f}"


def percent(value: float) -> str:
    return f"{value:.3g}%"


def factor(value: float | None) -> str:
    """Two digits: ×21, ×0.43, ×0.0027; ×2.1e4 and ×3.0e-5 where that would be long"""
    if value is None or not math.isfinite(value):
        return ""
    if not 1e-4 <= value < 9999.5:
        return f"×{short(value)}"
    rounded = float(f"{value:.1e}")  # first: 0.998 is 1.0, not 1.00
    return f"×{rounded if rounded < 100 else value:.{max(0, 1 - math.floor(math.log10(rounded)))}f}"


def minutes(seconds: float | None) -> str:
    """42 s, 3.5 min, 2.1 h"""
    return NONE if seconds is None else duration(seconds)


def lower(gain: float) -> str:
    """28% lower, 3.1% higher"""
    if not math.isfinite(gain):
        return "diverged"
    return f"{percent(gain)} lower" if gain >= 0 else f"{percent(-gain)} higher"

"""Numbers and names, formatted for a reader."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..run.outlook import duration
from .results import Scale

STAR = "✱"  # the mark of a run that diverged
NONE = "–"


@dataclass(frozen=True)
class Names:
    """Names for a reader; whatever has none keeps its name from the suite."""

    methods: Mapping[str, str] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    scales: Mapping[Scale, str] = field(default_factory=dict)

    def method(self, name: str) -> str:
        return self.methods.get(name, name)

    def problem(self, name: str) -> str:
        """convection beta=5 → Convection beta=5"""
        word, *changes = name.split(" ")
        return " ".join([self.problems.get(word, word), *changes])


PLAIN = Names()


def short(value: float | None) -> str:
    """1.2e-3; ✱ if diverged, – if missing."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return STAR
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def printed(value: float) -> str:
    """Three digits without zeros at the end, as papers print numbers: 1.21e-3, 2.1e4"""
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def count(value: float | None) -> str:
    """6,793"""
    return NONE if value is None else f"{value:,.0f}"


def percent(value: float) -> str:
    """15.6%, 1,260%"""
    return f"{value:.3g}%" if abs(value) < 999.5 else f"{value:,.0f}%"


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

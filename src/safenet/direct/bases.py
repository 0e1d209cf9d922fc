"""φ_k along each axis: which basis the detected structure allows, and how many functions a first level needs."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..fields.basis import AxisBasis
from ..fields.series import Bases
from ..problem import Problem
from ..problem.facts.structure import axis_kinds, middle_parities, named_frequencies
from .thresholds import HIGHEST


def axis_bases(
    problem: Problem, modes: Sequence[int], general: str, span: tuple[float, float] | None = None
) -> Bases:
    """The basis of each field along each axis, by the axis's kind; `general` where no structure was detected."""
    kinds, parities = axis_kinds(problem), middle_parities(problem)
    fields = []
    for name in problem.unknowns:
        bases = []
        for i, axis in enumerate(problem.axes):
            low, high = span if span is not None and axis.is_time else (axis.lo, axis.hi)
            kind, parity = kinds[name][i], parities[name][i]
            if kind != "general":
                bases.append(AxisBasis(kind, modes[i], low, high, parity))
            elif axis.is_time and span is not None:
                # Within a short slab the solution is smooth in time: half as many polynomials suffice.
                bases.append(AxisBasis("chebyshev", modes[i], low, high))
            else:
                count = modes[i] if general == "fourier" else 2 * modes[i]
                bases.append(AxisBasis(general, count, low, high, parity))
        fields.append(tuple(bases))
    return tuple(fields)


def first_modes(problem: Problem, least: int) -> list[int]:
    """Enough modes for every frequency named in the data, plus `least`."""
    kinds = next(iter(axis_kinds(problem).values()))
    modes = []
    for axis, kind, named in zip(problem.axes, kinds, named_frequencies(problem), strict=True):
        period = axis.length if kind == "periodic" else 2 * axis.length
        highest = max(named, default=0.0) * period / (2 * math.pi)
        modes.append(least + math.ceil(min(highest, HIGHEST)))
    return modes


def unknowns_of(bases: Bases) -> int:
    return sum(math.prod(basis.size for basis in axes) for axes in bases)

"""residual(x, ∂^α u) = 0: axes, and the relations on them that make a problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import sympy as sp

from .jets import Jet

TIME = "t"


@dataclass(frozen=True)
class Axis:
    """One coordinate, lower ≤ symbol ≤ upper."""

    symbol: sp.Symbol
    lower: sp.Expr
    upper: sp.Expr
    lo: float
    hi: float

    @property
    def name(self) -> str:
        return str(self.symbol.name)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.lo, self.hi

    @property
    def length(self) -> float:
        return self.hi - self.lo

    @property
    def is_time(self) -> bool:
        return self.name == TIME


@dataclass(frozen=True)
class Relation:
    """residual(coordinates, jets) = 0; `text` is how it is shown, `statement` the equation as written."""

    text: str
    statement: sp.Eq
    residual: sp.Expr
    jets: dict[sp.Symbol, Jet]
    # The factor from the residual to an error of the unknowns; None: it follows from the order.
    scale: float | None = field(default=None, kw_only=True)

    @cached_property
    def linear(self) -> bool:
        """Whether ∂residual/∂jet is free of jets for every jet."""
        return all(not (slope.free_symbols & self.jets.keys()) for slope in self._slopes.values())

    @cached_property
    def _slopes(self) -> dict[sp.Symbol, sp.Expr]:
        return {jet: self.residual.diff(jet) for jet in self.jets}

    def coefficient(self, jet: sp.Symbol) -> sp.Expr:
        """∂residual/∂jet, cached because every time slab asks for it."""
        return self._slopes[jet]

    @property
    def source(self) -> sp.Expr:
        """g of (terms in the unknowns) = g: minus the residual at zero jets."""
        return -self.residual.xreplace({jet: sp.Integer(0) for jet in self.jets})


@dataclass(frozen=True)
class Condition(Relation):
    """A relation on a face, an edge, a point or a named piece: `free` are the axes along which it holds."""

    kind: str
    free: tuple[int, ...]
    places: tuple[tuple[sp.Expr | None, ...], ...]
    piece: str = ""
    number: int = 0  # of the statement it comes from; 0 if `periodic` added it

    @property
    def initial(self) -> bool:
        return self.kind == "initial"

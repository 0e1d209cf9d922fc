"""a(x, y), a_x(0, y): a function given by numbers, and its derivatives, as SymPy expressions.

The numbers are in a table (`problem.functions`) and statements only name the function, so the numbers of an unknown
function can change while its statements stay the same.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

if TYPE_CHECKING:
    from ..functions import Table

# SymPy has no types.


class Numbers(sp.AtomicExpr):  # type: ignore[misc, unused-ignore]
    """The table behind a function; it equals any other with the same name and numbers."""

    is_commutative = True
    is_real = True

    def __new__(cls, table: Table) -> Numbers:
        self: Numbers = sp.AtomicExpr.__new__(cls)
        self.table = table
        return self

    def _hashable_content(self) -> tuple[Any, ...]:
        return (self.table.name, self.table.key)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (self.table,)

    def _sympystr(self, printer: Any) -> str:
        return f"{self.table.name}#{self.table.key}"


class Tabulated(sp.Expr):  # type: ignore[misc, unused-ignore]
    """∂^orders of a table's function, at a place or along its axes."""

    is_commutative = True

    def __new__(cls, numbers: Any, orders: Any, *at: Any) -> Tabulated:
        numbers = numbers if isinstance(numbers, Numbers) else Numbers(numbers)
        found: Tabulated = sp.Expr.__new__(cls, numbers, sp.Tuple(*orders), *at)
        return found

    @property
    def table(self) -> Table:
        return self.args[0].table  # type: ignore[no-any-return]

    @property
    def orders(self) -> tuple[int, ...]:
        return tuple(int(order) for order in self.args[1])

    @property
    def at(self) -> tuple[sp.Expr, ...]:
        return tuple(self.args[2:])

    @property
    def is_number(self) -> bool:
        return all(x.is_number for x in self.at)

    @property
    def coefficients(self) -> sp.Symbol:
        """The symbol by which `evaluate` may be given other coefficients."""
        return coefficients_of(self.table.name)

    @property
    def roughness(self) -> int:
        """0 if it is continuous, 1 if it jumps, 2 or more if it is a derivative of a jump, which is not a function."""
        beyond = max(k - line.degree for k, line in zip(self.orders, self.table.spline.lines, strict=True))
        return max(beyond + 1, 0)

    def computed(self, at: list[Any], xp: ModuleType, coefficients: Any = None) -> Any:
        return self.table.spline(at, self.orders, xp, coefficients)

    def _eval_is_real(self) -> bool:
        return True

    def _eval_is_finite(self) -> bool:
        return True

    def _eval_derivative(self, s: sp.Symbol) -> sp.Expr:
        total = sp.Integer(0)
        for i, x in enumerate(self.at):
            slope = x.diff(s)
            if slope != 0:
                orders = [k + (i == j) for j, k in enumerate(self.orders)]
                total += Tabulated(self.args[0], orders, *self.at) * slope
        return total

    def _eval_evalf(self, prec: int) -> sp.Expr:
        if not self.is_number:
            return Tabulated(self.args[0], self.args[1], *(x._eval_evalf(prec) for x in self.at))
        return sp.Float(float(self.computed([np.float64(float(x)) for x in self.at], np)))

    def _sympystr(self, printer: Any) -> str:
        suffix = "".join(axis * k for axis, k in zip(self.table.of, self.orders, strict=True))
        name = f"{self.table.name}_{suffix}" if suffix else self.table.name
        if all(x.is_Symbol and x.name == axis for x, axis in zip(self.at, self.table.of, strict=True)):
            return name
        return f"{name}({', '.join(printer._print(x) for x in self.at)})"


def coefficients_of(name: str) -> sp.Symbol:
    return sp.Symbol(f"{name}#", real=True)  # a name that no user can write

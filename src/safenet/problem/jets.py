"""∂^α u at a place: the atoms of equations and conditions.

SymPy writes a derivative in several ways — `Derivative(u(x, t), t)`, `Derivative(u(0, t), t)`,
`Subs(Derivative(u(x, t), t), t, 0)`. Here each becomes one `Jet(field, orders, place)`, represented in
expressions by a plain symbol, so that a residual is an ordinary expression in coordinates and jets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import sympy as sp
from sympy.core.function import AppliedUndef

from ..errors import SafeNetError
from .language.notation import written
from .language.tabulated import Tabulated

if TYPE_CHECKING:
    from .functions import Table

Orders = tuple[int, ...]  # α of ∂^α
Place = tuple[sp.Expr | None, ...]


@dataclass(frozen=True)
class Jet:
    """∂^orders field, at `place`: a value for each axis that is fixed, None for each that is free."""

    field: str
    orders: Orders
    place: Place

    @property
    def interior(self) -> bool:
        return all(value is None for value in self.place)

    def text(self, axes: Sequence[str]) -> str:
        """`u_xx`, or with a place `u_t(x, 0)`."""
        suffix = "".join(axis * order for axis, order in zip(axes, self.orders, strict=True))
        name = f"{self.field}_{suffix}" if suffix else self.field
        if self.interior:
            return name
        arguments = (
            axis if value is None else written(value) for axis, value in zip(axes, self.place, strict=True)
        )
        return f"{name}({', '.join(arguments)})"

    def symbol(self, axes: Sequence[str]) -> sp.Symbol:
        """What stands for it in an expression."""
        return sp.Symbol(self.text(axes), real=True)


def along(axis: int | None, axes: int) -> Orders:
    """e_i, the orders of the first derivative along one axis; zeros, for the value itself, if it is None."""
    return tuple(int(k == axis) for k in range(axes))


def coordinate(name: str) -> sp.Symbol:
    """The one symbol used for an axis or a parameter of this name, whatever assumptions the user's had."""
    return sp.Symbol(name, real=True)


def exact_numbers(expression: sp.Basic) -> sp.Basic:
    """0.1 → 1/10: decimals are meant exactly, and SymPy simplifies rationals where floats get stuck."""
    floats = expression.atoms(sp.Float)
    return expression.xreplace({number: sp.Rational(_shortest(number)) for number in floats})


def _shortest(number: sp.Float) -> str:
    value = float(number)
    # SymPy's own digits where float64 cannot hold the number at all.
    return repr(value) if isfinite(value) else str(number)


class JetTable:
    """Rewrites SymPy expressions of unknown functions into expressions of coordinates and jet symbols.

    A place given by parameters is replaced by its number: u(L, t) with L = 2 is u(2, t).
    """

    def __init__(
        self,
        axes: Sequence[sp.Symbol],
        fields: Sequence[str],
        parameters: Mapping[sp.Symbol, sp.Expr] | None = None,
        functions: Mapping[str, Table] | None = None,
    ) -> None:
        self.axes = tuple(axes)
        self.names = tuple(axis.name for axis in axes)
        self.fields = tuple(fields)
        self.parameters = dict(parameters or {})
        self.functions = dict(functions or {})
        self.jets: dict[sp.Symbol, Jet] = {}

    def symbol(self, jet: Jet) -> sp.Symbol:
        symbol = jet.symbol(self.names)
        if self.jets.setdefault(symbol, jet) != jet:
            raise SafeNetError(f"{symbol} can be read as two derivatives", "rename the axes, e.g. x, y, t")
        return symbol

    def rewrite(self, expression: sp.Expr, label: str) -> sp.Expr:
        """Replace every unknown and derivative in `expression` (a part of `label`) by its jet symbol."""
        if isinstance(expression, sp.Subs):
            return self._subs(expression, label)
        if isinstance(expression, sp.Derivative):
            return self._derivative(expression, label)
        if isinstance(expression, AppliedUndef):
            return self._function(expression, (), label) or self.symbol(
                self._applied(expression, (0,) * len(self.axes), label)
            )
        if not expression.args:
            return expression
        return expression.func(*(self.rewrite(argument, label) for argument in expression.args))

    def _function(self, applied: AppliedUndef, by: Sequence[sp.Symbol], label: str) -> sp.Expr | None:
        """A function given by numbers, differentiated `by` some axes; None if `applied` is not such a function."""
        table = self.functions.get(applied.func.__name__)
        if table is None:
            return None
        if len(applied.args) != len(table.of):
            raise SafeNetError(
                f"{label}: {applied} has {len(applied.args)} arguments",
                f"write {table.name}({', '.join(table.of)})",
            )
        orders = [sum(axis == x for axis in by) for x in applied.args]
        return Tabulated(table, orders, *applied.args)

    def _applied(self, applied: AppliedUndef, orders: Orders, label: str) -> Jet:
        name = applied.func.__name__
        if name not in self.fields:
            raise SafeNetError(
                f"{label}: {name!r} is not one of the unknowns ({', '.join(self.fields)})",
                f"declare it as an unknown, or write {name} as a parameter or a known function",
            )
        if len(applied.args) != len(self.axes):
            raise SafeNetError(
                f"{label}: {applied} has {len(applied.args)} arguments, the domain has {len(self.axes)} axes",
                f"write {name}({', '.join(self.names)}), with a number where an axis is fixed",
            )
        place: list[sp.Expr | None] = []
        for axis, argument in zip(self.axes, applied.args, strict=True):
            if argument == axis:
                place.append(None)
            elif argument.free_symbols & set(self.axes) or argument.has(AppliedUndef):
                raise SafeNetError(
                    f"{label}: {applied} has {argument} in the place of {axis.name}",
                    f"the arguments are {', '.join(self.names)} in this order; a fixed one is a number",
                )
            else:
                place.append(argument.xreplace(self.parameters))
        return Jet(name, orders, tuple(place))

    def _derivative(self, derivative: sp.Derivative, label: str) -> sp.Expr:
        inner = derivative.expr
        if not isinstance(inner, AppliedUndef):
            expanded = derivative.doit()
            if expanded == derivative:
                raise SafeNetError(f"{label}: cannot read the derivative {derivative}")
            return self.rewrite(expanded, label)
        by = [variable for variable, count in derivative.variable_count for _ in range(int(count))]
        if (known := self._function(inner, by, label)) is not None:
            return known
        orders = [0] * len(self.axes)
        for variable, count in derivative.variable_count:
            if variable not in self.axes:
                raise SafeNetError(
                    f"{label}: a derivative in {variable}, which is not an axis of the domain",
                    f"the axes are {', '.join(self.names)}",
                )
            orders[self.axes.index(variable)] += int(count)
        return self.symbol(self._applied(inner, tuple(orders), label))

    def _subs(self, substitution: sp.Subs, label: str) -> sp.Expr:
        # To SymPy two Subs are equal if only their bound variables differ, so its cache may return one whose t is not
        # our real t, or that of a problem with another axis: u_x(0) of an earlier one for u_t(0).
        real = {variable: self._bound(variable, substitution.expr) for variable in substitution.variables}
        replacements = dict(zip(real.values(), substitution.point, strict=True))
        return self.place(self.rewrite(substitution.expr.xreplace(real), label), replacements)

    def _bound(self, variable: sp.Symbol, expression: sp.Expr) -> sp.Symbol:
        """The axis that a bound variable stands for: that of its place among the arguments of an unknown."""
        for applied in expression.atoms(AppliedUndef):
            if variable in applied.args[: len(self.axes)]:
                return self.axes[applied.args.index(variable)]
        return coordinate(variable.name)

    def place(self, expression: sp.Expr, replacements: Mapping[sp.Symbol, sp.Expr]) -> sp.Expr:
        """Evaluate coordinates and jets of an already rewritten expression at fixed axis values."""
        replacements = {axis: value.xreplace(self.parameters) for axis, value in replacements.items()}
        values: dict[sp.Basic, sp.Expr] = dict(replacements)
        for symbol in expression.free_symbols & self.jets.keys():
            jet = self.jets[symbol]
            place = tuple(
                replacements.get(axis, value) if value is None else value
                for axis, value in zip(self.axes, jet.place, strict=True)
            )
            values[symbol] = self.symbol(Jet(jet.field, jet.orders, place))
        return expression.xreplace(values)

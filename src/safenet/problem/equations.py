"""u_t = c·u_xx → residual(x, jets) = 0: statements become relations; invalid equations are refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import sympy as sp

from ..errors import Place, SafeNetError, about
from .evaluate import JUMPS, KINKS, computable
from .jets import JetTable, coordinate
from .language.notation import COMPLEX, written
from .language.tabulated import Tabulated
from .relation import Relation

if TYPE_CHECKING:
    from .problem import Problem


MAY_VANISH = (*KINKS, sp.Piecewise, Tabulated)


def equations_of(problem: Problem, statements: Sequence[sp.Eq]) -> tuple[Relation, ...]:
    """The equations of a problem whose domain and unknowns are known; each unknown must appear in one."""
    found = []
    for index, statement in enumerate(statements):
        with about("equations", index):
            found.append(_equation(problem, statement, f"equation {index + 1}"))
    present = {jet.field for equation in found for jet in equation.jets.values()}
    for index, field in enumerate(problem.unknowns):
        if field not in present:
            raise SafeNetError(
                f"the unknown {field} appears in no equation", "add its equation", Place(("unknowns", index))
            )
    return tuple(found)


def _equation(problem: Problem, statement: sp.Eq, label: str) -> Relation:
    equation = relation_of(problem, statement, label)
    placed = [jet for jet in equation.jets.values() if not jet.interior]
    if placed:
        raise SafeNetError(
            f"{label} fixes a place: {placed[0].text(problem.axis_names)}",
            "an equation holds in the whole domain; move this to the conditions",
        )
    if not equation.jets:
        raise SafeNetError(
            f"{label} ({equation.text}) does not contain an unknown",
            f"the unknowns are {', '.join(problem.unknowns)}",
        )
    return replace(equation, residual=_bare(equation.residual, {axis.symbol for axis in problem.axes}))


def _bare(residual: sp.Expr, axes: set[sp.Symbol]) -> sp.Expr:
    """The residual without factors that depend only on the axes: e^(−60x) (u_xx − u) = 0 is treated as u_xx − u = 0.

    A factor that may be zero on a part of the domain is kept, because the equation says nothing there.
    """
    factors = sp.Mul.make_args(sp.factor_terms(residual))
    idle = [f for f in factors if f.free_symbols and f.free_symbols <= axes and not f.has(*MAY_VANISH)]
    return sp.Mul(*(f for f in factors if f not in idle)) if idle else residual


def relation_of(problem: Problem, statement: sp.Eq, label: str, normals: Sequence[str] = ()) -> Relation:
    """A statement as residual = 0 in coordinates and jets; it must be real, finite, computable, in known symbols."""
    symbols = [axis.symbol for axis in problem.axes]
    table = JetTable(symbols, problem.unknowns, problem.parameters, problem.functions)
    left, right = table.rewrite(statement.lhs, label), table.rewrite(statement.rhs, label)
    residual, text = left - right, f"{written(left)} = {written(right)}"
    _check_real(residual, table, f"{label} ({text})")
    known = {axis.symbol for axis in problem.axes} | problem.parameters.keys() | table.jets.keys()
    known |= {coordinate(name) for name in normals}
    for symbol in sorted(residual.free_symbols - known, key=str):
        raise SafeNetError(
            f"{label}: the symbol {symbol} is neither an axis ({', '.join(problem.axis_names)}) "
            f"nor a parameter ({', '.join(p.name for p in problem.parameters) or 'none given'})",
            f"give it a value in the parameters, e.g. {symbol} = 1",
        )
    try:
        computable(residual)
    except SafeNetError as error:
        raise SafeNetError(f"{label}: {error.message}", error.remedy) from None
    used = sorted(residual.free_symbols & table.jets.keys(), key=str)
    if residual.has(*JUMPS) and any(residual.diff(symbol).has(sp.DiracDelta) for symbol in used):
        raise SafeNetError(
            f"{label} ({text}) contains a jump whose place depends on an unknown",
            "smooth the jump, e.g. tanh(u/0.01) for sign(u); max, min and abs of an unknown are fine",
        )
    return Relation(text, statement, residual, {symbol: table.jets[symbol] for symbol in used})


def _check_real(residual: sp.Expr, table: JetTable, shown: str) -> None:
    if not residual.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
        return
    if any(residual.diff(jet).has(sp.I) for jet in residual.free_symbols & table.jets.keys()):
        raise SafeNetError(f"{shown} is complex", COMPLEX.format(next(iter(table.jets.values())).field))
    raise SafeNetError(f"{shown} is not real and finite", "check divisions by zero, roots and logarithms")

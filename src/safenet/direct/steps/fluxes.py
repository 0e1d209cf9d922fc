"""u u_x = (u²/2)_x: terms of N that are total derivatives are computed as such, with fewer transforms.

If a constraint says Σ ∂_i w_i = 0, then also Σ w_i ∂_i q = Σ ∂_i (w_i q): the transport of an incompressible flow.
"""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

from ...problem.facts.semilinear import Semilinear
from ...problem.jets import Orders, along


@dataclass(frozen=True)
class Term:
    """∂^orders of an expression, a term of N with a factor for each of these rows."""

    expression: sp.Expr
    orders: Orders
    rows: tuple[tuple[int, float], ...]


class Fluxes:
    """The terms of N, collected by row and derivative, and the jets that they contain.

    What two rows share, such as u v² in a reaction, is one term; `constants` are numbers that are added to the rows.
    """

    def __init__(self, system: Semilinear) -> None:
        self._jets = {symbol: (column, orders) for symbol, column, orders in system.jets}
        self._plain = {column: symbol for symbol, (column, orders) in self._jets.items() if not sum(orders)}
        every = [orders for *_, orders in system.jets]
        every += [
            orders for terms in system.linear.values() for _, orders in terms
        ]  # N may be a source alone
        axes = len(every[0]) if every else 0
        self._none = (0,) * axes
        self._along = [along(i, axes) for i in range(axes)]
        self._steady = _steady(system, self._along)
        collected: dict[tuple[int, Orders], list[sp.Expr]] = {}
        for row, rest in enumerate(system.rest):
            left = list(sp.Add.make_args(rest)) if rest != 0 else []
            for orders, parts in self._transport(left).items():
                collected.setdefault((row, orders), []).extend(parts)
            for term in left:
                orders, part = self._derivative(term)
                collected.setdefault((row, orders), []).append(part)
        self.constants = [0.0] * len(system.rest)
        shared: dict[tuple[sp.Expr, Orders], list[tuple[int, float]]] = {}
        for (row, orders), parts in collected.items():
            whole = sp.Add(*parts)
            number, varying = whole.as_coeff_Add()
            self.constants[row] += 0.0 if any(orders) else float(number)
            factor, expression = varying.as_coeff_Mul()
            if factor != 0:
                shared.setdefault((expression, orders), []).append((row, float(factor)))
        self.terms = [Term(*key, tuple(rows)) for key, rows in shared.items()]
        used = set().union(*(one.expression.free_symbols for one in self.terms)) if self.terms else set()
        self.jets = [jet for jet in system.jets if jet[0] in used]

    def _derivative(self, term: sp.Expr) -> tuple[Orders, sp.Expr]:
        """(∂^α, F) with ∂^α F = term: c u^n u_x is c/(n + 1) (u^(n+1))_x; else no derivative and the term."""
        number, factor = term.as_independent(*self._jets, as_Add=False)
        for symbol in sorted(factor.free_symbols & self._jets.keys(), key=str) if number.is_number else ():
            column, orders = self._jets[symbol]
            u = self._plain.get(column)
            if orders in self._along and u is not None:
                power = factor / symbol
                n = sp.Integer(1) if power == u else power.exp if power.is_Pow and power.base == u else None
                if n is not None and n.is_Integer and n > 0:
                    return orders, number / (n + 1) * u ** (n + 1)
        return self._none, term

    def _transport(self, terms: list[sp.Expr]) -> dict[Orders, list[sp.Expr]]:
        """Remove c Σ w_i q_i from the terms, and return c w_i q along each axis."""
        found: dict[Orders, list[sp.Expr]] = {}
        for carriers in self._steady:
            slopes = {(column, orders): symbol for symbol, (column, orders) in self._jets.items()}
            for q, u in self._plain.items():
                if not all(w in self._plain and (q, orders) in slopes for orders, w in carriers):
                    continue
                parts = [(self._plain[w], slopes[q, orders], orders) for orders, w in carriers]
                first = parts[0][0] * parts[0][1]
                for number in [c for term in terms if (c := term.coeff(first)) != 0 and c.is_number]:
                    whole = [number * w * slope for w, slope, _ in parts]
                    if all(one in terms for one in whole):
                        for one, (w, _, orders) in zip(whole, parts, strict=True):
                            terms.remove(one)
                            found.setdefault(orders, []).append(number * w * u)
        return found


def _steady(system: Semilinear, along: list[Orders]) -> list[list[tuple[Orders, int]]]:
    """The constraints Σ ∂_i w_i = 0, as (∂_i, column of w_i)."""
    own, found = len(system.evolving), []
    for i in range(len(system.algebraic)):
        entries = {column: terms for (row, column), terms in system.linear.items() if row == own + i}
        parts = [(orders, column, c) for column, terms in entries.items() for c, orders in terms]
        if parts and all(
            column < own and orders in along and c == parts[0][2] for orders, column, c in parts
        ):
            found.append([(orders, column) for orders, column, _ in parts])
    return found

r"""u_xx(0, t) → u_{xx}(0, t): a problem in LaTeX, for notebooks, pages and papers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

from ..jets import Jet, JetTable

if TYPE_CHECKING:
    from ..problem import Problem
    from ..relation import Axis, Relation


class _Writer(LatexPrinter):  # type: ignore[misc, unused-ignore]  # SymPy has no types
    """SymPy's LaTeX, with pieces as cases and names of several letters upright."""

    def _print_Symbol(self, symbol: sp.Symbol, style: str = "plain") -> str:  # noqa: N802
        spelt = self._settings["symbol_names"].get(symbol)
        return str(spelt if spelt is not None else latex_name(symbol.name))

    def _print_Tabulated(self, expression: sp.Expr) -> str:  # noqa: N802
        _, orders, *places = expression.args
        suffix = "".join(str(place) * int(n) for place, n in zip(places, orders, strict=True))
        where = ", ".join(self._print(place) for place in places)
        return f"{latex_name(expression.table.name, suffix)}({where})"

    def _print_Where(self, expression: sp.Expr) -> str:  # noqa: N802
        g, a, b = (self._print(part) for part in expression.args)
        return rf"\begin{{cases}} {a} & {g} > 0 \\ {b} & \text{{otherwise}} \end{{cases}}"


def latex_name(name: str, suffix: str = "") -> str:
    r"""rho → \rho, u with the suffix xx → u_{xx}."""
    stem = str(sp.latex(sp.Symbol(name)))
    if len(stem) > 1 and stem.isalpha():
        stem = rf"\mathrm{{{stem}}}"
    if not suffix:
        return stem
    # A name with an index of its own: u_1 with x is u_{1,x}.
    return f"{stem[:-1]},{suffix}}}" if "_{" in stem else f"{stem}_{{{suffix}}}"


def latex(expression: sp.Expr, symbols: dict[sp.Symbol, str] | None = None) -> str:
    """An expression in LaTeX; `symbols` has the spelling of those that are not plain names."""
    return str(_Writer({"symbol_names": symbols or {}, "ln_notation": False}).doprint(expression))


def latex_relation(problem: Problem, relation: Relation) -> tuple[str, str]:
    """The two sides of an equation or condition; arguments, or `on walls`, show where a condition holds."""
    table = JetTable([axis.symbol for axis in problem.axes], problem.unknowns, None, problem.functions)
    sides = [table.rewrite(side, "") for side in (relation.statement.lhs, relation.statement.rhs)]
    symbols = {symbol: _jet(problem, jet) for symbol, jet in table.jets.items()}
    left, right = (latex(side, symbols) for side in sides)
    piece = getattr(relation, "piece", "")
    return left, right + (rf"\quad\text{{on {piece}}}" if piece else "")


def _jet(problem: Problem, jet: Jet) -> str:
    axes = problem.axis_names
    suffix = "".join(latex_name(a) * n for a, n in zip(axes, jet.orders, strict=True))
    name = latex_name(jet.field, suffix)
    if jet.interior:
        return name
    places = (latex_name(a) if v is None else latex(v) for a, v in zip(axes, jet.place, strict=True))
    return f"{name}({', '.join(places)})"


def _interval(axis: Axis) -> str:
    return rf"{latex_name(axis.name)} \in [{latex(axis.lower)}, {latex(axis.upper)}]"


def latex_problem(problem: Problem) -> str:
    """Equations, conditions, domain and parameters as one aligned block."""
    rows = [
        rf"{left} &= {right}"
        for left, right in (latex_relation(problem, r) for r in (*problem.equations, *problem.conditions))
    ]
    count = len(problem.equations)
    rows[count - 1] += r" \\[4pt]" if problem.conditions else ""
    rows = [row if row.endswith("]") else rf"{row} \\" for row in rows]
    domain = r",\; ".join(map(_interval, problem.axes))
    if problem.shape is not None or problem.remove:
        domain += r"\;\text{(a region of this box)}"
    if problem.periodic:
        domain += rf"\;\text{{periodic in }} {', '.join(map(latex_name, problem.periodic))}"
    numbers = [_number(problem, symbol, value) for symbol, value in problem.parameters.items()]
    rows[-1] += "[4pt]"
    rows.append("& " + r",\quad ".join([domain, *numbers]))
    return "\\begin{aligned}\n" + "\n".join(rows) + "\n\\end{aligned}"


def _number(problem: Problem, symbol: sp.Symbol, value: Any) -> str:
    sought = symbol.name in problem.unknown and problem.unknown[symbol.name].value is None
    return rf"{latex_name(symbol.name)} = {'?' if sought else latex(sp.sympify(value, strict=True))}"

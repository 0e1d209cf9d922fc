"""The vocabulary of the text form, and sin(pi*x)/2 written back so that reading it gives the same expression.

`evaluate` can compute every function listed here: what can be stated can be solved.
"""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp
from sympy.printing.str import StrPrinter

FUNCTIONS: dict[str, Callable[..., sp.Expr]] = {
    "sin": sp.sin,
    "cos": sp.cos,
    "tan": sp.tan,
    "sec": sp.sec,
    "csc": sp.csc,
    "cot": sp.cot,
    "asin": sp.asin,
    "acos": sp.acos,
    "atan": sp.atan,
    "atan2": sp.atan2,
    "sinh": sp.sinh,
    "cosh": sp.cosh,
    "tanh": sp.tanh,
    "sech": sp.sech,
    "csch": sp.csch,
    "coth": sp.coth,
    "exp": sp.exp,
    "log": sp.log,
    "ln": sp.log,
    "sqrt": sp.sqrt,
    "abs": sp.Abs,
    "sign": sp.sign,
    "heaviside": sp.Heaviside,
    "max": sp.Max,
    "min": sp.Min,
}
# SymPy's own spelling of some of them, for expressions pasted from Python.
SPELLINGS = {"Abs": "abs", "Max": "max", "Min": "min", "Heaviside": "heaviside"}
# Comparing n arguments symbolically takes n² steps. heaviside's second argument is its value at 0, by default 1/2.
ARGUMENTS = {"max": (2, 8), "min": (2, 8), "atan2": (2, 2), "heaviside": (1, 2)}
CONSTANTS: dict[str, sp.Expr] = {"pi": sp.pi, "π": sp.pi, "e": sp.E, "E": sp.E}
IMAGINARY = ("I", "i", "j")
COMPLEX = (
    "there are no complex numbers: write {0} = v + i w with two real unknowns v and w, and one equation each for the "
    "real and the imaginary part"
)
DERIVATIVE = "diff"
PIECES = "where"
JOINTS = ("and", "or")


class _Writer(StrPrinter):  # type: ignore[misc, unused-ignore]  # SymPy has no types
    """SymPy's text, in our spelling; e is written exp(1) because a problem may name a quantity E."""

    def _print_Exp1(self, expression: sp.Expr) -> str:  # noqa: N802
        return "exp(1)"

    def _print_Mul(self, expression: sp.Expr) -> str:  # noqa: N802
        # SymPy writes x/(3*(y + 1)), which is read as x/(3*y + 3); x/(y + 1)/3 is read back unchanged.
        coefficient, rest = expression.as_coeff_Mul()
        below = [
            part for part in sp.Mul.make_args(rest) if part.is_Pow and part.exp.could_extract_minus_sign()
        ]
        if coefficient.q != 1 and len(below) == 1 and below[0].exp == -1 and below[0].base.is_Add:
            return f"{self._print(coefficient.p * rest)}/{coefficient.q}"
        return str(super()._print_Mul(expression))

    def _print_Abs(self, expression: sp.Expr) -> str:  # noqa: N802
        return f"abs({self.stringify(expression.args, ', ')})"

    def _print_Max(self, expression: sp.Expr) -> str:  # noqa: N802
        return f"max({self.stringify(self._ordered(expression), ', ')})"

    def _print_Min(self, expression: sp.Expr) -> str:  # noqa: N802
        return f"min({self.stringify(self._ordered(expression), ', ')})"

    def _print_Heaviside(self, expression: sp.Expr) -> str:  # noqa: N802
        argument, middle = expression.args
        given = (argument,) if middle == sp.Rational(1, 2) else (argument, middle)
        return f"heaviside({self.stringify(given, ', ')})"

    def _print_Where(self, expression: sp.Expr) -> str:  # noqa: N802
        g, a, b = expression.args
        # g > 0 as people write it, x > 1/2 for x − 1/2 > 0: read back, the difference is g again.
        terms = sp.Add.make_args(g)
        left = sp.Add(*(term for term in terms if not term.could_extract_minus_sign()))
        sides, sign = ((left - g, left), "<") if left.is_number else ((left, left - g), ">")
        return f"{PIECES}({self.stringify(sides, f' {sign} ')}, {self.stringify((a, b), ', ')})"

    @staticmethod
    def _ordered(expression: sp.Expr) -> list[sp.Basic]:
        # Max and Min hold a set: a fixed order makes the same problem the same text in every process.
        return sorted(expression.args, key=sp.default_sort_key)


def written(expression: sp.Basic) -> str:
    """The text of an expression, as `parse_expression` reads it."""
    return str(_Writer().doprint(expression))

"""u_tt = c**2*u_xx → Eq(∂²u/∂t², c²·∂²u/∂x²): a whitelist over Python's syntax tree.

Python's grammar decides what binds to what, and nothing more: before it sees a side of a statement, every
name and number has been replaced by a numbered placeholder (`n2**n4*n6`), and from its tree only sums,
products, powers, signs, placeholders, calls and the comparisons of `where` are accepted. Nothing runs as code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import NoReturn

import sympy as sp
from sympy.core.function import AppliedUndef

from ...errors import SafeNetError, nearest
from ..jets import coordinate
from . import arithmetic
from .names import Names
from .notation import ARGUMENTS, COMPLEX, CONSTANTS, DERIVATIVE, FUNCTIONS, IMAGINARY, PIECES, SPELLINGS
from .tokens import INTEGRALS, MAX_DEPTH, NO_INTEGRALS, Text, Token, rational, tokenise
from .where import compared

__all__ = ["Names", "parse_expression", "parse_relation"]

# Fourth order is the highest in use (beams, Kuramoto–Sivashinsky, Cahn–Hilliard); eight leaves room.
MAX_ORDER = 8
# Differentiating a formula multiplies its size by its depth; diff of a larger one is not readable anyway.
MAX_DIFFERENTIATED = 200
# `and` and `or` repeat a piece for each of their comparisons.
MAX_PIECES = 1_000

_SIGNS: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_PIECES_REMEDY = f"write {PIECES}(x < 1/2, 1, 0): 1 where x < 1/2, else 0"


def parse_relation(text: str, names: Names, label: str) -> sp.Eq:
    """`left = right` with unknowns, as an unevaluated Eq of `u(x, t)`, `Derivative` and `Subs`."""
    source, tokens = tokenise(text, label)
    equals = [index for index, token in enumerate(tokens) if token.kind == "="]
    if not equals:
        source.wrong(len(text.rstrip()), "there is no '='", "write left = right, e.g. u_t = u_xx")
    if len(equals) > 1:
        source.wrong(tokens[equals[1]].column, "a second '='", "one equation per text; write two texts")
    reader = _Reader(source, tokens, names, unknowns=True)
    return sp.Eq(reader.read(0, equals[0]), reader.read(equals[0] + 1, len(tokens)), evaluate=False)


def parse_expression(text: str, names: Names, label: str, unknowns: bool = False) -> sp.Expr:
    """A formula: an exact solution, a bound, the value of a parameter; with unknowns, what was measured."""
    source, tokens = tokenise(text, label)
    for token in tokens:
        if token.kind == "=":
            source.wrong(token.column, "an '=' in a formula", "write only the right side")
    return _Reader(source, tokens, names, unknowns=unknowns).read(0, len(tokens))


@dataclass(frozen=True)
class _Reader:
    """Turns the tree of one statement into SymPy, from the leaves up."""

    source: Text
    tokens: Sequence[Token]
    names: Names
    unknowns: bool

    def read(self, start: int, stop: int) -> sp.Expr:
        """The expression of tokens[start:stop]."""
        pieces = (
            f"n{index}" if token.kind in ("name", "number") else token.kind
            for index, token in enumerate(self.tokens[start:stop], start)
        )
        try:
            tree = ast.parse(" ".join(pieces), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.source.wrong(self.tokens[start].column, "this cannot be read as a formula", "simplify it")
        expression = self._walk(tree, 0)
        if expression.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
            self._wrong(tree, "this is not real and finite", "check divisions, roots and logarithms")
        return expression

    def _wrong(self, node: ast.expr, message: str, remedy: str) -> NoReturn:
        """Raise, pointing at the first name or number of `node`."""
        while not isinstance(node, ast.Name):
            inner = (getattr(node, part, None) for part in ("left", "operand", "func"))
            node = (
                node.values[0]
                if isinstance(node, ast.BoolOp)
                else next(child for child in inner if child is not None)
            )
        self.source.wrong(self._token(node).column, message, remedy)

    def _token(self, node: ast.Name) -> Token:
        return self.tokens[int(node.id[1:])]

    def _make(self, node: ast.expr, operation: Callable[..., sp.Expr], *parts: object) -> sp.Expr:
        """operation(*parts); a refusal is reported at `node`."""
        try:
            return operation(*parts)
        except arithmetic.Refused as refused:
            self._wrong(node, refused.message, refused.remedy)
        except (ArithmeticError, TypeError, ValueError, NotImplementedError, RecursionError, AttributeError):
            self._wrong(node, "SymPy cannot evaluate this", "simplify it")

    # ---- the tree

    def _walk(self, node: ast.expr, depth: int) -> sp.Expr:
        if depth > 2 * MAX_DEPTH:
            self._wrong(node, "too deeply nested", "simplify it, or use parameters")
        match node:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                terms = self._chain(node, depth, ast.Sub, _negative)
                return self._make(node, arithmetic.total, terms)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                factors = self._chain(node, depth, ast.Div, arithmetic.quotient)
                return self._make(node, arithmetic.product, factors)
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                return self._make(
                    node, arithmetic.power, self._walk(base, depth + 1), self._walk(exponent, depth + 1)
                )
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _negative(self._walk(operand, depth + 1))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._walk(operand, depth + 1)
            case ast.Name():
                return self._leaf(node)
            case ast.Call(func=ast.Name() as function, args=arguments, keywords=[]):
                return self._call(function, arguments, depth)
            case ast.Compare() | ast.BoolOp():
                self._wrong(node, f"a comparison outside {PIECES}", _PIECES_REMEDY)
        raise SafeNetError(f"{self.source.label} is not a formula", "use + - * / ** and functions")

    def _chain(
        self, node: ast.expr, depth: int, inverse: type[ast.operator], invert: Callable[[sp.Expr], sp.Expr]
    ) -> list[sp.Expr]:
        """The terms of a sum, or the factors of a product, in order.

        Without recursion: Python's tree of a sum of a thousand terms is a thousand levels deep.
        """
        kinds = (ast.Add, ast.Sub) if inverse is ast.Sub else (ast.Mult, ast.Div)
        parts: list[sp.Expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
            part = self._walk(node.right, depth + 1)
            parts.append(self._make(node.right, invert, part) if isinstance(node.op, inverse) else part)
            node = node.left
        return [self._walk(node, depth + 1), *reversed(parts)]

    def _leaf(self, node: ast.Name) -> sp.Expr:
        token = self._token(node)
        name = token.text
        if token.kind == "number":
            return self._make(node, arithmetic.checked, rational(name))
        if name in (*self.names.axes, *self.names.parameters, *self.names.normals):
            return coordinate(name)
        if self.names.derivative(name):
            return self._unknown(token, None, 0)
        if self.names.normals and name.endswith("_n") and name[:-2] in self.names.unknowns:
            return normal_derivative(name[:-2], self.names.axes, self.names.normals)
        if name in CONSTANTS:
            return CONSTANTS[name]
        self._not_known(token)

    def _call(self, function: ast.Name, arguments: list[ast.expr], depth: int) -> sp.Expr:
        token = self._token(function)
        name = SPELLINGS.get(token.text, token.text)
        if name in self.names.axes or name in self.names.parameters:
            self.source.wrong(token.column, f"{name} is not a function", f"write {name}*(…)")
        if self.names.derivative(name):
            return self._unknown(token, arguments, depth)
        if name == DERIVATIVE:
            return self._diff(function, arguments, depth)
        if name == PIECES:
            return self._pieces(function, arguments, depth)
        if name not in FUNCTIONS:
            self._not_known(token, call=True)
        least, most = ARGUMENTS.get(name, (1, 1))
        if not least <= len(arguments) <= most:
            wanted = f"{name} takes " + (f"{least} to {most}" if least < most else ("one", "two")[most - 1])
            self.source.wrong(token.column, f"{name} has {len(arguments)} arguments", wanted)
        values = [self._walk(argument, depth + 1) for argument in arguments]
        return self._make(function, arithmetic.apply, FUNCTIONS[name], values)

    def _pieces(self, function: ast.Name, arguments: list[ast.expr], depth: int) -> sp.Expr:
        """where(1/5 < x < 2/5 or t > 1, 1, 0)."""
        if len(arguments) != 3:
            self._wrong(function, f"{PIECES} takes 3 arguments, got {len(arguments)}", _PIECES_REMEDY)
        a, b = (self._walk(argument, depth + 1) for argument in arguments[1:])
        return self._chosen(arguments[0], a, b, depth + 1)

    def _chosen(self, node: ast.expr, a: sp.Expr, b: sp.Expr, depth: int) -> sp.Expr:
        """a where the comparisons hold, else b."""
        match node:
            case ast.BoolOp(op=ast.And(), values=parts):
                return reduce(lambda inner, part: self._chosen(part, inner, b, depth + 1), parts[::-1], a)
            case ast.BoolOp(op=ast.Or(), values=parts):
                return reduce(lambda inner, part: self._chosen(part, a, inner, depth + 1), parts[::-1], b)
            case ast.Compare(left=left, ops=signs, comparators=others):
                sides = [self._walk(side, depth + 1) for side in (left, *others)]
                for sign, pair in reversed([*zip(signs, pairwise(sides), strict=True)]):
                    a = self._make(node, compared, _SIGNS[type(sign)], *pair, a, b)
                    if sum(1 for _ in sp.preorder_traversal(a)) > MAX_PIECES:
                        self._wrong(node, f"{PIECES} with too many pieces", "simplify it")
                return a
        self._wrong(node, "this is no comparison", _PIECES_REMEDY)

    # ---- unknowns and their derivatives

    def _unknown(self, token: Token, arguments: list[ast.expr] | None, depth: int) -> sp.Expr:
        """`u_t` is ∂u/∂t in the domain; `u_t(x, 0)` the same at t = 0."""
        found = self.names.derivative(token.text)
        assert found is not None
        field, orders = found
        if not self.unknowns:
            self.source.wrong(
                token.column, f"the unknown {field} in a known formula", "write the formula out"
            )
        if sum(orders) > MAX_ORDER:
            self.source.wrong(token.column, f"a derivative of order {sum(orders)}", f"at most {MAX_ORDER}")
        axes = [coordinate(name) for name in self.names.arguments(field)]
        values = axes if arguments is None else self._place(token, field, arguments, depth)
        function = sp.Function(field)
        if not any(orders):
            return function(*values)
        counts = [(axis, order) for axis, order in zip(axes, orders, strict=True) if order]
        derivative = sp.Derivative(function(*axes), *counts)
        fixed = [(axis, value) for axis, value in zip(axes, values, strict=True) if axis != value]
        return sp.Subs(derivative, *zip(*fixed, strict=True)) if fixed else derivative

    def _place(self, token: Token, field: str, arguments: list[ast.expr], depth: int) -> list[sp.Expr]:
        names = self.names.arguments(field)
        if len(arguments) != len(names):
            what = "the domain" if field in self.names.unknowns else field
            self.source.wrong(
                token.column,
                f"{token.text} has {len(arguments)} argument{'s' * (len(arguments) != 1)}, "
                f"{what} has {len(names)} ({', '.join(names)})",
                f"write {token.text}({', '.join(names)}), with a number where an axis is fixed",
            )
        axes = {coordinate(name) for name in names}
        values = [self._walk(argument, depth + 1) for argument in arguments]
        for name, value, node in zip(names, values, arguments, strict=True):
            if value != coordinate(name) and (value.free_symbols & axes or value.has(AppliedUndef)):
                self._wrong(
                    node,
                    f"{token.text} has {value} in the place of {name}",
                    f"the arguments are {', '.join(names)} in this order; a fixed one is a number",
                )
        return values

    def _diff(self, function: ast.Name, arguments: list[ast.expr], depth: int) -> sp.Expr:
        """diff(u, x), diff(u, x, 2), diff(u, x, t), diff(k*diff(u, x), x)."""
        if len(arguments) < 2:
            self._wrong(function, "diff needs what and by which axis", "write diff(u, x) or diff(u, x, 2)")
        expression = self._walk(arguments[0], depth + 1)
        axes: list[sp.Symbol] = []
        for node in arguments[1:]:
            value = self._walk(node, depth + 1)
            if value.is_Symbol and value.name in self.names.axes:
                axes.append(value)
            elif axes and value.is_Integer and 1 <= value <= MAX_ORDER:
                axes += [axes[-1]] * (int(value) - 1)
            else:
                listing = ", ".join(self.names.axes)
                self._wrong(node, f"{value} is neither an axis nor an order", f"the axes are {listing}")
        for axis in axes:
            placed = (
                u.args != tuple(coordinate(name) for name in self.names.arguments(u.func.__name__))
                for u in expression.atoms(AppliedUndef)
            )
            if expression.has(sp.Subs) or any(placed):
                self._wrong(
                    function,
                    "diff cannot be applied to a value at a place",
                    "write u_x(0, t), not diff(u(0, t), x)",
                )
            simple = isinstance(expression, (AppliedUndef, sp.Derivative))
            if not simple and sum(1 for _ in sp.preorder_traversal(expression)) > MAX_DIFFERENTIATED:
                self._wrong(
                    function, "the formula is too large for diff", "write the derivatives out: u_x, u_xx"
                )
            expression = self._make(function, expression.diff, axis)
            if any(d.derivative_count > MAX_ORDER for d in expression.atoms(sp.Derivative)):
                self._wrong(function, f"a derivative of order above {MAX_ORDER}", "lower the order")
        if expression.has(sp.DiracDelta, sp.re, sp.im):
            self._wrong(
                function,
                "this jumps and cannot be differentiated",
                "make the flux an unknown of its own, f = k*u_x and f_x = 0; or smooth the jump, e.g. by tanh",
            )
        return expression

    # ---- unknown names

    def _not_known(self, token: Token, call: bool = False) -> NoReturn:
        name, names = token.text[:40], self.names
        field = next((field for field in names.unknowns if name.startswith(field + "_")), None)
        if field is not None and names.axes:
            self.source.wrong(
                token.column,
                f"{name} is not a derivative of {field}: {name[len(field) + 1 :]!r} is not made of axes",
                f"the axes are {', '.join(names.axes)}; write e.g. {field}_{names.axes[0]}",
            )
        if not call and (name in FUNCTIONS or name in SPELLINGS or name in (DERIVATIVE, PIECES)):
            self.source.wrong(token.column, f"{name} needs its argument", f"write {name}(…)")
        if call:
            known = nearest(name, {*FUNCTIONS, *names.unknowns}) + f", {PIECES}"
            remedy = _PIECES_REMEDY if name in ("Piecewise", "piecewise", "if", "If") else known
            remedy = NO_INTEGRALS if name in INTEGRALS else remedy
            self.source.wrong(token.column, f"the function {name!r} is not known", remedy)
        self.source.wrong(token.column, f"the name {name!r} is not known", self._other_names(name))

    def _other_names(self, name: str) -> str:
        """What an unknown name may have been meant to be: πx for pi*x, I for the root of −1, or a misspelling."""
        words = {*self.names.known, *CONSTANTS}
        for cut in range(1, len(name)):
            left, right = name[:cut], name[cut:]
            if left in words and (right in words or self.names.derivative(right)):
                return f"write {left.replace('π', 'pi')}*{right.replace('π', 'pi')}"
        if name in IMAGINARY and self.unknowns:
            return COMPLEX.format(*self.names.unknowns[:1] or "u")
        return nearest(name, {*self.names.known, "pi", "e"}) + "; a constant needs a value in the parameters"


def normal_derivative(field: str, axes: Sequence[str], normals: Sequence[str]) -> sp.Expr:
    """u_n = n_x·u_x + n_y·u_y on a piece of the boundary; the axes of space come first."""
    symbols = [coordinate(name) for name in axes]
    u = sp.Function(field)(*symbols)
    return sp.Add(*(coordinate(n) * sp.Derivative(u, x) for n, x in zip(normals, symbols, strict=False)))


def _negative(value: sp.Expr) -> sp.Expr:
    return -value

"""u = g on inlet: conditions on named pieces of a boundary, and which part of it a name means.

    inlet = "x = 0"        outlet = "x = 4 and y < 1"        walls = "rest"        hole = "hole" (a shape's name)

On a piece the outward normal is known: n_x and n_y are its components, and u_n is n_x·u_x + n_y·u_y.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import sympy as sp

from ..errors import Place, SafeNetError, about, nearest
from .evaluate import evaluate
from .geometry.body import REST, Selector
from .geometry.region import Region
from .geometry.shapes import Box, Shape
from .geometry.solid import Solid
from .language.names import RESERVED, Names
from .language.notation import written
from .language.text import parse_expression
from .relation import TIME, Axis

PIECE = r"[A-Za-z][\w-]*"
_ON = re.compile(rf"(?P<relation>.*\S)\s+on\s+(?P<piece>{PIECE})\s*", re.DOTALL)
_COMPARISON = re.compile(r"(?P<left>[^<>=]+)(?P<sign><=|>=|=|<|>)(?P<right>[^<>=]+)")
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
_RELATIONS = {sp.Eq: "=", sp.Lt: "<", sp.Le: "<=", sp.Gt: ">", sp.Ge: ">="}
ON_THE_LINE = 1e-9  # relative to the domain's size: points this close to x = 0 are on it


@dataclass(frozen=True)
class On:
    """`On("walls", Eq(u(x, y), 0))`: a condition that holds along a named piece of the boundary.

    Examples:
        >>> from sympy import Eq, Function, symbols
        >>> x, y = symbols("x y")
        >>> u = Function("u")
        >>> condition = sn.On("walls", Eq(u(x, y), 0))
    """

    piece: str
    statement: Any


def split_piece(text: str) -> tuple[str, str]:
    """`u = 0 on walls` → (`u = 0`, `walls`); without a piece, the name is empty."""
    match = _ON.fullmatch(text)
    return (match["relation"], match["piece"]) if match else (text, "")


def normal_names(axes: Sequence[str]) -> tuple[str, ...]:
    """n_x, n_y: the components of the outward normal along the axes of space."""
    return tuple(f"n_{axis}" for axis in axes if axis != TIME)


def check_name(name: str) -> None:
    if not re.fullmatch(PIECE, name) or name in RESERVED or name == REST:
        taken = "it has a meaning of its own; " if re.fullmatch(PIECE, name) else ""
        raise SafeNetError(
            f"{name!r} cannot name a piece of the boundary", f"{taken}use letters, e.g. inlet, walls"
        )


def alternatives(text: str) -> list[str]:
    """`x = 0 or x = 4` → [`x = 0`, `x = 4`]"""
    return re.split(r"\s+or\s+", text)


def selector_text(name: str, selector: Any) -> str:
    """A selector as text, whether it came as text or as SymPy relations."""
    if isinstance(selector, (list, tuple)) and selector:
        return " or ".join(selector_text(name, one) for one in selector)
    if isinstance(selector, str):
        return " ".join(selector.split())
    parts = list(selector.args) if isinstance(selector, sp.And) else [selector]
    for part in parts:
        if type(part) not in _RELATIONS:
            raise SafeNetError(
                f"the piece {name} is {selector!r}",
                'state it as text, e.g. "x = 0", or as Eq(x, 0)',
                Place(("pieces", name)),
            )
    return " and ".join(f"{written(p.lhs)} {_RELATIONS[type(p)]} {written(p.rhs)}" for p in parts)


def selector(
    name: str,
    text: str,
    axes: Sequence[Axis],
    parameters: Mapping[sp.Symbol, sp.Expr],
    shapes: Sequence[str],
) -> Selector:
    """`x = 4 and y < 1` as a predicate on boundary points (n, d); a shape's name, a pattern and `rest` stay text, and
    alternatives joined by `or` become a tuple."""
    check_name(name)
    several = alternatives(text)
    if len(several) > 1:
        if REST in several:
            raise SafeNetError(f"the piece {name} joins {REST!r} to something", f"{REST!r} stands alone")
        return tuple(selector(name, one, axes, parameters, shapes) for one in several)
    if text == REST or text in shapes:
        return text
    if "*" in text and re.fullmatch(r"[\w*-]+", text):
        if not any(fnmatchcase(shape, text) for shape in shapes):
            raise SafeNetError(
                f"the piece {name} is {text!r}, and no shape has such a name", nearest(text, shapes)
            )
        return text
    names = Names(tuple(axis.name for axis in axes), (), tuple(symbol.name for symbol in parameters))
    size = max(axis.length for axis in axes)
    tests = [_test(name, part, names, parameters, axes, size) for part in re.split(r"\s+and\s+", text)]
    return lambda points: np.logical_and.reduce([test(points) for test in tests])


def _test(
    name: str,
    text: str,
    names: Names,
    parameters: Mapping[sp.Symbol, sp.Expr],
    axes: Sequence[Axis],
    size: float,
) -> Callable[[np.ndarray], np.ndarray]:
    match = _COMPARISON.fullmatch(text.strip())
    if match is None:
        first, second, *_ = names.axes
        raise SafeNetError(
            f"the piece {name} is {text!r}",
            f'write e.g. "{first} = 0", "{first} = 0 and {second} < 1/2", the name of a shape, or "{REST}"',
        )
    label = f"the piece {name}"
    left, right = (
        parse_expression(match[side], names, label).xreplace(dict(parameters)) for side in ("left", "right")
    )

    def values(side: sp.Expr, points: np.ndarray) -> np.ndarray:
        at = {axis.symbol: points[:, i] for i, axis in enumerate(axes)}
        return np.broadcast_to(evaluate(side, at, np), len(points))

    if match["sign"] == "=":
        return lambda points: np.abs(values(left, points) - values(right, points)) <= ON_THE_LINE * size
    compare = _SIGNS[match["sign"]]
    return lambda points: compare(values(left, points), values(right, points))


def region_of(
    axes: Sequence[Axis],
    shape: Shape | None,
    remove: Sequence[Shape],
    pieces: Mapping[str, str],
    parameters: Mapping[sp.Symbol, sp.Expr],
) -> Region | Solid | None:
    """(shape, or the box of the axes) minus `remove`, with its boundary in named pieces; None for a whole box without
    pieces."""
    if shape is None and not remove and not pieces:
        return None
    space = [axis for axis in axes if not axis.is_time]
    if len(space) < 2:
        raise SafeNetError(
            "shapes and pieces are for two axes of space or more, and this domain has one",
            "leave them out, and place conditions by their arguments: u(0, t) = 0",
        )
    for part in (*([shape] if shape else []), *remove):
        if part.dimension != len(space):
            raise SafeNetError(
                f"{part!r} has {part.dimension} dimensions, and the domain has {len(space)} axes of space",
                "give the shape as many coordinates as there are axes, or another domain",
            )
    sides: dict[str, Any] = {axis.name: (axis.lo, axis.hi) for axis in space}
    whole: Shape = Box(**sides) if shape is None else shape
    _check_within(whole, space)
    for removed in remove:
        whole = whole - removed
    named = [part.name for part in whole.primitives() if part.name]
    selectors = {}
    for name, text in pieces.items():
        with about("pieces", name):
            selectors[name] = selector(name, text, space, parameters, named)
    return Region(whole, selectors) if len(space) == 2 else Solid(whole, selectors)


def box_of(shape: Shape) -> dict[str, tuple[float, float]]:
    """The bounding box of a shape: axis → interval. The axes are x, y and z unless a box in the shape names them."""
    names = shape.axes or ("x", "y", "z")
    if len(names) < shape.dimension:
        raise SafeNetError(
            f"the axes of {shape!r} have no names", 'write domain={"a": (0, 1), …} and shape=…'
        )
    return dict(zip(names, zip(*shape.bounds, strict=True), strict=False))


def _check_within(shape: Shape, space: Sequence[Axis]) -> None:
    for axis, low, high in zip(space, *shape.bounds, strict=True):
        slack = 1e-9 * axis.length
        if low < axis.lo - slack or high > axis.hi + slack:
            raise SafeNetError(
                f"the shape reaches from {axis.name} = {low:g} to {high:g}, beyond the axis "
                f"[{axis.lower}, {axis.upper}]",
                f"widen the interval of {axis.name}, or make the shape smaller",
            )


def check_piece(piece: str, known: Sequence[str], label: str) -> None:
    if piece in known:
        return
    remedy = nearest(piece, known) if known else 'name it under [pieces], e.g. walls = "rest"'
    raise SafeNetError(f"{label}: the boundary has no piece {piece!r}", remedy)

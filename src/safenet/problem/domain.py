"""x ∈ [a, b], t ∈ [0, T], c = 2: the axes, the region or solid with its named pieces, the parameter values."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from ..errors import Place, SafeNetError, about
from .geometry.region import Region
from .geometry.shapes import Shape
from .jets import coordinate
from .pieces import box_of, normal_names, region_of, selector_text
from .reading import axis_of, ends_of, name_of, number_of
from .relation import TIME
from .sides import periodic_axes, sides_of


class Domain:
    """Where a problem is stated, and with which parameter values."""

    def __init__(
        self,
        on: Mapping[Any, tuple[Any, Any]] | Shape,
        shape: Shape | None,
        remove: Sequence[Shape] | Shape,
        pieces: Mapping[str, Any] | None,
        parameters: Mapping[Any, Any] | None,
        periodic: Any = (),
    ) -> None:
        if isinstance(on, Shape):
            shape, on = on, box_of(on)
        if not isinstance(on, Mapping):
            raise SafeNetError(f"the domain is {on!r}", "state it as domain={x: (0, 1), t: (0, 1)}")
        self.parameters = {
            coordinate(name): _parameter(name, value) for name, value in _named("parameters", parameters)
        }
        # The ends as stated, which may contain parameters; the axes hold them as numbers.
        self.bounds = {}
        for axis, ends in on.items():
            with about("domain", name_of(axis)):
                self.bounds[name_of(axis)] = ends_of(name_of(axis), ends, self.parameters)
        axes = []
        for name, ends in self.bounds.items():
            with about("domain", name):
                axes.append(axis_of(name, *ends, self.parameters))
        self.axes = tuple(axes)
        _check_axes([name_of(axis) for axis in on])
        self.shape, self.remove = shape, tuple(remove) if isinstance(remove, (list, tuple)) else (remove,)
        _check_shapes("shape", [] if shape is None else [shape])
        _check_shapes("remove", self.remove)
        self.pieces = {name: selector_text(name, given) for name, given in _named("pieces", pieces)}
        self.periodic = periodic_axes(self.axes, periodic)
        plain = shape is None and not self.remove
        # The whole sides of a box that the pieces name; if they name nothing else, it stays a plain box.
        self.sides = sides_of(self.axes, self.pieces, self.periodic, self.parameters) if plain else None
        with about("domain", "shape"):
            named = {} if self.sides is not None else self.pieces
            self.region = region_of(self.axes, shape, self.remove, named, self.parameters)
        if self.periodic and self.region is not None:
            raise SafeNetError(
                f"{self.periodic[0]} is periodic, and the domain is not a box with whole sides",
                "leave out periodic, or shapes and parts of sides",
                Place(("periodic",)),
            )

    @property
    def plane(self) -> Region | None:
        """The region if it lies in the plane, else None."""
        return self.region if isinstance(self.region, Region) else None

    @property
    def axis_names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    @property
    def normals(self) -> tuple[str, ...]:
        """n_x, n_y: the names of the normal's components on a piece of the boundary."""
        return normal_names(self.axis_names)

    @property
    def time(self) -> int | None:
        """The index of the time axis, or None for a steady problem."""
        return next((i for i, axis in enumerate(self.axes) if axis.is_time), None)

    def axis(self, which: Any) -> int:
        """The index of an axis given by its name or symbol."""
        name = name_of(which)
        if name not in self.axis_names:
            raise SafeNetError(f"{name!r} is not an axis", f"the axes are {', '.join(self.axis_names)}")
        return self.axis_names.index(name)

    def contains(self, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Which points (n, axes) of the box lie in the domain: all of them, or those of the region."""
        if self.region is None:
            return np.ones(len(points), bool)
        return self.region.contains(points[:, : self.region.dimension], slack)

    def value(self, expression: sp.Expr) -> sp.Expr:
        """`expression` with the parameter values inserted."""
        try:
            return expression.xreplace(self.parameters)
        except (ValueError, TypeError) as error:  # SymPy compares the arguments of Max and Min
            raise SafeNetError(
                f"{expression} is not real for these parameter values: {error}", "change the parameters"
            ) from None

    def broadcast(self, coordinates: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Coordinates by name as arrays of one shape, in the order of the axes."""
        names = self.axis_names
        for name in names:
            if name not in coordinates:
                raise SafeNetError(f"the coordinate {name} is missing", f"call it with {', '.join(names)}")
        for name in coordinates:
            if name not in names:
                raise SafeNetError(f"{name!r} is not an axis", f"the axes are {', '.join(names)}")
        try:
            arrays = np.broadcast_arrays(*(np.asarray(coordinates[name], dtype=float) for name in names))
        except (TypeError, ValueError) as error:
            raise SafeNetError(
                f"the coordinates are not points: {error}", "give numbers, or arrays whose shapes go together"
            ) from None
        return dict(zip(names, arrays, strict=True))


def _check_shapes(what: str, given: Sequence[Any]) -> None:
    for one in given:
        if not isinstance(one, Shape):
            raise SafeNetError(
                f"{what} is {one!r}, not a shape", f"e.g. {what}=sn.Disc((0, 0), 1)", Place(("domain", what))
            )


def _named(what: str, given: Any) -> list[tuple[str, Any]]:
    """The entries of a table by their names."""
    if not isinstance(given or {}, Mapping):
        raise SafeNetError(f"the {what} are {given!r}", f"state them by name: {what}={{name: …}}")
    return [(name_of(key), value) for key, value in (given or {}).items()]


def _parameter(name: str, value: Any) -> sp.Expr:
    with about("parameters", name):
        return number_of(value, f"the parameter {name}")


def _check_axes(names: Sequence[str]) -> None:
    if not names:
        raise SafeNetError("the domain has no axis", "state it as domain={x: (0, 1), t: (0, 1)}")
    if len(set(names)) < len(names):
        raise SafeNetError(f"an axis appears twice: {', '.join(names)}", "give each axis one interval")
    if TIME in names[:-1]:
        raise SafeNetError(
            f"the axis t comes before {names[-1]}",
            "put t last: u(x, t), not u(t, x)",
            Place(("domain", TIME)),
        )


# ---- families: u(x, t; nu), nu = [0.01, 0.1]; a range is a further axis, along which nothing is differentiated


def with_ranges(on: Any, parameters: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """The domain with an axis for every range, the other parameters, and the names of the ranges."""
    given = parameters if isinstance(parameters, Mapping) else {}
    ranges = {name_of(key): ends for key, ends in given.items() if isinstance(ends, (tuple, list))}
    if not ranges:
        return on, parameters, ()
    if isinstance(on, Shape) or not isinstance(on, Mapping):
        raise SafeNetError(
            "a parameter with a range needs a domain that is a box", "state domain={x: (0, 1), …}"
        )
    for name, ends in ranges.items():
        if len(ends) != 2 or any(name == name_of(axis) for axis in on):
            raise SafeNetError(
                f"the range of {name} is {ends}", f"write {name} = [0.01, 0.1]", Place(("parameters", name))
            )
    space = {axis: ends for axis, ends in on.items() if name_of(axis) != TIME}
    time = {axis: ends for axis, ends in on.items() if name_of(axis) == TIME}
    known = {key: value for key, value in given.items() if name_of(key) not in ranges}
    return {**space, **ranges, **time}, known, tuple(ranges)


def widened(statement: sp.Eq, family: Sequence[str], domain: Domain, known: Container[str]) -> sp.Eq:
    """u(0, t) → u(0, nu, t), for every unknown that is written without the parameters of the family."""
    if not family:
        return statement
    names = domain.axis_names
    start = len(names) - len(family) - (domain.time is not None)
    more = [coordinate(name) for name in names[start : start + len(family)]]
    short = len(names) - len(family)
    wider = {
        u: u.func(*u.args[:start], *more, *u.args[start:])
        for u in statement.atoms(AppliedUndef)
        if len(u.args) == short and u.func.__name__ not in known
    }
    return sp.Eq(statement.lhs.xreplace(wider), statement.rhs.xreplace(wider), evaluate=False)

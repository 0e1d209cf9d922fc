"""F(x, t, u, u_x, u_t, …) = 0 on a box, with conditions placed by their arguments.

A `Problem` holds the statement in one canonical form — real symbols, exact numbers, residuals in jet symbols
— whatever way it was written: SymPy, text or TOML. Everything else in the package reads it from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from ..errors import SafeNetError
from .evaluate import JUMPS, computable, constant
from .facts.agreement import check_agreement
from .facts.beginning import check_beginning
from .geometry.shapes import Shape
from .jets import JetTable, coordinate
from .language.names import check_spelling
from .language.notation import written
from .pieces import On, box_of, check_piece, normal_names, region_of, selector_text
from .reading import axis_of, ends_of, expression_of, name_of, number_of, rebuilt, statement_of, unknowns_of
from .relation import TIME, Condition, Relation


class Problem:
    """Equations on a box with conditions: `Problem(Eq(u_t, u_xx), on={x: (0, 1), t: (0, 1)}, where=[…])`.

    `equations`   one `Eq` (or expression meant to be zero), or a list of them
    `on`          axis → (lower, upper), in the order of the unknowns' arguments; an axis named t is time; for a steady
                  problem in the plane also a shape: `on=Box(x=(0, 1), y=(0, 1)) - Disc((0.5, 0.5), 0.1)`
    `where`       conditions, each placed by its arguments: `Eq(u(0, t), 0)`, `Eq(u(0, t), u(1, t))`, …, or on a
                  named piece of the boundary: `On("walls", Eq(u(x, y), 0))`
    `shape`       the region of the plane, where it is not the whole box: `Disc((0, 0), 1)`, sums and differences
    `remove`      shapes taken out of it: `[Box(x=(0, 2), y=(1, 2))]`
    `pieces`      name → which part of the boundary: `{"inlet": "x = 0", "walls": "rest"}`
    `parameters`  symbol → number
    `exact`       the solution, if known (an expression, or one per unknown): checked here, used only to score
    `reference`   a callable of coordinates by keyword, used only to score
    """

    def __init__(
        self,
        equations: Any,
        *,
        on: Mapping[Any, tuple[Any, Any]] | Shape,
        where: Sequence[Any] = (),
        shape: Shape | None = None,
        remove: Sequence[Shape] | Shape = (),
        pieces: Mapping[str, Any] | None = None,
        parameters: Mapping[Any, Any] | None = None,
        exact: Any = None,
        reference: Callable[..., Any] | None = None,
        unknowns: Sequence[str] | None = None,
        name: str = "problem",
        title: str = "",
    ) -> None:
        self.name = name
        self.title = title
        self._reference = reference
        statements = list(equations) if isinstance(equations, (list, tuple)) else [equations]
        if not statements:
            raise SafeNetError("a problem needs at least one equation")
        if isinstance(on, Shape):
            shape, on = on, box_of(on)
        remove = [remove] if isinstance(remove, Shape) else remove
        if not isinstance(on, Mapping):
            raise SafeNetError(f"the domain is {on!r}", "state it as on={x: (0, 1), t: (0, 1)}")
        where = where if isinstance(where, (list, tuple)) else [where]
        for what, given in (("parameters", parameters), ("pieces", pieces)):
            if not isinstance(given or {}, Mapping):
                raise SafeNetError(f"the {what} are {given!r}", f"state them by name: {what}={{name: …}}")
        self.parameters = {
            coordinate(name_of(symbol)): number_of(value, f"the parameter {name_of(symbol)}")
            for symbol, value in (parameters or {}).items()
        }
        # The ends as stated, which may name parameters; the axes have them as numbers.
        self.bounds = {
            name_of(axis): ends_of(name_of(axis), ends, self.parameters) for axis, ends in on.items()
        }
        self.axes = tuple(axis_of(name, *ends, self.parameters) for name, ends in self.bounds.items())
        if not self.axes:
            raise SafeNetError("the domain has no axis", "state it as on={x: (0, 1), t: (0, 1)}")
        self._check_time(list(map(name_of, on)))
        self.shape, self.remove = shape, tuple(remove)
        self.pieces = {name: selector_text(name, given) for name, given in (pieces or {}).items()}
        self.region = region_of(self.axes, shape, self.remove, self.pieces, self.parameters)
        statements = [
            statement_of(statement, f"equation {index + 1}") for index, statement in enumerate(statements)
        ]
        places = [given if isinstance(given, On) else On("", given) for given in where]
        conditions = [
            On(given.piece, statement_of(given.statement, f"condition {index + 1}"))
            for index, given in enumerate(places)
        ]
        self.unknowns = tuple(unknowns) if unknowns is not None else unknowns_of(statements)
        if not self.unknowns:
            raise SafeNetError(
                "the equations contain no unknown function",
                "write the unknown with its arguments, e.g. u = Function('u'), Eq(u(x, t).diff(t), …)",
            )
        self._check_names()
        self.equations = tuple(
            self._relation(statement, f"equation {index + 1}") for index, statement in enumerate(statements)
        )
        for index, equation in enumerate(self.equations):
            placed = [jet for jet in equation.jets.values() if not jet.interior]
            if placed:
                raise SafeNetError(
                    f"equation {index + 1} fixes a place: {placed[0].text(self.axis_names)}",
                    "an equation holds in the whole domain; move this to the conditions",
                )
            if not equation.jets:
                raise SafeNetError(
                    f"equation {index + 1} ({equation.text}) does not contain an unknown",
                    f"the unknowns are {', '.join(self.unknowns)}",
                )
        for field in self.unknowns:
            if not any(jet.field == field for equation in self.equations for jet in equation.jets.values()):
                raise SafeNetError(f"the unknown {field} appears in no equation", "add its equation")
        self.conditions = tuple(
            self._condition(given.statement, f"condition {index + 1}", given.piece)
            for index, given in enumerate(conditions)
        )
        check_agreement(self)
        check_beginning(self)
        self.exact = self._exact(exact)
        if self.exact is not None:
            from .facts.verify import verify

            verify(self)

    # ---- reading the statement

    def _check_time(self, names: Sequence[str]) -> None:
        if len(set(names)) < len(names):
            raise SafeNetError(f"an axis appears twice: {', '.join(names)}", "give each axis one interval")
        if TIME in names[:-1]:
            raise SafeNetError(f"the axis t comes before {names[-1]}", "put t last: u(x, t), not u(t, x)")

    def _check_names(self) -> None:
        """Jets are symbols named u, u_x, …: a name with two meanings would silently merge them."""
        parameters = [symbol.name for symbol in self.parameters]
        groups = {"an axis": self.axis_names, "an unknown": self.unknowns, "a parameter": parameters}
        seen: dict[str, str] = {}
        for group, names in groups.items():
            for name in names:
                if name in seen:
                    raise SafeNetError(f"{name} is both {seen[name]} and {group}", "rename one of them")
                seen[name] = group
        check_spelling(self.axis_names, self.unknowns, parameters)

    def _relation(self, statement: sp.Eq, label: str, normals: Sequence[str] = ()) -> Relation:
        table = JetTable([axis.symbol for axis in self.axes], self.unknowns, self.parameters)
        left, right = table.rewrite(statement.lhs, label), table.rewrite(statement.rhs, label)
        residual = left - right
        if residual.has(sp.nan, sp.zoo, sp.oo, -sp.oo, sp.I):
            raise SafeNetError(
                f"{label} ({written(left)} = {written(right)}) is not real and finite",
                "check divisions by zero, roots and logarithms",
            )
        known = {axis.symbol for axis in self.axes} | self.parameters.keys() | table.jets.keys()
        known |= {coordinate(name) for name in normals}
        for symbol in sorted(residual.free_symbols - known, key=str):
            raise SafeNetError(
                f"{label}: the symbol {symbol} is neither an axis ({', '.join(self.axis_names)}) "
                f"nor a parameter ({', '.join(p.name for p in self.parameters) or 'none given'})",
                f"give it a value in the parameters, e.g. {symbol} = 1",
            )
        try:
            computable(residual)
        except SafeNetError as error:
            raise SafeNetError(f"{label}: {error.message}", error.remedy) from None
        used = sorted(residual.free_symbols & table.jets.keys(), key=str)
        if residual.has(*JUMPS) and any(residual.diff(symbol).has(sp.DiracDelta) for symbol in used):
            raise SafeNetError(
                f"{label} ({written(left)} = {written(right)}) jumps where an unknown changes, or may do so",
                "smooth the jump, e.g. tanh(u/0.01) for sign(u); max, min and abs of an unknown are fine",
            )
        jets = {symbol: table.jets[symbol] for symbol in used}
        return Relation(f"{written(left)} = {written(right)}", statement, residual, jets)

    def _condition(self, statement: sp.Eq, label: str, piece: str) -> Condition:
        relation = self._relation(statement, label, self.normals if piece else ())
        if not relation.jets:
            raise SafeNetError(
                f"{label} ({relation.text}) does not contain an unknown",
                f"write e.g. {self.unknowns[0]}({', '.join(self._example_arguments())}) = 0",
            )
        places = tuple(dict.fromkeys(jet.place for jet in relation.jets.values()))
        if piece:
            return self._on_piece(relation, places, piece, label)
        free_sets = {tuple(i for i, value in enumerate(place) if value is None) for place in places}
        if len(free_sets) > 1:
            raise SafeNetError(
                f"{label} ({relation.text}) mixes places of different shape",
                "all unknowns of one condition must be free along the same axes",
            )
        free = free_sets.pop()
        if len(free) == len(self.axes):
            if self.region is not None:
                some = next(iter(self.pieces), "PIECE")
                raise SafeNetError(
                    f"{label} ({relation.text}) does not say where it holds",
                    f"name a piece of the boundary: {relation.text} on {some}",
                )
            raise SafeNetError(
                f"{label} ({relation.text}) holds in the whole domain",
                f"fix an axis, e.g. {self.unknowns[0]}({', '.join(self._example_arguments())}) = …, "
                "or add it to the equations",
            )
        for place in places:
            self._check_inside(place, label)
        self._check_region(places, free, relation, label)
        fixed = {self.axes[i].symbol for i in range(len(self.axes)) if i not in free}
        for symbol in sorted(relation.residual.free_symbols & fixed, key=str):
            raise SafeNetError(
                f"{label} ({relation.text}) contains {symbol}, which its place fixes",
                f"replace {symbol} by its value there",
            )
        kind = self._kind(relation, places, free)
        return Condition(
            relation.text, relation.statement, relation.residual, relation.jets, kind, free, places
        )

    def _on_piece(self, relation: Relation, places: Sequence[Any], piece: str, label: str) -> Condition:
        """A condition along a named piece, at every time."""
        check_piece(piece, tuple(self.pieces), label)
        text = f"{self._with_slopes(relation.text)} on {piece}"
        if any(value is not None for place in places for value in place):
            raise SafeNetError(
                f"{label} ({text}) fixes a place and names a piece",
                f"write {self.unknowns[0]} = … on {piece}, or give the place alone",
            )
        kind = self._slope_kind(relation)
        free = tuple(range(len(self.axes)))
        places = ((None,) * len(self.axes),)
        return Condition(
            text, relation.statement, relation.residual, relation.jets, kind, free, places, piece
        )

    def _with_slopes(self, text: str) -> str:
        """n_x*u_x + n_y*u_y, as SymPy orders it, in the short form u_n."""
        space = [axis.name for axis in self.axes if not axis.is_time]
        for field in self.unknowns:
            terms = sp.Add(*(sp.Symbol(f"n_{x}") * sp.Symbol(f"{field}_{x}") for x in space))
            text = text.replace(written(terms), f"{field}_n")
        return text

    def _check_region(
        self, places: Sequence[Any], free: tuple[int, ...], relation: Relation, label: str
    ) -> None:
        """With a region, conditions hold on its pieces, at its points, or at the start of time."""
        space = [i for i in range(len(self.axes)) if i != self.time]
        fixed = [i for i in space if i not in free]
        if self.region is None or not fixed:
            return
        if len(places) > 1:
            raise SafeNetError(
                f"{label} ({relation.text}) ties two places together, which a region does not allow",
                "state conditions on its pieces one by one; periodic ones need a box without pieces and holes",
            )
        if len(fixed) < len(space):
            raise SafeNetError(
                f"{label} ({relation.text}) is placed on a face of the box, of which the domain is only a part",
                f'name the piece, e.g. [pieces] side = "{self.axes[fixed[0]].name} = '
                f'{places[0][fixed[0]]}", and write {self.unknowns[0]} = … on side',
            )
        point = np.array([[float(places[0][i]) for i in space]])
        if not self.region.contains(point, 1e-9 * max(self.axes[i].length for i in space))[0]:
            raise SafeNetError(f"{label} ({relation.text}) is placed outside the domain", "move it inside")

    def _example_arguments(self) -> list[str]:
        return [str(self.axes[0].lower), *self.axis_names[1:]]

    def _check_inside(self, place: Sequence[sp.Expr | None], label: str) -> None:
        for axis, value in zip(self.axes, place, strict=True):
            if value is None:
                continue
            number = constant(number_of(value, f"{label}: the place of {axis.name}"))
            slack = 1e-12 * axis.length
            if not axis.lo - slack <= number <= axis.hi + slack:
                raise SafeNetError(
                    f"{label} is placed at {axis.name} = {value}, outside the domain "
                    f"{axis.lower} ≤ {axis.name} ≤ {axis.upper}",
                    f"move it to {axis.name} = {axis.lower} or {axis.upper}, or widen the domain",
                )

    def _kind(self, relation: Relation, places: Sequence[Any], free: tuple[int, ...]) -> str:
        """initial · dirichlet · neumann · robin · periodic · point · general, by what is fixed and where."""
        fixed = [i for i in range(len(self.axes)) if i not in free]
        if len(places) > 1:
            return "periodic" if len(fixed) == 1 and self._matches_ends(relation, fixed[0]) else "general"
        if self.time is not None and fixed == [self.time]:
            return "initial" if places[0][self.time] == self.axes[self.time].lower else "general"
        return "point" if len(fixed) > 1 else self._slope_kind(relation)

    def _slope_kind(self, relation: Relation) -> str:
        values = any(not any(jet.orders) for jet in relation.jets.values())
        slopes = any(any(jet.orders) for jet in relation.jets.values())
        if values and slopes:
            return "robin"
        return "neumann" if slopes else "dirichlet"

    def _matches_ends(self, relation: Relation, index: int) -> bool:
        """Whether the relation is ∂^α u(lower) = ∂^α u(upper) along an axis."""
        if len(relation.jets) != 2:
            return False
        (a, first), (b, second) = relation.jets.items()
        axis = self.axes[index]
        same = first.field == second.field and first.orders == second.orders
        ends = {first.place[index], second.place[index]} == {axis.lower, axis.upper}
        return same and ends and sp.expand(relation.residual.xreplace({a: b})) == 0

    def _exact(self, exact: Any) -> dict[str, sp.Expr] | None:
        if exact is None:
            return None
        if not isinstance(exact, Mapping):
            exact = {self.unknowns[0]: exact}
        parameters = [symbol.name for symbol in self.parameters]
        given = {
            name: rebuilt(expression_of(value, f"the exact solution of {name}", self.axis_names, parameters))
            for name, value in ((name_of(key), value) for key, value in exact.items())
        }
        for field in self.unknowns:
            if field not in given:
                raise SafeNetError(f"the exact solution lacks the unknown {field}", f"add {field} = …")
        known = {axis.symbol for axis in self.axes} | self.parameters.keys()
        for field, expression in given.items():
            if field not in self.unknowns:
                raise SafeNetError(f"the exact solution names {field}, which is not an unknown")
            for symbol in sorted(expression.free_symbols - known, key=str):
                raise SafeNetError(f"the exact solution of {field} contains the unknown symbol {symbol}")
        return {field: given[field] for field in self.unknowns}

    # ---- what others read

    @property
    def axis_names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self.axes)

    def contains(self, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        """Which points (n, axes) of the box lie in the domain: all of them, or those of the region."""
        if self.region is None:
            return np.ones(len(points), bool)
        return self.region.contains(points[:, :2], slack)

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

    def order(self, axis: int, field: str | None = None) -> int:
        """The highest derivative order in one axis over all equations (of one field, or of any)."""
        orders = [
            jet.orders[axis]
            for equation in self.equations
            for jet in equation.jets.values()
            if field in (None, jet.field)
        ]
        return max(orders, default=0)

    def time_order(self, field: str) -> int:
        return 0 if self.time is None else self.order(self.time, field)

    @cached_property
    def linear(self) -> bool:
        """Whether every equation and condition is linear (affine) in the unknowns."""
        return all(relation.linear for relation in (*self.equations, *self.conditions))

    def value(self, expression: sp.Expr) -> sp.Expr:
        """`expression` with the parameters' numbers in place."""
        try:
            return expression.xreplace(self.parameters)
        except (ValueError, TypeError) as error:  # SymPy compares the arguments of Max and Min
            raise SafeNetError(
                f"{expression} is not real with the parameters' numbers: {error}", "change the parameters"
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
                f"the coordinates are no points: {error}", "give numbers, or arrays whose shapes go together"
            ) from None
        return dict(zip(names, arrays, strict=True))

    def reference(self, **coordinates: Any) -> Any:
        """The fields at points, from the exact solution or the reference: an array, or a dict of arrays."""
        from .facts.verify import exact_values

        self.broadcast(coordinates)
        if self._reference is not None:
            return self._reference(**coordinates)
        fields = exact_values(self, coordinates)
        return fields if len(fields) > 1 else fields[self.unknowns[0]]

    @property
    def has_reference(self) -> bool:
        return self.exact is not None or self._reference is not None

    @property
    def reference_accuracy(self) -> float | None:
        """The stated relative error of the reference itself; 0 for an exact solution, None without either."""
        if self._reference is not None:
            return getattr(self._reference, "accuracy", None)
        return 0.0 if self.exact is not None else None

    def with_reference(self, reference: Callable[..., Any]) -> Problem:
        return self._copy(reference=reference)

    def with_parameters(self, **values: Any) -> Problem:
        """The same problem with other numbers for some of its parameters; a reference, made for the old ones, goes."""
        known = {symbol.name for symbol in self.parameters}
        for name in values:
            if name not in known:
                listing = ", ".join(sorted(known)) or "none"
                raise SafeNetError(f"{self.name} has no parameter {name!r}", f"its parameters: {listing}")
        parameters = {**{symbol.name: value for symbol, value in self.parameters.items()}, **values}
        return self._copy(parameters=parameters, reference=None)

    def _copy(self, **changes: Any) -> Problem:
        given: dict[str, Any] = {
            "on": self.bounds,
            "where": [On(condition.piece, condition.statement) for condition in self.conditions],
            "shape": self.shape,
            "remove": self.remove,
            "pieces": self.pieces,
            "parameters": self.parameters,
            "exact": self.exact,
            "reference": self._reference,
            "unknowns": self.unknowns,
            "name": self.name,
            "title": self.title,
        }
        return Problem([equation.statement for equation in self.equations], **{**given, **changes})

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        def up_to_sign(residual: sp.Expr) -> sp.Expr:
            return -residual if residual.could_extract_minus_sign() else residual

        return (
            self.unknowns,
            tuple((axis.symbol, axis.lower, axis.upper) for axis in self.axes),
            frozenset(up_to_sign(self.value(equation.residual)) for equation in self.equations),
            frozenset((up_to_sign(self.value(c.residual)), c.piece) for c in self.conditions),
            (self.shape, self.remove, frozenset(self.pieces.items())),
        )

    def toml(self) -> str:
        """The problem as a TOML file's text; `safenet.problem.loads` reads it back."""
        from .toml import dumps

        return dumps(self)

    def __eq__(self, other: object) -> bool:
        """The same task: domain, equations and conditions (up to sign and order) with the parameters' numbers
        in place. Names, titles and known solutions, which only score, are not compared."""
        return isinstance(other, Problem) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        domain = ", ".join(f"{axis.name} ∈ [{axis.lower}, {axis.upper}]" for axis in self.axes)
        return f"Problem({self.name}: {'; '.join(e.text for e in self.equations)}; {domain})"

"""F(x, t, u, u_x, u_t, …) = 0 on a box, with conditions placed by their arguments.

A `Problem` holds the statement in one canonical form — real symbols, exact numbers, residuals in jet symbols
— however it was written: as SymPy, text or TOML. Everything else in the package reads it from here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import sympy as sp

from ..errors import SafeNetError, nearest
from .conditions import conditions_of
from .data import Data, measured_of
from .domain import Domain, widened, with_ranges
from .equations import equations_of
from .facts.agreement import check_agreement
from .facts.beginning import check_beginning
from .facts.jumping import check_jumps
from .functions import Table, check_tables, tables_of, used_tables
from .geometry.shapes import Shape
from .geometry.surface import Surface
from .language.names import check_names, check_titles
from .language.tabulated import Numbers
from .numbers import Curve, check_unknown, curves_of, numbers_of, with_unknown
from .reading import condition_statements, equation_statements, exact_of, listed_unknowns, unknowns_of
from .relation import Condition, Relation
from .texts import read_texts


class Problem(Domain):
    """Equations with conditions: `Problem("u_t = u_xx", domain={"x": (0, 1), …}, conditions=["u(0, t) = 0", …])`.

    `equations`   one equation or a list: text as in a problem file, SymPy's `Eq`, or an expression that equals zero
    `domain`      axis → (lower, upper), in the order of the unknowns' arguments; an axis named t is time. A steady
                  problem may have a shape instead: `domain=Box(x=(0, 1), y=(0, 1)) - Disc((0.5, 0.5), 0.1)`
    `conditions`  each placed by its arguments, `"u(0, t) = 0"`, `Eq(u(0, t), u(1, t))`, …, or on a
                  named piece of the boundary, `"u = 0 on walls"`, `On("walls", Eq(u(x, y), 0))`
    `unknowns`    their names, in order; by default the unknown functions in the equations (in text, those that are
                  differentiated)
    `shape`       the region, if it is not the whole box: `Disc((0, 0), 1)`, `Ball((0, 0, 0), 1)`, sums, differences
    `remove`      shapes to take out of it: `[Box(x=(0, 2), y=(1, 2))]`
    `pieces`      name → part of the boundary: `{"inlet": "x = 0", "walls": "rest"}`
    `periodic`    axes along which all unknowns are periodic: `[x]`. Values at both ends agree, and as many derivatives
                  as the equations need
    `parameters`  symbol → number, or (lower, upper): the problem is then solved for all values between at once, with
                  the parameter as a further axis
    `unknown`     numbers to be found from the data: name → {"start": 0.1, "above": 0, "below": 1}, or only the start;
                  with "of": ["x"], a function of these axes
    `tables`      functions given by numbers: name → `Table(…)`, used as `sympy.Function(name)(x)`; or a Python function
                  of axes, `lambda x: …`
    `data`        measurements: `Data(…)`, a file name, or a list of these
    `exact`       the solution, if known (one expression, or one per unknown): checked here, used only for scoring
    `reference`   a callable that takes coordinates by keyword, used only for scoring

    Examples:
        >>> from sympy import Eq, Function, exp, pi, sin, symbols
        >>> x, t = symbols("x t")
        >>> u = Function("u")(x, t)
        >>> heat = sn.Problem(
        ...     Eq(u.diff(t), u.diff(x, 2) / 10),
        ...     domain={x: (0, 1), t: (0, 1)},
        ...     conditions=[Eq(u.subs(x, 0), 0), Eq(u.subs(x, 1), 0), Eq(u.subs(t, 0), sin(pi * x))],
        ... )
        >>> heat.linear
        True
    """

    def __init__(
        self,
        equations: Any,
        *,
        domain: Mapping[Any, tuple[Any, Any]] | Shape,
        conditions: Sequence[Any] = (),
        shape: Shape | None = None,
        remove: Sequence[Shape] | Shape = (),
        pieces: Mapping[str, Any] | None = None,
        periodic: Any = (),
        parameters: Mapping[Any, Any] | None = None,
        unknown: Any = None,
        tables: Any = None,
        data: Any = (),
        exact: Any = None,
        reference: Callable[..., Any] | None = None,
        unknowns: str | Sequence[str] | None = None,
        name: str = "problem",
        title: str = "",
    ) -> None:
        check_titles(name, title)
        self.name = name
        self.title = title
        self.facts: dict[Any, Any] = {}  # cache of the `@fact` functions
        self._reference = reference
        self.unknown = numbers_of(unknown)
        domain, parameters, family = with_ranges(domain, parameters)
        super().__init__(domain, shape, remove, pieces, with_unknown(parameters, self.unknown), periodic)
        self.tables = tables_of(tables, self)
        check_tables(self, self.tables)
        self.functions = self.tables | curves_of(self, self.unknown)
        parameters_named = [symbol.name for symbol in self.parameters]
        given = listed_unknowns(unknowns)
        own_axes = [axis for axis in self.axis_names if axis not in family]
        equations, conditions, named = read_texts(
            equations, conditions, given, own_axes, [*parameters_named, *family], self.function_names
        )
        statements = [widened(one, family, self, self.functions) for one in equation_statements(equations)]
        self.stated = tuple(
            replace(one, statement=widened(one.statement, family, self, self.functions))
            for one in condition_statements(conditions)
        )
        self.unknowns = named or unknowns_of(statements, self.functions)
        check_names(self.axis_names, self.unknowns, parameters_named, [*self.functions])
        self.equations = equations_of(self, statements)
        self.conditions, self.completed = conditions_of(self, self.stated)
        check_agreement(self)
        if not (self.unknown or data):  # data may replace initial values
            check_beginning(self)
        check_jumps(self)
        check_unknown(self)
        self.tables = used_tables(self)
        self.data, self.measured = measured_of(self, data)
        self.exact = None if exact is None else exact_of(self, exact)
        if self.exact is not None:
            from .facts.verify import verify

            verify(self)

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

    def reference(self, **coordinates: Any) -> Any:
        """Values of the reference, else of the exact solution, at points: an array, or a dict of arrays by unknown."""
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
        """The stated relative error of the reference itself; 0 for an exact solution, None if there is neither."""
        if self._reference is not None:
            return getattr(self._reference, "accuracy", None)
        return 0.0 if self.exact is not None else None

    def with_reference(self, reference: Callable[..., Any]) -> Problem:
        """The same problem, with its facts, to be scored against another reference."""
        twin = object.__new__(Problem)
        vars(twin).update(vars(self), _reference=reference)
        return twin

    def restated(self, equations: Sequence[Relation], conditions: Sequence[Condition]) -> Problem:
        """Other equations and conditions for the same unknowns on the same domain, without data."""
        twin = object.__new__(Problem)
        kept = {name: value for name, value in vars(self).items() if name not in ("linear", "_key")}
        changes = {"equations": tuple(equations), "conditions": tuple(conditions)}
        vars(twin).update(kept | changes, facts={}, data=(), measured=(), exact=None, _reference=None)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        """A copy starts without facts, because what they hold may not be picklable."""
        return {**vars(self), "facts": {}}

    def with_parameters(self, **values: Any) -> Problem:
        """The same problem with other values for some parameters; a reference, made for the old values, is dropped."""
        known = {symbol.name for symbol in self.parameters}
        for name in values:
            if name not in known:
                listing = ", ".join(sorted(known)) or "none"
                raise SafeNetError(f"{self.name} has no parameter {name!r}", f"its parameters: {listing}")
        parameters = {**{symbol.name: value for symbol, value in self.parameters.items()}, **values}
        left = {name: number for name, number in self.unknown.items() if name not in values}
        return self._copy(
            parameters={name: value for name, value in parameters.items() if name not in left}, unknown=left
        )

    # ---- inverse problems: unknown numbers and data

    def with_data(self, *data: Any) -> Problem:
        """The same problem with more data: one or more `Data`, or lists of them."""
        more = [one for group in data for one in (group if isinstance(group, (list, tuple)) else [group])]
        return self._copy(data=(*self.data, *more)) if more else self

    def finding(self, *names: str) -> Problem:
        """The same problem with some parameters unknown, starting from their values; positive ones stay positive."""
        values = {symbol.name: value for symbol, value in self.known.items()}
        for name in names:
            if name not in values:
                raise SafeNetError(f"{self.name} has no parameter {name!r}", nearest(name, values))
        unknown = {n: {"start": values[n], "above": 0 if values[n].is_positive else None} for n in names}
        known = {name: value for name, value in values.items() if name not in names}
        return self._copy(parameters=known, unknown={**self.unknown, **unknown}) if names else self

    def forward(self, values: Mapping[str, Any] | None = None) -> Problem:
        """The forward problem, without data: unknown numbers and functions get `values`, else their current values."""
        now = self.found(values) if values else self
        known = {symbol.name: value for symbol, value in now.parameters.items()}
        return now._copy(parameters=known, unknown=None, tables=now.functions, data=(), exact=None)

    def until(self, share: float) -> Problem:
        """The problem on the first `share` of its time interval, with the data of that part."""
        assert self.time is not None
        axis = self.axes[self.time]
        end = axis.lo + share * axis.length
        early = [data.where(data.columns[axis.name] <= end) for data in self.data]
        bounds = {**self.bounds, axis.name: (self.bounds[axis.name][0], end)}
        return self._copy(domain=bounds, data=[data for data in early if data is not None], exact=None)

    def found(self, values: Mapping[str, Any]) -> Problem:
        """The same statement, with its unknown numbers at the values that were found."""
        if not self.unknown:
            return self
        numbers = {
            name: replace(number, value=values[name] if name in self.curves else float(values[name]))
            for name, number in self.unknown.items()
        }
        return self._copy(unknown=numbers)

    def _copy(self, **changes: Any) -> Problem:
        """A new problem from this statement with some parts changed; the reference is not carried over."""
        given: dict[str, Any] = {
            "domain": self.bounds,
            "conditions": self.stated,
            "shape": self.shape,
            "remove": self.remove,
            "pieces": self.pieces,
            "periodic": self.periodic,
            "parameters": self.known,
            "unknown": self.unknown,
            "tables": self.tables,
            "data": self.data,
            "exact": self.exact,
            "unknowns": self.unknowns,
            "name": self.name,
            "title": self.title,
        }
        return Problem([equation.statement for equation in self.equations], **{**given, **changes})

    @property
    def function_names(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Functions given by numbers or to be found, with their axes."""
        return tuple((name, table.of) for name, table in self.functions.items())

    @property
    def curves(self) -> dict[str, Curve]:
        """The unknown functions."""
        return {name: number for name, number in self.unknown.items() if isinstance(number, Curve)}

    @property
    def files(self) -> dict[str, Data | Table | Surface]:
        """What is saved beside a problem file: data, tables and surfaces, by file name."""
        shapes = [part for part in (self.shape, *self.remove) if part is not None]
        leaves = [leaf for shape in shapes for leaf in shape.primitives()]
        surfaces = [leaf for leaf in leaves if isinstance(leaf, Surface)]
        beside: list[Data | Table | Surface] = [*self.data, *self.tables.values(), *surfaces]
        return {one.file: one for one in beside}

    @property
    def known(self) -> dict[sp.Symbol, sp.Expr]:
        """The parameters whose values are stated."""
        return {symbol: value for symbol, value in self.parameters.items() if symbol.name not in self.unknown}

    @cached_property
    def _key(self) -> tuple[Any, ...]:
        def up_to_sign(residual: sp.Expr) -> sp.Expr:
            return -residual if residual.could_extract_minus_sign() else residual

        stated = {
            numbers: Numbers(self.curves[numbers.table.name].stated.table(numbers.table.name, self))
            for relation in (*self.equations, *self.conditions)
            for numbers in relation.residual.atoms(Numbers)
            if numbers.table.name in self.curves
        }

        def value(residual: sp.Expr) -> sp.Expr:
            return residual.xreplace(self.known | stated) if self.unknown else self.value(residual)

        return (
            self.unknowns,
            tuple((axis.symbol, axis.lower, axis.upper) for axis in self.axes),
            frozenset(up_to_sign(value(equation.residual)) for equation in self.equations),
            frozenset((up_to_sign(value(c.residual)), c.piece) for c in self.conditions),
            (self.shape, self.remove, frozenset(self.pieces.items() if self.region else ())),
            frozenset((name, number.stated) for name, number in self.unknown.items()),
            tuple(data.key for data in self.data),
            frozenset((name, table.of, table.key) for name, table in self.tables.items()),
        )

    def toml(self) -> str:
        """The problem as a TOML file's text; `safenet.problem.loads` reads it back."""
        from .toml import dumps

        return dumps(self)

    def __eq__(self, other: object) -> bool:
        """Whether domain, equations and conditions agree, up to sign and order and with parameter values inserted.
        Names, titles and known solutions, which are only used for scoring, are not compared."""
        return isinstance(other, Problem) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        domain = ", ".join(f"{axis.name} ∈ [{axis.lower}, {axis.upper}]" for axis in self.axes)
        return f"Problem({self.name}: {'; '.join(e.text for e in self.equations)}; {domain})"

    def latex(self) -> str:
        """The problem in LaTeX: equations, conditions, domain and parameters as one aligned block."""
        from .language.latex import latex_problem

        return latex_problem(self)

    def _repr_latex_(self) -> str:
        return f"$\\displaystyle {self.latex()}$"

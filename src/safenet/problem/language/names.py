"""u_xxt → (u, 2 in x and 1 in t): the names a statement may use, and how a derivative is spelt with them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...errors import Place, SafeNetError, printable
from .notation import CONSTANTS, DERIVATIVE, FUNCTIONS, JOINTS, PIECES, SPELLINGS
from .tokens import NAME

# Enough for any box one could sample, and for systems of a few dozen fields.
MAX_NAMES = 64
MAX_NAME = 64
# Letters after u_: enough for a derivative of high order in axes with long names.
MAX_SUFFIX = 256

# A problem's name also names its run folder: it must not lead out of the chosen place, and must be short.
MAX_PROBLEM_NAME = 100
MAX_TITLE = 300

# The kinds of names, and the part of a problem file where each is stated.
GROUPS = {"axis": "domain", "unknown": "unknowns", "parameter": "parameters", "function": "tables"}
RESERVED = frozenset({*FUNCTIONS, *SPELLINGS, DERIVATIVE, PIECES, *JOINTS})
OWN_CONSTANTS = frozenset(CONSTANTS) - {"E"}  # E may be an elastic modulus: e is written exp(1)


@dataclass(frozen=True)
class Names:
    """The axes in the order of the unknowns' arguments, the unknowns, the parameters; on a piece of the boundary
    also the components of its normal; functions given by numbers or to be found, with their axes."""

    axes: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    normals: tuple[str, ...] = ()
    functions: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        for (group, table), members in zip(GROUPS.items(), self._groups, strict=True):
            if len(members) > MAX_NAMES:
                raise SafeNetError(
                    f"{len(members)} names of one kind ({group}), more than {MAX_NAMES}", "", Place((table,))
                )
        seen: dict[str, str] = {}
        for group, name, where in _listed(*self._groups):
            if len(name) > MAX_NAME or not re.fullmatch(NAME, name):
                raise SafeNetError(
                    f"the {group} {name[:MAX_NAME]!r} is not a name",
                    "a name is a letter followed by letters, digits or _, e.g. x, x1, nu",
                    where,
                )
            if name in RESERVED:
                raise SafeNetError(f"the {group} {name!r} has the name of a function", "rename it", where)
            check_constant(group, name, where)
            if name in seen:
                raise SafeNetError(
                    f"{name!r} is named twice: {seen[name]} and {group}", "rename one of them", where
                )
            seen[name] = group
        check_spelling(*self._groups)

    @property
    def _groups(self) -> tuple[tuple[str, ...], ...]:
        return self.axes, self.unknowns, self.parameters, tuple(name for name, _ in self.functions)

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.axes, *self.unknowns, *self.parameters, *self.normals, *dict(self.functions))

    def arguments(self, name: str) -> tuple[str, ...]:
        """The axes that an unknown, or a function, depends on."""
        return dict(self.functions).get(name, self.axes)

    def derivative(self, name: str) -> tuple[str, tuple[int, ...]] | None:
        """The unknown or function and the orders, in each of its arguments, that `name` stands for; or None."""
        if name in (*self.unknowns, *dict(self.functions)):
            return name, (0,) * len(self.arguments(name))
        found = set(self._readings(name))
        if len(found) > 1:
            raise SafeNetError(
                f"{name!r} can be read as more than one derivative",
                "rename the axes so that none is made of others",
            )
        return found.pop() if found else None

    def _readings(self, name: str) -> Iterator[tuple[str, tuple[int, ...]]]:
        for field in (*self.unknowns, *dict(self.functions)):
            if name.startswith(field + "_"):
                for orders in _splits(name[len(field) + 1 :], self.arguments(field)):
                    yield field, orders


def _splits(suffix: str, axes: Sequence[str]) -> set[tuple[int, ...]]:
    """All ways to cut `suffix` into axis names, as orders in each axis."""
    if not 0 < len(suffix) <= MAX_SUFFIX:
        return set()
    reached: dict[int, set[tuple[int, ...]]] = {0: {(0,) * len(axes)}}
    for end in range(1, len(suffix) + 1):
        for index, axis in enumerate(axes):
            if suffix.endswith(axis, 0, end):
                for orders in reached.get(end - len(axis), ()):
                    longer = (*orders[:index], orders[index] + 1, *orders[index + 1 :])
                    reached.setdefault(end, set()).add(longer)
    return reached.get(len(suffix), set())


def _listed(*groups: Sequence[str]) -> Iterator[tuple[str, str, Place]]:
    """(group, name, where it is stated) of every name."""
    for (group, table), names in zip(GROUPS.items(), groups, strict=True):
        for index, name in enumerate(names):
            yield group, name, Place((table, index if group == "unknown" else name))


def check_names(
    axes: Sequence[str], unknowns: Sequence[str], parameters: Sequence[str], functions: Sequence[str] = ()
) -> None:
    """Raise if a name has two meanings: jets are symbols named u, u_x, …, and would silently merge."""
    seen: dict[str, str] = {}
    for group, name, where in _listed(axes, unknowns, parameters, functions):
        kind = f"a{'n' * (group in ('axis', 'unknown'))} {group}"
        check_constant(group, name, where)
        if name in seen:
            raise SafeNetError(f"{name} is both {seen[name]} and {kind}", "rename one of them", where)
        seen[name] = kind
    check_spelling(axes, unknowns, parameters, functions)


def check_constant(group: str, name: str, where: Place | None = None) -> None:
    """pi and e are numbers in every formula: nothing else may have their names, or sin(pi*x) would change its meaning.

    But an axis may be called e, next to axes a, b, c and d.
    """
    if name in OWN_CONSTANTS and (group, name) != ("axis", "e"):
        raise SafeNetError(
            f"the {group} {name!r} has the name of a constant, {float(CONSTANTS[name]):.4g}",
            f"rename it, e.g. {name}_0",
            where,
        )


def check_spelling(
    axes: Sequence[str], unknowns: Sequence[str], parameters: Sequence[str], functions: Sequence[str]
) -> None:
    """u_xx must mean one thing: no axis made of others, no name that spells a derivative of an unknown."""
    for group, name, where in _listed(axes, unknowns, parameters, functions):
        if group == "axis" and _splits(name, [other for other in axes if other != name]):
            raise SafeNetError(
                f"the axis {name!r} is spelt like several other axes in a row", "rename it", where
            )
        for field in (*unknowns, *functions):
            if name.startswith(field + "_") and _splits(name[len(field) + 1 :], axes):
                raise SafeNetError(f"{name!r} already means a derivative of {field}", "rename it", where)


def check_titles(name: str, title: str) -> None:
    """A name is letters, digits, - and _; a title is a line of text."""
    if not re.fullmatch(rf"[\w-]{{1,{MAX_PROBLEM_NAME}}}", name):
        raise SafeNetError(
            f"the problem's name {printable(name[:40])!r} is not a name",
            f"use letters, digits, - and _, at most {MAX_PROBLEM_NAME}; `title` may have any words",
            Place(("name",)),
        )
    if len(title) > MAX_TITLE or printable(title) != title or "\n" in title:
        raise SafeNetError(
            f"the title {printable(title[:40])!r} is not a line of text",
            f"use at most {MAX_TITLE} printable characters",
            Place(("title",)),
        )


def as_name(text: str) -> str:
    """A name made of any text, such as that of a file."""
    return re.sub(r"[^\w-]+", "-", text)[:MAX_PROBLEM_NAME] or "problem"

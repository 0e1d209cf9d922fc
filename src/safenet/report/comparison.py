"""(method, recipe, options) × problem → median, spread, seeds, place: for runs that are in no suite of the package."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product

from .. import library
from ..bench.catalogue import laid_over, suite, ways
from ..bench.catalogue import names as suites
from ..bench.naming import setting
from ..bench.store import Row
from . import words
from .results import ITS_OWN, Configured, Key, Results, Scale, Summary, configuration_key, errors
from .sheets import Cell, Sheet, by_default, detail, few
from .words import PLAIN, Names

Line = tuple[str, str, frozenset[tuple[str, str]], Scale]  # method, recipe, options, scale
SCALED = ("precision", "scale", "points", "condition_points")  # options that determine a scale
RULE = (
    "Runs outside the package's suites, beside all others of the same problem, recipe and scale. Methods are ranked "
    "per column by the median over the seeds; diverged runs have no rank. Rows are sorted by mean rank. Bold: first, "
    "with as many seeds as any other cell."
)


def of_own(results: Results, names: Names = PLAIN) -> Iterator[Sheet]:
    """One table of all such runs; none if there are none."""
    groups = results.groups
    # Runs by default on the library's problems have their own list.
    beyond = {(key[0], key[2], key[4]) for key in groups if key[:4] not in _known() and not _default(key)}
    shown = {key: rows for key, rows in groups.items() if (key[0], key[2], key[4]) in beyond}
    if not shown:
        return
    problems = list(dict.fromkeys(key[0] for key in shown))
    lines = _by_place(list(dict.fromkeys(key[1:] for key in shown)), shown)
    columns = _columns([[shown.get((problem, *line), []) for line in lines] for problem in problems])
    scales = {line[3] for line in lines if not _free(line)}
    notes = [RULE]
    if len(scales) == 1:
        notes.append(f"At {next(iter(scales))}.")
    if scales and any(map(_free, lines)):
        notes.append(
            "Direct solvers and the recipe `default` choose points, precision and iterations by themselves."
        )
    if any(residual for _, residual in columns):
        notes.append("Problems without a reference are compared by the residual on unseen points.")
    yield Sheet(
        name="own",
        title="Runs of your own suites",
        label="",
        head=(
            "method",
            *(
                f"{names.problem(problem)}{', residual' if residual else ''}"
                for problem, (_, residual) in zip(problems, columns, strict=True)
            ),
        ),
        rows=tuple(
            (Cell(_name(line, lines), sort=place), *(cells[place] for cells, _ in columns))
            for place, line in enumerate(lines)
        ),
        measured=len(shown),
        notes=tuple(notes),
        kind="own",
    )


def _default(key: Key) -> bool:
    return by_default(key) and key[0] in library.names()


def _free(line: Line) -> bool:
    """Whether the solver or recipe chooses its scale itself."""
    return line[1] == "default" or line[3] == ITS_OWN


@cache
def _known() -> frozenset[Configured]:
    """Every (problem, method, recipe, options) of the package's suites, at either scale."""
    found = set()
    for known in map(suite, suites()):
        for part in (*known.parts, *(laid_over(part, known.smoke) for part in known.parts)):
            problems = [entry for entry in part["problems"] if isinstance(entry, str)]
            for problem, (named, options) in product(problems, ways(part)):
                chosen = {name: value for name, value in options.items() if name not in SCALED}
                method = named.get("method", named.get("solver", ""))
                found.add(configuration_key(problem, method, named.get("recipe", ""), chosen))
    return frozenset(found)


def _name(line: Line, lines: Sequence[Line]) -> str:
    """safe-net · paper-1 · width=20; recipe and scale only if they differ between the lines."""
    method, recipe, options, scale = line
    parts = [method]
    if recipe and len({other[1] for other in lines}) > 1:
        parts.append(recipe)
    parts += [setting(name, json.loads(value)) for name, value in sorted(options)]
    if len({other[3] for other in lines if not _free(other)}) > 1 and not _free(line):
        parts.append(scale.brief)
    return " · ".join(parts)


def _by_place(lines: Sequence[Line], shown: Mapping[Key, Sequence[Row]]) -> list[Line]:
    """The best first, by a line's mean place over its problems."""
    places: dict[Line, list[int]] = {line: [] for line in lines}
    for problem in dict.fromkeys(key[0] for key in shown):
        there = {line: shown[problem, *line] for line in lines if (problem, *line) in shown}
        quantity = _quantity(there.values())
        medians = {line: found.median for line, rows in there.items() if (found := errors(rows, quantity))}
        order = sorted(medians.values())
        for line in there:
            places[line].append(order.index(medians[line]) if line in medians else len(lines))
    return sorted(lines, key=lambda line: statistics.fmean(places[line]))


def _quantity(groups: Iterable[Sequence[Row]]) -> str:
    """What is compared on a problem: errors, or residuals if there is no error at all."""
    return "residual" if all(row.l2re is None for rows in groups for row in rows) else "l2re"


def _columns(problems: Sequence[Sequence[Sequence[Row]]]) -> list[tuple[list[Cell], bool]]:
    """The cells of each problem, and whether they are residuals because there is no error at all."""
    quantities = [_quantity(groups) for groups in problems]
    found = [
        [errors(rows, quantity) for rows in groups]
        for groups, quantity in zip(problems, quantities, strict=True)
    ]
    most = max((summary.seeds for column in found for summary in column if summary), default=0)
    cells = [_column(column, groups, most) for column, groups in zip(found, problems, strict=True)]
    return [(column, quantity == "residual") for column, quantity in zip(cells, quantities, strict=True)]


def _column(found: Sequence[Summary | None], groups: Sequence[Sequence[Row]], most: int) -> list[Cell]:
    finite = sorted(summary.median for summary in found if summary and math.isfinite(summary.median))
    cells = []
    for summary, rows in zip(found, groups, strict=True):
        if summary is None:
            cells.append(Cell("failed" if rows else words.NONE, mark="missing"))
            continue
        place = 1 + finite.index(summary.median) if summary.median in finite else None
        cells.append(
            Cell(
                words.short(summary.median),
                below=f"#{place} of {len(finite)}" if place and len(finite) > 1 else "",
                detail=detail(summary),
                sort=min(summary.median, 1e300),
                best=place == 1 and len(finite) > 1 and summary.seeds == most,
                few=few(summary, most),
            )
        )
    return cells

"""(method, recipe, options) × problem → median, spread, seeds, rank: your own comparisons as one table."""

from __future__ import annotations

import json
import math
import statistics
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from typing import Any

from .. import library
from ..bench.catalogue import SCALES, suite, ways
from ..bench.catalogue import names as suites
from ..bench.naming import setting
from ..bench.store import FAILED, Row
from ..run.result import pooled
from ..train.recipes import RECIPES
from . import words
from .results import ITS_OWN, Key, Results, Scale, Summary, configuration_key, errors
from .sheets import Cell, Sheet, by_default, detail, few, most_seeds
from .words import PLAIN, Names

Line = tuple[str, str, frozenset[tuple[str, str]], Scale]  # method, recipe, options, scale
SCALED = ("precision", "scale", "points", "condition_points")  # options that determine a scale
RULE = (
    "Methods are ranked per column by the median over the seeds; diverged runs have no rank. Rows are sorted by mean "
    "rank. Bold: first, with as many seeds as any other cell of the column."
)
BESIDE = "Runs outside the package's suites, beside all others of the same problem, recipe and scale."
RESIDUAL = (
    "Problems without a reference are compared by the residual on unseen points, which may rank them otherwise than "
    'their errors: reference = "auto" in the suite scores them by a direct solve.'
)


def of_own(results: Results, names: Names = PLAIN, known: Collection[Key] = ()) -> Iterator[Sheet]:
    """One table of all runs but the `known` ones, beside which others are shown; none if there are no such runs."""
    groups = results.groups
    # Runs by default on the library's problems have their own list.
    beyond = {(key[0], key[2], key[4]) for key in groups if key not in known and not _default(key)}
    shown = {key: rows for key, rows in groups.items() if (key[0], key[2], key[4]) in beyond}
    if not shown:
        return
    problems = list(dict.fromkeys(key[0] for key in shown))
    lines = _by_place(list(dict.fromkeys(key[1:] for key in shown)), shown)
    columns = _columns([[shown.get((problem, *line), []) for line in lines] for problem in problems])
    scales = {line[3] for line in lines if not _free(line)}
    notes = [f"{BESIDE} {RULE}" if known else RULE]
    if len(scales) == 1:
        notes.append(f"At {next(iter(scales))}.")
    if scales and any(map(_free, lines)):
        notes.append(
            "Direct solvers and the recipe `default` choose points, precision and iterations by themselves."
        )
    if any(residual for _, residual in columns):
        notes.append(RESIDUAL)
    notes += _scoring(shown, names)
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


def _scoring(shown: Mapping[Key, Sequence[Row]], names: Names) -> Iterator[str]:
    """Which problems are scored by a direct solve, and which of their runs are not."""
    for problem in dict.fromkeys(key[0] for key in shown):
        rows = [row for key in shown if key[0] == problem for row in shown[key] if _by_direct_solve(row)]
        floors = {row.result.get("reference_accuracy") for row in rows if row.l2re is not None}
        if accuracy := max(filter(None, floors), default=None):
            estimated = f"estimated error {words.short(accuracy)}"
            yield f"{names.problem(problem)} is scored by the direct solve, {estimated}."
        reasons = Counter(row.result["unscored"] for row in rows if "unscored" in row.result)
        for reason, count in reasons.items():
            runs = f"{count} run{'s' if count > 1 else ''}"
            yield f"{names.problem(problem)}: {runs} without a score, as {reason}."


def _by_direct_solve(row: Row) -> bool:
    return "reference" in row.configuration


@cache
def of_package() -> frozenset[Key]:
    """Every (problem, method, recipe, options, scale) of the package's suites, at their full and their small scale."""
    found = set()
    for known in map(suite, suites()):
        for part in (part for scale in SCALES for part in known.parts_at(scale)):
            problems = [entry for entry in part["problems"] if isinstance(entry, str)]
            for problem, (named, options) in product(problems, ways(part)):
                chosen = {name: value for name, value in options.items() if name not in SCALED}
                recipe = named.get("recipe", "")
                method = named.get("method", named.get("solver", ""))
                found.add((*configuration_key(problem, method, recipe, chosen), _scale(recipe, options)))
    return frozenset(found)


def _scale(recipe: str, options: Mapping[str, Any]) -> Scale:
    """The scale of a suite's part; a direct solve, without a recipe, chooses its own."""
    if not recipe:
        return ITS_OWN
    usual = RECIPES[recipe]
    return Scale(
        float(f"{options.get('scale', 1.0):.3g}"),
        options.get("points", usual.interior),
        options.get("condition_points", usual.condition),
        options.get("precision", usual.precision),
    )


def _name(line: Line, lines: Sequence[Line]) -> str:
    """safe-net · paper-1 · width=20; recipe and scale only if they differ between the lines."""
    method, recipe, options, scale = line
    parts = [method]
    if recipe and len({other[1] for other in lines if other[1]}) > 1:
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
    most = most_seeds(summary for column in found for summary in column)
    cells = [_column(column, groups, most) for column, groups in zip(found, problems, strict=True)]
    return [(column, quantity == "residual") for column, quantity in zip(cells, quantities, strict=True)]


def _column(found: Sequence[Summary | None], groups: Sequence[Sequence[Row]], most: int) -> list[Cell]:
    enough = most_seeds(found)
    finite = sorted(summary.median for summary in found if summary and math.isfinite(summary.median))
    cells = []
    for summary, rows in zip(found, groups, strict=True):
        if summary is None:
            cells.append(_without_error(rows))
            continue
        place = 1 + finite.index(summary.median) if summary.median in finite else None
        cells.append(
            Cell(
                words.short(summary.median),
                below=f"#{place} of {len(finite)}" if place and len(finite) > 1 else "",
                detail=detail(summary),
                sort=min(summary.median, 1e300),
                best=place == 1 and len(finite) > 1 and summary.seeds == enough,
                few=few(summary, most),
            )
        )
    return cells


def _without_error(rows: Sequence[Row]) -> Cell:
    """The estimate of a direct solve, which has no error of its own; else why there is no number."""
    estimates = [found for row in rows if (found := pooled(row.result.get("estimate"))) is not None]
    if estimates:
        return Cell(words.short(statistics.median(estimates)), below="estimated", mark="missing")
    if not rows:
        return Cell(words.NONE, mark="missing")
    return Cell("failed" if all(row.outcome == FAILED for row in rows) else "not scored", mark="missing")

"""Every table of the paper with ours beside it, as sheets: HTML, Markdown and LaTeX all show the same.

A cell shows our median first; below it the paper's number and ours/paper; then spread, mean ± sd and seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..report import words
from ..report.comparison import of_own, of_package
from ..report.results import Summary
from ..report.sheets import Cell, Sheet, detail, few, most_seeds, of_rows, slug
from . import names
from .ablations import lambda_max
from .evidence import OURS, PAPER, Evidence, View
from .printed import Cell as Printed
from .printed import Table, cautions, compared, tables
from .quotations import of_others
from .verdicts import better, same

OUR_METHODS = ("safe-net", "rff-tuned", "w-pinn-grid")  # shown beside the paper's methods if they have rows


def sheets(results: Evidence) -> list[Sheet]:
    return [
        *of_own(results, names.NAMES, of_package()),
        *(_compared(table, results) for table in sorted(tables(), key=_place)),
        *of_rows(results, names.NAMES),
        *of_others(results),
    ]


# ---- the paper's tables

ORDER = (
    *("paper-main", "paper-schedule-2", "paper-optimisers", "paper-nh-heat", "paper-schedule-4"),
    *("paper-schedule-3", "paper-parameters", "paper-spectrum"),
    *("paper-features", "paper-activation", "paper-frequencies", "paper-amplitudes"),
)


def _place(table: Table) -> int:
    """The main comparison first; tables not in ORDER come last."""
    return ORDER.index(table.suite) if table.suite in ORDER else len(ORDER)


def _compared(table: Table, results: Evidence) -> Sheet:
    measure, view = _measure(table, results)
    problems = list(dict.fromkeys(cell.problem for cell in table.cells))
    lines: dict[str, dict[str, Printed]] = {}
    for cell in table.cells:
        lines.setdefault(_line(cell, table), {})[cell.problem] = cell
    lines |= _our_lines(table, measure)
    body = {
        name: {problem: (measure(cell), cell.value) for problem, cell in line.items()}
        for name, line in lines.items()
    }
    # Columns with data come first, so that a narrow screen shows them.
    problems.sort(key=lambda problem: all(line.get(problem, (None,))[0] is None for line in body.values()))
    printed = _printed_lines(table)
    least, number = table.quantity == "l2re", words.count if table.quantity == "parameters" else words.short
    against = "" if view is not None and view.scale != PAPER else table.quantity
    columns = {
        problem: [line[problem][0] for line in body.values() if problem in line] for problem in problems
    }
    most = most_seeds(found for column in columns.values() for found in column)
    bests = {problem: _smallest(column) for problem, column in columns.items()} if least else {}
    rows = tuple(
        (
            Cell(name, sort=place),
            *(
                compared_cell(
                    *line[problem],
                    name in printed,
                    bests.get(problem),
                    most,
                    number,
                    against if compared(problem) or not least else "",
                )
                if problem in line
                else Cell(words.NONE)
                for problem in problems
            ),
        )
        for place, (name, line) in enumerate(body.items())
    )
    measured = sum(found is not None for line in body.values() for found, _ in line.values())
    return Sheet(
        name=slug(f"{table.label}-{table.title}"),
        title=table.title,
        label=table.label,
        head=(_varying(table), *map(names.problem, problems)),
        rows=rows,
        measured=measured,
        notes=_notes(lines.values(), view, cautions(problems) if least and against else ())
        if measured
        else (),
        missing="" if measured else f"safenet bench {table.suite} --out DIR",
        kind="paper",
    )


Measure = Callable[[Printed], Summary | None]


def _measure(table: Table, results: Evidence) -> tuple[Measure, View | None]:
    """printed cell → our summary, and the view that it comes from (None: independent of scale)."""
    if table.quantity == "parameters":
        return lambda cell: _single(results.parameters(cell.problem, cell.method)), None
    spectral = table.quantity.startswith("lambda")
    wanted = ((c.problem, c.method, c.recipe or "", c.options) for c in table.cells)
    view = results.spectral() if spectral else results.best(wanted)
    if view is None:
        return lambda cell: None, None
    if spectral:
        eigenvalue = _reduction if table.quantity == "lambda_max_ratio" else _eigenvalue
        return lambda cell: _single(eigenvalue(view, cell)), view
    return lambda cell: view.error(cell.problem, cell.method, cell.recipe or "", **cell.options), view


def _single(value: float | None) -> Summary | None:
    return None if value is None else Summary((float(value),))


def _eigenvalue(view: View, cell: Printed) -> float | None:
    return lambda_max(view, cell.problem, cell.method, cell.options.get("scale", 1.0))


def _reduction(view: View, cell: Printed) -> float | None:
    theirs, ours = lambda_max(view, cell.problem, cell.method), lambda_max(view, cell.problem, OURS)
    return theirs / ours if theirs and ours else None


def _line(cell: Printed, table: Table) -> str:
    """The name of a row: those of its settings that vary within the table."""
    varies = {name for other in table.cells for name in other.options if other.options != cell.options}
    parts = [names.method(cell.method)] if len({c.method for c in table.cells}) > 1 else []
    parts += [names.schedule(cell.recipe)] if cell.recipe and len({c.recipe for c in table.cells}) > 1 else []
    parts += [
        value if isinstance(value, str) else f"{value} {name}"
        for name, value in cell.options.items()
        if name in varies
    ]
    return " · ".join(parts) or names.method(cell.method)


def _varying(table: Table) -> str:
    """The head of the first column."""
    options = [name for cell in table.cells for name in cell.options]
    schedules = len({cell.recipe for cell in table.cells}) > 1
    return "schedule" if schedules else options[0] if len(set(map(str, _options(table)))) > 1 else "method"


def _options(table: Table) -> list[Mapping[str, Any]]:
    return [cell.options for cell in table.cells]


def _printed_lines(table: Table) -> set[str]:
    return {_line(cell, table) for cell in table.cells}


def _our_lines(table: Table, measure: Measure) -> dict[str, dict[str, Printed]]:
    """Our own methods by the same recipe, where the table compares methods."""
    if len({cell.method for cell in table.cells}) == 1:
        return {}
    found: dict[str, dict[str, Printed]] = {}
    for method in OUR_METHODS:
        for cell in table.cells:
            ours = replace(cell, method=method, value=None)
            if measure(ours) is not None:
                found.setdefault(names.method(method), {})[cell.problem] = ours
    return found


def _smallest(column: Sequence[Summary | None]) -> Summary | None:
    """The smallest median among those of most seeds in the column; None if there is nothing to compare with."""
    known, most = [summary for summary in column if summary is not None], most_seeds(column)
    whole = [summary for summary in known if summary.seeds == most]
    return min(whole, key=lambda summary: summary.median) if len(known) > 1 else None


def compared_cell(
    found: Summary | None,
    paper: float | None,
    printed: bool,
    best: Summary | None,
    most: int,
    number: Callable[[float | None], str],
    against: str,
) -> Cell:
    """`against` is the quantity if we ran at the paper's scale, so that the two can be compared; else empty."""
    theirs = ""
    if printed:
        exact = words.count if number is words.count else words.printed
        theirs = words.STAR if paper is None else exact(paper)
    if found is None:
        return Cell(words.NONE, below=f"paper {theirs}" if theirs else "", mark="missing")
    median = found.median
    ratio = words.factor(median / paper) if paper and against else ""
    mark = ""
    if printed and against == "l2re":
        mark = "same" if same(median, paper) else "better" if better(median, paper) else "worse"
    return Cell(
        text=number(median),
        below=f"paper {theirs} {ratio}".strip() if theirs else "",
        detail=detail(found) if against in ("", "l2re") else "",
        sort=median if math.isfinite(median) else 1e300,
        mark=mark,
        best=found == best and math.isfinite(median),
        few=few(found, most),
    )


def _notes(lines: Iterable[Mapping[str, Printed]], view: View | None, more: Iterable[str]) -> tuple[str, ...]:
    return () if view is None else (*_scaled([c for line in lines for c in line.values()], view), *more)


def _scaled(cells: Iterable[Printed], view: View) -> Iterator[str]:
    """The scale, and what the runs cost."""
    rows = [
        row
        for cell in cells
        for row in view.rows(cell.problem, cell.method, cell.recipe or "", **cell.options)
    ]
    if view.scale != PAPER:
        yield f"Not the paper's scale: {view.scale}. The printed numbers are shown, but not compared."
    if not rows:
        return
    spent = sum(row.seconds or 0.0 for row in rows)  # a seed that ran in a batch has its share of the time
    devices = ", ".join(sorted({row.device or "an unknown device" for row in rows}))
    total, each = words.minutes(spent), words.minutes(spent / len(rows))
    yield f"{len(rows)} run{'s' if len(rows) > 1 else ''}, {total} in all, {each} each, on {devices}."

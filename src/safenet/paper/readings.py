"""Which reading of the paper reproduces which number: the suite `readings`, line by line, beside the printed errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..bench.catalogue import suite, ways
from ..bench.naming import setting
from ..networks.methods import METHODS
from ..report import words
from ..report.results import Summary
from ..report.sheets import Cell, Sheet
from . import names
from .compared import compared_cell
from .evidence import OURS, PAPER, Evidence, View
from .printed import compared, tables
from .verdicts import same

SUITE, PRINTED = "readings", "optimizer_comparison_config1"
PLAIN = "default"
SIZES = {"points": "interior", "precision": "precision"}  # options that change the scale
Line = tuple[str, str, Mapping[str, Any]]  # method, recipe, options


def of_readings(results: Evidence) -> Sheet:
    """Every method as it is by default, then its other readings; only cells that have runs."""
    printed = {
        (cell.problem, cell.method): cell.value
        for table in tables()
        if table.label == PRINTED
        for cell in table.cells
    }
    problems = list(dict.fromkeys(problem for problem, _ in printed))
    body: dict[str, dict[str, tuple[Summary, float | None]]] = {}
    for line in _lines():
        for problem in problems:
            found = _found(results, problem, *line)
            if found is not None and (problem, line[0]) in printed:
                body.setdefault(_name(line), {})[problem] = found, printed[problem, line[0]]
    rows = tuple(
        (Cell(name, sort=place), *(_cell(problem, cells.get(problem)) for problem in problems))
        for place, (name, cells) in enumerate(body.items())
    )
    return Sheet(
        name="readings",
        title="Readings of the paper, schedule 1",
        label=PRINTED,
        head=("reading", *map(names.problem, problems)),
        rows=rows,
        measured=sum(map(len, body.values())),
        notes=tuple(_notes(body)),
        missing="" if body else f"safenet bench {SUITE} --out DIR",
        kind="paper",
    )


def _lines() -> Iterator[Line]:
    """The lines of the suite; each method as it is by default comes before its other readings."""
    seen: list[Line] = []
    for part in suite(SUITE).parts:
        for by, options in ways(part):
            if not by["recipe"].startswith("paper-1"):
                continue  # the printed errors beside them are those of schedule 1
            method = "w-pinn" if by["method"] == "w-pinn-grid" else by["method"]
            said = {k: v for k, v in options.items() if getattr(METHODS[by["method"]], k, None) != v}
            for line in ((method, "paper-1", {}), (by["method"], by["recipe"], said)):
                if line not in seen:
                    seen.append(line)
    yield from sorted(seen, key=lambda line: [first[0] for first in seen].index(line[0]))


def _name(line: Line) -> str:
    method, recipe, options = line
    said = [setting(name, value) for name, value in options.items()]
    said += [recipe] if recipe != "paper-1" else []
    return " · ".join([names.method(method), *(said or [PLAIN])])


def _found(
    results: Evidence, problem: str, method: str, recipe: str, options: Mapping[str, Any]
) -> Summary | None:
    sizes = {SIZES[name]: value for name, value in options.items() if name in SIZES}
    others = {name: value for name, value in options.items() if name not in SIZES}
    return View(results, replace(PAPER, **sizes)).error(problem, method, recipe, **others)


def _cell(problem: str, found: tuple[Summary, float | None] | None) -> Cell:
    if found is None:
        return Cell(words.NONE)
    summary, paper = found
    return compared_cell(
        summary, paper, True, None, summary.seeds, words.short, "l2re" if compared(problem) else ""
    )


def _notes(body: Mapping[str, Mapping[str, tuple[Summary, float | None]]]) -> Iterator[str]:
    """How often each reading gives the printed errors, and which reading of SAFE-NET does most often."""
    counts = {
        name: (sum(same(found.median, paper) for found, paper in known), len(known))
        for name, cells in body.items()
        if (known := [pair for problem, pair in cells.items() if compared(problem)])
    }
    if not counts:
        return
    yield "As printed: " + "; ".join(f"{name} {kept} of {of}" for name, (kept, of) in counts.items()) + "."
    own = {name: count for name, count in counts.items() if name.startswith(f"{names.method(OURS)} ·")}
    best = max(own, key=lambda name: own[name], default="")
    if best and own[best][0]:
        yield f"Of the readings of SAFE-NET, «{best.split(' · ', 1)[1]}» reproduces the most of its printed errors."

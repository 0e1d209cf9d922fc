"""Rows as `safenet bench` would write them, with results that are made up."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from safenet import library
from safenet.bench import Row
from safenet.bench.case import Case, planned
from safenet.bench.history import packed
from safenet.paper import tables

stated = cache(library.problem)
DECADES = np.linspace(-8, 6, 60)


def row(
    problem,
    method,
    recipe,
    error,
    seed=0,
    *,
    outcome="solved",
    curve=None,
    result=None,
    spectrum=None,
    of=None,
    **options,
):
    """A row of this configuration; `options` are those of a suite, its scale among them. `of`: another problem."""
    given = of or stated(problem)
    plan = planned(given, method=method, recipe=recipe, **options)
    case = Case(given, replace(plan, seed=seed), spectrum)
    loss = np.array([[1, 10, 1, 1, 1, 1], [100, 1e-3, 1e-4, 1e-4, 1e-4, 1e-4]])
    more = {"gradient": np.array([[1, 5.0], [50, 1.0], [100, 0.1]])}
    if spectrum:
        more["density"] = np.column_stack([DECADES, np.exp(-(DECADES**2)), np.exp(-((DECADES + 4) ** 2))])
    return Row(
        id=case.id,
        **case.facts,
        outcome=outcome,
        stop_reason="made up",
        environment={"commit": "0123456789", "together": 1},
        l2re=error,
        seconds=60.0,
        iterations=100,
        parameters=5000,
        device="made up",
        result=result or {},
        history=packed(loss, curve if curve is not None else [[1, 1.0], [100, error or 1.0]], **more),
    )


def printed(label, seeds=1, factor=1.0):
    """The rows that would reproduce a table of the paper, times a factor; «*» as diverged."""
    table = next(table for table in tables() if table.label == label)
    for cell in table.cells:
        error, outcome = (1.0, "diverged") if cell.value is None else (factor * cell.value, "solved")
        for seed in range(seeds):
            yield row(cell.problem, cell.method, cell.recipe, error, seed, outcome=outcome, **cell.options)


def cell(found, line, column):
    """Of a sheet."""
    place = found.head.index(column)
    return next(cells[place] for cells in found.rows if cells[0].text == line)

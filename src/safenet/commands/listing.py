"""`safenet list` and `safenet show`: what there is, and how a problem is understood."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from .. import listed
from .arguments import (
    DATA,
    FIND,
    AsJson,
    Parameter,
    ProblemName,
    check_picture,
    problem_named,
    save_figure,
)

DataFiles = Annotated[list[Path] | None, typer.Option("--data", **DATA)]
Find = Annotated[list[str] | None, typer.Option("--find", **FIND)]
SOLVERS = {
    "auto": "chosen from the equations (the default)",
    **listed.SOLVERS,
    "train": "a network (safenet train)",
}


def list_(as_json: AsJson = False) -> None:
    """List problems, solvers, networks, recipes and suites."""
    kinds = {
        "problems": listed.titles(listed.problems()),
        "solvers": SOLVERS,
        "methods": listed.METHODS,
        "recipes": listed.RECIPES,
        "suites": listed.titles(listed.suites()),
    }
    if as_json:
        print(json.dumps({kind: list(entries) for kind, entries in kinds.items()}))
        return
    for heading, entries in kinds.items():
        print(heading)
        for name, text in entries.items():
            print(f"  {name:<20} {text}")
        print()


def show(
    name: ProblemName,
    settings: Parameter = None,
    data: DataFiles = None,
    find: Find = None,
    networks: Annotated[
        bool, typer.Option("--networks", help="also the features and sizes of the networks (slower)")
    ] = False,
    picture: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="F.png", help="draw the domain, its pieces and points"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how a problem is understood and what would be done.

    Equations, conditions, detected structure, warnings, and which solver `safenet solve` would choose and why.

    \b
    safenet show reaction
    safenet show ring.toml -o ring.png
    safenet show convection --set beta=30 --networks
    safenet show wave --find c --data probe.csv
    """
    from ..views.describe import describe, description_text

    if picture is not None:
        check_picture(picture)
    problem = problem_named(name, settings, data).finding(*find or ())
    facts = describe(problem, networks)
    print(json.dumps(facts) if as_json else description_text(facts))
    if picture is not None:
        from ..views.domain_picture import plot_domain

        save_figure(plot_domain(problem), picture)

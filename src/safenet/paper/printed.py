"""The paper's printed numbers, with the labels of their tables: for comparison with ours, and for nothing else."""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ..report import words

FOLDER = resources.files(__package__).joinpath("numbers")


@dataclass(frozen=True)
class Cell:
    """One printed number; None where the paper prints «*»: L-BFGS diverged."""

    problem: str
    method: str
    recipe: str | None
    options: Mapping[str, Any]
    value: float | None


@dataclass(frozen=True)
class Table:
    """A table of the paper: its LaTeX label (`also`: figures with the same numbers), what it measures, its cells."""

    label: str
    also: tuple[str, ...]
    title: str
    suite: str
    quantity: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Quoted:
    """A table that the paper quotes from other papers; `problems`: the library problem of each column, or ''."""

    label: str
    title: str
    columns: tuple[str, ...]
    problems: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float, ...]], ...]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper with the numbers in it, where it stands, and the suite that measures it."""

    name: str
    short: str
    label: str
    suite: str
    text: str
    value: Mapping[str, float]


@cache
def _documents() -> tuple[dict[str, Any], ...]:
    files = sorted(FOLDER.iterdir(), key=lambda entry: entry.name)
    return tuple(tomllib.loads(entry.read_text(encoding="utf-8")) for entry in files)


@cache
def tables() -> tuple[Table, ...]:
    return tuple(
        Table(
            entry["label"],
            tuple(entry.get("also", ())),
            entry["title"],
            entry["suite"],
            entry["quantity"],
            tuple(_cells(entry)),
        )
        for document in _documents()
        for entry in document.get("table", ())
    )


def _cells(entry: Mapping[str, Any]) -> Iterator[Cell]:
    """The cells; keys that a row does not give come from its table."""
    for row in entry["rows"]:
        said = {**entry, **row}
        options = {**entry.get("options", {}), **row.get("options", {})}
        for problem, value in zip(entry["problems"], row["values"], strict=True):
            number = None if value == "*" else float(value)
            yield Cell(problem, said["method"], said.get("recipe"), options, number)


@cache
def quoted() -> tuple[Quoted, ...]:
    return tuple(
        Quoted(
            entry["label"],
            entry["title"],
            tuple(entry["columns"]),
            tuple(entry.get("problems", [""] * len(entry["columns"]))),
            tuple((row["method"], tuple(map(float, row["values"]))) for row in entry["rows"]),
        )
        for document in _documents()
        for entry in document.get("quoted", ())
    )


def compared(problem: str) -> bool:
    """Whether our errors and the printed ones are of the same thing: on heat they have no common reference."""
    return problem != "heat2d"


def cautions(problems: Collection[str]) -> Iterator[str]:
    """What a comparison of errors on these problems has to say."""
    if "heat2d" in problems:
        wrong = next(claim.value["reference"] for claim in claims() if claim.name == "heat-scored")
        yield (
            f"Heat is not compared: the public reference is {words.printed(wrong)} from the exact solution, more than "
            "most of the printed errors."
        )
    if "backstep" in problems:
        yield (
            "Navier–Stokes is scored by our own reference, with the outlet of the public data, which is not the "
            "printed one."
        )


@cache
def claims() -> tuple[Claim, ...]:
    return tuple(Claim(**entry) for document in _documents() for entry in document.get("claim", ()))

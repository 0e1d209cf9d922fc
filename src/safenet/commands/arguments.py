"""x=0.3,t=0.5 → numbers: the arguments that several commands share, and how each is read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .. import listed
from ..errors import SafeNetError, nearest, saving

if TYPE_CHECKING:
    from ..problem import Problem

DEVICES = {"cpu": "cpu", "gpu": "cuda"}  # ours → JAX's name


def _known_problems(incomplete: str) -> list[str]:
    """For the shell's completion: problems of the library, and problem files here."""
    names = [*listed.PROBLEMS, *map(str, Path().glob("*.toml"))]
    return [name for name in names if name.startswith(incomplete)]


A_PROBLEM = typer.Argument(
    metavar="P", help="a library problem or a .toml file", autocompletion=_known_problems
)
ProblemName = Annotated[str, A_PROBLEM]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="a folder made by `safenet solve --out`")]
AsJson = Annotated[
    bool, typer.Option("--json", help="print JSON on standard output, progress on standard error")
]
Parameter = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="another value for a parameter (repeatable)"),
]

# for `show`, and for `solve` and `train`, which list them in a panel of their help
DATA: dict[str, Any] = {"metavar": "F.csv", "help": "measured values: columns named x, t, u (repeatable)"}
FIND: dict[str, Any] = {"metavar": "NAME", "help": "find this parameter from the data (repeatable)"}

MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-O",
        metavar="NAME=VALUE",
        help="any other option of a method, e.g. -O k=L",
        rich_help_panel="Network",
    ),
]


def problem_named(
    name: str, settings: list[str] | None = None, data: Sequence[Path] | None = None
) -> Problem:
    """The problem of a library name, or of a file if it looks like one or exists; parameters are set and data added."""
    from .. import library

    values = {}
    for setting in settings or ():
        parameter, equals, value = setting.partition("=")
        if not equals:
            raise SafeNetError(f"--set {setting} is not of the form NAME=VALUE", "e.g. --set beta=30")
        values[parameter.strip()] = number(value, f"--set {setting}")
    return library.named(name, tuple(data or ()), **values)


def method_options(given: list[str]) -> dict[str, Any]:
    """k=L, sigma_space=5 → the fields of a method, in the type each has."""
    from dataclasses import fields

    from ..networks.methods import Method

    kinds = {item.name: type(getattr(Method(), item.name)) for item in fields(Method)}
    values: dict[str, Any] = {}
    for option in given:
        name, equals, text = (part.strip() for part in option.partition("="))
        if not equals or name not in kinds:
            fault = "names no option of a method" if equals else "is not of the form NAME=VALUE"
            raise SafeNetError(f"--option {option} {fault}", nearest(name, kinds))
        if kinds[name] is str:
            values[name] = text
        elif kinds[name] is bool:
            values[name] = _truth(text, option)
        elif kinds[name] is tuple:
            values[name] = tuple(float(number(part, f"--option {option}")) for part in text.split(","))
        else:
            values[name] = kinds[name](float(number(text, f"--option {option}")))
    return values


def _truth(text: str, option: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise SafeNetError(f"--option {option} is neither true nor false", "write e.g. domain=no")
    return words[text.lower()]


def number(text: str, label: str) -> Any:
    """A number or a formula of numbers."""
    from ..problem.language.text import Names, parse_expression

    try:
        return parse_expression(text, Names((), (), ()), label)
    except SafeNetError as error:
        raise SafeNetError(error.message, "give a number, e.g. 0.25, 1/3 or pi/4") from None


def point(text: str, option: str) -> dict[str, float]:
    """x=0.3,t=0.5 → {"x": 0.3, "t": 0.5}"""
    found: dict[str, float] = {}
    for part in text.split(","):
        axis, equals, value = part.partition("=")
        if not equals or axis.strip() in found:
            fault = "gives an axis twice" if equals else "is not of the form x=0.3,t=0.5"
            raise SafeNetError(f"{option} {text} {fault}", f"give every axis once, e.g. {option} x=0.3,t=0.5")
        found[axis.strip()] = float(number(value, f"{option} {text}"))
    return found


def held_at(texts: list[str]) -> dict[str, list[float]]:
    """--at t=0.5 --at t=0 → {"t": [0.0, 0.5]}"""
    held: dict[str, set[float]] = {}
    for text in texts:
        for axis, value in point(text, "--at").items():
            held.setdefault(axis, set()).add(value)
    return {axis: sorted(values) for axis, values in held.items()}


def use_device(device: str) -> None:
    """Choose JAX's device before it starts; a missing device is an error, and no other is used instead."""
    import os

    if device not in DEVICES:
        raise SafeNetError(f"there is no device {device!r}", nearest(device, DEVICES))
    os.environ["JAX_PLATFORMS"] = DEVICES[device]
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError):
        remedy = "use --device cpu, or install the GPU build: pip install 'safenet-pde[cuda]'"
        raise SafeNetError(f"this machine has no {device} that JAX can use", remedy) from None


def check_picture(path: Path) -> None:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise SafeNetError(f"cannot draw into {path}", "use a name that ends in .png, .pdf or .svg")


def save_figure(figure: Any, path: Path, dpi: int = 150) -> None:
    with saving(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=dpi)

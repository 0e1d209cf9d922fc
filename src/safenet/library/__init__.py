"""The benchmark problems: one TOML file each in this folder, and references for those without a solution formula.

library.wave()   library.convection(beta=30)   library.allen_cahn()   library.problem("allen-cahn")
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from .. import listed
from .. import reference as references  # the module, not its functions: burgers here is the problem
from ..errors import SafeNetError, nearest
from ..problem import Problem
from ..problem.reading import number_of
from ..problem.toml import loads, read
from ..reference import Reference

ORDER = listed.PROBLEMS


def _number(problem: Problem, name: str) -> float:
    """The value of a parameter."""
    return next(float(value) for symbol, value in problem.parameters.items() if symbol.name == name)


def _burgers(problem: Problem) -> Reference | None:
    """The Cole–Hopf solution, which needs a positive viscosity."""
    nu = _number(problem, "nu") / math.pi
    make = {"burgers": references.burgers, "burgers-two": references.burgers_two}[problem.name]
    return make(nu) if nu > 0 else None


def _heat_bump(problem: Problem) -> Reference | None:
    """The solution by images, for kappa > 0: without diffusion the ends cannot be held, backwards none is known."""
    kappa = _number(problem, "kappa")
    return references.heat_bump(kappa, _number(problem, "width")) if kappa > 0 else None


def _backstep(problem: Problem) -> Reference | None:
    """Finite elements, made for Re = 100 and two kinds of outlet."""
    made = _number(problem, "Re") == 100 and _number(problem, "kappa") in (0.0, 1.5)
    return references.backstep(_number(problem, "kappa")) if made else None


REFERENCES: dict[str, Callable[[Problem], Reference | None]] = {
    "burgers": _burgers,
    "allen-cahn": lambda problem: references.allen_cahn(),
    "wave-hard": lambda problem: references.wave_hard(_number(problem, "c")),
    "heat-bump": _heat_bump,
    "burgers-two": _burgers,
    "backstep": _backstep,
    "cavity": lambda problem: references.cavity() if _number(problem, "Re") == 100 else None,
    "four-holes": lambda problem: references.four_holes(),
}


def names() -> tuple[str, ...]:
    return ORDER


def text(name: str) -> str:
    """The problem file of that name."""
    file = resources.files(__package__).joinpath(f"{_listed(name)}.toml")
    return file.read_text(encoding="utf-8")


@cache
def _read(name: str) -> Problem:
    return loads(text(name), f"{name}.toml")


def problem(name: str, **parameters: Any) -> Problem:
    """A problem of the library by its name, with other values for some of its parameters."""
    name = _listed(name)
    stated = _read(name)
    numbers = {key: number_of(value, f"the parameter {key}") for key, value in parameters.items()}
    if not numbers.items() <= {symbol.name: value for symbol, value in stated.parameters.items()}.items():
        stated = stated.with_parameters(**numbers)
    reference = REFERENCES[name](stated) if name in REFERENCES else None
    return stated if reference is None else stated.with_reference(reference)


def named(text: str, data: Sequence[Any] = (), /, **parameters: Any) -> Problem:
    """The problem in the file `text`, if it looks like a file or is one, else that of the library; `data` is added."""
    if text.endswith(".toml") or "/" in text or (Path(text).is_file() and text not in ORDER):
        stated = read(Path(text), data)
        # The parameters first: a reference belongs to their values.
        return with_library_reference(stated.with_parameters(**parameters) if parameters else stated)
    return problem(_listed(text, "; a file must end in .toml"), **parameters).with_data(*data)


def _listed(name: str, hint: str = "") -> str:
    """The name of a problem as ORDER spells it."""
    name = name.replace("_", "-")
    if name not in ORDER:
        raise SafeNetError(f"there is no problem {name!r} in the library", nearest(name, ORDER) + hint)
    return name


def with_library_reference(stated: Problem) -> Problem:
    """A problem that was read from a file, with the library's reference if it is the library's problem."""
    if stated.name not in REFERENCES or stated.has_reference:
        return stated
    values = {symbol.name: value for symbol, value in stated.parameters.items()}
    if values.keys() != {symbol.name for symbol in _read(stated.name).parameters}:
        return stated  # a problem of the user's that only shares the name
    original = problem(stated.name, **values)
    return original if original == stated else stated


def __getattr__(name: str) -> Callable[..., Problem]:
    if name.replace("_", "-") in ORDER:
        return lambda **parameters: problem(name, **parameters)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *(name.replace("-", "_") for name in ORDER)]

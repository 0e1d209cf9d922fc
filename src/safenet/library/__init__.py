"""The benchmark problems: one TOML file each beside this one, and the references of those without a formula.

library.wave()   library.convection(beta=30)   library.allen_cahn()   library.problem("allen-cahn")
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from .. import reference as references  # not its functions: burgers here is the problem
from ..errors import SafeNetError, nearest
from ..problem import Problem
from ..problem.toml import loads
from ..reference import Reference

# The paper's order first, then ours.
ORDER = ("wave", "convection", "reaction", "diffusion", "heat2d", "burgers", "allen-cahn", "nh-heat")


def _burgers(problem: Problem) -> Reference | None:
    """Cole–Hopf, which needs a viscosity."""
    nu = next(float(value) for symbol, value in problem.parameters.items() if symbol.name == "nu") / math.pi
    return references.burgers(nu) if nu > 0 else None


REFERENCES: dict[str, Callable[[Problem], Reference | None]] = {
    "burgers": _burgers,
    "allen-cahn": lambda problem: references.allen_cahn(),
}


def names() -> tuple[str, ...]:
    return ORDER


@cache
def _read(name: str) -> Problem:
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return loads(text, f"{name}.toml")


def problem(name: str, **parameters: Any) -> Problem:
    """A problem of the library by its name, with other values for some of its parameters."""
    name = name.replace("_", "-")
    if name not in ORDER:
        raise SafeNetError(f"there is no problem {name!r} in the library", nearest(name, ORDER))
    stated = _read(name).with_parameters(**parameters) if parameters else _read(name)
    reference = REFERENCES[name](stated) if name in REFERENCES else None
    return stated if reference is None else stated.with_reference(reference)


def with_library_reference(stated: Problem) -> Problem:
    """A problem read back from a file: the library's reference if it is the library's statement."""
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

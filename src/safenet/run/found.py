"""0.1002 ± 0.0004: unknown numbers, found from data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import SafeNetError, nearest
from ..problem.splines import Spline

ROUNDING = 2.0**-52  # relative rounding of a float64 number


@dataclass(frozen=True)
class Found:
    """The unknown numbers of an inverse problem, with one standard error each, or None if the data do not determine it.

    `free`: the data leave something undetermined, which `warnings` name.
    """

    values: dict[str, Any]  # for a function, its coefficients
    errors: dict[str, Any] = field(default_factory=dict)
    correlations: dict[str, float] = field(default_factory=dict)  # "nu, c": 0.3
    warnings: tuple[str, ...] = ()
    free: bool = False
    # How many coefficients of a function the data determine.
    determined: dict[str, float] = field(default_factory=dict)
    # How far a relative error of 1 in the solution would shift a number.
    shifts: dict[str, float] = field(default_factory=dict)

    def to_json(self, solved: float) -> dict[str, dict[str, Any]]:
        """`solved`: the relative error of the solution itself, the only source of error if the data have no noise."""
        found = {}
        for name, value in self.values.items():
            error = self.errors.get(name)
            if error is not None and name in self.shifts:
                error = math.hypot(error, self.shifts[name] * solved, ROUNDING * abs(value))
                error = error if math.isfinite(error) else None
            found[name] = {"value": _plain(value), "error": _plain(error)}
            if name in self.determined:
                found[name]["determined"] = self.determined[name]
        return found


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value


@dataclass(frozen=True, repr=False)
class FoundFunction:
    """k(x) as determined by data and smoothness: `found["k"](x=0.3)`, with one standard error `.error(x=0.3)`.

    About `determined` of its coefficients come from the data; smoothness determines the rest.
    """

    name: str
    of: tuple[str, ...]
    spline: Spline
    errors: Spline | None
    determined: float | None

    def __call__(self, **coordinates: Any) -> Any:
        return self._at(self.spline, coordinates)

    def error(self, **coordinates: Any) -> Any:
        """One standard error at points; None if there is none."""
        return None if self.errors is None else self._at(self.errors, coordinates)

    def _at(self, spline: Spline, coordinates: dict[str, Any]) -> Any:
        if set(coordinates) != set(self.of):
            raise SafeNetError(f"{self.name} is a function of {', '.join(self.of)}")
        at = np.broadcast_arrays(*(np.asarray(coordinates[axis], float) for axis in self.of))
        value = spline(at, (0,) * len(at))
        return float(value) if np.ndim(value) == 0 else value

    def __str__(self) -> str:
        ticks = [np.linspace(line.breaks[0], line.breaks[-1], 33) for line in self.spline.lines]
        mesh = np.meshgrid(*ticks, indexing="ij")
        values = self.spline(mesh, (0,) * len(mesh))
        text = f"{values.min():.4g} to {values.max():.4g}"
        if self.errors is not None:
            text += f", ± {float(np.median(self.errors(mesh, (0,) * len(mesh)))):.2g}"
        if self.determined is not None:
            text += f" ({self.determined:.0f} of {self.spline.coefficients.size} coefficients from the data)"
        return text

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(self.of)}): {self}"


class NotFoundError(SafeNetError, KeyError):
    """The requested name was not found, or is not an unknown of the problem."""

    __str__ = Exception.__str__  # KeyError quotes its message


class FoundOnes(dict[str, Any]):
    """What was found, by name; any other name raises an error that says why it is not there.

    `sought`: the names that were to be found; `reason`: why the solve ended.
    """

    def __init__(self, found: Mapping[str, Any], sought: Iterable[str], reason: str) -> None:
        super().__init__(found)
        self.sought, self.reason = tuple(sought), reason

    def __missing__(self, name: str) -> Any:
        if name in self.sought:
            raise NotFoundError(f"{name} was not found: {self.reason or 'the solve did not end'}")
        raise NotFoundError(
            f"{name!r} is not an unknown number or function of the problem",
            nearest(str(name), self.sought)
            if self.sought
            else "problem.finding(…) makes a parameter unknown",
        )


class FoundNumber(float):
    """A number with one standard error, 0.1002 ± 0.0004; `error` is None if the data do not determine it."""

    error: float | None

    def __new__(cls, value: float, error: float | None = None) -> FoundNumber:
        number = super().__new__(cls, value)
        number.error = error
        return number

    def __str__(self) -> str:
        return with_error(float(self), self.error)

    def __repr__(self) -> str:
        return str(self)


def with_error(value: float, error: float | None) -> str:
    """0.1002 ± 0.0004: two digits of the error, and the value to the same place."""
    if error is None:
        return f"{value:.6g} (no standard error)"
    if error <= 1e-15 * abs(value):
        return f"{value:.15g}"
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{places}f} ± {error:.{places}f}" if places < 7 else f"{value:.{places}f} ± {error:.1e}"

"""0.1002 ± 0.0004: unknown numbers, found from data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Found:
    """The unknown numbers of an inverse problem, with one standard error each, or None where the data do not tell.

    `free`: the data leave something open, which `warnings` name.
    """

    values: dict[str, float]
    errors: dict[str, float | None] = field(default_factory=dict)
    correlations: dict[str, float] = field(default_factory=dict)  # "nu, c": 0.3
    warnings: tuple[str, ...] = ()
    free: bool = False

    def to_json(self) -> dict[str, dict[str, float | None]]:
        return {name: {"value": value, "error": self.errors.get(name)} for name, value in self.values.items()}


class FoundNumber(float):
    """A number with one standard error: 0.1002 ± 0.0004; None where the data do not tell."""

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

"""Checks of the numbers that a user gives for a shape, and how numbers are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...errors import SafeNetError
from .edges import Point

Ends = tuple[tuple[float, ...], tuple[float, ...]]  # (lower, upper)


def a_number(value: Any, what: str) -> float:
    try:
        number = float("nan") if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        number = float("nan")
    if not np.isfinite(number):
        text = "; shapes take no formulas in text" if isinstance(value, str) else ""
        raise SafeNetError(f"{what} is {value!r}", f"give a finite number{text}")
    return number


def a_point(value: Any, what: str) -> Point:
    try:
        x, y = value
    except (TypeError, ValueError):
        raise SafeNetError(f"{what} is {value!r}", "give two numbers, such as (0.3, 0.5)") from None
    return a_number(x, what), a_number(y, what)


def a_place(value: Any, what: str, dimension: int | None = 3) -> tuple[float, ...]:
    """A point of `dimension` coordinates, or of two or more if that is None."""
    numbers = tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else ()
    if len(numbers) < 2 or (dimension is not None and len(numbers) != dimension):
        example = "(0, 0, 1)" if dimension == 3 else "as many as there are axes, such as (0, 0, 1)"
        raise SafeNetError(f"{what} is {value!r}", f"give {dimension or 'two or more'} numbers: {example}")
    return tuple(a_number(number, what) for number in numbers)


def a_radius(value: Any, what: str) -> float:
    number = a_number(value, f"the radius of {what}")
    if number <= 0:
        raise SafeNetError(f"{what} has radius {shown(number)}", "give it a positive radius")
    return number


def an_interval(axis: str, value: Any) -> Point:
    low, high = a_point(value, f"the interval of {axis}")
    if low < high:
        return low, high
    remedy = f"write {axis}={shown((high, low))}" if high < low else "give the box a positive width"
    raise SafeNetError(f"the interval {axis}={shown((low, high))} of a box is empty", remedy)


def a_name(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise SafeNetError(f"the name of {what} is {value!r}", 'give a string, such as name="hole"')
    return value


def plain(value: float | Iterable[float]) -> Any:
    """Numbers as one writes them: 2 for 2.0."""
    if isinstance(value, Iterable):
        return [plain(entry) for entry in value]
    return int(value) if value.is_integer() and abs(value) < 1e15 else value


def shown(value: float | Iterable[float]) -> str:
    if isinstance(value, Iterable):
        return f"({', '.join(shown(entry) for entry in value)})"
    return repr(plain(value))


def shown_name(name: str) -> list[str]:
    return [f"name={name!r}"] if name else []

"""A trial in one line, and the domains and conditions that many trials share."""

from __future__ import annotations

from typing import Any

from ..problems import Answer, Trial

LINE, SQUARE, STRIP = {"x": (0, 1)}, {"x": (0, 1), "y": (0, 1)}, {"x": (0, 1), "t": (0, 1)}
ENDS = "u(0) = 0; u(1) = 0"
SIDES = "u(0, t) = 0; u(1, t) = 0"


def one(
    family: str,
    equations: str,
    conditions: str,
    domain: dict[str, tuple[Any, Any]],
    answer: Answer | None,
    why: str = "",
    unknowns: str = "u",
    **more: Any,
) -> Trial:
    """A trial from equations and conditions separated by semicolons."""
    return Trial(
        family, equations.split("; "), conditions.split("; "), domain, answer, tuple(unknowns), why, **more
    )

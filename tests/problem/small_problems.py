"""The heat equation in a few symbols, and how a complaint is caught."""

from __future__ import annotations

from typing import Any

import pytest
from sympy import Eq, Function, pi, sin, symbols

from safenet.errors import SafeNetError
from safenet.problem import Problem

x, y, t, c, L = symbols("x y t c L")

u, v, p = Function("u"), Function("v"), Function("p")

U = u(x, t)

UNIT = {x: (0, 1), t: (0, 1)}

START = Eq(u(x, 0), sin(pi * x))


def heat(**changes: Any) -> Problem:
    given = {"equations": Eq(U.diff(t), U.diff(x, 2)), "domain": UNIT, "conditions": [START], **changes}
    return Problem(given.pop("equations"), **given)


def complaint(**changes: Any) -> SafeNetError:
    with pytest.raises(SafeNetError) as caught:
        heat(**changes)
    return caught.value

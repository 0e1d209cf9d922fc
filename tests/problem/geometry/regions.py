"""Domains of the plane that tests go through."""

import numpy as np
import pytest

from safenet.problem.geometry.shapes import Box, Disc, Polygon

UNIT = Box(x=(0, 1), y=(0, 1))
STEP = Box(x=(0, 4), y=(0, 2)) - Box(x=(0, 2), y=(1, 2), name="step")
SIEVE = UNIT
for at in [(0.3, 0.3), (0.7, 0.3), (0.3, 0.7), (0.7, 0.7)]:
    SIEVE = SIEVE - Disc(at, 0.1, name="holes")
LENS = Disc((0, 0), 1) + Disc((1, 0), 1)
RAMP = Polygon([(0, 0), (4, 0), (4, 2), (2, 2), (1, 1), (0, 1)]) - Disc((3, 1), 0.5)
TOUCHING = UNIT - Disc((0.5, 0.2), 0.2)
TROUBLE = {"step": STEP, "sieve": SIEVE, "lens": LENS, "ramp": RAMP, "touching": TOUCHING}
regions = pytest.fixture(params=list(TROUBLE), name="case")(lambda request: request.param)


def cells(lower, upper, n):
    """The lower and upper corners of n × n cells."""
    edges = [np.linspace(low, high, n + 1) for low, high in zip(lower, upper, strict=True)]
    return tuple(
        np.stack(np.meshgrid(*(e[part] for e in edges), indexing="ij"), axis=-1).reshape(-1, 2)
        for part in (slice(None, -1), slice(1, None))
    )

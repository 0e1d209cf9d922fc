"""{"disc": {"center": [0, 0], "radius": 1}} → Disc((0, 0), 1): shapes as plain data, as a problem file has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any

from ...errors import SafeNetError, nearest
from .shapes import Box, Combination, Difference, Disc, Intersection, Polygon, Primitive, Shape, Union
from .solids import Ball, Cone, Cylinder, Extrusion, Revolution
from .surface import Surface

LEAVES: dict[str, type[Primitive]] = {
    "box": Box,
    "disc": Disc,
    "polygon": Polygon,
    "ball": Ball,
    "cylinder": Cylinder,
    "cone": Cone,
    "extrusion": Extrusion,
    "revolution": Revolution,
    "surface": Surface,
}
WRITTEN = {
    "box": "an interval for each axis: box = { x = [0, 1], y = [0, 2] }",
    "disc": "center and radius: disc = { center = [0, 0], radius = 1 }",
    "polygon": "its vertices: polygon = { vertices = [[0, 0], [1, 0], [0, 1]] }",
    "ball": "center and radius: ball = { center = [0, 0, 0], radius = 1 }",
    "cylinder": "its ends and radius: cylinder = { start = [0, 0, 0], end = [0, 0, 1], radius = 1 }",
    "cone": "its ends and radii: cone = { start = [0, 0, 0], end = [0, 0, 1], radius = 1, top = 0 }",
    "extrusion": "a shape and its ends: extrusion = { shape = { disc = {…} }, bottom = 0, top = 1 }",
    "revolution": "a shape: revolution = { shape = { disc = { center = [1, 0], radius = 0.2 } } }",
    "surface": 'a file: surface = { file = "part.stl" }',
}
COMBINATIONS: dict[str, type[Combination]] = {
    "union": Union,
    "difference": Difference,
    "intersection": Intersection,
}


def from_data(data: Any) -> Shape:
    if not isinstance(data, Mapping) or len(data) != 1:
        raise SafeNetError(
            f"a shape is one entry such as {{'disc': {{…}}}}, and got {data!r}",
            f"use one of {', '.join([*LEAVES, *COMBINATIONS])}",
        )
    kind, content = next(iter(data.items()))
    if kind in COMBINATIONS:
        if not isinstance(content, Sequence) or isinstance(content, str) or len(content) < 2:
            raise SafeNetError(f"a {kind} is a list of two shapes or more, and got {content!r}")
        return reduce(COMBINATIONS[kind], [from_data(part) for part in content])
    if kind not in LEAVES:
        raise SafeNetError(f"there is no shape {kind!r}", nearest(str(kind), [*LEAVES, *COMBINATIONS]))
    if not isinstance(content, Mapping):
        raise SafeNetError(
            f"a {kind} is a table of its numbers, and got {content!r}", f"give {WRITTEN[kind]}"
        )
    try:
        return LEAVES[kind](**content)
    except TypeError as error:
        told = f"a {kind} cannot be made of {dict(content)!r}"
        raise SafeNetError(told, f"give {WRITTEN[kind]}") from error

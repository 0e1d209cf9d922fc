"""What is solved: symbols, equations, conditions, parameters, domain; from SymPy, text or a TOML file."""

from .data import Data
from .functions import Table
from .geometry.shapes import Box, Disc, Polygon
from .geometry.solids import Ball, Cone, Cylinder, Extrusion, Revolution
from .geometry.surface import Surface
from .pieces import On
from .problem import Problem
from .relation import Axis, Condition, Relation
from .toml import dumps, loads, read, write

__all__ = [
    "Axis",
    "Ball",
    "Box",
    "Condition",
    "Cone",
    "Cylinder",
    "Data",
    "Disc",
    "Extrusion",
    "On",
    "Polygon",
    "Problem",
    "Relation",
    "Revolution",
    "Surface",
    "Table",
    "dumps",
    "loads",
    "read",
    "write",
]

"""What is solved: symbols, equations, conditions, parameters, domain; from SymPy, text or a TOML file."""

from .data import Data
from .functions import Table
from .geometry.shapes import Box, Disc, Polygon
from .pieces import On
from .problem import Problem
from .relation import Axis, Condition, Relation
from .toml import dumps, loads, read, write

__all__ = [
    "Axis",
    "Box",
    "Condition",
    "Data",
    "Disc",
    "On",
    "Polygon",
    "Problem",
    "Relation",
    "Table",
    "dumps",
    "loads",
    "read",
    "write",
]

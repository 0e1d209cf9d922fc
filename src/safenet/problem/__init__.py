"""What is solved: symbols, equations, conditions, parameters, domain; from SymPy, text or a TOML file."""

from .problem import Problem
from .relation import Axis, Condition, Relation
from .toml import dumps, loads, read, write

__all__ = ["Axis", "Condition", "Problem", "Relation", "dumps", "loads", "read", "write"]

"""What is solved: symbols, equations, conditions, parameters, domain; from SymPy, text or a TOML file."""

from .problem import Axis, Condition, Problem, Relation
from .toml import dumps, loads, read, write

__all__ = ["Axis", "Condition", "Problem", "Relation", "dumps", "loads", "read", "write"]

"""What is solved: symbols, equations, conditions, parameters, domain."""

from .problem import Axis, Condition, Problem, Relation

__all__ = ["Axis", "Condition", "Problem", "Relation"]

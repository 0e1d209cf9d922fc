"""spec ↔ field: the kinds of field that are built again from numbers and names alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from ..problem import Problem
from .basis import AxisBasis
from .cells import cell_skeleton
from .modes import modal_skeleton
from .pieces import pieces_skeleton
from .series import LinearForm, Piecewise
from .unknown import Unknown

Spec = dict[str, Any]


def field_skeleton(problem: Problem, spec: Spec) -> Any:
    """A field of the structure `spec` describes; its arrays are placeholders to be filled."""
    return KINDS[spec["kind"]](problem, spec)


def _series(problem: Problem, spec: Spec) -> LinearForm:
    bases = tuple(tuple(AxisBasis(**basis) for basis in axes) for axes in spec["bases"])
    shapes = ([basis.size for basis in axes] for axes in bases)
    return LinearForm(tuple(jnp.zeros(shape) for shape in shapes), bases)


def _piecewise(problem: Problem, spec: Spec) -> Piecewise:
    return Piecewise(tuple(_series(problem, piece) for piece in spec["pieces"]), tuple(spec["breaks"]))


KINDS: dict[str, Callable[[Problem, Spec], Any]] = {
    "linear-form": _series,
    "piecewise": _piecewise,
    "cells": lambda problem, spec: cell_skeleton(len(problem.unknowns), spec),
    "modes": lambda problem, spec: modal_skeleton(len(problem.axes), spec),
    "time-pieces": lambda problem, spec: pieces_skeleton(spec),
    "unknown": lambda problem, spec: Unknown(len(problem.unknowns)),
}

"""spec ↔ field: the kinds of field that can be rebuilt from numbers and names alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..errors import SafeNetError
from ..problem import Problem
from .averages import averages_skeleton
from .basis import AxisBasis
from .cells import cell_skeleton, element_skeleton
from .field import jets
from .gaussian import gaussian_skeleton
from .modes import modal_skeleton
from .pieces import pieces_skeleton
from .series import LinearForm, Piecewise
from .sparse import sparse_skeleton
from .triangles import triangles_skeleton
from .unknown import Unknown

Spec = dict[str, Any]


def field_skeleton(problem: Problem, spec: Spec) -> Any:
    """A field of the structure `spec` describes; its arrays are placeholders to be filled."""
    return KINDS[spec["kind"]](problem, spec)


def _series(problem: Problem, spec: Spec) -> LinearForm:
    bases = tuple(tuple(AxisBasis(**basis) for basis in axes) for axes in spec["bases"])
    shapes = ([basis.size for basis in axes] for axes in bases)
    return LinearForm(tuple(np.zeros(shape) for shape in shapes), bases)


def _piecewise(problem: Problem, spec: Spec) -> Piecewise:
    return Piecewise(tuple(_series(problem, piece) for piece in spec["pieces"]), tuple(spec["breaks"]))


KINDS: dict[str, Callable[[Problem, Spec], Any]] = {
    "linear-form": _series,
    "piecewise": _piecewise,
    "cells": lambda problem, spec: cell_skeleton(len(problem.unknowns), spec),
    "elements": lambda problem, spec: element_skeleton(len(problem.unknowns), spec),
    "modes": lambda problem, spec: modal_skeleton(len(problem.axes), spec),
    "gaussian": lambda problem, spec: gaussian_skeleton(len(problem.axes), len(problem.unknowns), spec),
    "time-pieces": lambda problem, spec: pieces_skeleton(spec),
    "averages": lambda problem, spec: averages_skeleton(spec),
    "sparse": sparse_skeleton,
    "triangles": lambda problem, spec: triangles_skeleton(spec),
    "unknown": lambda problem, spec: Unknown(len(problem.unknowns)),
}

MOST = 1_000_000  # a number in a spec may be this large, however few numbers are saved


def check_size(spec: Any, saved: int) -> None:
    """Raise, before placeholders are made, if a `spec` describes more than the `saved` numbers that will fill it."""
    deep = [n for name, n in _numbers(spec) if name == "depth"]
    layers = sum(_layers(spec))
    series = max((math.prod(modes) for modes in _modes(spec)), default=0)
    largest = max((n for _, n in _numbers(spec)), default=0)
    # A parity keeps every second mode: along three axes, one in eight.
    if largest > max(saved, MOST) or max(deep, default=0) > 1000 or max(layers, series) > 16 * saved + MOST:
        raise SafeNetError("it describes a larger field than its arrays hold")


def _numbers(spec: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """(key, |n|) of every whole number n, at any depth."""
    if type(spec) is int:
        yield name, abs(spec)
    elif isinstance(spec, dict):
        for key, value in spec.items():
            yield from _numbers(value, key)
    elif isinstance(spec, list):
        for value in spec:
            yield from _numbers(value, name)


def _layers(spec: Any) -> Iterator[int]:
    """depth · width² of every network."""
    if isinstance(spec, dict) and type(spec.get("depth")) is type(spec.get("width")) is int:
        yield abs(spec["depth"]) * spec["width"] ** 2
    if isinstance(spec, (dict, list)):
        for value in spec.values() if isinstance(spec, dict) else spec:
            yield from _layers(value)


def _modes(spec: Any) -> Iterator[list[int]]:
    """For every product of series, the number of modes along each axis."""
    if isinstance(spec, list) and spec and all(isinstance(each, dict) and "modes" in each for each in spec):
        yield [int(each["modes"]) + 1 for each in spec]
    elif isinstance(spec, (dict, list)):
        for value in spec.values() if isinstance(spec, dict) else spec:
            yield from _modes(value)


def check_map(problem: Problem, field: Any) -> None:
    """Raise unless the field maps a point to the unknowns: a damaged file may have produced something else."""
    middle = np.array([[(axis.lo + axis.hi) / 2 for axis in problem.axes]])
    value = (0,) * len(problem.axes)
    if hasattr(field, "jets") and hasattr(field, "spec"):
        shape = np.shape(jets(field, middle, [value])[value])[1:]
    else:  # a network: its shape is found without compiling it
        import equinox as eqx
        import jax

        kinds = [leaf.dtype for leaf in jax.tree.leaves(field) if eqx.is_inexact_array(leaf)]
        point = jax.ShapeDtypeStruct(middle[0].shape, kinds[0] if kinds else float)
        shape = eqx.filter_eval_shape(lambda net, at: net(at), field, point).shape
    if shape != (len(problem.unknowns),):
        raise SafeNetError(
            f"it returns shape {shape} at a point, but the unknowns are {', '.join(problem.unknowns)}"
        )

"""Solving directly, without training: modes, least squares, marching in time, cells, integrators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazily import attributes

if TYPE_CHECKING:
    from .cells import Cells
    from .elements.solver import Elements
    from .evolve.evolve import Evolve
    from .least_squares import LeastSquares
    from .marches import March
    from .modes import Modes
    from .passes import carry_out
    from .plan import DirectPlan, plan_of
    from .solver import SOLVERS
    from .sparse import Sparse
    from .steps.fourier import Fourier
    from .steps.integrate import Integrate
    from .volumes.conserve import Conserve

_HOMES = {
    "Cells": "cells",
    "Conserve": "volumes.conserve",
    "Elements": "elements.solver",
    "Evolve": "evolve.evolve",
    "Sparse": "sparse",
    "Fourier": "steps.fourier",
    "Integrate": "steps.integrate",
    "LeastSquares": "least_squares",
    "March": "marches",
    "Modes": "modes",
    "carry_out": "passes",
    "DirectPlan": "plan",
    "plan_of": "plan",
    "SOLVERS": "solver",
}
__all__ = [
    "SOLVERS",
    "Cells",
    "Conserve",
    "DirectPlan",
    "Elements",
    "Evolve",
    "Fourier",
    "Integrate",
    "LeastSquares",
    "March",
    "Modes",
    "Sparse",
    "carry_out",
    "plan_of",
]
__getattr__, __dir__ = attributes(__name__, _HOMES)

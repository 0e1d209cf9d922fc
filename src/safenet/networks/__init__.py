"""Features → fields: the linear form, SAFE-NET and every baseline as a declaration."""

from .basis import AxisBasis
from .constrained import Constrained
from .linear_form import LinearForm, Piecewise
from .methods import METHODS, Method, build, method, network_spec, skeleton
from .modes import ModalForm
from .perceptron import Perceptron, perceptron
from .staged import Staged

__all__ = [
    "METHODS",
    "AxisBasis",
    "Constrained",
    "LinearForm",
    "Method",
    "ModalForm",
    "Perceptron",
    "Piecewise",
    "Staged",
    "build",
    "method",
    "network_spec",
    "perceptron",
    "skeleton",
]

"""Features → fields: the linear form, SAFE-NET and every baseline as a declaration."""

from .basis import AxisBasis
from .linear_form import LinearForm, Piecewise
from .methods import METHODS, Method, build, method, network_spec, skeleton
from .modes import ModalForm
from .perceptron import Perceptron, perceptron

__all__ = [
    "METHODS",
    "AxisBasis",
    "LinearForm",
    "Method",
    "ModalForm",
    "Perceptron",
    "Piecewise",
    "build",
    "method",
    "network_spec",
    "perceptron",
    "skeleton",
]

"""Features → fields: the linear form, SAFE-NET and every baseline as a declaration."""

from ..fields.basis import AxisBasis
from ..fields.modes import ModalForm
from ..fields.series import LinearForm, Piecewise
from .constrained import Constrained
from .methods import METHODS, Method, build, method
from .modulated import Modulated
from .perceptron import Perceptron, perceptron
from .staged import Staged

__all__ = [
    "METHODS",
    "AxisBasis",
    "Constrained",
    "LinearForm",
    "Method",
    "ModalForm",
    "Modulated",
    "Perceptron",
    "Piecewise",
    "Staged",
    "build",
    "method",
    "perceptron",
]

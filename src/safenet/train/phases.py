"""The optimisers of a schedule. Each is numbers, its state is arrays, and a run can be split without changing a bit."""

from __future__ import annotations

from .optimisers.adam import Adam, MultiAdam
from .optimisers.lbfgs import LBFGS
from .optimisers.levenberg import LevenbergMarquardt
from .optimisers.natural import NaturalGradient
from .optimisers.nncg import NNCG
from .optimisers.own import Optax
from .optimisers.ssbroyden import SSBroyden
from .optimisers.varpro import VariableProjection
from .staging import Stage

__all__ = [
    "LBFGS",
    "NNCG",
    "PHASES",
    "Adam",
    "LevenbergMarquardt",
    "MultiAdam",
    "NaturalGradient",
    "Optax",
    "Phase",
    "SSBroyden",
    "Stage",
    "VariableProjection",
]

# VariableProjection and Stage are subclasses of LevenbergMarquardt.
Phase = Adam | LBFGS | SSBroyden | NNCG | NaturalGradient | LevenbergMarquardt | Optax
PHASES: dict[str, type[Phase]] = {
    phase.__name__: phase
    for phase in (
        Adam,
        MultiAdam,
        LBFGS,
        SSBroyden,
        NNCG,
        NaturalGradient,
        LevenbergMarquardt,
        VariableProjection,
        Stage,
        Optax,
    )
}

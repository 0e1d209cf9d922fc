"""The optimisers that a schedule is made of. Each is numbers; its state is arrays; a run splits anywhere to the bit."""

from __future__ import annotations

from .optimisers.adam import Adam, MultiAdam
from .optimisers.lbfgs import LBFGS
from .optimisers.levenberg import LevenbergMarquardt
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
    "Optax",
    "Phase",
    "SSBroyden",
    "Stage",
    "VariableProjection",
]

# VariableProjection and Stage are LevenbergMarquardt, too.
Phase = Adam | LBFGS | SSBroyden | NNCG | LevenbergMarquardt | Optax
PHASES: dict[str, type[Phase]] = {
    phase.__name__: phase
    for phase in (
        Adam,
        MultiAdam,
        LBFGS,
        SSBroyden,
        NNCG,
        LevenbergMarquardt,
        VariableProjection,
        Stage,
        Optax,
    )
}

"""What a schedule is made of: optimisers, which move a network's parameters, and direct phases, which build a form."""

from .adam import Adam
from .cell_marching import CellMarching
from .direct import LeastSquares, Marching
from .lbfgs import LBFGS
from .levenberg import LevenbergMarquardt
from .modes import Modes
from .nncg import NNCG
from .ssbroyden import SSBroyden
from .staging import Stage
from .subdivision import Subdivision
from .tensor_marching import TensorMarching
from .varpro import VariableProjection

# VariableProjection and Stage are of the last kind.
Optimiser = Adam | LBFGS | SSBroyden | NNCG | LevenbergMarquardt
Form = LeastSquares | Marching | CellMarching | TensorMarching | Subdivision | Modes
Phase = Optimiser | Form
DIRECT = (LeastSquares, Marching, CellMarching, TensorMarching, Subdivision, Modes)
DOUBLE = (SSBroyden, NNCG, LevenbergMarquardt)  # phases that single precision would mislead
PHASES: dict[str, type[Phase]] = {
    phase.__name__: phase
    for phase in (Adam, LBFGS, SSBroyden, NNCG, LevenbergMarquardt, VariableProjection, Stage, *DIRECT)
}

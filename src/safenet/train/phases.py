"""What a schedule is made of: optimisers, which move a network's parameters, and direct phases, which build a form."""

from ..direct.cells import Subdivision
from ..direct.direct import LeastSquares, Marching
from ..direct.march_on_cells import CellMarching
from ..direct.march_on_grid import TensorMarching
from ..direct.modes import Modes
from .optimisers.adam import Adam
from .optimisers.lbfgs import LBFGS
from .optimisers.levenberg import LevenbergMarquardt
from .optimisers.nncg import NNCG
from .optimisers.ssbroyden import SSBroyden
from .optimisers.varpro import VariableProjection
from .staging import Stage

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

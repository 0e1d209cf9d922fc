"""A solver knows whether it suits a problem and which passes to run; a pass fits its sizes to a budget and resumes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from ..problem import Problem
from ..run.budget import Budget
from ..run.progress import Monitor
from .cells import Cells
from .elements.solver import Elements
from .evolve.evolve import Evolve
from .least_squares import LeastSquares
from .marches import March
from .modes import Modes
from .sparse import Sparse
from .state import Direct
from .steps.fourier import Fourier
from .steps.integrate import Integrate
from .volumes.conserve import Conserve


@runtime_checkable
class Pass(Protocol):
    """One solve of a problem, as a frozen dataclass of numbers and names: the same pass gives the same bits."""

    @property
    def name(self) -> str:
        """The name in progress lines and in the record."""

    @property
    def marches(self) -> bool:
        """Whether it steps through time in slabs: a finer march follows a rougher one only where that helps."""

    @property
    def only_above(self) -> float:
        """The held-out residual above which it still runs after another pass has solved the problem."""

    def within(self, work: float) -> Pass:
        """With sizes chosen for a budget of so many multiplications, which is an estimate and no guarantee."""

    def run(
        self, problem: Problem, monitor: Monitor, budget: Budget, state: Direct | None = None
    ) -> Iterator[Direct]:
        """The state after each level or slab, the last one done or stopped; resumes from `state` if there is one."""


@runtime_checkable
class Solver(Protocol):
    """A direct solver: a frozen dataclass of the options that a user may set."""

    @property
    def name(self) -> str: ...

    def obstacle(self, problem: Problem) -> str | None:
        """Why it does not suit a problem, or None if it does."""

    def aimed(self, tol: float) -> Solver:
        """With its stopping criteria set for a relative error of `tol`."""

    def passes(self, problem: Problem) -> tuple[Pass, ...]:
        """The passes to run, from rough to fine."""


SOLVERS: dict[str, type[Solver]] = {
    Modes.name: Modes,
    LeastSquares.name: LeastSquares,
    March.name: March,
    Cells.name: Cells,
    Elements.name: Elements,
    Integrate.name: Integrate,
    Fourier.name: Fourier,
    Conserve.name: Conserve,
    Evolve.name: Evolve,
    Sparse.name: Sparse,
}

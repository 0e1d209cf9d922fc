"""What a direct solve will do, as data: the same plan on the same machine gives the same bits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from ..fields.saved import field_skeleton
from ..problem import Problem
from ..run.budget import multiplications_per_second
from ..run.plans import changed, check_suits
from .march_on_cells import MarchOnCells
from .march_on_grid import MarchOnGrid
from .march_on_series import MarchOnSeries
from .marches import March
from .solver import SOLVERS, Pass, Solver

# A march is carried out on cells, on a grid or on series; every other solver is its own pass.
PASSES: dict[str, Any] = {
    **{kind.__name__: kind for kind in SOLVERS.values() if kind is not March},
    **{kind.__name__: kind for kind in (MarchOnCells, MarchOnGrid, MarchOnSeries)},
}


@dataclass(frozen=True)
class DirectPlan:
    """The passes of a solver, or of several that `auto` has combined, and the reasons for them."""

    solver: str
    passes: tuple[Pass, ...]
    reasons: tuple[str, ...] = ()
    tol: float | None = None  # the requested relative error

    def to_json(self) -> str:
        passes = [{"pass": type(each).__name__, **asdict(each)} for each in self.parts]
        asked = {} if self.tol is None else {"tol": self.tol}
        return json.dumps(
            {"solver": self.solver, "passes": passes, "reasons": self.reasons, **asked}, indent=1
        )

    @staticmethod
    def from_json(text: str) -> DirectPlan:
        data = json.loads(text)
        passes = tuple(PASSES[fields.pop("pass")](**fields) for fields in data["passes"])
        tol = None if data.get("tol") is None else float(data["tol"])
        return DirectPlan(data["solver"], passes, tuple(data["reasons"]), tol)

    # ---- what lists of runs need from any plan: a direct solve has no network, no seed and no candidates

    trains: ClassVar[bool] = False
    batches: ClassVar[bool] = False
    seed: ClassVar[int] = 0
    precision: ClassVar[str] = "float64"
    method: ClassVar[None] = None
    recipe: ClassVar[None] = None
    variants: ClassVar[tuple[dict[str, float], ...]] = ()
    settled: ClassVar[tuple[DirectPlan, ...]] = ()
    scouts: ClassVar[bool] = True

    @property
    def words(self) -> tuple[str, ...]:
        """The words that name a case, e.g. march."""
        return (self.solver,)

    @property
    def parts(self) -> tuple[Any, ...]:
        """What is carried out one after another."""
        return self.passes

    def seeded(self, seed: int) -> DirectPlan:
        return self

    def spec(self, field: Any) -> dict[str, Any]:
        """What is needed, besides its arrays, to build a field again."""
        return dict(field.spec())

    def skeleton(self, problem: Problem, spec: dict[str, Any], factory: Any = None) -> Any:
        """A field of that structure, its arrays still to be filled."""
        return field_skeleton(problem, spec)

    def lean(self) -> dict[str, Any]:
        """The plan without default values: a pass that gets a new option keeps its name."""
        passes = [{"pass": type(each).__name__, **changed(each)} for each in self.passes]
        return {"solver": self.solver, "passes": passes}

    @property
    def candidates(self) -> tuple[DirectPlan, ...]:
        return (self,)


def plan_of(
    solvers: Sequence[Solver],
    problem: Problem,
    name: str,
    reasons: Sequence[str] = (),
    budget_seconds: float | None = None,
) -> DirectPlan:
    """The passes of all solvers in order, with the sizes that a budget allows on this machine."""
    for solver in solvers:
        check_suits(solver, problem)
    passes = tuple(each for solver in solvers for each in solver.passes(problem))
    if budget_seconds is not None:
        work = budget_seconds * multiplications_per_second()
        passes = tuple(each.within(work) for each in passes)
        reasons = (*reasons, f"sizes for a budget of {budget_seconds:g} s on this machine")
    return DirectPlan(name, passes, tuple(reasons))

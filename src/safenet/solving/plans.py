"""solver and problem → plan: what will be done, as data, with the reasons."""

from __future__ import annotations

from dataclasses import replace

from ..direct.plan import DirectPlan, plan_of
from ..direct.solver import SOLVERS, Solver
from ..errors import SafeNetError, nearest
from ..problem import Problem
from ..train.plan import Plan
from ..train.solver import Train
from .auto import Auto

AnySolver = Auto | Solver | Train
AnyPlan = DirectPlan | Plan
NAMES = ("auto", *SOLVERS, "train")


def solver_named(name: str) -> AnySolver:
    """auto, modes, least-squares, march, cells or train, with its usual settings."""
    if name not in NAMES:
        raise SafeNetError(f"there is no solver {name!r}", nearest(name, NAMES))
    kinds: dict[str, type[AnySolver]] = {"auto": Auto, "train": Train, **SOLVERS}
    return kinds[name]()


def plan_for(problem: Problem, solver: AnySolver | str = "auto", budget: float | None = None) -> AnyPlan:
    """What a solver would do; a `budget`, in seconds, decides sizes of direct solvers and nothing of a training."""
    chosen = solver_named(solver) if isinstance(solver, str) else solver
    if isinstance(chosen, Train):
        return chosen.plan(problem)
    if isinstance(chosen, Auto):
        solvers, reasons = chosen.choice(problem)
        if not solvers:
            plan = Train().plan(problem)
            return replace(plan, reasons=(*reasons, *plan.reasons))
        return plan_of(solvers, problem, Auto.name, reasons, budget)
    if not hasattr(chosen, "passes"):
        raise SafeNetError(
            f"{solver!r} is not a solver",
            "give sn.Auto(), sn.Modes(), sn.LeastSquares(), sn.March(), sn.Cells() or sn.Train()",
        )
    return plan_of((chosen,), problem, chosen.name, (f"the solver {chosen.name} was asked for",), budget)

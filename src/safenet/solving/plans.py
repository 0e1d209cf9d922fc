"""solver and problem → plan: what will be done, as data, with the reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..direct.elements.solver import Elements
from ..direct.plan import DirectPlan, plan_of
from ..direct.solver import SOLVERS, Solver
from ..errors import SafeNetError, nearest
from ..inverse.plan import Fit, FitPlan, generic
from ..inverse.posterior import Posterior
from ..problem import Problem
from ..problem.facts.jumping import jumping
from .auto import Auto

if TYPE_CHECKING:
    from ..train.plan import Plan
    from ..train.solver import Train

    AnySolver = Auto | Solver | Train | Fit | Posterior
    AnyPlan = DirectPlan | Plan
DATA_ONLY = ("fit", "posterior")
NAMES = ("auto", *SOLVERS, *DATA_ONLY, "train")


def solver_named(name: str) -> AnySolver:
    """auto, modes, least-squares, march, cells or train, with its usual settings."""
    if name not in NAMES:
        raise SafeNetError(f"there is no solver {name!r}", nearest(name, NAMES))
    if name == "train":
        return _train()
    kinds: dict[str, type[AnySolver]] = {"auto": Auto, "fit": Fit, "posterior": Posterior, **SOLVERS}
    return kinds[name]()


def _train() -> Train:
    """A training needs JAX, and a direct solve does not wait for that."""
    from ..train.solver import Train

    return Train()


def plan_for(problem: Problem, solver: AnySolver | str = "auto", budget: float | None = None) -> AnyPlan:
    """What a solver would do; a `budget`, in seconds, decides sizes of direct solvers and nothing of a training."""
    chosen = solver_named(solver) if isinstance(solver, str) else solver
    if isinstance(chosen, type):
        raise SafeNetError(f"{chosen.__name__} is a kind of solver", f"write sn.{chosen.__name__}()")
    if jumping(problem) and (problem.data or not isinstance(chosen, (Auto, Elements))):
        raise SafeNetError(
            f"{problem.name}: a coefficient jumps under a derivative, and only the solver elements handles such a flux",
            "leave out the solver, or interpolate the table linearly",
        )
    if hasattr(chosen, "plan"):
        return chosen.plan(problem)
    if problem.data or problem.unknown or isinstance(chosen, Fit):
        return _inverse(problem, chosen, budget)
    if isinstance(chosen, Auto):
        solvers, reasons = chosen.choice(problem)
        if not solvers:
            plan = _train().plan(problem)
            return replace(plan, reasons=(*reasons, *plan.reasons))
        return plan_of(solvers, problem, Auto.name, reasons, budget)
    if not hasattr(chosen, "passes"):
        raise SafeNetError(
            f"{solver!r} is not a solver",
            "give sn.Auto(), sn.Modes(), sn.LeastSquares(), sn.March(), sn.Cells() or sn.Train()",
        )
    return plan_of((chosen,), problem, chosen.name, (f"the solver {chosen.name} was asked for",), budget)


def _inverse(problem: Problem, solver: Any, budget: float | None) -> AnyPlan:
    """Gauss–Newton around a direct solver; where none can be inside, a Gaussian posterior, or a network."""
    asked = solver.solver if isinstance(solver, Fit) else solver
    obstacle = Fit().obstacle(problem)
    if not problem.data:
        raise SafeNetError(
            f"{problem.name}: {obstacle}", 'add [[data]] with file = "…", or data=[sn.Data(…)]'
        )
    inner: AnyPlan | None = None
    if obstacle is None:
        # Functions have cells of their own inside, those on which the equations are linearised.
        inner = (
            DirectPlan(FitPlan.solver, ()) if problem.curves else plan_for(generic(problem), asked, budget)
        )
    functions, values = len(problem.curves), sum(len(m.values) for m in problem.measured)
    numbers = len(problem.unknown) - functions
    counts = {"unknown number": numbers, "unknown function": functions, "measured value": values}
    task = ", ".join(
        f"{n} {what}{'s' * (n != 1)}" for what, n in counts.items() if n or what == "measured value"
    )
    if isinstance(inner, DirectPlan):
        how = (
            "Gauss–Newton over the numbers, with a direct solver inside"
            if problem.unknown
            else "solved, then compared"
        )
        if functions:
            how = (
                "Gauss–Newton, with the equations solved and linearised on cells; what the data do not tell "
                "is smooth, as much as makes the data likeliest"
            )
        return FitPlan(FitPlan.solver, inner.passes, (f"{task}: {how}", *inner.reasons))
    if not isinstance(asked, Auto) and asked != "auto":
        raise SafeNetError(
            f"{problem.name}: {obstacle}", "leave out the solver, or train a network: sn.Train()"
        )
    if obstacle and Posterior().obstacle(problem) is None:
        return Posterior().plan(problem)
    plan = _train().plan(problem)
    why = obstacle or "no direct solver suits it"
    return replace(
        plan, reasons=(f"{task}: a network is trained on equations and data, as {why}", *plan.reasons)
    )

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
    """The solver of that name, with its default settings."""
    if name not in NAMES:
        raise SafeNetError(f"there is no solver {name!r}", nearest(name, NAMES))
    if name == "train":
        return _train()
    kinds: dict[str, type[AnySolver]] = {"auto": Auto, "fit": Fit, "posterior": Posterior, **SOLVERS}
    return kinds[name]()


def _train() -> Train:
    """Imported here, because training needs JAX, and a direct solve should not wait for it."""
    from ..train.solver import Train

    return Train()


def plan_for(problem: Problem, solver: AnySolver | str = "auto", budget: float | None = None) -> AnyPlan:
    """What a solver would do. A `budget`, in seconds, decides sizes of direct solvers, but nothing in a training."""
    chosen = solver_named(solver) if isinstance(solver, str) else solver
    if isinstance(chosen, type):
        raise SafeNetError(f"{chosen.__name__} is a class, not a solver", f"write sn.{chosen.__name__}()")
    # Only elements integrate such a coefficient by parts; other solvers have no flux where it jumps.
    if jumping(problem) and (obstacle := _no_flux(problem, chosen)):
        raise SafeNetError(
            f"{problem.name}: a coefficient jumps under a derivative, and only the solver elements handles such a flux"
            f"{obstacle}",
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
            return replace(plan, reasons=(*reasons, *plan.reasons), tol=chosen.tol)
        return replace(plan_of(solvers, problem, Auto.name, reasons, budget), tol=chosen.tol)
    if not hasattr(chosen, "passes"):
        raise SafeNetError(
            f"{solver!r} is not a solver",
            "give a solver such as sn.Auto(), sn.March() or sn.Train(), or its name (safenet list)",
        )
    asked = (f"the solver {chosen.name} was asked for",)
    return replace(plan_of((chosen,), problem, chosen.name, asked, budget), tol=_asked(chosen))


def _no_flux(problem: Problem, solver: Any) -> str:
    """Why elements cannot solve the problem, by themselves or inside a fit; "" if they can."""
    if not isinstance(solver, (Auto, Elements, Fit)):
        return f", not {getattr(solver, 'name', solver)}"
    if problem.data and (problem.curves or Fit().obstacle(problem)):
        return ", but not if data replace conditions or an unknown function is sought"
    why = Elements().obstacle(generic(problem) if problem.data else problem)
    return f", which does not suit it: {why}" if why else ""


def _asked(solver: Solver) -> float | None:
    """The solver's tolerance, if it is not the default; `judging` decides whether it is one of the error."""
    tolerance = getattr(solver, "tolerance", None)
    return None if tolerance == getattr(type(solver), "tolerance", None) else tolerance


def _inverse(problem: Problem, solver: Any, budget: float | None) -> AnyPlan:
    """Gauss–Newton around a direct solver; if none suits, a Gaussian posterior, or a network."""
    asked = solver.solver if isinstance(solver, Fit) else solver
    obstacle = Fit().obstacle(problem)
    if not problem.data:
        raise SafeNetError(
            f"{problem.name}: {obstacle}", 'add [[data]] with file = "…", or data=[sn.Data(…)]'
        )
    inner: AnyPlan | None = None
    if obstacle is None:
        # For unknown functions, a fit has cells of its own, on which the equations are linearised.
        own = DirectPlan(Auto.name, (), tol=asked.tol if isinstance(asked, Auto) else None)
        inner = own if problem.curves else plan_for(generic(problem), asked, budget)
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
                "Gauss–Newton, with the equations solved and linearised on cells; smoothness fills in what the data "
                "leave open; its weight maximises the likelihood of the data"
            )
        reasons = (f"{task}: {how}", *inner.reasons)
        return FitPlan(FitPlan.solver, inner.passes, reasons, inner.tol, inner.solver)
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

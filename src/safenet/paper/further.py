"""claim, rows → finding: sizes of other architectures, splits of schedule 1, loss terms, and the paper's own errors."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping

import numpy as np
import sympy as sp

from .. import library
from ..report.words import factor
from .evidence import EARLY, OURS, View
from .judges import BASELINES, PLAIN, PROBLEMS, judge, medians, rank
from .names import method as named
from .names import problem, schedule
from .printed import Claim, tables
from .verdicts import (
    NOT,
    NOTHING,
    PARTLY,
    REPRODUCED,
    SAME,
    SHARES,
    UNDECIDABLE,
    Finding,
    by_share,
    of_all,
    on_every,
)

SCHEDULES = ("paper-1", "paper-2", "paper-3a", "paper-3b", "paper-3c", "paper-3d", "paper-3e")
MINIMAL, MODERATE = 1.1, 1.5  # ratios of evaluations: «minimal additional cost» reproduced, and partly


@judge(
    "large-architectures",
    "The counts that the paper names over ours on wave. All three 70 times or more: reproduced; any: partly.",
)
def _large(claim: Claim, view: View) -> Finding:
    own = view.results.parameters("wave", OURS)
    if own is None:
        return NOTHING
    times = {name: count / own for name, count in claim.value.items() if name not in ("from", "to")}
    enough = [ratio >= claim.value["from"] for ratio in times.values()]
    said = ", ".join(f"{ratio:.0f} ({name})" for name, ratio in times.items())
    return Finding(f"{said} times our {own:,}", of_all(enough))


def _lowest(view: View, recipes: tuple[str, ...]) -> dict[str, str]:
    """problem → the recipe with SAFE-NET's lowest median, on problems that have rows of all recipes."""
    found = {}
    for name in PROBLEMS:
        errors = {recipe: view.median(name, OURS, recipe) for recipe in recipes}
        known = {recipe: error for recipe, error in errors.items() if error is not None}
        if len(known) == len(recipes):
            found[name] = min(known, key=lambda recipe: known[recipe])
    return found


def _best_of(view: View, wanted: str, recipes: tuple[str, ...]) -> Finding:
    lowest = _lowest(view, recipes)
    if not lowest:
        return NOTHING
    wins = sum(recipe == wanted for recipe in lowest.values())
    others = sorted({recipe for recipe in lowest.values() if recipe != wanted})
    ours = f"{schedule(wanted)} is best on {wins} of {len(lowest)}"
    for recipe in others:
        where = ", ".join(problem(name) for name, best in lowest.items() if best == recipe)
        ours += f"; {schedule(recipe)[9:]} on {where}"
    return Finding(ours, on_every(wins, len(lowest)), len(lowest), len(PROBLEMS))


@judge("adam-30k", "Schedule 1 against 3a (20k) and 3b (10k). On every problem: reproduced; on half: partly.")
def _thirty(claim: Claim, view: View) -> Finding:
    return _best_of(view, "paper-1", ("paper-1", "paper-3a", "paper-3b"))


@judge("schedule-2-best", "Among schedules 1, 2 and 3a to 3e. On every problem: reproduced; on half: partly.")
def _second_best(claim: Claim, view: View) -> Finding:
    return _best_of(view, "paper-2", SCHEDULES)


@judge("third", f"By schedule 1, with RBA-PINN and RBF-P ahead. {SHARES}")
def _third(claim: Claim, view: View) -> Finding:
    found = {name: medians(view, name, ("paper-1",)) for name in ("allen-cahn", "burgers")}
    places = {name: rank(errors) for name, errors in found.items() if errors is not None}
    if not places:
        return NOTHING
    good = 0
    for name, place in places.items():
        errors = found[name] or {}
        ahead = {other for other in BASELINES if errors[other] < errors[OURS]}
        good += place == claim.value["place"] and ahead == {"rba-pinn", "rbf-p"}
    ours = ", ".join(f"place {place} on {problem(name)}" for name, place in places.items())
    return Finding(ours, by_share(good, len(places)), len(places), 2)


@judge(
    "loss-components", f"The terms of the final loss, medians over the seeds; smaller is improved. {SHARES}"
)
def _components(claim: Claim, view: View) -> Finding:
    names = ("diffusion", "allen-cahn")
    ratios = [ratio for name in names if len(ratio := _terms(view, name))]
    if not ratios:
        return NOTHING
    every = np.concatenate(ratios)
    smaller = int(np.sum(every > 1))
    ours = f"{smaller} of {len(every)} terms are smaller"
    ours += f"; the plain network's are {every.min():.2g} to {every.max():.2g} times as large"
    return Finding(ours, by_share(smaller, len(every)), len(ratios), len(names))


def _terms(view: View, name: str) -> np.ndarray:
    """The plain network's final terms over SAFE-NET's, by schedule 2."""
    ends = []
    for method in ("pinn", OURS):
        rows = [row for row in view.rows(name, method, "paper-2") if len(row.curves["loss"])]
        if not rows:
            return np.empty(0)
        ends.append(np.median([row.curves["loss"][-1, 2:] for row in rows], axis=0))
    found: np.ndarray = ends[0] / ends[1]
    return found


@judge("near-one", "The share of the Hessian's eigenvalues with 0.1 ≤ |λ| < 10. Half or more: reproduced.")
def _near_one(claim: Claim, view: View) -> Finding:
    looks = [look.near_one for look in view.looks("wave", EARLY) if look.method == OURS]
    found = [share for share in looks if share is not None]
    if not found:
        return NOTHING
    share = statistics.median(found)
    verdict = REPRODUCED if share >= claim.value["share"] else NOT
    return Finding(f"{share:.0%} of them", verdict)


@judge(
    "overhead",
    "Evaluations of the loss by schedule 2 over those by schedule 1, the search over five rates left out. "
    f"Up to {MINIMAL:g} times: reproduced; up to {MODERATE:g}: partly.",
)
def _overhead(claim: Claim, view: View) -> Finding:
    ratios, methods = [], {OURS, *BASELINES}
    for name in PROBLEMS:
        for method in sorted(methods):
            first, second = (_evaluations(view, name, method, recipe) for recipe in ("paper-1", "paper-2"))
            if first and second:
                ratios.append(second / first)
    if not ratios:
        return NOTHING
    middle = statistics.median(ratios)
    verdict = REPRODUCED if middle <= MINIMAL else PARTLY if middle <= MODERATE else NOT
    ours = (
        f"{middle:.2f} times (median of {len(ratios)} pairs); the search is five more runs for each problem"
    )
    return Finding(ours, verdict)


def _evaluations(view: View, name: str, method: str, recipe: str) -> float | None:
    counts = [row.evaluations for row in view.rows(name, method, recipe) if row.evaluations]
    return statistics.median(counts) if counts else None


@judge(
    "diffusion-lead",
    "Of RBA-PINN, RBF-P and SAFE-NET on diffusion: second by schedule 1, first by schedule 2. "
    "Both: reproduced; one: partly.",
)
def _diffusion(claim: Claim, view: View) -> Finding:
    places = []
    for recipe in ("paper-1", "paper-2"):
        errors = {name: view.median("diffusion", name, recipe) for name in (OURS, "rba-pinn", "rbf-p")}
        known = [error for error in errors.values() if error is not None]
        if len(known) < len(errors):
            return NOTHING
        places.append(1 + sorted(known).index(known[0]))
    verdict = of_all([places[0] == 2, places[1] == 1])
    return Finding(f"place {places[0]} of 3 by schedule 1, {places[1]} by schedule 2", verdict)


# ---- where the paper's own tables contradict it


def bias_curvature(name: str, weight: float) -> float | None:
    """A lower bound of ∂²L/∂b² for the output's bias b, and so of λ_max: `weight` for each kind of condition on u.

    λ_ic and λ_bc weight at least one mean each: over all initial values, and over all boundary values. If the residual
    r is at most linear in u, the equation adds ⟨(∂r/∂u)²⟩ ≥ 0; if not, no bound is known: None.
    """
    stated = library.problem(name)
    for equation in stated.equations:
        if any(sp.diff(equation.residual, u, 2) for u, jet in equation.jets.items() if not any(jet.orders)):
            return None
    kinds = {c.kind for c in stated.conditions if not any(any(jet.orders) for jet in c.jets.values())}
    return weight * len(kinds & {"initial", "dirichlet"})


@judge(
    "lambda-printed",
    "No run decides it: the loss as printed has a second derivative by the output's bias of at least 100 for each "
    "kind of condition on u, initial and boundary, and λ_max is no less. A value below that: not reproduced.",
)
def _printed_eigenvalues(claim: Claim, view: View) -> Finding:
    cells = [
        (cell.problem, cell.value, bound)
        for table in tables()
        if table.quantity == "lambda_max"
        for cell in table.cells
        if cell.method == OURS
        and cell.value
        and (bound := bias_curvature(cell.problem, claim.value["weight"]))
    ]
    below = [(name, value, bound) for name, value, bound in cells if value < bound]
    said = ", ".join(f"{value:g} on {problem(name)} (at least {bound:g})" for name, value, bound in below)
    verdict = NOT if below else UNDECIDABLE
    return Finding(f"{len(below)} of {len(cells)} are impossible with the printed loss: {said}", verdict)


@judge(
    "rff-burgers",
    f"Within a factor of {SAME:g} of a method without features, and at least 10 times behind RBF. "
    "Both: reproduced; one: partly.",
)
def _rff(claim: Claim, view: View) -> Finding:
    errors = {name: view.median("burgers", name, "paper-1") for name in ("rff", "rbf", *PLAIN)}
    known: Mapping[str, float] = {name: error for name, error in errors.items() if error is not None}
    if not {"rff", "rbf"} <= known.keys() or not known.keys() & set(PLAIN):
        return NOTHING
    if not math.isfinite(known["rff"]):
        return Finding("RFF diverges, so that it compares with nothing", NOT)
    nearest = min(PLAIN, key=lambda name: abs(math.log(known.get(name, math.inf) / known["rff"])))
    over, behind = known["rff"] / known[nearest], known["rff"] / known["rbf"]
    verdict = of_all([1 / SAME <= over <= SAME, behind >= claim.value["behind"]])
    return Finding(f"{factor(over)} {named(nearest)}'s error, {factor(behind)} RBF's", verdict)


@judge(
    "heat-scored",
    "No run decides it: the paper names no reference, and the public one is farther from the exact solution than "
    "the printed errors are large.",
)
def _heat(claim: Claim, view: View) -> Finding:
    theirs, reference = claim.value["to"], claim.value["reference"]
    best = min(
        (
            error
            for name in (OURS, *BASELINES)
            if (error := view.median("heat2d", name, "paper-1")) is not None
        ),
        default=None,
    )
    times = f"{reference / theirs:.0f} times the printed error"
    ours = f"the public reference is {reference:.3g} from the exact solution, {times}"
    if best is not None:
        ours += f"; our best against the exact solution is {best:.2g}"
    return Finding(ours, UNDECIDABLE)

"""claim, rows → finding: how the claims about ranks, schedules, parameters and time are measured."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ..report.words import percent
from ..run.result import Ending
from ..train.plan import SCOUT
from .evidence import OURS, View
from .names import lower
from .printed import Claim
from .verdicts import GAINS, NOT, NOTHING, PARTLY, REPRODUCED, SHARES, Finding, at_least, by_share

PLAIN = ("pinn", "fls-pinn", "w-pinn")
# «Competing feature engineering methods»: these give the printed 53%.
FEATURED = ("rff", "rbf", "rbf-p")
BASELINES = (*PLAIN, "rba-pinn", *FEATURED)
METHODS = (OURS, *BASELINES)
PROBLEMS = ("wave", "reaction", "diffusion", "heat2d", "convection", "allen-cahn", "burgers", "backstep")
CLOSE = 1.5  # a runtime is «close to» another if at most this many times as long

Measure = Callable[[Claim, View], Finding]


@dataclass(frozen=True)
class Judge:
    """How a claim is measured: a rule in words, and a function."""

    rule: str
    measure: Measure


JUDGES: dict[str, Judge] = {}


def judge(name: str, rule: str) -> Callable[[Measure], Measure]:
    def enter(measure: Measure) -> Measure:
        JUDGES[name] = Judge(rule, measure)
        return measure

    return enter


# ---- ranks

RANK = (
    "All of the claimed places or more: reproduced; half of the first places: partly. "
    "A problem counts once every method has rows, or a baseline is ahead: more rows could not make SAFE-NET first. "
    "Where it leads and rows are missing, it may still be first."
)


def medians(view: View, problem: str, recipes: tuple[str, ...]) -> dict[str, float] | None:
    """Each baseline's smallest median over the recipes, and SAFE-NET's by the last; None while any is missing."""
    found, whole = known_medians(view, problem, recipes)
    return found if whole else None


def known_medians(view: View, problem: str, recipes: tuple[str, ...]) -> tuple[dict[str, float], bool]:
    """`medians` of what has rows; whether that is everything."""
    found: dict[str, float] = {}
    whole = True
    for method in METHODS:
        wanted = recipes[-1:] if method == OURS else recipes
        known = [value for recipe in wanted if (value := view.median(problem, method, recipe)) is not None]
        whole = whole and len(known) == len(wanted)
        if known:
            found[method] = min(known)
    return found, whole


def rank(errors: dict[str, float]) -> int:
    """1 + how many baselines have a smaller error."""
    return 1 + sum(errors.get(method, math.inf) < errors[OURS] for method in BASELINES)


def _ranks(claim: Claim, view: View, *recipes: str) -> Finding:
    ranks: list[int] = []
    every, leads = (
        True,
        0,
    )  # whether no row is missing; problems on which missing rows could still put a baseline ahead
    for problem in PROBLEMS:
        found, whole = known_medians(view, problem, recipes)
        if OURS in found and (whole or rank(found) > 1):
            ranks.append(rank(found))
            every = every and whole
        elif OURS in found:
            leads += 1
    if not ranks:
        return NOTHING
    first, top_two = ranks.count(1), sum(place <= 2 for place in ranks)
    enough = first >= claim.value["first"] and top_two >= claim.value.get("top_two", 0)
    verdict = REPRODUCED if enough else PARTLY if 2 * (first + leads) >= claim.value["first"] else NOT
    ours = f"first on {first} of {len(ranks)}"
    # A place is a lower bound as long as rows are missing.
    ours += f", among the first two on {top_two}" if every else ""
    return Finding(ours, verdict, len(ranks), len(PROBLEMS))


@judge("ranks-schedule-1", f"Places by the median error. {RANK}")
def _first(claim: Claim, view: View) -> Finding:
    return _ranks(claim, view, "paper-1")


@judge("ranks-schedule-2", f"SAFE-NET by schedule 2, baselines by the better of both. {RANK}")
def _second(claim: Claim, view: View) -> Finding:
    return _ranks(claim, view, "paper-1", "paper-2")


# ---- cost


@judge(
    "fewer-parameters",
    f"Counted on wave, else on the first problem where all are known; against the mean of RFF, RBF and RBF-P. {GAINS}",
)
def _parameters(claim: Claim, view: View) -> Finding:
    for name in PROBLEMS:
        counts = {method: view.results.parameters(name, method) for method in (OURS, *FEATURED)}
        known = {method: number for method, number in counts.items() if number is not None}
        if len(known) == len(counts):
            fewer = 100 * (1 - known[OURS] / statistics.fmean(known[method] for method in FEATURED))
            ours = f"{percent(fewer)} fewer ({known[OURS]:,} parameters on {name})"
            return Finding(ours, at_least(fewer, claim.value["percent"]))
    return NOTHING


def crossing(view: View, problem: str) -> tuple[float, float] | None:
    """(share of schedule 1, error) where SAFE-NET first reaches the median baseline's final error; ∞ if never."""
    curves = {method: view.curve(problem, method, "paper-1") for method in METHODS}
    found = medians(view, problem, ("paper-1",))
    if found is None or any(len(curve) == 0 for curve in curves.values()):
        return None
    target = statistics.median(found[method] for method in BASELINES)
    reached = curves[OURS][curves[OURS][:, 1] <= target]
    total = max(float(curve[-1, 0]) for curve in curves.values())
    return (float(reached[0, 0]) / total if len(reached) else math.inf), target


@judge(
    "fewer-epochs",
    f"By schedule 1: the iteration at which SAFE-NET is first at the final error of the median baseline. {SHARES}",
)
def _epochs(claim: Claim, view: View) -> Finding:
    shares = [found[0] for problem in PROBLEMS if (found := crossing(view, problem)) is not None]
    if not shares:
        return NOTHING
    soon = sum(100 * share < claim.value["percent"] for share in shares)
    reached = [100 * share for share in shares if math.isfinite(share)]
    ours = f"in less than {claim.value['percent']:.0f}% on {soon} of {len(shares)} problems"
    if reached:
        ours += f", where it is reached after {percent(statistics.median(reached))} (median)"
    if len(reached) < len(shares):
        ours += f", never on {len(shares) - len(reached)}"
    return Finding(ours, by_share(soon, len(shares)), len(shares), len(PROBLEMS))


def paces(view: View) -> dict[int, dict[str, float]]:
    """Seconds per iteration of Adam on wave: samples → method → the median of the rows."""
    found: dict[int, dict[str, list[float]]] = {}
    for row in view.results.plain("wave"):
        plan, pace = row.configuration["plan"], row.result.get("pace", {}).get("adam")
        alone = row.environment.get("together", 1) == 1
        if not (row.method and row.recipe == "paper-4" and pace and alone):
            continue
        if (plan["condition"], plan["precision"]) == (view.scale.condition, view.scale.precision):
            found.setdefault(plan["interior"], {}).setdefault(row.method, []).append(pace)
    return {
        samples: {method: statistics.median(values) for method, values in by_method.items()}
        for samples, by_method in sorted(found.items())
    }


def _over(view: View, others: tuple[str, ...]) -> list[float]:
    """SAFE-NET's seconds over the mean of the others', for each number of samples that all of them have."""
    return [
        pace[OURS] / statistics.fmean(pace[method] for method in others)
        for pace in paces(view).values()
        if pace.keys() >= {OURS, *others}
    ]


@judge("faster-epochs", f"Seconds per iteration of Adam, against the mean of RFF, RBF and RBF-P. {GAINS}")
def _faster(claim: Claim, view: View) -> Finding:
    ratios = _over(view, FEATURED)
    if not ratios:
        return NOTHING
    saved = 100 * (1 - statistics.fmean(ratios))
    ours = f"{percent(abs(saved))} {'less' if saved >= 0 else 'more'} time per iteration"
    return Finding(ours, at_least(saved, claim.value["percent"]))


@judge("runtime-like-plain", f"At most {CLOSE:g} times the mean of PINN, FLS-PINN and W-PINN. {SHARES}")
def _like_plain(claim: Claim, view: View) -> Finding:
    ratios = _over(view, PLAIN)
    if not ratios:
        return NOTHING
    close = sum(ratio <= CLOSE for ratio in ratios)
    ours = f"{min(ratios):.2g} to {max(ratios):.2g} times as long, for {len(ratios)} numbers of samples"
    return Finding(ours, by_share(close, len(ratios)))


# ---- schedules


def reduction(before: float | None, after: float | None) -> float | None:
    """100 (1 − after/before); −∞ if only `after` diverged, None if either is missing or `before` diverged."""
    if before is None or after is None or not math.isfinite(before):
        return None
    return 100 * (1 - after / before)


def gains(view: View, method: str) -> dict[str, float]:
    """problem → by how many percent schedule 2 lowers the error of schedule 1."""
    both = {
        problem: reduction(view.median(problem, method, "paper-1"), view.median(problem, method, "paper-2"))
        for problem in PROBLEMS
    }
    return {problem: gain for problem, gain in both.items() if gain is not None}


def mean(values: Iterable[float]) -> float:
    finite = [value for value in values if math.isfinite(value)]
    return statistics.fmean(finite) if finite else -math.inf


@judge("schedule-2-gain", f"Mean over the problems. {GAINS} Reproduced only if no problem gets worse.")
def _gain(claim: Claim, view: View) -> Finding:
    found = gains(view, OURS)
    if not found:
        return NOTHING
    average, up = mean(found.values()), sum(gain > 0 for gain in found.values())
    verdict = at_least(average, claim.value["percent"])
    if verdict == REPRODUCED and up < len(found):
        verdict = PARTLY
    ours = f"{lower(average)} on average, lower on {up} of {len(found)} problems"
    return Finding(ours, verdict, len(found), len(PROBLEMS))


@judge(
    "schedule-2-others",
    "Reproduced if only SAFE-NET improves on every problem; partly if others do, too. A method counts once half of "
    "its problems are measured, or as soon as it fails to improve on one.",
)
def _others(claim: Claim, view: View) -> Finding:
    found = {method: gains(view, method) for method in METHODS}
    everywhere = [method for method, values in found.items() if all(gain > 0 for gain in values.values())]
    # One problem without a gain is enough to decide against a method.
    measured = [m for m, values in found.items() if m not in everywhere or 2 * len(values) >= len(PROBLEMS)]
    everywhere = [method for method in everywhere if method in measured]
    if OURS not in measured or len(measured) < 2:
        return NOTHING
    verdict = NOT if OURS not in everywhere else REPRODUCED if len(everywhere) == 1 else PARTLY
    ours = f"{len(everywhere)} of {len(measured)} methods improve on every problem"
    ours += f", SAFE-NET {'among them' if OURS in everywhere else 'not among them'}"
    return Finding(ours, verdict, len(measured), 1 + len(BASELINES), "methods")


@judge(
    "stalls",
    "Runs whose first L-BFGS stopped by itself after 8,000 to 12,000 iterations. One of ours is one step; in the code "
    f"that the paper follows, up to 20. {SHARES}",
)
def _stalls(claim: Claim, view: View) -> Finding:
    stops: list[tuple[str, int]] = []
    for row in view.all():
        allowed = [phase for phase in row.configuration["plan"]["phases"] if phase["phase"] == "LBFGS"]
        done = [phase for phase in row.result.get("phases", ()) if phase["name"] == "lbfgs"]
        long = allowed and allowed[0]["iterations"] >= claim.value["from"]
        if row.method in METHODS and long and done:
            stops.append((done[0]["outcome"], done[0]["iterations"]))
    if not stops:
        return NOTHING
    at = [iterations for outcome, iterations in stops if outcome == Ending.STALLED]
    between = sum(claim.value["from"] <= iterations <= claim.value["to"] for iterations in at)
    middle = f", the median after {statistics.median(at):,.0f} iterations" if at else ""
    ours = f"{len(at)} of {len(stops)} runs stall in their first L-BFGS{middle}; {between} within the claimed range"
    return Finding(ours, by_share(between, len(stops)))


@judge(
    "best-rate",
    "The rate that wins most often, by training loss: reproduced if in half of the searches or more.",
)
def _rate(claim: Claim, view: View) -> Finding:
    chosen = Counter(
        candidate["rate"]
        for row in view.all()
        # The other seeds only repeat the first one's choice.
        if row.method in METHODS and row.recipe == "paper-2" and row.seed == SCOUT
        for candidate in row.result.get("candidates", ())
        if candidate.get("chosen") and "rate" in candidate
    )
    if not chosen:
        return NOTHING
    rate = claim.value["rate"]
    wins, runs = chosen[rate], chosen.total()
    leads = wins == max(chosen.values())
    verdict = REPRODUCED if leads and 2 * wins >= runs else PARTLY if leads else NOT
    others = ", ".join(f"{other:.0e} {times}" for other, times in chosen.most_common() if other != rate)
    ours = f"{rate:.0e} wins {wins} of {runs} searches" + (f"; {others}" if others else "")
    return Finding(ours.replace("e-0", "e-"), verdict)

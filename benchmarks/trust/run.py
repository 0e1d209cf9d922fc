"""Is an error estimate ever far too small, or given where there is nothing to estimate?

    python -m benchmarks.trust.run results/trust.jsonl [--chosen | --generated 500] [--seed 0] [--seconds 20]
    python -m benchmarks.trust.run results/trust.jsonl --again transport,wave [--part 1/2]
    python -m benchmarks.trust.run results/trust.jsonl --table [--plot docs/trust.png]

Problem i of the generated ones is of family i modulo their number, with random numbers of (seed, i). Every row is a
line of the file as soon as it is there: what it holds is not run again, and several processes may write to it, each its
part.

    silent    the error is over 10 times the estimate, or something is called solved that has no one answer, and nothing
              was said: no warning, no "or more"; or a solved problem without a right answer has an estimate
    alarm     a right answer of a well-posed problem that is called not solved, or comes with a warning
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import safenet as sn
from safenet.measure.heldout import interior_points
from safenet.measure.thresholds import ROUGH
from safenet.run.result import Outcome, pooled

from . import problems, undecided
from .chosen import boundary, evolution, hostile, ordinary, plane
from .problems import Trial

TOO_SMALL = 10.0  # times the estimate: an error above is a failure of it
RIGHT = 1e-3  # an answer this near is right: who calls it wrong gives a false alarm
ROUNDING = 1e-14  # errors below are none
# Families with other solutions at a distance, or without a smooth one: an estimate may be right, and a word is due.
SEVERAL = "several", "shock"


def families() -> dict[str, Callable[[np.random.Generator], Trial]]:
    found: dict[str, Callable[[np.random.Generator], Trial]] = {}
    for module in (problems, undecided):
        for name, value in vars(module).items():
            own = getattr(value, "__module__", "") == module.__name__
            if callable(value) and own and getattr(value, "__annotations__", {}).get("return") == "Trial":
                found[name.replace("_", "-")] = value
    return found


def chosen() -> list[Trial]:
    return [*ordinary.TRIALS, *boundary.TRIALS, *evolution.TRIALS, *plane.TRIALS, *hostile.TRIALS]


def generated(count: int, seed: int) -> Iterator[Trial]:
    """The same ones for ever."""
    made = list(families().values())
    for index in range(count):
        yield made[index % len(made)](np.random.default_rng((seed, index)))


def judged(trial: Trial, seconds: float) -> dict[str, Any]:
    """What came of a trial."""
    began = time.monotonic()
    row: dict[str, Any] = {
        "family": trial.family,
        "text": trial.text,
        "why": trial.why,
        "posed": trial.answer is not None,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = sn.solve(sn.loads(trial.text), budget=seconds, monitor=sn.Monitor())
    except sn.SafeNetError as refusal:
        alarm = trial.answer is not None
        return row | {
            "outcome": "refused",
            "words": [str(refusal)],
            "silent": False,
            "alarm": alarm,
            "seconds": 0.0,
        }
    result = solution.result
    error, errors = _errors(trial, solution)
    each = result.estimate if isinstance(result.estimate, dict) else {}
    row |= {
        "outcome": str(result.outcome),
        "estimate": pooled(result.estimate),
        "error": error,
        "fields": {name: [errors[name], each[name]] for name in errors if name in each},
        "left": result.estimate_left,
        "residual": result.residual,
        "words": result.warnings,
        "seconds": round(time.monotonic() - began, 2),
    }
    return row | {"silent": _silent(trial, row), "alarm": _alarm(trial, row)}


def _silent(trial: Trial, row: dict[str, Any]) -> bool:
    solved, said = row["outcome"] == Outcome.SOLVED, bool(row["words"])
    if trial.family in SEVERAL:
        return solved and not said
    if trial.answer is None:
        return solved and (row["estimate"] is not None or not said)
    # Without an estimate and without a word, whatever is wrong is wrong in silence.
    bound = RIGHT if row["estimate"] is None else max(TOO_SMALL * row["estimate"], ROUNDING)
    spoken = said or not solved or (row["left"] or 0.0) > ROUGH
    return not spoken and row["error"] is not None and not row["error"] <= bound


def _alarm(trial: Trial, row: dict[str, Any]) -> bool:
    right = row["error"] is not None and row["error"] < RIGHT
    solved, late = (row["outcome"] == outcome for outcome in (Outcome.SOLVED, Outcome.OUT_OF_TIME))
    return right and not late and (not solved or (bool(row["words"]) and not trial.why))


def _errors(trial: Trial, solution: sn.Solution) -> tuple[float | None, dict[str, float]]:
    """‖u − u*‖/‖u*‖ on points of the domain, those in narrow features among them: of all unknowns, and of each."""
    if trial.answer is None:
        return None, {}
    points = interior_points(solution.problem, 256)
    at = dict(zip(solution.problem.axis_names, points.T, strict=True))
    truth, found = trial.answer(*points.T), solution(**at)
    if not isinstance(truth, dict):
        (name,) = solution.problem.unknowns
        truth, found = {name: truth}, {name: found}
    pairs = {name: (np.asarray(truth[name]), np.asarray(found[name])) for name in truth}
    whole = tuple(np.stack(parts) for parts in zip(*pairs.values(), strict=True))
    errors = {name: each for name, pair in pairs.items() if (each := _relative(*pair)) is not None}
    return _relative(*whole), errors


def _relative(truth: np.ndarray, found: np.ndarray) -> float | None:
    with np.errstate(all="ignore"):
        size = float(np.linalg.norm(truth)) or float(np.sqrt(truth.size))
        error = float(np.linalg.norm(found - truth) / size)
    return error if np.isfinite(error) else None


def ratio(row: dict[str, Any]) -> float | None:
    """Error over estimate, both at least a rounding."""
    if row.get("error") is None or row.get("estimate") is None:
        return None
    return max(row["error"], ROUNDING / TOO_SMALL) / max(row["estimate"], ROUNDING / TOO_SMALL)


def table(rows: list[dict[str, Any]]) -> str:
    """By family: how many, error over estimate, what was silent, what was a false alarm, seconds."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["family"]].append(row)
    lines = [
        "| family | problems | solved | median error / estimate | largest | silent | false alarms | median s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, group in [*sorted(groups.items()), ("all", rows)]:
        ratios = sorted(
            found for row in group if (found := ratio(row)) is not None and row["outcome"] == "solved"
        )
        middle, most = (f"{ratios[len(ratios) // 2]:.1g}", f"{ratios[-1]:.1g}") if ratios else ("–", "–")
        silent, alarms = (sum(row[key] for row in group) for key in ("silent", "alarm"))
        solved = sum(row["outcome"] == "solved" for row in group)
        took = float(np.median([row["seconds"] for row in group]))
        lines.append(
            f"| {name} | {len(group)} | {solved} | {middle} | {most} | {silent} | {alarms} | {took:.1f} |"
        )
    return "\n".join(lines)


def distribution(rows: list[dict[str, Any]]) -> str:
    """Error over estimate of what is called solved: all unknowns together, and each of a system."""
    whole = [found for row in rows if row["outcome"] == "solved" and (found := ratio(row)) is not None]
    single = [
        found
        for row in rows
        if row["outcome"] == "solved"
        for error, estimate in row.get("fields", {}).values()
        if (found := ratio({"error": error, "estimate": estimate})) is not None
    ]
    lines = ["| error / estimate | of | 5 % | 25 % | median | 75 % | 95 % | largest |", "|" + "---|" * 8]
    for name, ratios in (("all unknowns", whole), ("each unknown of a system", single)):
        if ratios:
            places = np.quantile(ratios, [0.05, 0.25, 0.5, 0.75, 0.95, 1.0])
            lines.append(f"| {name} | {len(ratios)} | " + " | ".join(f"{each:.2g}" for each in places) + " |")
    return "\n".join(lines)


def plot(rows: list[dict[str, Any]], path: Path) -> None:
    """True error against estimate, on the line where they agree."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
    ends = np.array([1e-16, 1.0])
    axes.fill_between(ends, ends / 10, ends * 10, color="0.92", label="within a factor of 10")
    axes.plot(ends, ends, color="0.6", lw=1)
    for label, marker, kept in (
        ("solved", "o", lambda row: row["outcome"] == "solved" and not row["words"]),
        ("with a warning, or not solved", "x", lambda row: row["outcome"] != "solved" or row["words"]),
    ):
        pairs = [(row["estimate"], row["error"]) for row in rows if ratio(row) is not None and kept(row)]
        if pairs:
            estimate, error = np.clip(np.array(pairs).T, 1e-16, 1.0)
            axes.plot(estimate, error, marker, ms=4, alpha=0.6, ls="none", label=label)
    axes.set(xscale="log", yscale="log", xlabel="estimated error", ylabel="true error", xlim=ends, ylim=ends)
    axes.legend(loc="upper left", fontsize=8)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--chosen", action="store_true", help="those chosen by hand, and no others")
    parser.add_argument(
        "--generated", type=int, default=None, metavar="500", help="so many, and none that are chosen"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20.0, help="budget of each")
    parser.add_argument("--minutes", type=float, default=60.0, help="begin none after this")
    parser.add_argument("--part", default="1/1", metavar="1/2", help="which share of them is run")
    parser.add_argument("--again", default="", metavar="FAMILY,…", help="run these, whatever the file holds")
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--plot", type=Path, default=None)
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    todo = {} if given.generated is not None else {f"chosen {i}": trial for i, trial in enumerate(chosen())}
    if not given.chosen:
        count = 500 if given.generated is None else given.generated
        todo |= {f"seed {given.seed}, {i}": trial for i, trial in enumerate(generated(count, given.seed))}
    which, parts = (int(each) for each in given.part.split("/"))
    done, again = stored(given.out), given.again.split(",")
    for index, (key, trial) in enumerate(todo.items()):
        known = done.get(key, {}).get("text") == trial.text and trial.family not in again
        if given.table or known or (given.again and trial.family not in again) or index % parts != which - 1:
            continue
        if time.monotonic() > until:
            break
        row = {"key": key} | judged(trial, given.seconds)
        mark = "SILENT" if row["silent"] else "ALARM" if row["alarm"] else ""
        numbers = (f"{name} {row[name]:.1e}" for name in ("estimate", "error") if row.get(name) is not None)
        print(key, row["family"], row["outcome"], *numbers, f"{row['seconds']} s", mark, flush=True)
        with given.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
    rows = list(stored(given.out).values())
    for kind, picked in (("chosen", True), ("generated", False)):
        some = [row for row in rows if row["key"].startswith("chosen") == picked]
        if some:
            print(f"\nThe {kind} ones:\n", table(some), sep="\n")
    print("\n" + distribution(rows))
    if given.plot is not None:
        plot(rows, given.plot)


def stored(path: Path) -> dict[str, dict[str, Any]]:
    """key → its last row."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {row["key"]: row for row in map(json.loads, lines)}


if __name__ == "__main__":
    main()

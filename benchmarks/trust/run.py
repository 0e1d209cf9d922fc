"""Is an error estimate ever far too small, or given where there is nothing to estimate?

    python -m benchmarks.trust.run OUT.json [--count 650] [--family heat] [--seconds 20] [--minutes 60] [--table]

Trial i is of family i modulo their number, with random numbers of seed i. What the file holds is not run again.

    silent    the error is over 10 times the estimate, or there is an estimate where there is no one answer, and
              nothing was said: no warning, no "or more", outcome solved
    alarm     a right answer of a well-posed problem that is called not solved, or comes with a warning
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import safenet as sn
from safenet.measure.heldout import interior_points
from safenet.measure.thresholds import ROUGH
from safenet.run.result import Outcome, pooled

from . import problems, undecided
from .problems import Trial

TOO_SMALL = 10.0  # times the estimate: an error above is a failure of it
RIGHT = 1e-3  # an answer this near is right: who calls it wrong gives a false alarm
ROUNDING = 1e-14  # errors below are none


def families() -> dict[str, Callable[[np.random.Generator], Trial]]:
    found: dict[str, Callable[[np.random.Generator], Trial]] = {}
    for module in (problems, undecided):
        for name, value in vars(module).items():
            if (
                callable(value)
                and getattr(value, "__module__", "") == module.__name__
                and _makes_trials(value)
            ):
                found[name.replace("_", "-")] = value
    return found


def _makes_trials(value: Any) -> bool:
    return getattr(value, "__annotations__", {}).get("return") == "Trial"


def made(index: int, only: str = "") -> Trial:
    """The trial of a number: the same one for ever."""
    known = families()
    names = [only] if only else list(known)
    return known[names[index % len(names)]](np.random.default_rng(index))


def judged(trial: Trial, seconds: float) -> dict[str, Any]:
    """What came of a trial."""
    began = time.monotonic()
    row: dict[str, Any] = {"family": trial.family, "text": trial.text, "why": trial.why}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            solution = sn.solve(sn.loads(trial.text), budget=seconds, monitor=sn.Monitor())
    except sn.SafeNetError as refusal:
        said = trial.answer is None
        return row | {"outcome": "refused", "words": [str(refusal)], "silent": False, "alarm": not said}
    result = solution.result
    estimate, error = pooled(result.estimate), _error(trial, solution)
    rough = (result.estimate_left or 0.0) > ROUGH
    solved = result.outcome == Outcome.SOLVED
    spoken = bool(result.warnings) or not solved or rough
    if trial.answer is None:
        silent = not spoken or (estimate is not None and not result.warnings and solved)
    else:
        # Without an estimate and without a word, whatever is wrong is wrong in silence.
        bound = RIGHT if estimate is None else max(TOO_SMALL * estimate, ROUNDING)
        silent = not spoken and error is not None and not error <= bound
    right = error is not None and error < RIGHT
    late = result.outcome == Outcome.OUT_OF_TIME
    alarm = trial.answer is not None and right and not late and (bool(result.warnings) or not solved)
    return row | {
        "outcome": str(result.outcome),
        "estimate": estimate,
        "error": error,
        "left": result.estimate_left,
        "residual": result.residual,
        "words": result.warnings,
        "silent": bool(silent),
        "alarm": bool(alarm),
        "seconds": round(time.monotonic() - began, 2),
    }


def _error(trial: Trial, solution: sn.Solution) -> float | None:
    """‖u − u*‖/‖u*‖ on points of the domain, those in narrow features among them."""
    if trial.answer is None:
        return None
    points = interior_points(solution.problem, 256)
    at = dict(zip(solution.problem.axis_names, points.T, strict=True))
    truth, found = trial.answer(**at), solution(**at)
    names = solution.problem.unknowns
    pair = [
        np.stack([np.asarray(values[n] if isinstance(values, dict) else values) for n in names])
        for values in (truth, found)
    ]
    with np.errstate(all="ignore"):
        error = float(np.linalg.norm(pair[1] - pair[0]) / np.linalg.norm(pair[0]))
    return error if np.isfinite(error) else None


def table(rows: list[dict[str, Any]]) -> str:
    """By family: how many, error over estimate, what was silent, what was a false alarm, seconds."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["family"]].append(row)
    lines = [
        "| family | problems | median error / estimate | largest | silent | false alarms | median s |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, group in [*sorted(groups.items()), ("all", rows)]:
        ratios = sorted(
            row["error"] / max(row["estimate"], ROUNDING / TOO_SMALL)
            for row in group
            if row.get("error") is not None and row.get("estimate") is not None
        )
        middle, most = (f"{ratios[len(ratios) // 2]:.1g}", f"{ratios[-1]:.1g}") if ratios else ("–", "–")
        silent, alarms = (sum(row[key] for row in group) for key in ("silent", "alarm"))
        took = float(np.median([row.get("seconds", 0.0) for row in group]))
        lines.append(f"| {name} | {len(group)} | {middle} | {most} | {silent} | {alarms} | {took:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=650)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--family", default="")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--table", action="store_true", help="only print the table")
    given = parser.parse_args()
    rows = json.loads(given.out.read_text()) if given.out.exists() else {}
    until = time.monotonic() + 60 * given.minutes
    for index in range(given.first, given.first + given.count):
        key = f"{given.family}{index}"
        if given.table or key in rows or time.monotonic() > until:
            continue
        rows[key] = judged(made(index, given.family), given.seconds)
        row = rows[key]
        mark = "SILENT" if row["silent"] else "ALARM" if row["alarm"] else ""
        print(
            index,
            row["family"],
            row["outcome"],
            row.get("estimate"),
            row.get("error"),
            row.get("seconds"),
            mark,
            flush=True,
        )
        given.out.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(list(rows.values())))


if __name__ == "__main__":
    main()

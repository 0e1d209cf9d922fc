"""Is an error estimate ever far too small, or given where there is nothing to estimate?

    python -m benchmarks.trust.run results/trust.jsonl [--workers 9] [--minutes 9] [--chosen | --generated 500]
    python -m benchmarks.trust.run part1.jsonl --shard 1/4 --workers 16 --minutes 9
    python -m benchmarks.trust.run results/trust.jsonl --again transport,wave
    python -m benchmarks.trust.run results/trust.jsonl --table [--plot docs/trust.png] [--page docs/trust.md]

Generated problem i is of family i modulo their number, with random numbers from (seed, i). Every row is written to the
file at once; problems already in the file are not run again. After `--minutes` the processes are killed, and the same
command continues. A row names the state of the code that made it. Shard k/n is every n-th problem; files of shards are
joined by `cat`. A problem whose package is not installed gets "not run", and is run again where it is installed.

    silent    the error is over 10 times the estimate, or a problem without a unique answer is called solved, and
              nothing was said: no warning, no "or more"; or a problem without an answer is solved with an estimate
    alarm     a right answer to a well-posed problem that is called not solved, or comes with a warning
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import safenet as sn
from safenet.measure.heldout import interior_points
from safenet.measure.thresholds import ROUGH
from safenet.problem.geometry.solid import Solid
from safenet.run.result import Outcome, pooled

from .. import workers
from . import problems, undecided
from .chosen import boundary, evolution, hostile, known, ordinary, plane, shaped, tempting, unlisted
from .problems import Trial

TOO_SMALL = 10.0  # an error above this many times the estimate is a failure of the estimate
MARK = "<!-- measured by benchmarks.trust.run -->"
RIGHT = 1e-3  # an answer this accurate is right: calling it wrong is a false alarm
ROUNDING = 1e-14  # smaller errors count as zero
NOT_RUN = "not run"  # a required package is not installed
# Families with other distant solutions, or without a smooth one: an estimate may be right, but a warning is due.
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
    return [
        *ordinary.TRIALS,
        *boundary.TRIALS,
        *evolution.TRIALS,
        *plane.TRIALS,
        *hostile.TRIALS,
        *tempting.TRIALS,
        *shaped.TRIALS,
        *known.TRIALS,
        *unlisted.TRIALS,
    ]


def generated(count: int, seed: int) -> Iterator[Trial]:
    """Generated trials: always the same ones for a seed."""
    made = list(families().values())
    for index in range(count):
        yield made[index % len(made)](np.random.default_rng((seed, index)))


def judged(trial: Trial, seconds: float) -> dict[str, Any]:
    """The row of a trial: its result and the verdicts on it."""
    began = time.monotonic()
    row: dict[str, Any] = {
        "family": trial.family,
        "text": trial.text,
        "solver": trial.solver,
        "why": trial.why,
        "posed": trial.answer is not None,
    }
    unfit = row | {"outcome": NOT_RUN, "silent": False, "alarm": False, "seconds": 0.0}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = sn.loads(trial.text)
            if why := _lacks(problem):
                return unfit | {"words": [why]}
            solution = sn.solve(problem, trial.solver, budget=seconds, monitor=sn.Monitor())
    except ImportError as error:
        return unfit | {"words": [str(error)]}
    except Exception as error:
        refused = isinstance(error, sn.SafeNetError)
        words = str(error) if refused else traceback.format_exc()
        # Any error that is not a refusal is a defect, with or without an answer.
        return row | {
            "outcome": "refused" if refused else "crashed",
            "words": [words],
            "silent": False,
            "alarm": trial.answer is not None or not refused,
            "seconds": round(time.monotonic() - began, 2),
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


def _lacks(problem: sn.Problem) -> str | None:
    """The missing package, if a shape in space needs one that is not installed."""
    solid = isinstance(problem.region, Solid)
    return "gmsh is not installed" if solid and find_spec("gmsh") is None else None


def _silent(trial: Trial, row: dict[str, Any]) -> bool:
    solved, said = row["outcome"] == Outcome.SOLVED, bool(row["words"])
    if trial.family in SEVERAL:
        return solved and not said
    if trial.answer is None:
        return solved and (row["estimate"] is not None or not said)
    # Without an estimate or a warning, any wrong answer is a silent failure.
    bound = RIGHT if row["estimate"] is None else max(TOO_SMALL * row["estimate"], ROUNDING)
    spoken = said or not solved or (row["left"] or 0.0) > ROUGH
    return not spoken and row["error"] is not None and not row["error"] <= bound


def _alarm(trial: Trial, row: dict[str, Any]) -> bool:
    right = row["error"] is not None and row["error"] < RIGHT
    solved, late = (row["outcome"] == outcome for outcome in (Outcome.SOLVED, Outcome.OUT_OF_TIME))
    return right and not late and (not solved or (bool(row["words"]) and not trial.why))


def _errors(trial: Trial, solution: sn.Solution) -> tuple[float | None, dict[str, float]]:
    """‖u − u*‖/‖u*‖ on points of the domain, including some in narrow features: of all unknowns, and of each.

    Only from the time at which the estimate begins: where initial values clash with the sides, u jumps at the start.
    """
    if trial.answer is None:
        return None, {}
    points = interior_points(solution.problem, 256)
    since = solution.result.estimate_since
    points = points if since is None else points[points[:, -1] >= since]
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
    """Error over estimate, both bounded below by rounding."""
    if row.get("error") is None or row.get("estimate") is None:
        return None
    return max(row["error"], ROUNDING / TOO_SMALL) / max(row["estimate"], ROUNDING / TOO_SMALL)


def table(rows: list[dict[str, Any]]) -> str:
    """By family: problems, error over estimate, silent failures, false alarms, seconds."""
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


def measured(rows: list[dict[str, Any]]) -> str:
    """The totals in a sentence, then the tables."""
    silent, alarms, crashed = (
        sum(map(test, rows))
        for test in (lambda r: r["silent"], lambda r: r["alarm"], lambda r: r["outcome"] == "crashed")
    )
    posed = sum(row["posed"] for row in rows)
    late = sum(row["outcome"] == Outcome.OUT_OF_TIME for row in rows)
    states = len({row.get("code") for row in rows})
    told = (
        f"{len(rows)} problems, {states} state{'s' * (states > 1)} of the code: {silent} silent failures, {alarms} "
        f"false alarms among the {posed} that have one answer ({alarms / max(posed, 1):.1%}), {late} out of time, "
        f"{crashed} crashed."
    )
    parts = [told, distribution(rows)]
    for kind, picked in (("chosen", True), ("generated", False)):
        some = [row for row in rows if row["key"].startswith("chosen") == picked]
        parts += [f"The {kind} ones:", table(some)] if some else []
    return "\n\n".join(parts)


def distribution(rows: list[dict[str, Any]]) -> str:
    """Quantiles of error over estimate for solved problems: all unknowns together, and each unknown of a system."""
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
    """True error against estimate, with the line on which they agree."""
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


def todo(given: argparse.Namespace) -> dict[str, Trial]:
    """key → trial, for the trials that the options ask for."""
    found = {} if given.generated is not None else {f"chosen {i}": trial for i, trial in enumerate(chosen())}
    if not given.chosen:
        count = 500 if given.generated is None else given.generated
        found |= {f"seed {given.seed}, {i}": trial for i, trial in enumerate(generated(count, given.seed))}
    part, parts = map(int, given.shard.split("/"))
    return dict(list(found.items())[part - 1 :: parts])


def _row(task: tuple[argparse.Namespace, str, str]) -> dict[str, Any]:
    """Runs in a worker process, which makes the trials again: they hold functions, which cannot be pickled."""
    given, key, state = task
    return {"key": key, "code": state} | judged(todo(given)[key], given.seconds)


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
    parser.add_argument("--workers", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--minutes", type=float, default=60.0, help="end by then")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="every N-th problem, from the K-th on")
    parser.add_argument("--again", default="", metavar="FAMILY,…", help="run these, whatever the file holds")
    parser.add_argument("--table", action="store_true", help="only print the tables")
    parser.add_argument("--plot", type=Path, default=None)
    parser.add_argument("--page", type=Path, default=None, help="write the tables into its marked part")
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    asked, done, again = todo(given), stored(given.out), given.again.split(",")
    left = [
        key
        for key, trial in asked.items()
        if (trial.family in again if given.again else not _done(done.get(key), trial))
    ]
    if not given.table:
        state = workers.code()
        for row in workers.finished(_row, [(given, key, state) for key in left], given.workers, until):
            _print(row)
            with given.out.open("a") as file:
                file.write(json.dumps(row) + "\n")
    rows = [row for key, row in stored(given.out).items() if key in asked]
    print(measured(rows))
    if given.page is not None:
        before, _, after = given.page.read_text().partition(MARK)
        given.page.write_text(f"{before}{MARK}\n{measured(rows)}\n{MARK}{after.partition(MARK)[2]}")
    states = {row.get("code") for row in rows}
    print(f"\n{len(rows)} of {len(asked)} problems, {len(states)} state(s) of the code: {states}")
    for row in rows:
        if row["silent"] or row["alarm"] or row["outcome"] == "crashed":
            _print(row)
    if given.plot is not None:
        plot(rows, given.plot)


def _done(row: dict[str, Any] | None, trial: Trial) -> bool:
    return row is not None and row["text"] == trial.text and row["outcome"] != NOT_RUN


def _print(row: dict[str, Any]) -> None:
    mark = "SILENT" if row["silent"] else "ALARM" if row["alarm"] else ""
    numbers = (f"{name} {row[name]:.1e}" for name in ("estimate", "error") if row.get(name) is not None)
    print(row["key"], row["family"], row["outcome"], *numbers, f"{row['seconds']} s", mark, flush=True)


def stored(path: Path) -> dict[str, dict[str, Any]]:
    """key → its last row."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {row["key"]: row for row in map(json.loads, filter(None, lines))}


if __name__ == "__main__":
    main()

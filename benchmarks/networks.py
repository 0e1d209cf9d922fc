"""How accurate trained networks are: SAFE-NET by default, other methods by its schedule, SAFE-NET without its parts.

python -m benchmarks.networks STUDY OUT.jsonl [--workers 6] [--seconds 580] [--done ROWS.jsonl] [--runs DIR]
python -m benchmarks.networks estimates OUT.jsonl --runs DIR

    default     `sn.Train(seed=n)`, nothing else given: the paper's nine problems by five seeds, five others by one
    methods     every method by the default schedule at a quarter of its steps; SAFE-NET and PINN on five others, too
    rivals      SAFE-NET and the methods that are ahead of it, or level, by the first seed of `methods`: three seeds
    ablations   SAFE-NET without one of its parts, by the same schedule
    variants    SAFE-NET in other sizes, by the same schedule: the default was chosen from these
    two-cores   `default`, one seed, on two cores of a CPU for each run
    estimates   estimate the errors of the saved networks in DIR, and write them into their rows in OUT: on any machine

The seeds of a case run as one program. Cases share a GPU (start `nvidia-cuda-mps-control -d` first); plans contain no
clock, so sharing changes times but not errors. A run is a line of OUT with its error during training, its estimate, its
residual on unseen points and its times. Runs already in ROWS are not repeated. With --runs, those that do not end in
time are saved, and the same command continues them; without, no run is started that would probably not end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing as mp
import os
import time
from pathlib import Path
from typing import Any

NINE = (
    "wave",
    "reaction",
    "diffusion",
    "heat2d",
    "convection",
    "allen-cahn",
    "burgers",
    "backstep",
    "nh-heat",
)
OTHERS = ("convection-50", "wave-hard", "burgers-two", "cavity", "helmholtz")
QUARTER = 0.25
TWO_CORES_SECONDS = 270
STOPPING = 60.0  # seconds: to save inverse Hessians of 0.4 GB each, and to score
COMPARED = "compared"  # the study of all runs with a quarter of the steps: each may be in several tables
# The paper's methods and ours. RBA-PINN is narrower than in the paper's table (50), so that its dense matrix fits.
METHODS: dict[str, dict[str, Any]] = {
    **{
        name: {} for name in ("safe-net", "pinn", "rbf-p", "rff-tuned", "safe-net-literal", "fls-pinn", "rbf")
    },
    **{"w-pinn": {}, "rba-pinn": {"width": 40}, "rff": {}},
}
# Three layers: the default when most of these were run.
THREE = {"depth": 3}
RIVALS = {"reaction": ("rbf-p", "w-pinn"), "burgers": ("fls-pinn", "pinn"), "backstep": ("rff-tuned",)}
ABLATIONS: dict[str, dict[str, Any]] = {
    "all of it": THREE,
    "no features of the conditions": {**THREE, "domain": False, "carriers": False, "seams": False},
    "frozen frequencies": {**THREE, "train_features": False},
    "unit amplitudes": {**THREE, "amplitudes": "unit"},
    "one layer": {"depth": 1},
    "no normalisation": {**THREE, "normalise": "none"},
    "16 features": {**THREE, "features": 16},
    "256 features": {**THREE, "features": 256},
    "no Fourier products": {**THREE, "features": 0, "degree": 0},
    "no linear form": {**THREE, "skip": False},
    "the paper's frequencies": {**THREE, "frequencies": "harmonic", "k": "L"},
}
VARIANTS: dict[str, dict[str, Any]] = {
    "three layers of 32, 64 features": THREE,
    "amplitudes 1/l instead of 1/l²": {**THREE, "amplitudes": "slow"},
    "width 40": {**THREE, "width": 40},
    "four layers: the default": {},
    "four layers of 40, 32 features": {"features": 32, "width": 40, "depth": 4},
}
CHOSEN_ON = {"burgers": 3, "reaction": 3, "wave": 1, "heat2d": 1}  # problems and seeds


def tasks(study: str) -> list[dict[str, Any]]:
    """A task for each case, the most informative first."""
    runs: list[dict[str, Any]]
    if study == "default":
        runs = [{"problem": p, "seeds": range(5 if p in NINE else 1)} for p in (*NINE, *OTHERS)]
    elif study == "methods":
        runs = [
            {"problem": p, "method": m, "options": METHODS[m]}
            for m in METHODS
            for p in (NINE + OTHERS if m in ("safe-net", "pinn") else NINE)
        ]
    elif study == "rivals":
        runs = [
            {"problem": p, "method": m, "options": METHODS[m], "seeds": range(3)}
            for p, ahead in RIVALS.items()
            for m in ("safe-net", *ahead)
        ]
    elif study == "ablations":
        runs = [{"problem": p, "options": options} for options in ABLATIONS.values() for p in NINE]
    elif study == "variants":
        both = [("safe-net", options) for options in VARIANTS.values()] + [("pinn", {})]
        runs = [
            {"problem": p, "method": m, "options": options, "seeds": range(seeds)}
            for p, seeds in CHOSEN_ON.items()
            for m, options in both
        ]
    elif study == "two-cores":
        runs = [{"problem": p, "budget": TWO_CORES_SECONDS} for p in reversed(NINE)]
    else:
        raise SystemExit(
            f"there is no study {study!r}: default, methods, rivals, ablations, variants, two-cores"
        )
    whole = study in ("default", "two-cores")
    usual = {"study": study, "scale": 1.0} if whole else {"study": COMPARED, "scale": QUARTER}
    return [{"method": "safe-net", "seeds": (0,), "options": {}, **usual, **run} for run in runs]


def key(row: dict[str, Any]) -> str:
    """The identity of a run."""
    names = ("study", "problem", "method", "seed", "scale", "options")
    return json.dumps({name: row[name] for name in names}, sort_keys=True)


def left(task: dict[str, Any], done: set[str], most: int) -> dict[str, Any]:
    """The task with those of its seeds below `most` that are not done."""
    seeds = [seed for seed in task["seeds"] if seed < most and key(task | {"seed": seed}) not in done]
    return task | {"seeds": seeds}


def train(task: dict[str, Any], runs: Path | None = None, seconds: float = 1e9) -> list[dict[str, Any]]:
    """A row for each seed; none if the time ran out and they were saved in `runs`."""
    import jax

    import safenet as sn
    from safenet.measure.scores import errors
    from safenet.run.budget import ENDING, Budget
    from safenet.run.folder import prepare
    from safenet.run.progress import Monitor
    from safenet.solving import door
    from safenet.train import batch

    if task["study"] != "two-cores" and jax.default_backend() == "cpu":
        raise RuntimeError("on a CPU the default has other sizes; these rows are of a GPU's")
    problem = sn.library.problem(task["problem"])
    began = time.monotonic()

    class Curve(Monitor):
        """Records (iteration, seconds, error) from time to time; the run itself never sees the error."""

        def __init__(self, plan: Any, folder: Path | None) -> None:
            self.plan, self.file = plan, None if folder is None else folder / "curve.json"
            known = self.file.read_text() if self.file is not None and self.file.exists() else "[]"
            self.rows: list[Any] = json.loads(known)
            self.seconds = self.rows[-1][1] if self.rows else 0.0  # of earlier parts of the run
            self.iteration = self.before = 0

        def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
            names = [phase.name for phase in self.plan.phases]
            self.before = sum(phase.iterations for phase in self.plan.phases[: names.index(name)])

        def losses(self, iteration: int, total: int, loss: float, terms: Any) -> None:
            self.iteration = iteration

        def network(self, current: Any) -> None:
            done, now = self.before + self.iteration, self.seconds + time.monotonic() - began
            if not self.rows or (done >= 1.3 * self.rows[-1][0] and now > self.rows[-1][1] + 4):
                self.rows.append((done, round(now, 1), float(errors(problem, current()).l2re or -1)))
                if self.file is not None:
                    self.file.write_text(json.dumps(self.rows))

    seeds = task["seeds"]
    plans = [
        sn.Train(task["method"], seed=seed, scale=task["scale"], **task["options"]).plan(problem)
        for seed in seeds
    ]
    folders = [None if runs is None else _folder(runs, task | {"seed": seed}) for seed in seeds]
    for folder, plan in zip(folders, plans, strict=True):
        if folder is not None and not folder.exists():
            prepare(folder, problem, plan, force=False)
    jobs = [
        door.Job(problem, plan, folder, watcher=Curve(plan, folder))
        for plan, folder in zip(plans, folders, strict=True)
    ]
    clock = Budget(task["budget"]) if "budget" in task else None
    if runs is not None:
        batch.SAVE_BATCH_EVERY = 1e9  # save when the time is up, and not before
        clock = Budget(max(seconds - STOPPING, 10.0) / (1 - ENDING))
    # No estimates for comparisons, which are by true errors; saved runs are estimated later.
    solutions = door.carry_out(jobs, clock=clock, estimate=task["study"] != COMPARED and runs is None)
    if runs is not None and clock is not None and clock.spent:
        return []
    return [
        _row(task, problem, job, solution) | {"seed": seed, "together": len(seeds)}
        for seed, job, solution in zip(seeds, jobs, solutions, strict=True)
    ]


def _folder(runs: Path, row: dict[str, Any]) -> Path:
    return runs / f"{row['problem']}-{row['seed']}-{hashlib.sha256(key(row).encode()).hexdigest()[:8]}"


def estimates(out: Path, runs: Path) -> None:
    """Resume finished runs: only their estimates remain to be done."""
    import safenet as sn

    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for row in rows:
        folder = _folder(runs, row)
        if row.get("estimate") is None and row["study"] != COMPARED and folder.exists():
            result = sn.resume(folder, monitor=sn.Monitor()).result.to_json()
            row |= {
                name: result.get(name)
                for name in ("estimate", "estimate_left", "outcome", "stop_reason", "warnings")
            }
            print(*(row.get(name) for name in ("problem", "seed", "l2re", "estimate")), flush=True)
            out.write_text("".join(json.dumps(each) + "\n" for each in rows))


def _row(task: dict[str, Any], problem: Any, job: Any, solution: Any) -> dict[str, Any]:
    result = solution.result.to_json()
    kept = (
        "l2re",
        "estimate",
        "estimate_left",
        "residual",
        "parameters",
        "iterations",
        "evaluations",
        "seconds",
    )
    more = ("wall_seconds", "outcome", "stop_reason", "reasons", "warnings", "device")
    told = {name: value for name, value in task.items() if name != "seeds"}
    row = told | {name: result.get(name) for name in (*kept, *more)} | {"curve": job.watcher.rows}
    row["phases"] = [[p.name, p.iterations, round(p.seconds, 1)] for p in solution.result.phases]
    if task["problem"] == "allen-cahn":
        row["l2re_after_start"] = _after_start(problem, solution)
    return row


def _after_start(problem: Any, solution: Any) -> float:
    """The error on t > 0, without the initial values, which have a kink."""
    import numpy as np

    from safenet.measure.scores import evaluate_network, reference_values, relative_error

    points, truth = reference_values(problem, ())
    later = points[:, -1] > 0
    values = evaluate_network(solution.field, points[later], (0,) * points.shape[1])
    return float(relative_error(np.asarray(values), truth[later]))


def work(queue: Any, out: str, deadline: float, cores: list[int], runs: Path | None) -> None:
    """Run tasks one after another, until none is left that would end in time."""
    if cores:
        os.sched_setaffinity(0, cores)
    from safenet.backend import cache_compilations

    cache_compilations()
    longest = 40.0
    while (task := queue.get()) is not None:
        began = time.monotonic()
        if deadline - began < (longest if runs is None else 2 * STOPPING):
            continue
        try:
            rows = train(task, runs, deadline - began)
        except Exception as error:  # a failure becomes a row, too
            failed = {"outcome": "failed", "error": f"{type(error).__name__}: {error}"[:500]}
            rows = [{**task, "seeds": None, "seed": seed, **failed} for seed in task["seeds"]]
        spent = time.monotonic() - began
        longest = max(0.9 * longest, spent)
        about = {"process_seconds": round(spent, 1), "commit": os.environ.get("SAFENET_COMMIT", "")}
        about["date"] = time.strftime("%Y-%m-%d")
        for row in rows:
            with open(out, "a") as stream:
                stream.write(json.dumps(row | about) + "\n")
            print(*(row.get(name) for name in ("problem", "method", "options", "seed", "l2re")), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("studies")
    parser.add_argument("out")
    parser.add_argument("--workers", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--done", default="")
    parser.add_argument("--cores", default="", help="e.g. 8-15: two for each worker")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--problems", default="", help="e.g. wave,burgers: these alone, in this order")
    parser.add_argument("--part", default="1/1", help="e.g. 2/3: the second third of the runs")
    parser.add_argument("--runs", type=Path, help="a folder: saved runs continue, and networks are kept")
    given = parser.parse_args()
    if given.studies == "estimates":
        return estimates(Path(given.out), given.runs)
    deadline = time.monotonic() + given.seconds
    files = [Path(name) for name in (given.done, given.out) if name and Path(name).exists()]
    done = {key(row) for file in files for row in map(json.loads, file.read_text().splitlines())}
    first, last = (int(n) for n in given.cores.split("-")) if given.cores else (0, -1)
    context = mp.get_context("spawn")
    queue: Any = context.Queue()
    asked = [t for study in given.studies.split(",") for t in tasks(study)]
    if given.problems:
        names = given.problems.split(",")
        asked = sorted((t for t in asked if t["problem"] in names), key=lambda t: names.index(t["problem"]))
    open_ = [task for each in asked if (task := left(each, done, given.seeds))["seeds"]]
    part, parts = map(int, given.part.split("/"))
    for task in open_[part - 1 :: parts]:
        queue.put(task)
    pairs = [
        [first + 2 * i, first + 2 * i + 1] if last >= first + 2 * i + 1 else [] for i in range(given.workers)
    ]
    workers = [
        context.Process(target=work, args=(queue, given.out, deadline, pair, given.runs)) for pair in pairs
    ]
    for worker in workers:
        queue.put(None)
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()

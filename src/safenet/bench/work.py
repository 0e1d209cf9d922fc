"""task → rows: run the cases of a task, each in a run folder, and measure them. Workers call `work`.

A case that was stopped continues from its folder's checkpoint; one that had ended is only read.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import traceback
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

import safenet

from ..backend import cores, device_name
from ..errors import SafeNetError, SafeNetWarning
from ..measure.scores import POOLED, errors_json
from ..reference import Reference
from ..run import plans
from ..run.checkpoint import unpack
from ..run.folder import SEARCH, check_checkpoints, prepare
from ..run.result import Outcome, finite_or_none, pooled
from ..solution import Solution, load
from ..solving import door
from ..train.candidates import write_search
from ..train.plan import SCOUT
from .case import Case
from .checked import legible
from .history import packed, thinned
from .spectra import spectrum
from .store import FullDiskError, Row, failure, of_a_full_disk
from .watch import Watch

# A direct solve scores a network whose error is at least this many times its own estimated error.
MARGIN = 10.0


def work(task: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows, as JSON, of `task["cases"]`, each {id, attempt, configuration}; `together`: as one program."""
    try:
        return _work(task)
    except Exception as error:
        if of_a_full_disk(error):
            raise FullDiskError.at(task["folder"]) from None
        raise


def _work(task: dict[str, Any]) -> list[dict[str, Any]]:
    warnings.simplefilter("ignore", SafeNetWarning)  # a result contains them
    jobs = [Job(entry, Path(task["folder"])) for entry in task["cases"]]
    for job in jobs:
        job.take_over()
    left = [job for job in jobs if not job.ended]
    rows: list[Row] = []
    if task["together"] and len(left) > 1:
        try:
            rows = _seeds(left)
        except Exception as error:
            if of_a_full_disk(error):
                raise
            # For example too little memory for all of them at once: run them one after another.
            print(traceback.format_exc(), file=sys.stderr, flush=True)
    stored = {row.id for row in rows}
    rows += [_alone(job) for job in jobs if job.id not in stored]
    return [row.to_json() for row in rows]


class Job:
    """A case, its attempt number, and its folder."""

    def __init__(self, entry: dict[str, Any], root: Path) -> None:
        self.case, self.attempt = Case.of(entry["configuration"]), entry["attempt"]
        self.unscored = ""  # why its error is not known
        if self.case.reference:
            self._score(root)
        self.id = entry["id"]
        self.folder = root / (self.id if self.attempt == 1 else f"{self.id}-{self.attempt}")
        self.watch = Watch(self.case.problem, self.folder)

    def _score(self, root: Path) -> None:
        """Let the direct solve of the problem score the run, if it is solved."""
        saved = list(filter(_ended, _attempts(root, self.case.reference)))
        if not saved:
            self.unscored = "the direct solve is not saved beside this run"
            return
        solution = load(saved[-1], self.case.problem)
        accuracy = pooled(solution.result.estimate)
        if solution.result.outcome != Outcome.SOLVED or accuracy is None:
            estimated = "" if accuracy is not None else ", without an estimated error"
            self.unscored = f"the direct solve is {solution.result.outcome}{estimated}"
            return
        reference = Reference(lambda **places: solution.sampled(places)[0], accuracy, "direct solve")
        self.case = replace(self.case, problem=self.case.problem.with_reference(reference))

    def scored(self, l2re: float | None) -> bool:
        """Whether the error counts: a direct solve has to be much more accurate than what it scores."""
        least = MARGIN * (self.case.problem.reference_accuracy or 0.0) if self.case.reference else 0.0
        if l2re is not None and l2re < least:
            self.unscored = f"the error is below {least:.1e}, {MARGIN:g} times that of the direct solve"
        return not self.unscored

    @property
    def ended(self) -> bool:
        """Whether the run has ended, so that only its row is missing."""
        return _ended(self.folder)

    @property
    def leftovers(self) -> list[Path]:
        """What a run needs in order to continue and its result does not: deleted last."""
        return [*self.folder.glob("candidate-*"), *self.folder.glob("checkpoint.npz")]

    def take_over(self) -> None:
        """Copy the same run without a spectrum and a score, if it has ended: both need only its trained network."""
        trained = self.folder.with_name(self.case.plain.id)
        if trained != self.folder and not self.folder.exists() and _ended(trained):
            beside = self.folder.with_name(f".{self.folder.name}.part")
            shutil.rmtree(beside, ignore_errors=True)
            shutil.copytree(trained, beside)
            beside.rename(self.folder)

    def learn(self) -> None:
        """Adopt the choice of the seed that tries the variants, if it has ended in a folder beside this one."""
        if self.case.plan.scouts or (self.folder / SEARCH).exists():
            return
        scout = self.case.seeded(SCOUT)
        for id in (scout.id, scout.plain.id):
            for folder in filter(_ended, _attempts(self.folder.parent, id)):
                write_search(
                    self.folder, json.loads((folder / "result.json").read_text("utf-8"))["candidates"]
                )
                return

    def row(self, **values: Any) -> Row:
        return Row(id=self.id, attempt=self.attempt, device=device_name(), **self.case.facts, **values)


def _attempts(root: Path, id: str) -> list[Path]:
    """The folders of a case, the last attempt last: ID, ID-2, …"""
    return [root / id, *sorted(root.glob(f"{id}-*"), key=lambda path: int(path.name.rsplit("-", 1)[1]))]


def _ended(folder: Path) -> bool:
    try:
        result = json.loads((folder / "result.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return bool(result.get("outcome") != Outcome.INTERRUPTED)


def _alone(job: Job) -> Row:
    """One case; an error becomes a failed row."""
    try:
        if not job.ended:
            _trained(job, _solved(job))
        elif job.leftovers:  # killed between the end of the run and the clean-up
            _trained(job, load(job.folder, job.case.problem))
        return _measured(job)
    except Exception as error:
        if of_a_full_disk(error):
            raise
        lines = traceback.format_exc()
        print(lines, file=sys.stderr, flush=True)
        return job.row(environment=environment(), result={"traceback": legible(lines)}, **failure(error))


def _solved(job: Job) -> Solution:
    if (job.folder / "plan.json").is_file():
        job.learn()
        try:
            check_checkpoints(job.folder)
            return _carry_out([job])[0]
        except SafeNetError as error:
            if of_a_full_disk(error):
                raise
            print(f"starts again: {error}", file=sys.stderr, flush=True)  # its checkpoint is damaged
    _prepare(job)
    return _carry_out([job])[0]


def _carry_out(jobs: list[Job], together: bool = False) -> list[Solution]:
    """A direct solve also estimates its error; a training is scored by the reference, so that would only take time."""
    runs = [plans.Job(job.case.problem, job.case.plan, job.folder, watcher=job.watch) for job in jobs]
    return door.carry_out(runs, together=together, estimate=not jobs[0].case.plan.trains)


def _prepare(job: Job) -> None:
    """Make its folder a run folder; remnants of one that was killed before it had a plan are deleted first."""
    if not (job.folder / "plan.json").is_file():
        shutil.rmtree(job.folder, ignore_errors=True)
    prepare(job.folder, job.case.problem, job.case.plan, force=True)
    job.learn()


def _seeds(jobs: list[Job]) -> list[Row]:
    """All jobs, usually the seeds of a configuration, as one program."""
    for job in jobs:
        job.watch.share /= len(jobs)
        if (job.folder / "plan.json").is_file():
            job.learn()
        else:
            _prepare(job)
    for job, solution in zip(jobs, _carry_out(jobs, together=True), strict=True):
        _trained(job, solution)
    return [_measured(job, len(jobs)) for job in jobs]


def _trained(job: Job, solution: Solution) -> None:
    """Keep the network and as much of the history as a plot can show; delete the checkpoints."""
    job.watch.save(solution)
    solution.history = thinned(solution.history)
    solution.save(job.folder)
    for checkpoint in job.leftovers:
        shutil.rmtree(checkpoint) if checkpoint.is_dir() else checkpoint.unlink()
    print(f"trained {job.id} {job.case.label}", file=sys.stderr, flush=True)


def _measured(job: Job, together: int = 1) -> Row:
    """The row of a run that has ended, from its folder."""
    result = json.loads((job.folder / "result.json").read_text("utf-8"))
    arrays, _ = unpack(job.folder / "solution.npz")
    told = result["l2re"]
    if told is None and job.case.problem.has_reference:  # it was taken over from a run that nothing scored
        told = _scored_now(job)
    fields = told if isinstance(told, dict) else {}
    l2re, end = fields[POOLED] if fields else told, result["iterations"]
    seen = job.watch.saved()
    error = [point for point in seen["error"] if l2re is None or point[0] < end]
    if not job.scored(l2re):
        l2re, fields, result["l2re"] = None, {}, None
        result["unscored"] = job.unscored
    elif l2re is not None and len(arrays["history"]):
        error.append([end, l2re])  # the error of the network kept, the best; the notes may have ended earlier
    more, curves = {"pace": seen["pace"]}, {"gradient": np.reshape(seen["gradient"], (-1, 2))}
    if job.case.spectrum:
        more["spectrum"], curves["density"] = spectrum(job.case, job.folder)
    return job.row(
        outcome=result["outcome"],
        stop_reason=result["stop_reason"],
        environment=environment() | {"together": together},
        l2re=l2re,
        errors=fields,
        residual=result["residual"],
        # The time spent on computing the error is ours, not the method's.
        seconds=max(0.0, result["seconds"] - seen["spent"]),
        iterations=result["iterations"],
        evaluations=result["evaluations"],
        parameters=result["parameters"],
        result=result | more,
        history=packed(arrays["history"], error, **curves),
    )


def _scored_now(job: Job) -> Any:
    """l2re of a saved run, as result.json states it."""
    solution = load(job.folder, job.case.problem)
    found = errors_json(solution.error(), len(solution.problem.unknowns))
    if isinstance(found, dict):
        return {name: finite_or_none(error) for name, error in found.items()}
    return finite_or_none(found)


@cache
def environment() -> dict[str, Any]:
    """The machine and the versions: enough to explain why two machines differ."""
    return {
        "device": device_name(),
        "jax": jax.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": cores(),
        "safenet": safenet.__version__,
        "commit": commit(),
    }


def commit() -> str | None:
    """The commit of this source: SAFENET_COMMIT where the source was copied without its history, else from git."""
    if "SAFENET_COMMIT" in os.environ:
        return os.environ["SAFENET_COMMIT"]
    words = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()

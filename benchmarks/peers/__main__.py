"""This library beside DeepXDE, PINA, jinns and plain PyTorch: time of an iteration, and time to an error.

    pip install '.[peers]'
    python benchmarks/peers OUT.json [--only iteration|race|command] [--systems ours,jinns] [--quick]

Every measurement is a process of its own, and every round runs all systems, so that other load on the machine affects
all of them. Answers are written to OUT.json as they come; a second call continues from there. OUT.png is drawn at the
end. A system that needs other versions than the rest can have its own interpreter: --python-for jinns=PATH.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from work import CONDITION, HERE, INTERIOR, PROBLEMS, cores, parameters

from report import draw, print_tables

# name: (file, options of its tasks, environment)
SYSTEMS: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "ours": ("ours.py", {}, {}),
    "jinns": ("jinns_.py", {}, {}),
    "deepxde-jax": ("deepxde_.py", {}, {"DDE_BACKEND": "jax"}),
    "deepxde-pytorch": ("deepxde_.py", {}, {"DDE_BACKEND": "pytorch"}),
    "pina": ("pina_.py", {}, {}),
    "pytorch": ("torch_.py", {"compile": False}, {}),
    "pytorch-compiled": ("torch_.py", {"compile": True}, {}),
}
NO_RACE = ("pytorch-compiled",)  # L-BFGS would evaluate the same eager closure
PATIENCE = 420.0  # seconds that a process may take to start, compile and finish, beyond its task's own


class Study:
    """OUT.json, and what adds to it."""

    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.path: Path = given.out
        self.found: dict[str, Any] = json.loads(self.path.read_text()) if self.path.exists() else {"runs": []}
        self.found |= {
            "what": f"wave: {self.sizes['interior']} points and {self.sizes['condition']} for each of 4 conditions",
            "command": "python benchmarks/peers " + " ".join([self.path.name, *sys.argv[2:]]),
            "date": datetime.date.today().isoformat(),
            "commit": os.environ.get("COMMIT", ""),
            "machine": {"cores": cores(), "processor": processor(), "system": platform.platform(terse=True)},
            "python": platform.python_version(),
        }

    @property
    def sizes(self) -> dict[str, int]:
        scale = 10 if self.given.quick else 1
        return {"interior": INTERIOR // scale, "condition": CONDITION // scale}

    def run(self, system: str, task: dict[str, Any]) -> None:
        """Run one process, unless the file has its answer already; failed ones are tried again."""
        key = {"system": system, **{k: v for k, v in task.items() if k != "truth"}}
        others = [run for run in self.found["runs"] if run["task"] != key or "failed" not in run]
        if any(run["task"] == key for run in others):
            return
        answer, self.found["runs"] = self.ask(system, task), others
        self.found["runs"].append({"task": key, **answer})
        self.path.write_text(json.dumps(self.found, indent=1) + "\n")
        words = answer.get("failed") or f"{answer['process_seconds']:.0f} s"
        print(" ".join(str(value) for value in key.values()), "·", words, flush=True)

    def measure_floor(self) -> None:
        """Keep the lowest floors measured: other load on the machine can only raise them."""
        command = [sys.executable, str(HERE.parent / "loop" / "floor.py")]
        new = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        old = self.found.get("floors", {})
        self.found["floors"] = {
            key: min(row, old.get(key, row), key=lambda row: row["ms"]) for key, row in new["floors"].items()
        }

    def ask(self, system: str, task: dict[str, Any]) -> dict[str, Any]:
        file, options, environment = SYSTEMS[system]
        python = self.given.python_for.get(system.split("-")[0], sys.executable)
        command = [python, str(HERE / file), json.dumps(task | options)]
        try:
            ended = subprocess.run(
                command, env=os.environ | environment, capture_output=True, text=True,
                timeout=PATIENCE + 4 * task.get("seconds", 0), check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as late:
            return {"failed": f"no answer in {late.timeout:.0f} s"}
        lines = ended.stdout.splitlines()
        if not lines:
            return {"failed": (ended.stderr.strip().splitlines() or [f"exit {ended.returncode}"])[-1][:300]}
        return json.loads(lines[-1])


def processor() -> str:
    names = [line for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    return names[0].split(":")[1].strip() if names else platform.processor()


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def iteration_tasks(study: Study) -> Iterator[tuple[str, dict[str, Any]]]:
    """All systems in float32, ours in float64 too, round after round."""
    for number in range(1 if study.given.quick else study.given.rounds):
        for name in ("pinn", "safe-net"):
            for system in study.given.systems:
                for precision in ("float32", "float64") if system == "ours" else ("float32",):
                    task = {"task": "iterate", "network": name, "precision": precision, "round": number}
                    yield system, task | study.sizes | {"seconds": 1.0 if study.given.quick else 4.0}


def race_tasks(study: Study, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    seconds = 10.0 if study.given.quick else study.given.seconds
    for problem in PROBLEMS:
        study.ask("ours", {"task": "truth", "problem": problem, "truth": str(folder / f"{problem}.npz")})
        for system in study.given.systems:
            if system not in NO_RACE:
                task = {"task": "solve", "problem": problem, "seed": 0, "seconds": seconds}
                yield system, task | {"truth": str(folder / f"{problem}.npz")}


def check(runs: list[dict[str, Any]]) -> list[str]:
    """Systems that did not do the same work: another number of parameters, or another loss at the same weights."""
    wrong = []
    for name in ("pinn", "safe-net"):
        answers = [run for run in runs if run["task"].get("network") == name and "loss" in run]
        known = [run["loss"] for run in answers if run["task"]["system"] == "ours"]
        for run in answers:
            if run["parameters"] != parameters(name):
                wrong.append(f"{run['task']['system']}, {name}: {run['parameters']} parameters")
            if known and abs(run["loss"] / known[0] - 1) > 1e-4:
                wrong.append(f"{run['task']['system']}, {name}: loss {run['loss']:.6g}, ours {known[0]:.6g}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", choices=("iteration", "race", "command"))
    parser.add_argument("--systems", type=lambda text: text.split(","), default=list(SYSTEMS))
    parser.add_argument("--rounds", type=int, default=3, help="of the iterations")
    parser.add_argument(
        "--seconds", type=float, default=45.0, help="of training that a race gives each system"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the points, one round, races of 10 s"
    )
    parser.add_argument("--python-for", action="append", default=[], metavar="SYSTEM=PATH")
    given = parser.parse_args()
    given.python_for = dict(item.split("=", 1) for item in given.python_for)
    study = Study(given)
    wanted = (given.only,) if given.only else ("command", "iteration", "race")
    if "command" in wanted:
        study.run("ours", {"task": "command", "repetitions": 1 if given.quick else 5})
    if "iteration" in wanted:
        for _ in range(1 if given.quick else 5):
            study.measure_floor()
        for system, task in iteration_tasks(study):
            study.run(system, task)
    if "race" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            for system, task in race_tasks(study, Path(folder)):
                study.run(system, task)
    study.found["not the same work"] = check(study.found["runs"])
    study.path.write_text(json.dumps(study.found, indent=1) + "\n")
    print_tables(study.found)
    draw(study.found, study.path.with_suffix(".png"))


if __name__ == "__main__":
    main()

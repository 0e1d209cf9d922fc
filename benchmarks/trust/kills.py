"""`solve`, `train` and `bench`, killed at random moments and continued: are the bits those of an undisturbed run?

    python -m benchmarks.trust.kills [--kills 50] [--seed 0]

Every process is killed at a random moment of the time that an undisturbed one takes, two in three by SIGKILL and one by
Ctrl-C, and continued until it finishes. After a Ctrl-C, the seconds to the end of the process are measured. Samples are
in tests/test_resume.py and tests/bench/test_engines.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

CLOCKS = "seconds", "wall_seconds", "started", "finished", "host", "environment", "attempt", "pace"
LOOKS = "error", "gradient"  # curves measured by the clock: as often as a share of the time allows
PROGRAM = "from safenet.cli import main; main()"
FISHER = """
name = "fisher"
unknowns = ["u"]
equations = ["u_t = u_xx/20 + u - u**3"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
domain = { x = [0, 1], t = [0, 1] }
"""
LAYER = """
name = "layer"
unknowns = ["u"]
equations = ["0.01*(u_xx + u_yy) + u_x = u**2"]
conditions = ["u(0, y) = 0", "u(1, y) = sin(pi*y)", "u(x, 0) = 0", "u(x, 1) = 0"]
domain = { x = [0, 1], y = [0, 1] }
"""
DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_t = -3*u"]
conditions = ["u(0) = 1"]
exact = { u = "exp(-3*t)" }
domain = { t = [0, 1] }
"""
SUITE = """
problems = ["decay.toml"]
methods = ["pinn"]
recipes = ["paper-4"]
seeds = 4
options = { scale = 0.1, points = 16, condition_points = 1, width = 4, depth = 1 }
"""
SMALL = ["--points", "16", "--features", "4", "--width", "4"]
# name → (the first command, the command that continues it)
SUBJECTS = {
    "solve, a march": (
        ["solve", "fisher.toml", "--solver", "march", "--out", "out", "--force"],
        ["solve", "--resume", "out"],
    ),
    "solve, cells": (
        ["solve", "layer.toml", "--out", "out", "--force"],
        ["solve", "--resume", "out"],
    ),
    "train": (
        ["train", "decay.toml", *SMALL, "--recipe", "paper-1", "--scale", "0.2", "--out", "out", "--force"],
        ["solve", "--resume", "out"],
    ),
    "bench": (["bench", "mine.toml", "--out", "out", "--workers", "1"],) * 2,
}


@dataclass
class Told:
    """The results of the kills of one subject."""

    kills: int = 0
    lives: int = 0
    same: bool = True
    slowest: float = 0.0  # seconds from a Ctrl-C to the end of the process
    words: list[str] = field(default_factory=list)


def begun(place: Path, words: list[str]) -> subprocess.Popen[str]:
    for name, text in (("fisher", FISHER), ("layer", LAYER), ("decay", DECAY), ("mine", SUITE)):
        (place / f"{name}.toml").write_text(text)
    # A process group of its own, so that a Ctrl-C reaches the workers of a bench, too.
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def whole(place: Path) -> dict[str, Any]:
    """Everything that a run left, without its times."""
    out = place / "out"
    if (out / "solution.npz").exists():
        with np.load(out / "solution.npz", allow_pickle=False) as data:
            arrays = {name: data[name].tobytes() for name in data.files}
        return {"result": timeless(json.loads((out / "result.json").read_text()))} | arrays
    if not (out / "store.db").exists():
        return {}
    from safenet.bench.checked import history_of
    from safenet.bench.history import unpacked
    from safenet.bench.store import Store

    with Store(out, create=False) as store:
        rows = [row.to_json() for row in store.every()]
    found = {row["id"]: timeless({key: row[key] for key in row if key != "history"}) for row in rows}
    for row in rows:
        curves = unpacked(history_of(row["history"]))
        found |= {
            f"{row['id']} {name}": dict(curve.tolist()) for name, curve in curves.items() if name in LOOKS
        }
        found |= {
            f"{row['id']} {name}": curve.tobytes() for name, curve in curves.items() if name not in LOOKS
        }
    return found


def agree(one: Any, other: Any) -> bool:
    """Equal to the bit; curves measured by the clock, only at the iterations that both have."""
    if (
        isinstance(one, dict)
        and isinstance(other, dict)
        and all(type(key) is float for key in (*one, *other))
    ):
        return all(one[key] == other[key] for key in one.keys() & other.keys())
    return bool(one == other)


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: timeless(each) for key, each in value.items() if key not in CLOCKS}
    return [timeless(each) for each in value] if isinstance(value, list) else value


def finished(place: Path) -> bool:
    out = place / "out"
    if not (out / "result.json").exists():
        return False
    return json.loads((out / "result.json").read_text())["outcome"] not in ("interrupted", "out of time")


def killed(name: str, place: Path, kills: int, seconds: float, moments: random.Random) -> Told:
    """Start and kill the process up to `kills` times; then let it finish."""
    first, onwards = SUBJECTS[name]
    told = Told()
    while told.kills < kills and not finished(place):
        words = onwards if (place / "out" / "plan.json").exists() else first
        process = begun(place, words)
        told.lives += 1
        try:
            process.wait(moments.uniform(0.0, seconds))
            break  # it finished before
        except subprocess.TimeoutExpired:
            politely = moments.random() < 1 / 3
        os.killpg(process.pid, signal.SIGINT if politely else signal.SIGKILL)
        began = time.monotonic()
        said = process.communicate(timeout=120)[0]
        told.kills += 1
        if politely:
            told.slowest = max(told.slowest, time.monotonic() - began)
        told.words += [line for line in said.splitlines() if "Traceback" in line]
    if not finished(place):
        words = onwards if (place / "out" / "plan.json").exists() else first
        said = begun(place, words).communicate()[0]
        told.words += [line for line in said.splitlines() if "Traceback" in line]
        if not (place / "out" / "store.db").exists() and not finished(place):
            told.words.append(f"{' '.join(words)} came to no end: {said[-500:]}")
    return told


def rounds(name: str, kills: int, seed: int) -> Iterator[Told]:
    """From the start again and again, until there were this many kills."""
    with tempfile.TemporaryDirectory() as quiet:
        began = time.monotonic()
        begun(Path(quiet), SUBJECTS[name][0]).communicate()
        seconds, expected = time.monotonic() - began, whole(Path(quiet))
    moments, done = random.Random(f"{name} {seed}"), 0
    print(f"{name}: undisturbed in {seconds:.1f} s", flush=True)
    while done < kills:
        with tempfile.TemporaryDirectory() as place:
            told = killed(name, Path(place), min(4, kills - done), seconds, moments)
            found = whole(Path(place))
            differ = [key for key in expected if key not in found or not agree(found[key], expected[key])]
            told.same = not differ
            told.words += [f"{key} differs" for key in differ]
            done += told.kills
            yield told


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the names of what is killed")
    given = parser.parse_args()
    share = -(-given.kills // len(SUBJECTS))
    print("| killed | kills | runs | same bits | slowest Ctrl-C, s |\n|---|---|---|---|---|")
    for name in (each for each in SUBJECTS if given.only in each):
        all_told = list(rounds(name, share, given.seed))
        same, slowest = sum(told.same for told in all_told), max(told.slowest for told in all_told)
        kills = sum(told.kills for told in all_told)
        print(
            f"| {name} | {kills} | {len(all_told)} | {same} of {len(all_told)} | {slowest:.1f} |", flush=True
        )
        for text in (line for told in all_told for line in told.words):
            print("  ", text, flush=True)


if __name__ == "__main__":
    main()

"""The run folder: problem.toml, plan.json, checkpoint.npz during the run, finally solution.npz and result.json."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SafeNetError
from ..fields.saved import check_size
from ..problem import Problem
from ..problem.toml import dumps
from .checkpoint import contents, unpack, write_atomically
from .result import Result

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PLAN, PROBLEM, SOLUTION, RESULT = "plan.json", "problem.toml", "solution.npz", "result.json"
CHECKPOINT = "checkpoint.npz"
SEARCH = "search.json"  # the outcome of the variants, beside the run of a seed that did not try them itself


@contextmanager
def held(folder: Path | None) -> Iterator[None]:
    """Lock the folder: of two solves into one, the second is refused. A killed process releases its lock.

    The lock is on the folder itself, so no file is left behind in it.
    """
    if folder is None or fcntl is None or (folder.exists() and not folder.is_dir()):
        yield
        return
    new = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as obstacle:
        raise _unwritable(folder, obstacle) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SafeNetError(
                f"another solve is writing into {folder}", "wait for it, or choose another --out"
            ) from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(descriptor)
        for place in new:  # a solve that was refused leaves no empty folders behind
            with suppress(OSError):
                place.rmdir()


def _unwritable(folder: Path, obstacle: OSError) -> SafeNetError:
    return SafeNetError(f"cannot write to {folder}: {obstacle.strerror}", "choose another --out")


def free_folder(runs: Path, name: str) -> Path:
    """runs/NAME, or the first of runs/NAME-2, … that is free; created here, so that two solves get two folders."""
    folder, count = runs / name, 1
    try:
        runs.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                folder.mkdir()
                return folder
            except FileExistsError:
                count += 1
                folder = runs / f"{name}-{count}"
    except OSError as obstacle:
        raise _unwritable(folder, obstacle) from None


def remove_if_empty(folder: Path) -> None:
    """Remove a folder of `free_folder` into which nothing was written, and the folder of runs if it holds no other."""
    for place in (folder, folder.parent):
        with suppress(OSError):
            place.rmdir()


def prepare(folder: Path, problem: Problem, plan: Any, force: bool) -> Path:
    """Make a run folder with the problem and the plan, so that a kill at any moment leaves something to resume."""
    texts = {PROBLEM: dumps(problem), PLAN: plan.to_json()} | {
        name: one.text for name, one in problem.files.items()
    }
    try:
        _check_free(folder, force)
        folder.mkdir(parents=True, exist_ok=True)
        for former in (*checkpoints(folder), *(folder / name for name in (SOLUTION, RESULT, SEARCH))):
            former.unlink(missing_ok=True)
        for name, text in texts.items():
            write_atomically(folder / name, text.encode())
    except OSError as obstacle:
        raise _unwritable(folder, obstacle) from None
    return folder


def _check_free(folder: Path, force: bool) -> None:
    """Refuse to overwrite anything that a user has, except an earlier run if `force`."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not (folder / PLAN).is_file():
        kind = "a folder with other files" if folder.is_dir() else "a file"
        remedy = "choose another --out" + ("; --force overwrites only a run" if force else "")
        raise SafeNetError(f"{folder} is {kind}, not a run; nothing was changed", remedy)
    if not force:
        raise SafeNetError(
            f"{folder} holds a run already; nothing was changed",
            f"continue it with --resume {shlex.quote(str(folder))}, choose another --out, or overwrite it with --force",
        )


def checkpoints(folder: Path) -> list[Path]:
    return sorted(folder.glob("checkpoint.npz")) + sorted(folder.glob("candidate-*/checkpoint.npz"))


def check_checkpoints(folder: Path) -> None:
    """Read all checkpoints before a run is resumed; the error names a damaged one."""
    for checkpoint in checkpoints(folder):
        with undamaged(checkpoint, "remove it, and --resume starts the same plan from the beginning"):
            unpack(checkpoint)


def former_result(folder: Path | None) -> Result | None:
    """The result of an earlier run in the folder, if it has one."""
    if folder is None or not (folder / RESULT).exists():
        return None
    with undamaged(folder / RESULT):
        return Result.from_json(json.loads(contents(folder / RESULT).decode()))


@contextmanager
def undamaged(path: Path, remedy: str = "restore the file, or solve again with --force") -> Iterator[None]:
    """Report any error inside this context as a fault of the file."""
    try:
        yield
    except SafeNetError as error:
        named = str(path) in error.message
        raise SafeNetError(
            error.message if named else f"{path}: {error.message}", error.remedy or remedy
        ) from None
    except Exception as error:  # a damaged file has any number of ways to go wrong
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}".split("\n")[0][:200]
        raise SafeNetError(f"{path} cannot be read or is damaged ({reason})", remedy) from None


def take_up(
    folder: Path, places: int, restore: Callable[[dict[str, np.ndarray], dict[str, Any]], None]
) -> None:
    """Restore a run from its folder's checkpoint, if there is one; its index must be one of the plan's places."""
    path = folder / CHECKPOINT
    if not path.exists():
        return
    with undamaged(path, "remove it, and --resume starts the same plan from the beginning"):
        arrays, facts = unpack(path)
        for name in ("best", "base", "state"):
            check_size(facts.get(name), sum(array.size for array in arrays.values()))
        if not 0 <= facts["index"] <= places:
            raise ValueError("its phase number is not in the plan")
        restore(arrays, facts)

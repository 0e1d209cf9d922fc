"""merge → run, or list what would run → export: one call of the command, whichever parser read it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import exchange
from .catalogue import suite
from .cluster import PATIENCE
from .progress import Lines
from .projection import listing, outlook, table
from .running import Stopped, Summary, run
from .store import Store, rows_in

RERUN = "rerun the command to continue"


def session(name: str, out: Path, progress: Callable[[], Lines], **options: Any) -> int:
    """The exit status: 1 where cases of the suite have failed, 130 after Ctrl-C. `options` are those of the command."""
    try:
        return _session(name, out, progress, **options)
    except KeyboardInterrupt as stop:
        known = stop.summary if isinstance(stop, Stopped) else None
        stand = f": {known.done} of {known.cases} cases are done in {out}" if known else ""
        print(f"stopped{stand}; {RERUN}", file=sys.stderr)
        return 130


def _session(
    name: str,
    out: Path,
    progress: Callable[[], Lines],
    *,
    scale: str = "full",
    only: str = "",
    retry: bool = False,
    merge: Sequence[Path] = (),
    export: Path | None = None,
    dry_run: bool = False,
    as_json: bool = False,
    **more: Any,
) -> int:
    """`more` are the other options of `run`."""
    if export is not None:
        exchange.writer(export)  # an invalid name is refused now, not after hours
    notes = sys.stderr if as_json else sys.stdout
    if merge:
        with Store(out) as store:
            for source in merge:
                print(f"{exchange.merge(store, source)} rows from {source}", file=notes)
    if dry_run:
        looks = outlook(suite(name).cases(scale, only), rows_in(out), retry)
        print(json.dumps(table(looks)) if as_json else "\n".join(listing(looks)))
        return 0
    if more.get("engine") == "dask" and more.get("address"):
        print(f"connecting to {more['address']}, for {PATIENCE} at most", file=sys.stderr)
    with progress() as shown:
        summary = run(name, out, scale=scale, only=only, retry=retry, progress=shown, **more)
    if export is not None:
        with Store(out) as store:
            print(f"{exchange.export(store, export)} rows in {export}", file=notes)
    if as_json:
        print(json.dumps(vars(summary)))
    else:
        print(_told(summary, out))
    return 1 if summary.failed else 0


def _told(summary: Summary, out: Path) -> str:
    """5 of 8 cases are done in DIR: 1 failed (--retry runs it again), 2 diverged; rerun the command to continue"""
    again = f"(--retry runs {'it' if summary.failed == 1 else 'them'} again)"
    counts = [f"{summary.failed} failed {again}"] if summary.failed else []
    counts += [f"{summary.diverged} diverged"] if summary.diverged else []
    stand = ": ".join(filter(None, (f"cases are done in {out}", ", ".join(counts))))
    return f"{summary.done} of {summary.cases} {stand}" + ("" if summary.complete else f"; {RERUN}")

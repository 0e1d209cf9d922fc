"""`safenet bench` and `safenet store`: options in, a summary out; no logic of its own."""

from __future__ import annotations

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer

from .. import listed
from ..errors import SafeNetError

StoreFolder = Annotated[Path, typer.Argument(metavar="DIR", help="a folder made by `safenet bench --out`")]


def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="a built-in suite (--list) or a .toml file")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="the folder of the store")] = Path("runs/bench"),
    smoke: Annotated[
        bool, typer.Option("--smoke", help="with the suite's small sizes: a trial in minutes")
    ] = False,
    engine: Annotated[str, typer.Option(help="local or dask")] = "local",
    address: Annotated[str | None, typer.Option(metavar="tcp://…", help="of the Dask scheduler")] = None,
    resource: Annotated[
        list[str] | None,
        typer.Option(metavar="GPU=1", help="what a Dask worker must have; seeds then run together"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="processes (default: by cores or GPUs, and memory)")
    ] = None,
    only: Annotated[
        str,
        typer.Option(metavar="WORDS", help="cases whose label has all of these words, e.g. 'wave seed 0'"),
    ] = "",
    minutes: Annotated[
        float | None, typer.Option(min=0, help="stop after this time; the same command continues")
    ] = None,
    retry: Annotated[bool, typer.Option("--retry", help="try failed cases once more")] = False,
    merge: Annotated[
        list[Path] | None,
        typer.Option(metavar="FROM", help="first copy rows from a store or .jsonl file (repeatable)"),
    ] = None,
    export: Annotated[
        Path | None, typer.Option(metavar="F", help="afterwards, write all rows to .jsonl, .csv or .parquet")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="list the cases and their time, run nothing")
    ] = False,
    list_suites: Annotated[bool, typer.Option("--list", help="name the built-in suites")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the summary, or the list, as JSON")] = False,
) -> None:
    """Run the unfinished cases of a suite.

    It is safe to interrupt; the same command continues.
    Several processes may share one --out. The exit status is 1 where cases failed.

    \b
    safenet bench paper-main --smoke --out runs/smoke
    safenet bench mine.toml --dry-run
    safenet bench mine.toml --out runs/mine --only "wave depth=2 seed 0"
    safenet bench mine.toml --out runs/mine --merge before.jsonl --minutes 30 --export after.jsonl
    """
    if list_suites:
        for known, title in listed.titles(listed.suites()).items():
            print(f"  {known:<20} {title}")
        return
    if name is None:
        raise SafeNetError("no suite was given", "e.g. safenet bench paper-main --smoke, or --list")
    from .progress import shown
    from .session import session

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)  # raises, so that the workers are ended
    status = session(
        name,
        out,
        shown,
        scale="smoke" if smoke else "full",
        only=only,
        retry=retry,
        merge=merge or (),
        export=export,
        dry_run=dry_run,
        as_json=as_json,
        engine=engine,
        workers=workers,
        address=address,
        resources=_resources(resource or []),
        minutes=minutes,
    )
    if status:
        raise typer.Exit(status)


def _resources(given: list[str]) -> dict[str, float]:
    """GPU=1 → {"GPU": 1.0}"""
    try:
        return {name: float(count) for name, count in (text.split("=") for text in given)}
    except ValueError:
        raise SafeNetError(
            f"--resource {' '.join(given)} is not of the form NAME=NUMBER", "e.g. GPU=1"
        ) from None


store = typer.Typer(help="Export and merge benchmark results.", no_args_is_help=True, rich_markup_mode=None)


@store.command("export")
def export_store(
    place: StoreFolder,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F", help=".jsonl, .csv or .parquet")],
    history: Annotated[
        bool, typer.Option("--history/--no-history", help="loss and error curves, in .jsonl")
    ] = True,
) -> None:
    """Write all rows into a file.

    .jsonl is complete and can be merged; .csv and .parquet are a table.

    The table has a column for each option and each parameter that any row has: option.width, parameter.beta.

    \b
    safenet store export runs/mine -o mine.csv
    safenet store export runs/mine -o mine.jsonl --no-history
    """
    from .exchange import export
    from .store import Store

    with Store(place, create=False) as rows:
        print(f"{export(rows, output, history)} rows in {output}")


@store.command("merge")
def merge_stores(
    place: StoreFolder,
    sources: Annotated[
        list[Path], typer.Argument(metavar="FROM…", help="other folders, .db or .jsonl files")
    ],
) -> None:
    """Copy rows that are missing here from other stores.

    Rows that are here stay as they are.

    \b
    safenet store merge runs/all runs/mine other-machine.db mine.jsonl
    """
    from .exchange import merge
    from .store import Store

    for source in sources:
        if not source.exists():
            raise SafeNetError(
                f"there is no {source}", "give a folder of `safenet bench`, a .db or .jsonl file"
            )
    with Store(place) as rows:
        for source in sources:
            print(f"{merge(rows, source)} rows from {source}")

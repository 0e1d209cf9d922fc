"""`python -m safenet.bench SUITE --out DIR`: the same as `safenet bench`, with nothing but Python's own parser.

For machines that have JAX and no command line tools.
"""

from __future__ import annotations

import argparse
import sys

from ..errors import SafeNetError
from . import exchange
from .catalogue import SCALES, names, suite
from .progress import Lines
from .projection import listing
from .running import run
from .store import Store, rows_in


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m safenet.bench", description="Carry out a suite.")
    parser.add_argument("suite", help=f"a .toml file, or one of {', '.join(names())}")
    parser.add_argument("--out", default="runs/bench", help="the folder of the store")
    parser.add_argument("--scale", choices=SCALES, default="full")
    parser.add_argument("--only", default="", help="cases whose label has all of these words")
    parser.add_argument("--workers", type=int, help="processes (default: by cores or GPUs, and memory)")
    parser.add_argument("--minutes", type=float, help="stop after this time; the rest can be continued")
    parser.add_argument("--retry", action="store_true", help="failed cases once more")
    parser.add_argument("--dry-run", action="store_true", help="list cells and their time, do nothing")
    parser.add_argument(
        "--merge", nargs="+", default=[], help="first take over rows of stores or .jsonl files"
    )
    parser.add_argument("--export", help="afterwards, write all rows to this .jsonl or .csv")
    given = parser.parse_args(words)
    try:
        if given.merge:
            with Store(given.out) as store:
                for source in given.merge:
                    print(f"{exchange.merge(store, source)} rows from {source}")
        if given.dry_run:
            for line in listing(suite(given.suite).cases(given.scale, given.only), rows_in(given.out)):
                print(line)
            return 0
        with Lines() as progress:
            summary = run(
                given.suite,
                given.out,
                scale=given.scale,
                only=given.only,
                workers=given.workers,
                minutes=given.minutes,
                retry=given.retry,
                progress=progress,
            )
        print(f"{summary.done} of {summary.cases} cases done, {summary.failed} failed, {summary.new} new")
        if given.export:
            with Store(given.out) as store:
                exchange.export(store, given.export)
    except SafeNetError as error:
        print(f"safenet.bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())

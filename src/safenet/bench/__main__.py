"""`python -m safenet.bench SUITE --out DIR`: `safenet bench` with only Python's own parser.

For machines that have JAX but not the packages of the command line (typer, rich).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..errors import SafeNetError
from .catalogue import names
from .progress import Lines
from .session import session


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m safenet.bench", description="Run a suite.")
    parser.add_argument("name", metavar="SUITE", help=f"a .toml file, or one of {', '.join(names())}")
    parser.add_argument("--out", type=Path, default=Path("runs/bench"), help="the folder of the store")
    small = "with the suite's small sizes: a trial in minutes"
    parser.add_argument(
        "--smoke", dest="scale", action="store_const", const="smoke", default="full", help=small
    )
    parser.add_argument("--only", default="", help="cases whose label has all of these words")
    parser.add_argument("--workers", type=int, help="processes (default: by cores or GPUs, and memory)")
    parser.add_argument("--minutes", type=float, help="stop after this time; the rest can be continued")
    parser.add_argument("--retry", action="store_true", help="failed cases once more")
    parser.add_argument("--dry-run", action="store_true", help="list the cases and their time, run nothing")
    first = "first copy rows from stores or .jsonl files"
    parser.add_argument("--merge", nargs="+", action="extend", type=Path, default=[], help=first)
    parser.add_argument("--export", type=Path, help="afterwards, write all rows to this .jsonl or .csv")
    parser.add_argument("--json", dest="as_json", action="store_true", help="print the summary as JSON")
    given = parser.parse_args(words)
    try:
        return session(progress=Lines, **vars(given))
    except SafeNetError as error:
        print(f"safenet.bench: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())

"""`safenet ui`: options in, a page out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def ui(
    port: Annotated[int, typer.Option(min=1024, max=65535, help="of the page on this machine")] = 5007,
    runs: Annotated[Path, typer.Option(metavar="DIR", help="where runs are kept")] = Path("runs"),
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="open a browser")] = True,
) -> None:
    """Open a page in the browser to state and solve problems.

    It is served on this machine alone, at http://localhost:5007, until Ctrl-C.
    Runs are kept as those of `safenet solve`. Needs: pip install 'safenet-pde[ui]'.
    """
    from ..ui.serve import serve

    serve(port, runs, show=browser)

"""`safenet new`: a commented problem file to start from."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from ..errors import SafeNetError


def new(
    path: Annotated[Path, typer.Argument(metavar="F.toml", help="the file to write")] = Path("problem.toml"),
    like: Annotated[
        str | None, typer.Option(metavar="P", help="start from this problem of the library (safenet list)")
    ] = None,
) -> None:
    """Write a commented problem file to start from.

    It is the heat equation, ready to be changed. No file is overwritten.

    \b
    safenet new mine.toml
    safenet new mine.toml --like burgers
    """
    if path.suffix != ".toml":
        raise SafeNetError(f"{path} does not end in .toml", f"e.g. safenet new {path.name}.toml")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(_template(path) if like is None else _library(like))
    except FileExistsError:
        raise SafeNetError(f"{path} exists; nothing was changed", "choose another name") from None
    except OSError as obstacle:
        raise SafeNetError(f"cannot write {path}: {obstacle.strerror}", "choose another place") from None
    print(f"{path} is written. Next:")
    print(f"  safenet show {path}")
    print(f"  safenet solve {path}")


def _template(path: Path) -> str:
    from ..problem.language.names import as_name

    text = resources.files(__package__).joinpath("template.toml").read_text(encoding="utf-8")
    return text.replace("NAME", as_name(path.stem)).replace("FILE", str(path))


def _library(name: str) -> str:
    from .. import library

    return library.text(name)

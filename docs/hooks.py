"""For `mkdocs build`: what the commands say of themselves becomes the page of the command line."""

from __future__ import annotations

from typing import Any

from typer.main import get_command

from safenet import listed
from safenet.cli import app

MARK = "<!-- the help of every command is put here by docs/hooks.py -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    return markdown.replace(MARK, _commands()) if MARK in markdown else markdown


def _commands() -> str:
    """A section for each command, and the names that it takes."""
    group: Any = get_command(app)
    with group.make_context("safenet", [], resilient_parsing=True) as context:
        sections = [
            f"## safenet {name}\n\n```text\n{_help(command, context, name)}\n```"
            for name, command in group.commands.items()
        ]
    for heading, entries in (
        ("Solvers", listed.SOLVERS),
        ("Methods of networks", listed.METHODS),
        ("Recipes", listed.RECIPES),
        ("Problems of the library", listed.titles(listed.problems())),
    ):
        rows = "\n".join(f"| `{name}` | {text} |" for name, text in entries.items())
        sections.append(f"## {heading}\n\n| name | |\n|---|---|\n{rows}")
    return "\n\n".join(sections)


def _help(command: Any, context: Any, name: str) -> str:
    made = command.make_context(name, [], parent=context, resilient_parsing=True)
    return str(command.get_help(made))

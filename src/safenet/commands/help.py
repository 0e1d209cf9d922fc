"""Help in plain text, with the options grouped under headings, the most used first."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

OPTIONS = "Options"


class Panelled(TyperCommand):
    """A command whose `--help` has a section for each `rich_help_panel` of its options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            argument = parameter.param_type_name == "argument"
            panel = "Arguments" if argument else getattr(parameter, "rich_help_panel", None) or OPTIONS
            sections.setdefault(panel, []).append(record)
        sections[OPTIONS] = sections.pop(OPTIONS, [])  # --json and --help come last
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records)

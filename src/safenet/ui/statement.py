"""Boxes of text ↔ a problem file: what is typed on the page, read by the same parser as every problem."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass

from ..errors import SafeNetError
from ..problem import Problem, loads
from ..problem.texts import unknowns_in

SOURCE = "the problem"
BOXES = ("equations", "conditions", "domain", "parameters", "unknowns", "more")


@dataclass(frozen=True)
class Statement:
    """One text for each box: equations and conditions one per line, the others as in a problem file."""

    name: str = "my-problem"
    equations: str = ""
    conditions: str = ""
    domain: str = ""
    parameters: str = ""
    unknowns: str = ""  # u, v; if empty, the functions that the equations differentiate
    more: str = ""  # title = "…", [pieces], [exact], [unknown], [[data]]

    def toml(self) -> str:
        """The text of the problem file that the boxes make up."""
        equations, conditions = (_lines(text) for text in (self.equations, self.conditions))
        unknowns = tuple(filter(None, re.split(r"[,\s]+", self.unknowns))) or _unknowns(
            equations, conditions, _keys(self.domain), _keys(self.parameters)
        )
        keys, *tables = re.split(r"^(?=\s*\[)", self.more, flags=re.MULTILINE)
        parts = [
            f"name = {_quoted(self.name.strip() or 'my-problem')}",
            f"unknowns = [{', '.join(map(_quoted, unknowns))}]",
            *(
                f"{key} = [\n" + "".join(f"    {_quoted(line)},\n" for line in lines) + "]"
                for key, lines in (("equations", equations), ("conditions", conditions))
            ),
            keys.strip(),
            f"\n[domain]\n{self.domain.strip()}",
            f"\n[parameters]\n{self.parameters.strip()}" if self.parameters.strip() else "",
            f"\n{''.join(tables).strip()}" if tables else "",
        ]
        return "\n".join(filter(None, parts)) + "\n"

    @staticmethod
    def of(text: str) -> Statement:
        """The boxes of a problem file's text, as `dumps` writes it."""
        document = tomllib.loads(text)
        parts = re.split(r"^(?=\[)", text, flags=re.MULTILINE)[1:]
        sections = {part.split("\n", 1)[0].strip("[]"): part for part in parts}
        bodies = {name: part.split("\n", 1)[1].strip() for name, part in sections.items()}
        keys = [f"{key} = {_quoted(value)}" for key, value in document.items() if _plain(key, value)]
        more = ["\n".join(keys)] if keys else []
        more += [part for name, part in sections.items() if name not in ("domain", "parameters")]
        if exact := document.get("exact"):
            lines = "\n".join(f"{name} = {_quoted(value)}" for name, value in exact.items())
            more.append(f"[exact]\n{lines}\n")
        return Statement(
            document["name"],
            "\n".join(document["equations"]),
            "\n".join(document.get("conditions", [])),
            bodies.get("domain", ""),
            bodies.get("parameters", ""),
            ", ".join(document["unknowns"]),
            "\n".join(more),
        )


def read(statement: Statement) -> Problem:
    """The problem, or an error whose message points at the place in its box."""
    if not statement.equations.strip():
        raise SafeNetError("there is no equation yet", "type one into the first box, e.g. u_t = u_xx/10")
    try:
        return loads(statement.toml(), SOURCE)
    except SafeNetError as error:
        # The line number is that of a file that the user does not see.
        message = re.sub(rf"^{SOURCE}(, line \d+)?: ", "", error.message)
        raise SafeNetError(message, error.remedy, error.where) from None


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _keys(text: str) -> tuple[str, ...]:
    """The names in lines such as `c = 2`, even if another line is not finished yet."""
    names = (re.match(r"\s*([A-Za-z]\w*)\s*=", line) for line in text.splitlines())
    return tuple(match[1] for match in names if match and match[1] not in ("shape", "remove"))


def _unknowns(
    equations: list[str], conditions: list[str], axes: tuple[str, ...], parameters: tuple[str, ...]
) -> tuple[str, ...]:
    try:
        return unknowns_in(equations, conditions, axes, parameters) or ("u",)
    except SafeNetError:
        return ("u",)  # reading the whole problem will report the error


def _plain(key: str, value: object) -> bool:
    """Whether a key above the tables has no box of its own, such as the title."""
    boxed = ("name", "unknowns", "equations", "conditions")
    return key not in boxed and (isinstance(value, (str, bool)) or _texts(value))


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _quoted(text: object) -> str:
    return json.dumps(text, ensure_ascii=False)


def script(problem: Problem, solver: str, folder: str) -> str:
    """The Python program that does what the page did."""
    text = problem.toml().replace("\\", "\\\\").replace('"""', r"\"\"\"")
    return f'''"""{problem.title or problem.name}, as `safenet ui` solved it."""

import safenet as sn

problem = sn.loads("""
{text.strip()}
""")

if __name__ == "__main__":
    solution = sn.solve(problem, {solver!r}, out={folder!r})
    print(repr(solution))
    solution.plot().savefig({problem.name + ".png"!r})
    solution.export({problem.name + ".csv"!r})
'''

"""The commands. Each parses its options, calls the library, and prints; no logic of its own."""

from __future__ import annotations

import codecs
import io
import json
import signal
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Annotated

import typer

from .bench.command import bench, store
from .commands import runs, solving
from .commands.arguments import (
    AsJson,
    Parameter,
    ProblemName,
    check_picture,
    problem_named,
    save_figure,
)
from .errors import SafeNetError, SafeNetWarning, printable
from .paper.command import report

SPELT_OUT = "spelt-out"  # what becomes of characters that a terminal does not know
SIGNS = {
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "·": "*",
    "…": "...",
    "–": "-",
    "—": "-",
    "−": "-",
    "×": "x",
    "∞": "inf",
}


def _spelt_out(error: UnicodeError) -> tuple[str, int]:
    """≤ → <=, ö → o; what has no such form as \\u2202."""
    assert isinstance(error, UnicodeEncodeError)
    text = ""
    for character in error.object[error.start : error.end]:
        plain = SIGNS.get(character, unicodedata.normalize("NFKD", character))
        text += plain.encode("ascii", "ignore").decode() or character.encode("unicode_escape").decode()
    return text, error.end


codecs.register_error(SPELT_OUT, _spelt_out)

app = typer.Typer(
    help="Solve a PDE from its symbols.\n\n"
    "P is a problem of the library (safenet list) or a file such as\n\n"
    "\b\n"  # keeps the lines that follow as they are
    '    name = "heat"\n'
    '    unknowns = ["u"]\n'
    '    equations = ["u_t = u_xx/10"]\n'
    '    conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]\n'
    "    domain = { x = [0, 1], t = [0, 1] }\n\n"
    "\b\n"
    "Try\n"
    "    safenet solve wave --out runs/wave\n"
    "    safenet train wave --out runs/network\n"
    "    safenet plot runs/wave -o wave.png\n"
    "    safenet export runs/wave -o wave.csv",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """What there is: problems, solvers, methods of networks, recipes, suites."""
    from . import library
    from .bench import names, suite
    from .direct.solver import DESCRIPTIONS as SOLVERS
    from .networks.methods import DESCRIPTIONS as METHODS
    from .train.recipes import DESCRIPTIONS as RECIPES

    solvers = {
        "auto": "chosen from the equations (the default)",
        **SOLVERS,
        "train": "a network (safenet train)",
    }
    if as_json:
        listing = {
            "problems": list(library.names()),
            "solvers": list(solvers),
            "methods": list(METHODS),
            "recipes": list(RECIPES),
            "suites": list(names()),
        }
        print(json.dumps(listing))
        return
    titles = {name: library.problem(name).title for name in library.names()}
    suites = {name: suite(name).title for name in names()}
    kinds = {"problems": titles, "solvers": solvers, "methods": METHODS, "recipes": RECIPES, "suites": suites}
    for heading, entries in kinds.items():
        print(heading)
        for name, text in entries.items():
            print(f"  {name:<20} {text}")
        print()


@app.command()
def show(
    name: ProblemName,
    settings: Parameter = None,
    picture: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="F.png", help="draw the domain, its pieces and points"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Equations, conditions, what the symbols give away, and what would be done."""
    from .views.describe import describe, description_text

    if picture is not None:
        check_picture(picture)
    problem = problem_named(name, settings)
    facts = describe(problem)
    print(json.dumps(facts) if as_json else description_text(facts))
    if picture is not None:
        from .views.domain_picture import plot_domain

        save_figure(plot_domain(problem), picture)


app.command("solve")(solving.solve)
app.command("train")(solving.train)
app.command("eval")(runs.evaluate)
app.command("export")(runs.export)
app.command("plot")(runs.plot)
app.command("spectrum")(runs.spectrum)
app.command("bench")(bench)
app.add_typer(store, name="store")
app.command("report")(report)


def _shown(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """A warning as a line: on a terminal nobody wants to know which line of ours gave it."""
    label = "" if issubclass(category, SafeNetWarning) else f"{category.__name__}: "
    print(printable(f"safenet: {label}{message}"), file=sys.stderr)


def main() -> None:
    """Run a command; what the user did wrong is one message and exit code 2."""
    warnings.showwarning = _shown
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELT_OUT)
    try:
        # Until there is something to keep, Ctrl-C ends the program at once: JAX cannot be interrupted while it loads.
        with solving.on_ctrl_c(signal.SIG_DFL):
            app(prog_name="safenet")
    except SafeNetError as error:
        print(printable(f"safenet: {error}"), file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("safenet: interrupted", file=sys.stderr)
        raise SystemExit(130) from None

"""The commands: each reads its options, calls the library and prints."""

from __future__ import annotations

import codecs
import gc
import io
import os
import signal
import sys
import time
import unicodedata
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

import safenet

from .bench.command import bench, store
from .commands import listing, runs, solving
from .commands.doctor import doctor
from .commands.help import Panelled
from .commands.new import new
from .commands.past import past
from .commands.ui import ui
from .errors import SafeNetError, SafeNetWarning, printable
from .lazily import after_import
from .paper.command import report

SPELT_OUT = "spelt-out"  # error handler for characters that a terminal cannot show
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
    """≤ → <=, ö → o; any other character becomes its escape, e.g. \\u2202."""
    assert isinstance(error, UnicodeEncodeError)
    text = ""
    for character in error.object[error.start : error.end]:
        plain = SIGNS.get(character, unicodedata.normalize("NFKD", character))
        text += plain.encode("ascii", "ignore").decode() or character.encode("unicode_escape").decode()
    return text, error.end


codecs.register_error(SPELT_OUT, _spelt_out)

app = typer.Typer(
    help="Solve partial differential equations from their formulas, directly or by a neural network.\n\n"
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
    "    safenet plot runs/wave -o wave.png\n"
    "    safenet export runs/wave -o wave.csv\n"
    "    safenet train wave --out runs/network\n"
    "    safenet new mine.toml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _version(asked: bool) -> None:
    if asked:
        print(f"safenet {safenet.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


COMMANDS: dict[str, Callable[..., None]] = {
    "list": listing.list_,
    "show": listing.show,
    "new": new,
    "solve": solving.solve,
    "train": solving.train,
    "runs": past,
    "eval": runs.evaluate,
    "plot": runs.plot,
    "export": runs.export,
    "spectrum": runs.spectrum,
    "bench": bench,
    "report": report,
    "ui": ui,
    "doctor": doctor,
}
for _name, _command in COMMANDS.items():
    app.command(_name, cls=Panelled)(_command)
app.add_typer(store, name="store")


def _shown(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
    """A warning as one line, without the place in our source."""
    label = "" if issubclass(category, SafeNetWarning) else f"{category.__name__}: "
    print(printable(f"safenet: {label}{message}"), file=sys.stderr)


def main() -> None:
    """Run a command; a user's mistake gives one message and exit code 2."""
    warnings.showwarning = _shown
    after_import("sympy", gc.freeze)  # imports stay until a short program ends: no need to scan them again
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


LOADING = 60.0  # seconds: an older process was not started for this command


def program() -> None:
    """The entry point of `safenet`. Interrupted compiled code may crash while Python shuts down, so a run that was
    stopped, and saved, exits at once; so does one that left a thread behind which still compiles."""
    solving.BEGAN = _started()
    try:
        main()
    except SystemExit as ended:
        clocks = sys.modules.get("safenet.run.budget")
        if ended.code != 130 and not (clocks and clocks.left_behind()):
            raise
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else bool(ended.code))


def _started() -> float:
    """When this process began, in time.monotonic(); the current time if the system does not say (Linux does)."""
    now = time.monotonic()
    try:
        ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        return now
    return now - age if 0 < age < LOADING else now

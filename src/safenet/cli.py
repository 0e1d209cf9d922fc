"""The commands. Each parses its options, calls the library, and prints; no logic of its own."""

from __future__ import annotations

import json
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .bench.command import bench, store
from .commands import runs
from .commands.arguments import (
    AsJson,
    MethodOption,
    Parameter,
    ProblemName,
    check_picture,
    method_options,
    problem_named,
    save_figure,
    use_device,
)
from .errors import SafeNetError, SafeNetWarning
from .paper.command import report

if TYPE_CHECKING:
    from .run.progress import Monitor

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
    "    safenet plot runs/wave -o wave.png\n"
    "    safenet export runs/wave -o wave.csv",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _free_folder(name: str, force: bool) -> Path:
    """runs/NAME, or the first of runs/NAME-2, runs/NAME-3, … that does not exist yet."""
    folder, count = Path("runs") / name, 1
    while folder.exists() and not force:
        count += 1
        folder = Path("runs") / f"{name}-{count}"
    return folder


def _only_resume(ctx: typer.Context) -> None:
    """A plan is fixed when a run starts: options beside --resume would be ignored, so they are refused."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        typed = source is not None and source.name == "COMMANDLINE"
        if not typed or parameter.name in ("resume", "device", "as_json", "track"):
            continue
        given = "a problem" if parameter.name == "name" else max(parameter.opts, key=len)
        raise SafeNetError(
            f"--resume goes on with the plan of its run; {given} cannot be given with it",
            "leave it out, or start a new run with another --out",
        )


@contextmanager
def _on_ctrl_c(action: Any) -> Iterator[None]:
    """Within, Ctrl-C does `action`; not where it is switched off (nohup, a thread)."""
    main_thread = threading.current_thread() is threading.main_thread()
    if not main_thread or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        yield
        return
    former, hook = signal.signal(signal.SIGINT, action), sys.unraisablehook
    sys.unraisablehook = partial(_once_more, hook)
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, former)


def _once_more(hook: Callable[[Any], Any], dropped: Any) -> None:
    """Python drops what is raised in JAX's hook on the garbage collector, or in compiled code that knows no exceptions:
    a Ctrl-C comes again a moment later."""
    if dropped.exc_type is not KeyboardInterrupt:
        hook(dropped)
        return
    threading.Timer(0.01, signal.raise_signal, (signal.SIGINT,)).start()


def _both(monitor: Monitor, sink: Monitor | None) -> Monitor:
    from .run.progress import Both

    return monitor if sink is None else Both(monitor, sink)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """What there is: problems, methods, recipes, suites."""
    from . import library
    from .bench import names, suite
    from .networks.methods import DESCRIPTIONS
    from .train.recipes import RECIPES

    if as_json:
        listing = {
            "problems": list(library.names()),
            "methods": list(DESCRIPTIONS),
            "recipes": list(RECIPES),
            "suites": list(names()),
        }
        print(json.dumps(listing))
        return
    titles = {name: library.problem(name).title for name in library.names()}
    suites = {name: suite(name).title for name in names()}
    kinds = {"problems": titles, "methods": DESCRIPTIONS, "recipes": RECIPES, "suites": suites}
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


@app.command()
def solve(
    ctx: typer.Context,
    name: Annotated[str | None, typer.Argument(metavar="P", help="a library problem or a .toml file")] = None,
    method: Annotated[
        str, typer.Option(help="safe-net, safe-net-literal, pinn, … (safenet list)")
    ] = "safe-net",
    recipe: Annotated[str, typer.Option(help="default, paper-1, … (safenet list)")] = "default",
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="the same seed gives the same result to the bit")
    ] = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="the run folder (default: runs/P)")] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite an earlier run in that folder")] = False,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="go on with an interrupted run")] = None,
    settings: Parameter = None,
    precision: Annotated[str | None, typer.Option(help="float32 or float64")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or gpu")] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="60s", help="stop after this time with the best so far, e.g. 5m")
    ] = None,
    scale: Annotated[float, typer.Option(help="multiply the iterations of every optimiser")] = 1.0,
    points: Annotated[int | None, typer.Option(help="points inside the domain")] = None,
    condition_points: Annotated[int | None, typer.Option(help="points on each condition")] = None,
    sampler: Annotated[str | None, typer.Option(help="uniform, latin or sobol")] = None,
    features: Annotated[int | None, typer.Option(help="Fourier features of the network")] = None,
    width: Annotated[int | None, typer.Option(help="neurons of a hidden layer")] = None,
    depth: Annotated[int | None, typer.Option(help="hidden layers")] = None,
    activation: Annotated[str | None, typer.Option(help="tanh, sine, relu, gelu or swish")] = None,
    frequencies: Annotated[str | None, typer.Option(help="harmonic, gaussian, uniform or box")] = None,
    amplitudes: Annotated[str | None, typer.Option(help="unit, gaussian, uniform, xavier or decay")] = None,
    normalise: Annotated[str | None, typer.Option(help="point, batch, fixed or none")] = None,
    domain: Annotated[
        bool | None, typer.Option("--domain/--no-domain", help="features from the conditions")
    ] = None,
    more: MethodOption = None,
    track: Annotated[
        str | None,
        typer.Option(metavar="SINK", help="tensorboard:DIR, wandb:PROJECT or mlflow:EXPERIMENT"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem; the run folder keeps the solution, the plan and result.json.

    Ctrl-C keeps what was computed: `safenet solve --resume RUN` goes on. The
    exit status is 1 where a solve was given up or diverged.
    """
    if resume is not None:
        _only_resume(ctx)
    if device is not None:
        use_device(device)
    from .backend import cache_compilations
    from .solving.door import resume as continue_run
    from .solving.door import solve as solve_problem
    from .views.console import ConsoleMonitor

    cache_compilations()
    warnings.simplefilter("ignore", SafeNetWarning)  # the result names them
    sink = None
    if track is not None:
        from .views.tracking import tracker

        sink = tracker(track)
    if resume is not None:
        from .solution import read_problem

        with _on_ctrl_c(signal.default_int_handler), ConsoleMonitor(read_problem(resume)) as monitor:
            solution = continue_run(resume, monitor=_both(monitor, sink))
        folder = resume
    else:
        if name is None:
            raise SafeNetError("no problem was given", "e.g. safenet solve wave, or --resume RUN")
        problem = problem_named(name, settings)
        folder = out if out is not None else _free_folder(problem.name, force)
        given = {
            "features": features,
            "width": width,
            "depth": depth,
            "activation": activation,
            "frequencies": frequencies,
            "amplitudes": amplitudes,
            "normalise": normalise,
            "domain": domain,
        }
        options: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        options |= method_options(more or [])
        with _on_ctrl_c(signal.default_int_handler), ConsoleMonitor(problem) as monitor:
            solution = solve_problem(
                problem,
                method=method,
                recipe=recipe,
                seed=seed,
                out=folder,
                force=force,
                monitor=_both(monitor, sink),
                precision=precision,
                budget=budget,
                scale=scale,
                interior=points,
                condition=condition_points,
                sampler=sampler,
                **options,
            )
    if sink is not None:
        sink.close(solution.result)
    if as_json:
        print(json.dumps(solution.result))
    else:
        from .views.describe import result_text

        print(result_text(solution, folder))
    raise typer.Exit({"interrupted": 130, "given up": 1, "diverged": 1}.get(solution.result["outcome"], 0))


app.command("eval")(runs.evaluate)
app.command("export")(runs.export)
app.command("plot")(runs.plot)
app.command("spectrum")(runs.spectrum)
app.command("bench")(bench)
app.add_typer(store, name="store")
app.command("report")(report)


def main() -> None:
    """Run a command; what the user did wrong is one message and exit code 2."""
    try:
        # Until there is something to keep, Ctrl-C ends the program at once: JAX cannot be interrupted while it loads.
        with _on_ctrl_c(signal.SIG_DFL):
            app(prog_name="safenet")
    except SafeNetError as error:
        print(f"safenet: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("safenet: interrupted", file=sys.stderr)
        raise SystemExit(130) from None

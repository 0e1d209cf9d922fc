"""`safenet solve` and `safenet train`: options in, a run folder and a few lines out; no logic of their own."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SafeNetError, SafeNetWarning
from ..lazily import after_import
from ..run.progress import Both, Monitor
from .arguments import (
    A_PROBLEM,
    DATA,
    FIND,
    AsJson,
    MethodOption,
    method_options,
    problem_named,
    use_device,
)

if TYPE_CHECKING:
    from ..problem import Problem
    from ..run.budget import Budget
    from ..run.result import Outcome
    from ..solution import Solution

BEGAN: float | None = None  # when the process was started, if the command line runs in it


def _panel(heading: str) -> Callable[..., Any]:
    return partial(typer.Option, rich_help_panel=heading)


_asked, _folder, _limit = _panel("Problem"), _panel("Run folder"), _panel("Time and device")
_trained, _points, _layers = _panel("Training"), _panel("Points"), _panel("Network")
METHODS_OWN, RECIPES_OWN = "the method's", "the recipe's"  # defaults that are not one number

P = Annotated[str | None, A_PROBLEM]
Parameter = Annotated[
    list[str] | None,
    _asked("--set", metavar="NAME=VALUE", help="another value for a parameter (repeatable)"),
]
DataFiles = Annotated[list[Path] | None, _asked("--data", **DATA)]
Find = Annotated[list[str] | None, _asked("--find", **FIND)]
Out = Annotated[
    Path | None, _folder(metavar="DIR", help="where the run is kept", show_default="runs/P, or runs/P-2 …")
]
Force = Annotated[bool, _folder("--force", help="overwrite an earlier run in that folder")]
Resume = Annotated[Path | None, _folder(metavar="RUN", help="continue an interrupted run")]
Track = Annotated[
    str | None, _folder(metavar="SINK", help="tensorboard:DIR, wandb:PROJECT or mlflow:EXPERIMENT")
]
Device = Annotated[str | None, _limit(help="cpu or gpu", show_default="a GPU if JAX has one")]
BudgetText = Annotated[
    str | None,
    _limit(metavar="60s", help="stop after this time with the best so far, e.g. 5m", show_default="no limit"),
]
BESIDE_RESUME = ("resume", "budget", "device", "as_json", "track")  # options allowed with --resume


def solve(
    ctx: typer.Context,
    name: P = None,
    solver: Annotated[
        str, _asked(help="auto, modes, least-squares, march, cells, … (safenet list)")
    ] = "auto",
    tol: Annotated[
        float | None,
        _asked(
            metavar="1e-8", help="the relative error that auto aims at", show_default="as small as it can"
        ),
    ] = None,
    settings: Parameter = None,
    data: DataFiles = None,
    find: Find = None,
    out: Out = None,
    force: Force = False,
    resume: Resume = None,
    device: Device = None,
    budget: BudgetText = None,
    track: Track = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem; the solver is chosen from its equations.

    The run folder keeps the solution, the plan and result.json. Ctrl-C keeps
    what was computed; `safenet solve --resume RUN` continues. The exit status is
    0 if solved, 130 if interrupted, 2 if the solve could not begin, and 1
    otherwise (not solved, unverified, given up, diverged or out of time).

    \b
    safenet solve wave
    safenet solve heat.toml --set kappa=0.3 --out runs/heat
    safenet solve burgers --budget 60s --json
    """
    if solver == "train":
        raise SafeNetError("a network is trained by another command", f"safenet train {name or 'P'}")

    def chosen() -> Any:
        from ..solving.auto import Auto
        from ..solving.plans import solver_named

        if tol is None:
            return solver_named(solver)
        if solver != Auto.name:
            raise SafeNetError("--tol is for the automatic choice", "leave out --solver, or --tol")
        return Auto(tol=tol)

    _carry_out(ctx, name, chosen, out, force, resume, settings, device, budget, track, as_json, data, find)


def train(
    ctx: typer.Context,
    name: P = None,
    method: Annotated[str, _trained(help="safe-net, safe-net-literal, pinn, … (safenet list)")] = "safe-net",
    recipe: Annotated[str, _trained(help="default, paper-1, … (safenet list)")] = "default",
    seed: Annotated[
        int, _trained(min=0, max=2**63 - 1, help="the same seed gives the same result to the bit")
    ] = 0,
    scale: Annotated[float, _trained(help="multiply the iterations of every optimiser")] = 1.0,
    precision: Annotated[str | None, _trained(help="float32 or float64", show_default=RECIPES_OWN)] = None,
    tol: Annotated[
        float | None,
        _trained(
            metavar="1e-6",
            help="stop when the relative error is estimated at this or below",
            show_default="all iterations",
        ),
    ] = None,
    points: Annotated[
        int | None, _points(help="number of points inside the domain", show_default=RECIPES_OWN)
    ] = None,
    condition_points: Annotated[
        int | None, _points(help="number of points on each condition", show_default=RECIPES_OWN)
    ] = None,
    sampler: Annotated[str | None, _points(help="uniform, latin or sobol", show_default=RECIPES_OWN)] = None,
    features: Annotated[
        int | None, _layers(help="number of Fourier features", show_default=METHODS_OWN)
    ] = None,
    width: Annotated[
        int | None, _layers(help="neurons in each hidden layer", show_default=METHODS_OWN)
    ] = None,
    depth: Annotated[int | None, _layers(help="number of hidden layers", show_default=METHODS_OWN)] = None,
    activation: Annotated[
        str | None, _layers(help="tanh, sine, relu, gelu or swish", show_default=METHODS_OWN)
    ] = None,
    frequencies: Annotated[
        str | None, _layers(help="harmonic, gaussian, uniform or box", show_default=METHODS_OWN)
    ] = None,
    amplitudes: Annotated[
        str | None, _layers(help="unit, gaussian, uniform, xavier or decay", show_default=METHODS_OWN)
    ] = None,
    normalise: Annotated[
        str | None, _layers(help="point, batch, fixed or none", show_default=METHODS_OWN)
    ] = None,
    domain: Annotated[
        bool | None,
        _layers(
            "--domain/--no-domain", help="use features taken from the conditions", show_default=METHODS_OWN
        ),
    ] = None,
    more: MethodOption = None,
    settings: Parameter = None,
    data: DataFiles = None,
    find: Find = None,
    out: Out = None,
    force: Force = False,
    resume: Resume = None,
    device: Device = None,
    budget: BudgetText = None,
    track: Track = None,
    as_json: AsJson = False,
) -> None:
    """Train a network on a problem: SAFE-NET, or another method.

    The run folder has the same files as that of `safenet solve`. Ctrl-C keeps what
    was computed; `safenet train --resume RUN` continues. The exit status is that
    of `safenet solve`: 0 if solved, 130 if interrupted, 1 otherwise. A run counts
    as solved if its estimated error is at most --tol (10 % without --tol), even
    if its budget ended it.

    \b
    safenet train wave
    safenet train wave --tol 1e-4 --budget 10m
    safenet train convection --method pinn --recipe paper-1 --seed 3
    """

    def chosen() -> Any:
        from ..train.solver import Train

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
        options = {key: value for key, value in given.items() if value is not None}
        return Train(
            method,
            recipe,
            seed=seed,
            precision=precision,
            scale=scale,
            points=points,
            condition_points=condition_points,
            sampler=sampler,
            tol=tol,
            **options | method_options(more or []),
        )

    _carry_out(ctx, name, chosen, out, force, resume, settings, device, budget, track, as_json, data, find)


def _carry_out(
    ctx: typer.Context,
    name: str | None,
    chosen: Callable[[], Any],
    out: Path | None,
    force: bool,
    resume: Path | None,
    settings: list[str] | None,
    device: str | None,
    budget: str | None,
    track: str | None,
    as_json: bool,
    data: list[Path] | None,
    find: list[str] | None,
) -> None:
    """What both commands do, whichever solver is chosen. A budget counts from the start of the process, or from here if
    that is not known. It includes the time for loading JAX."""
    began = time.monotonic() if BEGAN is None else BEGAN
    if resume is not None:
        _only_resume(ctx)
    elif name is None:
        raise SafeNetError("no problem was given", f"e.g. safenet {ctx.info_name} wave, or --resume RUN")
    if device is not None:
        use_device(device)
    after_import("jax", _cache_compilations)
    warnings.simplefilter("ignore", SafeNetWarning)  # the result contains them
    sink = None
    if track is not None:
        from ..views.tracking import tracker

        sink = tracker(track)
    if resume is not None:
        folder, solution = resume, _resumed(resume, _clock(budget, began), sink)
    else:
        with _saying(f"reading {name}"):
            problem = problem_named(str(name), settings, data).finding(*find or ())
            import_module("safenet.solving.door")  # JAX takes seconds
            from .beforehand import Beforehand
        with nullcontext(out) if out is not None else _free(problem.name, force) as folder:
            usual, trains = out or Path("runs") / problem.name, ctx.info_name == "train"
            monitor = _both(Beforehand(problem, folder, usual, trains), sink)
            solution = _solved(problem, chosen(), folder, force, _clock(budget, began), monitor)
    if sink is not None:
        sink.close(solution.result.to_json())
    if as_json:
        print(json.dumps(solution.result.to_json()))
    else:
        from ..views.describe import result_text

        verdict, *rest = result_text(solution, folder).split("\n")
        print(_coloured(verdict, solution.result.outcome), *rest, sep="\n")
    # On a full disk, there is a result to print but no folder.
    raise typer.Exit(solution.result.outcome.exit_status or int(solution.folder is None))


def _saying(what: str) -> AbstractContextManager[Any]:
    """On a terminal, show what is being done before the solve starts."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(what)


def _cache_compilations() -> None:
    from ..backend import cache_compilations

    cache_compilations()


def _coloured(verdict: str, outcome: Outcome) -> str:
    """Green if solved, yellow if unverified or resumable, red otherwise; plain without a terminal."""
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR"):
        return verdict
    from ..run.result import Outcome

    open_ended = not outcome.complete or outcome == Outcome.UNVERIFIED
    colour = "green" if outcome.exit_status == 0 else "yellow" if open_ended else "red"
    return typer.style(verdict, fg=colour, bold=True)


def _clock(budget: str | None, began: float) -> Budget | None:
    from ..run.budget import Budget, seconds

    return None if budget is None else Budget(seconds(budget), began)


def _solved(
    problem: Problem, solver: Any, folder: Path, force: bool, budget: Budget | None, sink: Any
) -> Solution:
    from ..solving.door import solve
    from ..views.console import ConsoleMonitor

    with on_ctrl_c(signal.default_int_handler), ConsoleMonitor(problem) as monitor:
        return solve(problem, solver, out=folder, force=force, budget=budget, monitor=_both(monitor, sink))


def _resumed(folder: Path, budget: Budget | None, sink: Any) -> Solution:
    from ..solution import read_problem
    from ..solving.door import resume
    from ..views.console import ConsoleMonitor

    with on_ctrl_c(signal.default_int_handler), ConsoleMonitor(read_problem(folder)) as monitor:
        return resume(folder, budget=budget, monitor=_both(monitor, sink))


@contextmanager
def _free(name: str, force: bool) -> Iterator[Path]:
    """runs/NAME, or the first of runs/NAME-2, runs/NAME-3, … that is free; none is left empty behind."""
    from ..run.folder import free_folder, remove_if_empty

    folder = Path("runs") / name if force else free_folder(Path("runs"), name)
    try:
        yield folder
    finally:
        remove_if_empty(folder)


def _only_resume(ctx: typer.Context) -> None:
    """A plan is fixed when a run starts: options beside --resume would be ignored, so they are refused."""
    for parameter in ctx.command.params:
        source = ctx.get_parameter_source(parameter.name or "")
        if source is None or source.name != "COMMANDLINE" or parameter.name in BESIDE_RESUME:
            continue
        given = "a problem" if parameter.name == "name" else max(parameter.opts, key=len)
        raise SafeNetError(
            f"--resume continues the plan of its run; {given} cannot be given with it",
            "leave it out, or start a new run with another --out",
        )


@contextmanager
def on_ctrl_c(action: Any) -> Iterator[None]:
    """Within this context, Ctrl-C does `action`; no change where it is switched off (nohup) or in a thread."""
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
    """Repeat a Ctrl-C that Python has dropped: it drops exceptions raised in JAX's hook on the garbage collector, and
    in compiled code that cannot pass them on."""
    if dropped.exc_type is not KeyboardInterrupt:
        hook(dropped)
        return
    threading.Timer(0.01, signal.raise_signal, (signal.SIGINT,)).start()


def _both(monitor: Monitor, sink: Monitor | None) -> Monitor:
    return monitor if sink is None else Both(sink, monitor)

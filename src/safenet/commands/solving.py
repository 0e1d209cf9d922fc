"""`safenet solve` and `safenet train`: options in, a run folder and a few lines out; no logic of their own."""

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

from ..errors import SafeNetError, SafeNetWarning
from ..lazily import after_import
from .arguments import AsJson, MethodOption, Parameter, method_options, problem_named, use_device

if TYPE_CHECKING:
    from ..problem import Problem
    from ..run.progress import Monitor
    from ..solution import Solution

P = Annotated[str | None, typer.Argument(metavar="P", help="a library problem or a .toml file")]
Out = Annotated[Path | None, typer.Option(metavar="DIR", help="the run folder (default: runs/P)")]
Force = Annotated[bool, typer.Option("--force", help="overwrite an earlier run in that folder")]
Resume = Annotated[Path | None, typer.Option(metavar="RUN", help="go on with an interrupted run")]
Device = Annotated[str | None, typer.Option(help="cpu or gpu")]
BudgetText = Annotated[
    str | None, typer.Option(metavar="60s", help="stop after this time with the best so far, e.g. 5m")
]
Track = Annotated[
    str | None, typer.Option(metavar="SINK", help="tensorboard:DIR, wandb:PROJECT or mlflow:EXPERIMENT")
]
DataFiles = Annotated[
    list[Path] | None,
    typer.Option("--data", metavar="F.csv", help="measured values: columns named x, t, u (repeatable)"),
]
Find = Annotated[
    list[str] | None,
    typer.Option("--find", metavar="NAME", help="a parameter to be found from the data (repeatable)"),
]
BESIDE_RESUME = ("resume", "device", "as_json", "track")  # what goes with --resume


def solve(
    ctx: typer.Context,
    name: P = None,
    solver: Annotated[
        str, typer.Option(help="auto, modes, least-squares, march, cells, … (safenet list)")
    ] = "auto",
    tol: Annotated[
        float | None, typer.Option(metavar="1e-8", help="the relative error that auto aims at")
    ] = None,
    out: Out = None,
    force: Force = False,
    resume: Resume = None,
    settings: Parameter = None,
    data: DataFiles = None,
    find: Find = None,
    device: Device = None,
    budget: BudgetText = None,
    track: Track = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem; the solver is chosen from its equations.

    The run folder keeps the solution, the plan and result.json. Ctrl-C keeps
    what was computed: `safenet solve --resume RUN` goes on. The exit status is
    0 if solved, 1 if not solved or given up, 2 if it could not begin, 130 if
    interrupted.
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
    method: Annotated[
        str, typer.Option(help="safe-net, safe-net-literal, pinn, … (safenet list)")
    ] = "safe-net",
    recipe: Annotated[str, typer.Option(help="default, paper-1, … (safenet list)")] = "default",
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="the same seed gives the same result to the bit")
    ] = 0,
    out: Out = None,
    force: Force = False,
    resume: Resume = None,
    settings: Parameter = None,
    data: DataFiles = None,
    find: Find = None,
    precision: Annotated[str | None, typer.Option(help="float32 or float64")] = None,
    device: Device = None,
    budget: BudgetText = None,
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
    track: Track = None,
    as_json: AsJson = False,
) -> None:
    """Train a network on a problem: SAFE-NET, or another method.

    The run folder is that of `safenet solve`. Ctrl-C keeps what was computed:
    `safenet train --resume RUN` goes on. The exit status is 0 if the residual
    on unseen points is below 10 %, 1 if not, 130 if interrupted.
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
    """What both commands do, whichever solver is chosen."""
    if resume is not None:
        _only_resume(ctx)
    elif name is None:
        command = ctx.info_name or "solve"
        raise SafeNetError("no problem was given", f"e.g. safenet {command} wave, or --resume RUN")
    if device is not None:
        use_device(device)
    from ..views.describe import result_text

    after_import("jax", _cache_compilations)
    warnings.simplefilter("ignore", SafeNetWarning)  # the result names them
    sink = None
    if track is not None:
        from ..views.tracking import tracker

        sink = tracker(track)
    if resume is not None:
        folder, solution = resume, _resumed(resume, sink)
    else:
        problem = problem_named(str(name), settings).finding(*find or ()).with_data(*data or ())
        folder = out if out is not None else _free_folder(problem.name, force)
        solution = _solved(problem, chosen(), folder, force, budget, sink)
    if sink is not None:
        sink.close(solution.result.to_json())
    print(json.dumps(solution.result.to_json()) if as_json else result_text(solution, folder))
    # On a full disk there is a result to read and no folder.
    raise typer.Exit(solution.result.outcome.exit_status or int(solution.folder is None))


def _cache_compilations() -> None:
    from ..backend import cache_compilations

    cache_compilations()


def _solved(
    problem: Problem, solver: Any, folder: Path, force: bool, budget: str | None, sink: Any
) -> Solution:
    from ..solving.door import solve
    from ..views.console import ConsoleMonitor

    with on_ctrl_c(signal.default_int_handler), ConsoleMonitor(problem) as monitor:
        return solve(problem, solver, out=folder, force=force, budget=budget, monitor=_both(monitor, sink))


def _resumed(folder: Path, sink: Any) -> Solution:
    from ..solution import read_problem
    from ..solving.door import resume
    from ..views.console import ConsoleMonitor

    with on_ctrl_c(signal.default_int_handler), ConsoleMonitor(read_problem(folder)) as monitor:
        return resume(folder, monitor=_both(monitor, sink))


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
        if not typed or parameter.name in BESIDE_RESUME:
            continue
        given = "a problem" if parameter.name == "name" else max(parameter.opts, key=len)
        raise SafeNetError(
            f"--resume goes on with the plan of its run; {given} cannot be given with it",
            "leave it out, or start a new run with another --out",
        )


@contextmanager
def on_ctrl_c(action: Any) -> Iterator[None]:
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
    from ..run.progress import Both

    return monitor if sink is None else Both(monitor, sink)

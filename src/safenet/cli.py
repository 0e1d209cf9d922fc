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
from .errors import SafeNetError, SafeNetWarning, nearest
from .report.command import report

if TYPE_CHECKING:
    from .problem import Problem
    from .training.progress import Monitor

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
    "    safenet plot runs/wave -o wave.png",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DEVICES = {"cpu": "cpu", "gpu": "cuda"}  # ours → JAX's name

ProblemName = Annotated[str, typer.Argument(metavar="P", help="a library problem or a .toml file")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="a folder made by `safenet solve --out`")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON on standard output, progress elsewhere")]
Parameter = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="another value for a parameter (repeatable)"),
]

MethodOption = Annotated[
    list[str] | None,
    typer.Option("--option", "-O", metavar="NAME=VALUE", help="any other option of a method, e.g. -O k=L"),
]


def _problem(name: str, settings: list[str] | None = None) -> Problem:
    """A library name, or a file if it looks like one or exists."""
    from . import library
    from .problem.toml import read

    values = {}
    for setting in settings or ():
        parameter, equals, value = setting.partition("=")
        if not equals:
            raise SafeNetError(f"--set {setting} is not of the form NAME=VALUE", "e.g. --set beta=30")
        values[parameter.strip()] = _number(value, f"--set {setting}")
    path = Path(name)
    if name.endswith(".toml") or "/" in name or (path.is_file() and name not in library.names()):
        # The parameters first: a reference belongs to their values.
        return library.with_library_reference(read(path).with_parameters(**values))
    try:
        library.problem(name)
    except SafeNetError as error:
        raise SafeNetError(error.message, f"{error.remedy}; a file must end in .toml") from None
    return library.problem(name, **values)


def _free_folder(name: str, force: bool) -> Path:
    """runs/NAME, or the first of runs/NAME-2, runs/NAME-3, … that does not exist yet."""
    folder, count = Path("runs") / name, 1
    while folder.exists() and not force:
        count += 1
        folder = Path("runs") / f"{name}-{count}"
    return folder


def _options(given: list[str]) -> dict[str, Any]:
    """k=L, sigma_space=5 → the fields of a method, in the type each has."""
    from dataclasses import fields

    from .networks.methods import Method

    kinds = {item.name: type(getattr(Method(), item.name)) for item in fields(Method)}
    values: dict[str, Any] = {}
    for option in given:
        name, equals, text = (part.strip() for part in option.partition("="))
        if not equals or name not in kinds:
            fault = "names no option of a method" if equals else "is not of the form NAME=VALUE"
            raise SafeNetError(f"--option {option} {fault}", nearest(name, kinds))
        if kinds[name] is str:
            values[name] = text
        elif kinds[name] is bool:
            values[name] = _truth(text, option)
        elif kinds[name] is tuple:
            values[name] = tuple(float(_number(part, f"--option {option}")) for part in text.split(","))
        else:
            values[name] = kinds[name](float(_number(text, f"--option {option}")))
    return values


def _truth(text: str, option: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise SafeNetError(f"--option {option} is neither true nor false", "write e.g. domain=no")
    return words[text.lower()]


def _number(text: str, label: str) -> Any:
    """A number or a formula of numbers."""
    from .problem.text import Names, parse_expression

    try:
        return parse_expression(text, Names((), (), ()), label)
    except SafeNetError as error:
        raise SafeNetError(error.message, "give a number, e.g. 0.25, 1/3 or pi/4") from None


def _place(text: str) -> dict[str, float]:
    """x=0.3,t=0.5 → {"x": 0.3, "t": 0.5}"""
    point: dict[str, float] = {}
    for part in text.split(","):
        axis, equals, value = part.partition("=")
        if not equals or axis.strip() in point:
            fault = "gives an axis twice" if equals else "is not of the form x=0.3,t=0.5"
            raise SafeNetError(f"--at {text} {fault}", "give every axis once, e.g. --at x=0.3,t=0.5")
        point[axis.strip()] = float(_number(value, f"--at {text}"))
    return point


def _use_device(device: str) -> None:
    """Tell JAX before it starts; a device that is not there is an error, not a fallback."""
    import os

    if device not in DEVICES:
        raise SafeNetError(f"there is no device {device!r}", nearest(device, DEVICES))
    os.environ["JAX_PLATFORMS"] = DEVICES[device]
    import jax

    try:
        jax.devices()
    except (RuntimeError, AssertionError):
        remedy = "use --device cpu, or install the GPU build: pip install 'safenet[cuda]'"
        raise SafeNetError(f"this machine has no {device} that JAX can use", remedy) from None


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
    from .tracking import Both

    return monitor if sink is None else Both(monitor, sink)


def _check_picture(path: Path) -> None:
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise SafeNetError(f"cannot draw into {path}", "use a name that ends in .png, .pdf or .svg")


def _save_figure(figure: Any, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=150)
    except OSError as obstacle:
        raise SafeNetError(f"cannot write {path}: {obstacle.strerror}", "choose another place") from None


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """What there is: problems, methods, recipes, suites."""
    from . import library
    from .bench import names, suite
    from .networks.methods import DESCRIPTIONS
    from .training.recipes import RECIPES

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
    from .describe import describe, description_text

    if picture is not None:
        _check_picture(picture)
    problem = _problem(name, settings)
    facts = describe(problem)
    print(json.dumps(facts) if as_json else description_text(facts))
    if picture is not None:
        from .plot import plot_domain

        _save_figure(plot_domain(problem), picture)


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
        str | None, typer.Option(metavar="60s", help="aim at this time, e.g. 60s or 5m")
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

    Ctrl-C keeps what was computed: `safenet solve --resume RUN` goes on.
    """
    if resume is not None:
        _only_resume(ctx)
    if device is not None:
        _use_device(device)
    from .backend import cache_compilations
    from .console import ConsoleMonitor
    from .solving import resume as continue_run
    from .solving import solve as solve_problem

    cache_compilations()
    sink = None
    if track is not None:
        from .tracking import tracker

        sink = tracker(track)
    if resume is not None:
        from .solution import read_problem

        with _on_ctrl_c(signal.default_int_handler), ConsoleMonitor(read_problem(resume)) as monitor:
            solution = continue_run(resume, monitor=_both(monitor, sink))
        folder = resume
    else:
        if name is None:
            raise SafeNetError("no problem was given", "e.g. safenet solve wave, or --resume RUN")
        problem = _problem(name, settings)
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
        options |= _options(more or [])
        warnings.simplefilter("ignore", SafeNetWarning)  # the result names them
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
        from .describe import result_text

        print(result_text(solution, folder))
    if solution.result["outcome"] == "interrupted":
        raise typer.Exit(130)


@app.command("eval")
def eval_(
    run: RunFolder,
    at: Annotated[list[str], typer.Option(metavar="x=0.3,t=0.5", help="a point (repeatable)")],
    diff: Annotated[str | None, typer.Option(metavar="AXES", help="a derivative, e.g. x or xx or xt")] = None,
    as_json: AsJson = False,
) -> None:
    """Values of a solved run at points."""
    from math import isfinite

    from .problem.names import Names
    from .solution import load

    solution = load(run)
    if diff is not None:
        problem = solution.problem
        found = Names(problem.axis_names, problem.unknowns).derivative(f"{problem.unknowns[0]}_{diff}")
        if found is None:
            axes = ", ".join(problem.axis_names)
            raise SafeNetError(
                f"--diff {diff!r} is not made of axes", f"the axes are {axes}; e.g. --diff {axes[0]}"
            )
        for axis, order in zip(problem.axis_names, found[1], strict=True):
            solution = solution.diff(axis, order)
    answers: list[dict[str, Any]] = []
    for place in at:
        point = _place(place)
        values = solution(**point)
        fields = values if isinstance(values, dict) else {solution.problem.unknowns[0]: values}
        # What an interrupted march has not reached is nan, which JSON does not have.
        numbers = {field: float(value) if isfinite(value) else None for field, value in fields.items()}
        answers.append({"at": point, **numbers})
    if as_json:
        print(json.dumps(answers[0] if len(answers) == 1 else answers))
        return
    suffix = f"_{diff}" if diff else ""
    unknown = "unknown" if solution.problem.region is None else "unknown: outside the domain"
    for answer in answers:
        place = ", ".join(f"{axis}={value:g}" for axis, value in answer["at"].items())
        for field in solution.problem.unknowns:
            value = answer[field]
            shown = unknown if value is None else f"{value:.12g}"
            print(f"{field}{suffix}({place}) = {shown}")


@app.command()
def plot(
    run: RunFolder,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F.png", help=".png, .pdf or .svg")],
) -> None:
    """A picture of a solved run: field, reference, error, loss history."""
    from .solution import load

    _check_picture(output)
    _save_figure(load(run).plot(), output)
    print(output)


@app.command()
def spectrum(
    subject: Annotated[
        str, typer.Argument(metavar="RUN|P", help="a run folder, a library problem or a .toml file")
    ],
    method: Annotated[str, typer.Option(help="of a problem: whose network (safenet list)")] = "safe-net",
    adam: Annotated[
        int, typer.Option(metavar="N", help="of a problem: after N iterations of Adam (0: untrained)")
    ] = 0,
    operator: Annotated[str | None, typer.Option(help="hessian or gauss-newton")] = None,
    terms: Annotated[bool, typer.Option("--terms", help="also each term of the loss")] = False,
    seen_by: Annotated[
        str | None, typer.Option(metavar="OPTIMISER", help="also as lbfgs or levenberg sees it")
    ] = None,
    dense: Annotated[
        bool | None, typer.Option("--dense/--lanczos", help="all eigenvalues, or Lanczos quadrature")
    ] = None,
    probes: Annotated[
        int | None, typer.Option(help="random vectors of the quadrature (the paper: 100)")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Lanczos steps of each (the paper: 200)")] = None,
    points: Annotated[int | None, typer.Option(help="points inside the domain")] = None,
    condition_points: Annotated[int | None, typer.Option(help="points on each condition")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**63 - 1, help="of the network and the probes")] = 0,
    settings: Parameter = None,
    more: MethodOption = None,
    device: Annotated[str | None, typer.Option(help="cpu or gpu")] = None,
    picture: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="F.png", help="draw the spectral densities")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Why does it train? Eigenvalues of the loss's curvature, tangent kernels, and what they advise.

    On a CPU large networks are sampled coarsely; --points, --probes and --steps ask for more.
    """
    if picture is not None:
        _check_picture(picture)
    if device is not None:
        _use_device(device)
    from .analysis import spectrum as analyse
    from .backend import cache_compilations
    from .solution import load

    cache_compilations()
    given: dict[str, Any] = {"method": method, "adam": adam, **_options(more or [])}
    a_run = (Path(subject) / "plan.json").is_file()
    if a_run and (adam or more or settings or method != "safe-net"):
        raise SafeNetError(
            f"{subject} is a run, which has its own network",
            "leave out --method, --adam, --option and --set, or name a problem",
        )
    analysis = analyse(
        load(subject) if a_run else _problem(subject, settings),
        operator=operator,
        terms=terms,
        optimiser=seen_by,
        dense=dense,
        probes=probes,
        steps=steps,
        interior=points,
        condition=condition_points,
        seed=seed,
        say=lambda text: print(text, file=sys.stderr),
        **given,
    )
    print(json.dumps(analysis.to_json()) if as_json else analysis)
    if picture is not None:
        _save_figure(analysis.plot(), picture)


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

"""The commands. Each parses its options, calls the library, and prints; no logic of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .errors import SafeNetError

if TYPE_CHECKING:
    from .problem import Problem

app = typer.Typer(
    help="Solve a PDE from its symbols.\n\n"
    "P is a problem of the library (safenet list) or a file such as\n\n"
    '    name = "heat"\n\n'
    '    unknowns = ["u"]\n\n'
    '    equations = ["u_t = u_xx/10"]\n\n'
    '    conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]\n\n'
    "    domain = { x = [0, 1], t = [0, 1] }\n\n"
    "Try: safenet solve wave --out runs/wave && safenet plot runs/wave -o wave.png",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

ProblemName = Annotated[str, typer.Argument(metavar="P", help="a library problem or a .toml file")]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="a folder made by `safenet solve --out`")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON on standard output, progress elsewhere")]
Parameter = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="another value for a parameter (repeatable)"),
]


def _problem(name: str, settings: list[str] | None = None) -> Problem:
    """A library name, or a file if it looks like one or exists."""
    from . import library
    from .problem.toml import read

    path = Path(name)
    if name.endswith(".toml") or "/" in name or (path.is_file() and name not in library.names()):
        problem = library.with_library_reference(read(path))
    else:
        try:
            problem = library.problem(name)
        except SafeNetError as error:
            remedy = f"{error.remedy}; a file must end in .toml"
            raise SafeNetError(error.message, remedy) from None
    if not settings:
        return problem
    values = {}
    for setting in settings:
        parameter, equals, value = setting.partition("=")
        if not equals:
            raise SafeNetError(f"--set {setting} is not of the form NAME=VALUE", "e.g. --set beta=30")
        values[parameter.strip()] = _number(value, f"--set {setting}")
    changed = problem.with_parameters(**values)
    return library.problem(name, **values) if name in library.names() else changed


def _number(text: str, label: str) -> Any:
    from .problem.text import Names, parse_expression

    return parse_expression(text, Names((), (), ()), label)


def _seconds(text: str | None) -> float | None:
    return None if text is None else float(text.removesuffix("s"))


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """What there is: problems, methods, recipes."""
    from . import library
    from .networks.methods import DESCRIPTIONS
    from .training.recipes import RECIPES

    if as_json:
        listing = {
            "problems": list(library.names()),
            "methods": list(DESCRIPTIONS),
            "recipes": list(RECIPES),
            "suites": [],
        }
        print(json.dumps(listing))
        return
    titles = {name: library.problem(name).title for name in library.names()}
    for heading, entries in (("problems", titles), ("methods", DESCRIPTIONS), ("recipes", RECIPES)):
        print(heading)
        for name, text in entries.items():
            print(f"  {name:<20} {text}")
        print()


@app.command()
def show(name: ProblemName, settings: Parameter = None, as_json: AsJson = False) -> None:
    """Equations, conditions, what the symbols give away, and what would be done."""
    from .describe import describe, description_text

    problem = _problem(name, settings)
    facts = describe(problem)
    print(json.dumps(facts) if as_json else description_text(facts))


@app.command()
def solve(
    name: Annotated[str | None, typer.Argument(metavar="P", help="a library problem or a .toml file")] = None,
    method: Annotated[str, typer.Option(help="safe-net, safe-net-literal, pinn")] = "safe-net",
    recipe: Annotated[str, typer.Option(help="default, paper-1, … (safenet list)")] = "default",
    seed: Annotated[int, typer.Option(help="the same seed gives the same result to the bit")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="the run folder (default: runs/P)")] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite an earlier run in that folder")] = False,
    resume: Annotated[Path | None, typer.Option(metavar="RUN", help="go on with an interrupted run")] = None,
    settings: Parameter = None,
    precision: Annotated[str | None, typer.Option(help="float32 or float64")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or gpu")] = None,
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
    normalise: Annotated[str | None, typer.Option(help="point, fixed or none")] = None,
    domain: Annotated[
        bool | None, typer.Option("--domain/--no-domain", help="features from the conditions")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve a problem; the run folder keeps the solution, the plan and result.json.

    Ctrl-C keeps what was computed: `safenet solve --resume RUN` goes on.
    """
    import os

    if device is not None:
        if device not in ("cpu", "gpu", "cuda"):
            raise SafeNetError(f"there is no device {device!r}", "use cpu or gpu")
        os.environ["JAX_PLATFORMS"] = "cpu" if device == "cpu" else "cuda"
    from .backend import cache_compilations
    from .console import ConsoleMonitor
    from .solving import resume as continue_run
    from .solving import solve as solve_problem

    cache_compilations()
    if resume is not None:
        if name is not None:
            raise SafeNetError("give either a problem or --resume RUN, not both", "the run knows its problem")
        from .solution import read_problem

        with ConsoleMonitor(read_problem(resume)) as monitor:
            solution = continue_run(resume, monitor=monitor)
        folder = resume
    else:
        if name is None:
            raise SafeNetError("no problem was given", "e.g. safenet solve wave, or --resume RUN")
        problem = _problem(name, settings)
        folder = out if out is not None else Path("runs") / problem.name
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
        with ConsoleMonitor(problem) as monitor:
            solution = solve_problem(
                problem,
                method=method,
                recipe=recipe,
                seed=seed,
                out=folder,
                force=force,
                monitor=monitor,
                precision=precision,
                scale=scale,
                interior=points,
                condition=condition_points,
                sampler=sampler,
                **options,
            )
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
    from .solution import load

    solution = load(run)
    for axis in diff or "":
        solution = solution.diff(axis)
    answers: list[dict[str, Any]] = []
    for place in at:
        point = {}
        for part in place.split(","):
            axis, equals, value = part.partition("=")
            if not equals:
                raise SafeNetError(f"--at {place} is not of the form x=0.3,t=0.5")
            point[axis.strip()] = float(_number(value, f"--at {place}"))
        values = solution(**point)
        fields = values if isinstance(values, dict) else {solution.problem.unknowns[0]: values}
        answers.append({"at": point, **{field: float(value) for field, value in fields.items()}})
    if as_json:
        print(json.dumps(answers[0] if len(answers) == 1 else answers))
        return
    suffix = f"_{diff}" if diff else ""
    for answer in answers:
        place = ", ".join(f"{axis}={value:g}" for axis, value in answer["at"].items())
        for field in solution.problem.unknowns:
            print(f"{field}{suffix}({place}) = {answer[field]:.12g}")


@app.command()
def plot(
    run: RunFolder,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="F.png", help=".png, .pdf or .svg")],
) -> None:
    """A picture of a solved run: field, reference, error, loss history."""
    from .solution import load

    solution = load(run)
    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise SafeNetError(f"cannot draw into {output}", "use a name that ends in .png, .pdf or .svg")
    output.parent.mkdir(parents=True, exist_ok=True)
    solution.plot().savefig(output, dpi=150)
    print(output)


def main() -> None:
    """Run a command; what the user did wrong is one message and exit code 2."""
    try:
        app()
    except SafeNetError as error:
        print(f"safenet: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("safenet: interrupted", file=sys.stderr)
        raise SystemExit(130) from None

"""Commands about a run: values, files, pictures, spectra. Options in, a file or lines out; no logic of their own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import SafeNetError
from .arguments import (
    AsJson,
    MethodOption,
    Parameter,
    RunFolder,
    check_picture,
    held_at,
    method_options,
    number,
    point,
    problem_named,
    save_figure,
    use_device,
)

if TYPE_CHECKING:
    from ..problem import Problem


def evaluate(
    run: RunFolder,
    at: Annotated[list[str], typer.Option(metavar="x=0.3,t=0.5", help="a point (repeatable)")],
    diff: Annotated[str | None, typer.Option(metavar="AXES", help="a derivative, e.g. x or xx or xt")] = None,
    as_json: AsJson = False,
) -> None:
    """Print the values of a run at given points.

    `safenet export` writes them on a whole grid, into a file.

    Points outside the domain are reported; if all are outside, that is an error.
    """
    from math import isfinite, nan

    from ..problem.language.names import Names
    from ..solution import OUTSIDE, OutsideError, load

    solution = load(run)
    problem = solution.problem
    if diff is not None:
        found = Names(problem.axis_names, problem.unknowns).derivative(f"{problem.unknowns[0]}_{diff}")
        if found is None:
            axes = ", ".join(problem.axis_names)
            raise SafeNetError(
                f"--diff {diff!r} is not made of axes", f"the axes are {axes}; e.g. --diff {axes[0]}"
            )
        for axis, order in zip(problem.axis_names, found[1], strict=True):
            solution = solution.diff(axis, order)
    answers: list[dict[str, Any]] = []
    outside: dict[int, str] = {}
    for index, text in enumerate(at):
        place = point(text, "--at")
        shown = _shown(place)
        fields: dict[str, Any]
        try:
            fields, beyond = solution.sampled(place)
            if beyond:
                outside[index] = f"{shown} is outside the domain"
        except OutsideError as error:
            fields = dict.fromkeys(problem.unknowns, nan)
            outside[index] = error.message if len(at) == 1 else f"{shown}: {error.message}"
        # Values that an interrupted march has not reached are nan, which JSON does not have.
        numbers = {field: float(value) if isfinite(value) else None for field, value in fields.items()}
        answers.append({"at": place, **numbers})
    if len(outside) == len(at):
        raise SafeNetError("\n  ".join(outside.values()), OUTSIDE)
    for message in outside.values():
        print(f"safenet: {message}", file=sys.stderr)
    if as_json:
        print(json.dumps(answers[0] if len(answers) == 1 else answers))
        return
    suffix = f"_{diff}" if diff else ""
    for index, answer in enumerate(answers):
        unknown = "unknown: outside the domain" if index in outside else "unknown: not computed yet"
        for field in problem.unknowns:
            value = answer[field]
            print(
                f"{field}{suffix}({_shown(answer['at'])}) = {unknown if value is None else f'{value:.12g}'}"
            )


def _shown(place: dict[str, float]) -> str:
    return ", ".join(f"{axis}={value:g}" for axis, value in place.items())


def export(
    run: RunFolder,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="F.csv", help=".csv, .npz, .nc, .vtr, .vtu or .pvd")
    ],
    grid: Annotated[
        str | None,
        typer.Option(metavar="201,101", help="points along each axis in turn, or along all (201), or x=201"),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="t=0.5", help="only at this value of an axis (repeatable)"),
    ] = None,
    derivatives: Annotated[
        str, typer.Option("--with", metavar="u_x,u_t", help="derivatives beside the fields")
    ] = "",
) -> None:
    """Write the values of a run on a grid into a file.

    The extension chooses the format.

    \b
    .csv   a line for each point in the domain: x,t,u
    .npz   for NumPy: the ticks x, t and arrays u[x, t], nan outside a region
    .nc    netCDF, for xarray and others
    .vtr   for ParaView; .pvd where there is time beside two axes of space or more
    .vtu   for ParaView, on cells that follow the boundary of a region

    \b
    safenet export runs/wave -o wave.csv --grid 201,101 --with u_x,u_t
    safenet export runs/wave -o end.npz --at t=1 --grid 1001
    """
    from ..run.result import Outcome
    from ..solution import load

    solution = load(run)
    names = [name for name in map(str.strip, derivatives.split(",")) if name]
    print(solution.export(output, derivatives=names, **_grid(solution.problem, grid, at or [])))
    if solution.result.outcome != Outcome.SOLVED and solution.result.residual is None:
        print("safenet: the run has not reached the whole domain; nan where it has not", file=sys.stderr)


def _grid(problem: Problem, grid: str | None, at: list[str]) -> dict[str, Any]:
    """201,101 or x=201 and t=0.5 → {"x": 201, "t": [0.5]}; plain counts are for the axes that are not held."""
    ticks = held_at(at)
    if grid is None:
        return ticks
    if "=" in grid:
        counts = point(grid, "--grid")
        for axis in counts.keys() & ticks.keys():
            raise SafeNetError(f"{axis} has a number of points and a value", "give --grid or --at for it")
        return {**counts, **ticks}
    free = [axis for axis in problem.axis_names if axis not in ticks]
    numbers = [float(number(part, f"--grid {grid}")) for part in grid.split(",")]
    if len(numbers) not in (1, len(free)):
        example = ",".join(["101"] * len(free))
        raise SafeNetError(
            f"--grid {grid} has {len(numbers)} numbers for {len(free)} axes ({', '.join(free)})",
            f"give one for each, e.g. --grid {example}, or one for all",
        )
    return {**dict(zip(free, numbers if len(numbers) > 1 else numbers * len(free), strict=True)), **ticks}


def plot(
    run: RunFolder,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="F.png", help=".png, .pdf or .svg; a film: .gif or .mp4")
    ],
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="t=0.5", help="only at this value of an axis (repeatable)"),
    ] = None,
    field: Annotated[
        list[str] | None, typer.Option(metavar="u", help="only this unknown (repeatable; default: all)")
    ] = None,
    derivative: Annotated[
        list[str] | None, typer.Option(metavar="u_x", help="this derivative (repeatable)")
    ] = None,
    dpi: Annotated[int, typer.Option(min=20, max=1200, help="dots to the inch")] = 150,
    style: Annotated[str, typer.Option(help="light, dark or transparent")] = "light",
    title: Annotated[bool, typer.Option(help="the name and the error above a picture")] = True,
    frames: Annotated[int, typer.Option(min=2, max=2000, help="pictures of a film")] = 60,
) -> None:
    """Draw a picture or a film of a run.

    Fields with their reference and error where one is known; a field of
    x, y and t at several times; a system of ordinary equations with its
    phase portrait.

    \b
    safenet plot runs/wave -o wave.png --at t=0 --at t=0.5
    safenet plot runs/wave -o slope.pdf --derivative u_x --style transparent
    safenet plot runs/wave -o wave.gif
    """
    from ..solution import load

    film = output.suffix.lower() in (".gif", ".mp4")
    if film:
        from ..views.animate import check_film

        check_film(output)
    else:
        check_picture(output)
    solution = load(run)
    what = [*(field or ()), *(derivative or ())]
    held: dict[str, Any] = dict(held_at(at or []))
    if film:
        solution.animate(*what, frames=frames, style=style, **held).save(output, dpi=dpi)
    else:
        save_figure(solution.plot(*what, style=style, title=title, **held), output, dpi)
    print(output)


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
        bool, typer.Option("--dense", help="all eigenvalues, which give a condition number")
    ] = False,
    lanczos: Annotated[
        bool, typer.Option("--lanczos", help="Lanczos quadrature, which bounds it from below")
    ] = False,
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
    """Explain why a network trains well or badly.

    Eigenvalues of the curvature of the loss, tangent kernels, and advice in words.

    On a CPU large networks are sampled coarsely; --points, --probes and --steps ask for more.
    """
    if dense and lanczos:
        raise SafeNetError("--dense and --lanczos exclude each other", "give one of them")
    if picture is not None:
        check_picture(picture)
    if device is not None:
        use_device(device)
    from ..analysis import spectrum as analyse
    from ..backend import cache_compilations
    from ..solution import load

    cache_compilations()
    given: dict[str, Any] = {"method": method, "adam": adam, **method_options(more or [])}
    a_run = (Path(subject) / "plan.json").is_file()
    if a_run and (adam or more or settings or method != "safe-net"):
        raise SafeNetError(
            f"{subject} is a run, which has its own network",
            "leave out --method, --adam, --option and --set, or name a problem",
        )
    analysis = analyse(
        load(subject) if a_run else problem_named(subject, settings),
        operator=operator,
        terms=terms,
        optimiser=seen_by,
        dense=dense or (False if lanczos else None),
        probes=probes,
        steps=steps,
        points=points,
        condition_points=condition_points,
        seed=seed,
        say=lambda text: print(text, file=sys.stderr),
        **given,
    )
    print(json.dumps(analysis.to_json()) if as_json else analysis)
    if picture is not None:
        save_figure(analysis.plot(), picture)

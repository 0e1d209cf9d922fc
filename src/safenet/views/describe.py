"""A problem and a result as text: what `safenet show` and `safenet solve` print."""

from __future__ import annotations

import shlex
from itertools import groupby
from pathlib import Path
from typing import Any

from ..inverse.posterior import Posterior
from ..measure.scores import POOLED, l2re_text
from ..problem import Problem
from ..problem.facts.posedness import doubts
from ..problem.facts.structure import axis_kinds, named_frequencies
from ..problem.facts.verify import proven
from ..problem.language.notation import written
from ..problem.numbers import Curve, Number
from ..run.result import Outcome, Result, pooled
from ..solution import Solution
from ..solving.plans import plan_for


def describe(problem: Problem, networks: bool = False) -> dict[str, Any]:
    """Everything the symbols prove, as data; with `networks`, also their features and sizes, which needs JAX."""
    plan = plan_for(problem if problem.data else problem.forward())
    return {
        "name": problem.name,
        "title": problem.title,
        "unknowns": list(problem.unknowns),
        "equations": [equation.text for equation in problem.equations],
        "conditions": [{"text": c.text, "kind": c.kind} for c in problem.conditions],
        "domain": {axis.name: [str(axis.lower), str(axis.upper)] for axis in problem.axes},
        "region": _region(problem),
        "warnings": list(doubts(problem)),
        "parameters": {symbol.name: str(value) for symbol, value in problem.parameters.items()},
        "unknown": {name: _number(number) for name, number in problem.unknown.items()},
        "data": [f"{len(m.values)} values of {m.name}" for m in problem.measured],
        "exact": None if problem.exact is None else {k: written(v) for k, v in problem.exact.items()},
        "exact_proven": None if problem.exact is None else proven(problem),
        "reference_accuracy": problem.reference_accuracy,
        "linear": problem.linear,
        "axes": {
            field: dict(zip(problem.axis_names, kinds, strict=True))
            for field, kinds in axis_kinds(problem).items()
        },
        "named_frequencies": dict(
            zip(problem.axis_names, map(list, named_frequencies(problem)), strict=True)
        ),
        **(_networks(problem) if networks else {}),
        "plan": {
            "phases": [part.name for part in plan.parts],
            "reasons": list(plan.reasons),
        },
    }


def _networks(problem: Problem) -> dict[str, Any]:
    """Features, the frequencies of the paper's network, and the sizes of both networks."""
    import jax
    import numpy as np

    from ..features import FourierProducts, domain_expressions, fourier_products
    from ..networks.methods import METHODS, build
    from ..train.solver import Train

    key = jax.random.key(0)
    literal = build(problem, METHODS["safe-net-literal"], key=key)
    network = build(problem, Train().plan(problem).network, key=key)
    products = fourier_products(problem, 128, "harmonic", "unit", key=key, dtype=np.dtype(float))
    omega = (
        np.asarray(products.omega) if isinstance(products, FourierProducts) else None
    )  # else the frequencies are of pairs of axes
    return {
        "features": [written(expression) for expression in domain_expressions(problem)],
        "literal_frequencies": {}
        if omega is None
        else {name: [float(v) for v in omega[:, i]] for i, name in enumerate(problem.axis_names)},
        "parameters_count": {"safe-net-literal": literal.parameters, "safe-net": network.parameters},
    }


def _number(number: Number) -> str:
    """a function of x, from 0.1, above 0"""
    bounds = {"above": number.above, "below": number.below}
    of = [f"a function of {', '.join(number.of)}"] if isinstance(number, Curve) else []
    return ", ".join([*of, f"from {number.start}", *(f"{k} {v}" for k, v in bounds.items() if v is not None)])


def _region(problem: Problem) -> dict[str, Any] | None:
    """The shape, its area or volume, the length or area of each piece, the re-entrant corners of the plane; None for a
    plain box."""
    region, plane = problem.region, problem.plane
    if region is None:
        return None
    return {
        "shape": str(region.shape),
        "area" if plane else "volume": region.measure,
        "pieces": {name: region.extent(name) for name in region.pieces},
        "reentrant_corners": [list(corner.point) for corner in plane.corners] if plane else [],
    }


def description_text(facts: dict[str, Any]) -> str:
    lines = [f"{facts['name']}" + (f": {facts['title']}" if facts["title"] else "")]

    def section(title: str, entries: list[str]) -> None:
        if entries:
            lines.append(f"\n{title}")
            lines.extend(f"  {entry}" for entry in entries)

    section("equations", facts["equations"])
    section("conditions", [f"{c['text']:<44} {c['kind']}" for c in facts["conditions"]])
    section("domain", [f"{low} ≤ {name} ≤ {high}" for name, (low, high) in facts["domain"].items()])
    region = facts["region"]
    if region is not None:
        corners = [f"({x:g}, {y:g})" for x, y in region["reentrant_corners"]]
        size, part = ("area", "length") if "area" in region else ("volume", "area")
        section(
            "region",
            [
                f"{region['shape']}, {size} {region[size]:.6g}",
                "pieces: " + ", ".join(f"{k} ({part} {v:.4g})" for k, v in region["pieces"].items()),
                *([f"re-entrant corners: {', '.join(corners)}"] if corners else []),
            ],
        )
    section("warnings", facts["warnings"])
    known = {name: value for name, value in facts["parameters"].items() if name not in facts["unknown"]}
    section("parameters", [f"{name} = {value}" for name, value in known.items()])
    section("to be found", [f"{name}: {text}" for name, text in facts["unknown"].items()])
    section("data", facts["data"])
    if facts["exact"] is not None:
        how = "proven symbolically" if facts["exact_proven"] else "checked numerically"
        section(
            f"exact solution ({how}; used only to score)", [f"{k} = {v}" for k, v in facts["exact"].items()]
        )
    elif facts["reference_accuracy"] is not None:
        section(
            "reference", [f"independent, accurate to {facts['reference_accuracy']:.0e}; used only to score"]
        )
    section("features taken from the conditions", facts.get("features", []))
    section(
        "along each axis",
        [
            f"{field}: " + ", ".join(f"{axis} {kind}" for axis, kind in kinds.items())
            for field, kinds in facts["axes"].items()
        ],
    )
    section(
        "frequencies in the data",
        [
            f"{axis}: {', '.join(f'{v:.6g}' for v in values)}"
            for axis, values in facts["named_frequencies"].items()
            if values
        ],
    )
    literal = facts.get("literal_frequencies", {})
    section(
        "frequencies of safe-net-literal",
        [
            f"{axis}: {values[0]:.6g}, {values[1]:.6g}, … {values[-1]:.6g} ({len(values)})"
            if len(values) > 2
            else f"{axis}: {', '.join(f'{v:.6g}' for v in values)}"
            for axis, values in literal.items()
        ],
    )
    section(
        "parameters of the networks",
        [f"{name}: {count}" for name, count in facts.get("parameters_count", {}).items()],
    )
    section(
        "what `safenet solve` would do",
        [*facts["plan"]["reasons"], "phases: " + _phases(facts["plan"]["phases"])],
    )
    return "\n".join(lines)


def _phases(names: list[str]) -> str:
    """Repeated phases as one: marching, marching → marching (in up to 2 passes)."""
    runs = [(name, len(list(group))) for name, group in groupby(names)]
    return ", then if needed ".join(
        name if count == 1 else f"{name} (in up to {count} passes)" for name, count in runs
    )


def result_text(solution: Solution, folder: Path) -> str:
    """The result of a solve as text: warnings, the error, then how it was computed and what to do next.

    The errors are those that the solve has measured and recorded; measuring again would only take time.
    """
    result = solution.result
    lines = [f"{solution.problem.name}: {result.outcome}"]
    lines += found_lines(solution)
    # Before the errors, which say little about a solution that is one of many.
    lines += [f"  warning         {text}" for text in result.warnings]
    lines += [*_error_lines(solution), *_estimate_lines(result)]
    if result.residual is None:
        lines.append(f"  residual        not known: {_gap(result)}")
    else:
        lines.append(f"  residual        {result.residual:.2e} (relative, on unseen points)")
    lines.append(
        f"  work            {_count(result.iterations, 'iteration')}, {_count(result.evaluations, 'evaluation')}, "
        f"{_count(result.parameters, 'parameter' if result.method else 'coefficient')}, {result.wall_seconds:.1f} s"
    )
    lines += [f"  why             {reason}" for reason in result.reasons]
    lines.append(f"  stopped         {result.stop_reason}")
    if result.stopped or not result.outcome.complete:
        command = "train" if result.method else "solve"
        lines.append(f"  continue with   safenet {command} --resume {shlex.quote(str(folder))}")
    if solution.folder is not None:
        lines.append(f"  saved in        {folder}  (safenet plot {shlex.quote(str(folder))} -o picture.png)")
    return "\n".join(lines)


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'s' * (number != 1)}"


def found_lines(solution: Solution) -> list[str]:
    """The numbers that were found, with their standard errors, and how well each kind of data is met."""
    lines = [f"  {name:<15} {number}" for name, number in solution.found.items()]
    for part in solution.result.fit:
        chi = "" if part["chi"] is None else f", {part['chi']:.2f} sigma"
        rms = f"{part['rms']:.2e} (root mean square{chi})"
        lines.append(f"  fit             {part['values']} values of {part['of']}, residual {rms}")
    return lines


def _estimate_lines(result: Result) -> list[str]:
    """The estimated error, over all fields and, if there are several, of each."""
    error = pooled(result.estimate)
    if error is None:
        return []
    # The residual that is left after a correction is rougher than corrections can represent.
    rough = result.estimate_at_least
    more, why = (" or more", "; part of the residual is too rough to be explained") if rough else ("", "")
    if result.solver == Posterior.name:
        return [f"  error           {_size(error)} (one standard deviation given the data, relative)"]
    numbers = " for these numbers" if result.found else ""
    after = numbers if result.estimate_since is None else f"{numbers} from t = {result.estimate_since:.3g} on"
    lines = [f"  error           {_size(error)}{more} (estimated relative error{after}{why})"]
    if isinstance(result.estimate, dict):
        each = (f"{name} {_size(value)}" for name, value in result.estimate.items() if name != POOLED)
        lines.append(f"                  of each field: {', '.join(each)}")
    return lines


def _size(error: float) -> str:
    return f"{error:.0e}" if error >= 1e-16 else "below 1e-16"


def _error_lines(solution: Solution) -> list[str]:
    """L2RE and the largest error; none without a reference. Values that are not finite are recorded as None."""
    result = solution.result
    if pooled(result.l2re) is None:
        return [f"  L2RE            not known: {_gap(result)}"] if solution.problem.has_reference else []
    lines = [f"  L2RE            {l2re_text(result.l2re, result.reference_accuracy)}"]
    if isinstance(result.l2re, dict):
        lines.append(
            "                  pooled: all fields as one vector, large ones weigh more; mean: over the fields"
        )
    return [*lines, f"  largest error   {result.max_error:.2e}"]


def _gap(result: Result) -> str:
    """Why there is no number."""
    if result.method and not result.iterations:
        return "no step was made"
    short = not result.outcome.complete or result.outcome == Outcome.GIVEN_UP
    return "the run has not reached the whole domain" if short else "the solution is not finite everywhere"

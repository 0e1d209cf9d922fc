"""A solution as a small table: the result, its error, and how it was computed."""

from __future__ import annotations

from ..measure.scores import l2re_text
from ..run.notebook import table
from ..run.result import pooled
from ..solution import Solution
from .cuts import suffix
from .look import number

MOST = 3  # reasons and warnings that are shown


def rows(solution: Solution) -> list[tuple[str, str]]:
    """(name, text) of everything that a reader should know first."""
    problem, result = solution.problem, solution.result
    found = [("equations", "; ".join(equation.text for equation in problem.equations))]
    found += [(name, str(value)) for name, value in solution.found.items()]
    if pooled(result.l2re) is not None:
        found.append(("relative L² error", l2re_text(result.l2re, result.reference_accuracy)))
    if (estimate := pooled(result.estimate)) is not None:
        found.append(("estimated error", _sizes(result.estimate, estimate)))
    if result.residual is not None:
        found.append(("residual", f"{number(result.residual)} (relative, on unseen points)"))
    found += [("warning", text) for text in result.warnings[:MOST]]
    if result.reasons:
        found.append(("why", "; ".join(result.reasons[:MOST])))
    if result.solver:
        by = " ".join(filter(None, [result.solver, result.method, result.recipe]))
        count = f"{result.parameters:,} coefficient{'s' * (result.parameters != 1)}"
        found.append(("solver", f"{by}, {count}, {result.wall_seconds:.1f} s"))
    if solution.folder is not None:
        found.append(("saved in", str(solution.folder)))
    return found


def _sizes(estimate: object, over_all: float) -> str:
    def size(value: float) -> str:
        return number(value, 0) if value >= 1e-16 else "below 10⁻¹⁶"

    if not isinstance(estimate, dict):
        return size(over_all)
    each = ", ".join(f"{name} {size(value)}" for name, value in estimate.items() if value is not None)
    return each


def solution_html(solution: Solution) -> str:
    """The table of a solution; for a derivative, only its name."""
    heading = solution.problem.title or solution.problem.name
    if any(solution.orders):
        names = ", ".join(f"{name}_{suffix(solution)}" for name in solution.problem.unknowns)
        return table(f"{heading}: {names}", [])
    return table(heading, rows(solution), str(solution.result.outcome) if solution.result.problem else "")

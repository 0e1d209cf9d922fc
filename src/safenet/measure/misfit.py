"""r_i = (model − value)/σ at the measured points: how well a solution fits its data, and which data it does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..fields.field import is_network
from ..problem import Problem
from ..problem.data import VALUE, Measured
from ..problem.evaluate import evaluate
from ..problem.jets import coordinate
from .heldout import jets_at
from .relative import TINY
from .thresholds import FAR, MOSTLY, MUCH_LESS, NEIGHBOURS, NORMAL, OTHER_UNITS, ROUNDED, UNLIKELY


def misfit(problem: Problem, field: Any) -> list[np.ndarray]:
    """model − value at the points of each measured expression."""
    found = []
    for measured in problem.measured:
        values = jets_at(problem, field, measured, measured.points) | {coordinate(VALUE): measured.values}
        with np.errstate(all="ignore"):
            gap = np.asarray(evaluate(problem.value(measured.residual), values, np), dtype=float)
        found.append(np.broadcast_to(gap, measured.values.shape))
    return found


def scales(problem: Problem) -> list[float]:
    """The root mean square of each measured expression, used for σ where σ is not known."""
    return [float(np.sqrt(np.mean(m.values**2))) or 1.0 for m in problem.measured]


def sigmas(problem: Problem) -> list[Any]:
    """σ of each measured expression; where it is not known, the root mean square of its values."""
    pairs = zip(problem.measured, scales(problem), strict=True)
    return [size if measured.sigma is None else measured.sigma for measured, size in pairs]


def noise_known(problem: Problem) -> bool:
    return all(measured.sigma is not None for measured in problem.measured)


@dataclass(frozen=True)
class Fitted:
    """The fit of one measured expression: `rms` of model − value, and `chi`, the root mean square of (model − value)/σ,
    None if σ is not known."""

    name: str
    count: int
    rms: float
    chi: float | None


def fitted(problem: Problem, field: Any) -> list[Fitted]:
    return [
        Fitted(
            measured.name,
            len(gap),
            float(np.sqrt(np.mean(gap**2))),
            None if measured.sigma is None else float(np.sqrt(np.mean((gap / measured.sigma) ** 2))),
        )
        for measured, gap in zip(problem.measured, misfit(problem, field), strict=True)
    ]


def complaints(problem: Problem, field: Any, solved: float) -> list[str]:
    """One sentence for each thing in the data that the solution contradicts; `solved` is its relative residual."""
    said: list[str] = []
    for measured, gap in zip(problem.measured, misfit(problem, field), strict=True):
        units = _units(measured, gap)
        noise = _noise(gap) if measured.sigma is None else measured.sigma
        beyond = np.maximum(noise, _noise(gap))  # outliers pull the fit, and then all values are beyond σ
        said += units or _nothing(problem, measured, gap) or _systematic(problem, measured, gap, solved)[1]
        said += (
            []
            if units
            else _outliers(problem, measured, gap, beyond)
            + _beyond_chance(problem, measured, gap, is_network(field))
        )
        said += _contradictions(problem, measured, noise)
    return list(dict.fromkeys(said))


def unfitted(problem: Problem, field: Any, solved: float) -> bool:
    """Whether some data are in other units, fitted no better than by their mean, or not explained by the model."""
    pairs = zip(problem.measured, misfit(problem, field), strict=True)
    return any(
        _units(measured, gap)
        or _nothing(problem, measured, gap)
        or _systematic(problem, measured, gap, solved)[0] > MOSTLY
        for measured, gap in pairs
    )


def _noise(gap: np.ndarray) -> np.ndarray:
    """σ from the median of the residuals, which a few outliers do not change."""
    spread = NORMAL * float(np.median(np.abs(gap)))
    return np.full(gap.shape, max(spread, TINY))


def _units(measured: Measured, gap: np.ndarray) -> list[str]:
    """A complaint if the model explains less than half of the values and is of a very different size."""
    model = measured.values + gap
    noise = 0.0 if measured.sigma is None else float(np.sum(measured.sigma**2))
    if float(gap @ gap) < max(float(measured.values @ measured.values) / 2, 2 * noise):
        return []  # most is explained, or all of it is noise
    if not np.any(np.abs(model) > ROUNDED**2 * np.abs(measured.values).max()):
        return [
            f"the measured values of {measured.name} are nonzero, but the solution is zero at all of these points"
        ]
    sizes = [(np.median(np.abs(a)), np.sqrt(np.mean(a**2))) for a in (measured.values, model)]
    ratio, by_squares = (float(a / max(b, TINY)) for a, b in zip(*sizes, strict=True))
    if not (min(ratio, by_squares) > OTHER_UNITS or 0 < max(ratio, by_squares) < 1 / OTHER_UNITS):
        return []
    return [
        f"the values of {measured.name} are about {ratio:.0e} times those of the solution: check that they use "
        "the problem's units, and whether the solution is near zero where they were measured"
    ]


def _nothing(problem: Problem, measured: Measured, gap: np.ndarray) -> list[str]:
    """A complaint if Σ gap² > Σ (value − mean)² beyond chance: the right model leaves only noise, which is less."""
    scatter = float(np.var(measured.values))
    count = len(gap)
    if scatter == 0 or float(gap @ gap) / scatter <= scipy.stats.chi2.isf(UNLIKELY, count):
        return []
    return [f"the fit describes {measured.name} worse than the mean of its values does: {_why(problem)}"]


def _why(problem: Problem) -> str:
    if problem.unknown:
        return (
            "the equations do not describe these data, or the fit ended in a wrong minimum; check the model, or begin "
            "with another start"
        )
    named = [str(name) for name in problem.parameters]
    finding = f"; --find {named[0]} would find a parameter from them" if named else ""
    return f"the equations do not describe these data{finding}"


def _systematic(
    problem: Problem, measured: Measured, gap: np.ndarray, solved: float
) -> tuple[float, list[str]]:
    """ρ, the correlation of residuals at neighbouring points, and a complaint about it; 0 if chance explains it.

    Noise is independent at neighbouring points: over m pairs its correlation has the standard deviation 1/√m.
    """
    size = float(np.sqrt(np.mean(measured.values**2)))
    if len(gap) <= NEIGHBOURS or float(np.sqrt(np.mean(gap**2))) <= max(ROUNDED, solved) * size:
        return 0.0, []  # the remaining residual is the solver's own error
    lengths = [axis.length for axis in problem.axes]
    _, near = scipy.spatial.cKDTree(measured.points / lengths).query(
        measured.points / lengths, NEIGHBOURS + 1
    )
    own = np.repeat(np.arange(len(gap)), NEIGHBOURS + 1)
    pairs = np.unique(np.sort(np.stack([own, near.ravel()], axis=1), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    r = gap / (1.0 if measured.sigma is None else measured.sigma)
    r = np.clip(
        r, *(np.array([-FAR, FAR]) * max(float(_noise(r)[0]), TINY))
    )  # outliers have their own complaint
    rho = min(float(np.mean(r[pairs[:, 0]] * r[pairs[:, 1]]) / np.mean(r**2)), 1.0)
    if rho * np.sqrt(len(pairs)) < scipy.stats.norm.isf(UNLIKELY):
        return 0.0, []
    return rho, [
        f"the residuals of {measured.name} are not noise: they are correlated between neighbouring points ({rho:.2f}), "
        f"so the standard errors are not valid; {_why(problem)}"
    ]


def _outliers(problem: Problem, measured: Measured, gap: np.ndarray, noise: np.ndarray) -> list[str]:
    size = max(float(np.sqrt(np.mean(measured.values**2))), TINY)
    far = np.flatnonzero(np.abs(gap) > np.maximum(FAR * noise, ROUNDED * size))
    if not len(far) or len(far) > len(gap) / 4:
        return []
    worst = far[np.argsort(-np.abs(gap[far] / noise[far]))][:3]
    listing = "; ".join(
        f"row {i + 1} ({measured.place(int(i), problem.axis_names)}): {measured.values[i]:.4g}, where the fit has "
        f"{measured.values[i] + gap[i]:.4g}"
        for i in worst
    )
    more = f", {len(far)} in all" if len(far) > len(worst) else ""
    return [
        f"values of {measured.name} far from the fit, more than {FAR:g} standard deviations: {listing}{more}; remove "
        "them if they are wrong: they distort the fit"
    ]


def _beyond_chance(problem: Problem, measured: Measured, gap: np.ndarray, trained: bool) -> list[str]:
    """A complaint if χ² is beyond what chance allows (the model or σ is wrong), or far below it (σ is wrong, or a
    network follows the noise, which only its weights keep it from).

    If there are no more values than unknown numbers, they are met exactly, which says nothing about σ.
    """
    sought = sum(max(1, getattr(number, "size", 1)) for number in problem.unknown.values())
    if measured.sigma is None or len(gap) <= sought:
        return []
    chi2, count = float(np.sum((gap / measured.sigma) ** 2)), len(gap)
    below = chi2 < count and scipy.stats.chi2.cdf(chi2, count) < UNLIKELY
    if below and trained:
        return [
            f"the residuals of {measured.name} are only {np.sqrt(chi2 / count):.2g} times sigma: sigma is too large, "
            "or the network follows the noise; then give the data less weight, as in "
            f'weights={{"data {measured.name}": 0.01}}'
        ]
    if below and chi2 < count / MUCH_LESS**2:
        return [
            f"the residuals of {measured.name} are only {np.sqrt(chi2 / count):.1g} times sigma: sigma is too large, "
            "and so are the standard errors"
        ]
    if scipy.stats.chi2.sf(chi2, count) > UNLIKELY:
        return []
    return [
        f"the residuals of {measured.name} are {np.sqrt(chi2 / count):.2g} times sigma: sigma is too small, or the "
        "equations do not describe these data"
    ]


def _contradictions(problem: Problem, measured: Measured, noise: np.ndarray) -> list[str]:
    """Two values at one place that differ by more than their noise allows."""
    order = np.lexsort(measured.points.T)
    same = np.all(measured.points[order[1:]] == measured.points[order[:-1]], axis=1)
    found: list[tuple[float, int, int]] = []
    for a, b in zip(order[:-1][same], order[1:][same], strict=True):
        apart = abs(measured.values[a] - measured.values[b]) / np.hypot(noise[a], noise[b])
        if apart > FAR:
            found.append((float(apart), min(int(a), int(b)), max(int(a), int(b))))
    if not found:
        return []
    apart, a, b = max(found)
    return [
        f"rows {a + 1} and {b + 1} contradict each other: at {measured.place(a, problem.axis_names)} the values of "
        f"{measured.name} are {measured.values[a]:.4g} and {measured.values[b]:.4g}, {apart:.2g} standard deviations "
        "apart"
    ]


def fit_json(fits: Sequence[Fitted]) -> list[dict[str, Any]]:
    return [{"of": f.name, "values": f.count, "rms": f.rms, "chi": f.chi} for f in fits]

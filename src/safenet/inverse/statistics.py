"""C = s² (JᵀJ)⁻¹: standard errors and correlations of fitted numbers, and what the data do not determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import scipy

from ..measure.relative import TINY
from ..measure.thresholds import UNLIKELY
from ..problem import Problem
from ..problem.numbers import Curve, Number
from ..run.found import Found
from .thresholds import AT_BOUND, ILL_POSED, INVOLVED, LOOSE, NOTHING, SAME


@dataclass(frozen=True)
class Seen:
    """What the sensitivities J show: the standard error of each number for σ = 1 (`per_sigma`); the numbers that the
    data do not depend on (`blind`); directions that they do not determine (`open_ones`); and all numbers that have no
    error (`unseen`). `C` is the covariance for columns of length 1, without those directions."""

    per_sigma: np.ndarray
    blind: np.ndarray
    open_ones: list[np.ndarray]
    unseen: np.ndarray
    C: np.ndarray


def seen_by(J: np.ndarray, nothing: float | np.ndarray) -> Seen:
    """`nothing`: a column of J that is no longer than this (or its own) shows no dependence."""
    lengths = np.linalg.norm(J, axis=0)
    blind = lengths <= nothing
    scale = np.where(blind, np.inf, lengths)
    columns = np.zeros((max(J.shape), len(lengths)))  # fewer values than numbers leave directions open, too
    columns[: len(J)] = J / scale
    _, singular, directions = np.linalg.svd(columns, full_matrices=False)
    kept = singular > SAME
    C = (directions[kept].T / singular[kept] ** 2) @ directions[kept]
    hidden = [d for d in directions[~kept] if np.linalg.norm(d[~blind]) > INVOLVED]
    unseen = blind | np.any([np.abs(d) > INVOLVED for d in hidden], axis=0) if hidden else blind
    per_sigma = np.sqrt(np.maximum(np.diag(C), 0)) / np.where(blind, 1, lengths)
    return Seen(per_sigma, blind, [d / scale for d in hidden], unseen, C)


def found_numbers(
    problem: Problem,
    z: np.ndarray,
    J: np.ndarray,
    r: np.ndarray,
    size: float,
    known: bool,
    nothing: float = NOTHING,
) -> Found:
    """The numbers, from the residuals r and their sensitivities J at z, both in units of σ; `size` is ‖model‖. A
    sensitivity below `nothing` of it is the solver's own error.

    A known σ is used, unless the residuals are larger than chance allows; otherwise s² = Σr²/(n − p).
    """
    names = tuple(problem.unknown)
    numbers = list(problem.unknown.values())
    values = {name: float(n.at(x, np)) for name, n, x in zip(names, numbers, z, strict=True)}
    slopes = [float(abs(n.slope(x))) for n, x in zip(numbers, z, strict=True)]
    # A step of 1 in z is as large as the start. A number that has become larger is judged by a change of its own size.
    reach = [max(1.0, abs(v) / max(slope, TINY)) for v, slope in zip(values.values(), slopes, strict=True)]
    seen = seen_by(J, nothing * size / np.array(reach))
    sd = seen.per_sigma * spread(r, len(r) - len(z), known)
    few = len(r) <= len(z) and not known
    errors = {
        name: None if seen.unseen[i] or few else slopes[i] * float(sd[i]) for i, name in enumerate(names)
    }
    # The error of the solution may be the same at all points: it does not average out.
    shifts = {name: slopes[i] * float(seen.per_sigma[i]) * size for i, name in enumerate(names)}
    bounded = {name: bound for name, n in problem.unknown.items() if (bound := _at_bound(n, values[name]))}
    said = [
        f"{name} is at its bound {bound}: the data ask for a value beyond it"
        for name, bound in bounded.items()
    ]
    said += [
        f"near {name} = {values[name]:.4g} the data do not depend on {name}; if they should, choose another start"
        for name, b in zip(names, seen.blind, strict=True)
        if b and name not in bounded
    ]
    relative = [n.slope(x) / (v or 1.0) for n, x, v in zip(numbers, z, values.values(), strict=True)]
    said += [combination(names, d * relative) for d in seen.open_ones]
    said += [
        f"the data hardly determine {name}: its standard error is as large as its value"
        for i, name in enumerate(names)
        if not seen.unseen[i]
        and name not in bounded
        and sd[i] > LOOSE
        and sd[i] * slopes[i] > abs(values[name])
    ]
    if few and not seen.unseen.any():
        said.append(
            f"{len(r)} values for {len(z)} unknown numbers: no standard errors; give sigma, or more data"
        )
    scale = np.sqrt(np.maximum(np.diag(seen.C), TINY))
    related = correlations(names, seen.C, scale, seen.unseen)
    return Found(values, errors, related, tuple(said), bool(seen.unseen.any() or bounded), shifts=shifts)


def correlations(names: Sequence[str], C: np.ndarray, sd: np.ndarray, unseen: np.ndarray) -> dict[str, float]:
    """C_ij/(σ_i σ_j) of each pair of numbers on which the data depend."""
    return {
        f"{names[i]}, {names[j]}": float(C[i, j] / (sd[i] * sd[j]))
        for i, j in combinations(range(len(names)), 2)
        if not (unseen[i] or unseen[j])
    }


def _at_bound(number: Number, value: float) -> str:
    """The bound that a value is at, judged by the distance of the start from it; "" if it is at none."""
    start = float(number.start)
    for bound in (number.above, number.below):
        if bound is not None and abs(value - float(bound)) < AT_BOUND * abs(start - float(bound)):
            return f"{float(bound):g}"
    return ""


def curve_found(
    problem: Problem,
    z: np.ndarray,
    places: Mapping[str, slice],
    C: np.ndarray,
    determined: np.ndarray,
    singular: Mapping[str, np.ndarray],
    noisy: bool,
) -> Found:
    """Functions and numbers with their errors, from the covariance C of z and the shares that the data determine.

    If the noise is neither given nor can be estimated (not `noisy`), there are no errors.
    """
    values: dict[str, Any] = {}
    errors: dict[str, Any] = {}
    counts: dict[str, float] = {}
    said, loose = [], []
    for name, place in places.items():
        number = problem.unknown[name]
        slope = number.slope(z[place])
        covariance = slope[:, None] * C[place, place] * slope
        now = np.asarray(number.at(z[place], np))
        sd = np.sqrt(np.maximum(np.diag(C)[place], 0))
        if np.median(sd) > LOOSE and np.median(sd * np.abs(slope)) > np.sqrt(np.mean(now**2)):
            loose.append(name)
        if not isinstance(number, Curve):
            values[name] = float(now[0])
            errors[name] = float(np.sqrt(max(covariance[0, 0], 0.0))) if noisy else None
            continue
        table = problem.functions[name]
        middles = [
            line.knots[np.arange(line.size)[:, None] + [1, 2, 3]].mean(axis=1) for line in table.spline.lines
        ]
        inside = [
            np.clip(m, line.breaks[0], line.breaks[-1])
            for m, line in zip(middles, table.spline.lines, strict=True)
        ]
        B = table.spline.design([m.ravel() for m in np.meshgrid(*inside, indexing="ij")], (0,) * len(inside))
        values[name] = number.at(z[place], np).reshape(number.shape)
        deviation = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", B, covariance, B), 0))
        errors[name] = deviation.reshape(number.shape) if noisy else None
        counts[name] = float(determined[place].sum())
        said += _recoverable(problem, name, number, counts[name], singular[name])
    if not noisy:
        said.append(
            "too few values to estimate their noise from: no standard errors; give sigma, or more data"
        )
    if loose:
        listed = " and ".join(loose)
        said.append(f"the data hardly determine {listed}: the standard errors are as large as what was found")
    return Found(values, errors, warnings=tuple(said), free=bool(loose), determined=counts)


def _recoverable(problem: Problem, name: str, curve: Curve, count: float, singular: np.ndarray) -> list[str]:
    """What the data do not determine about a function."""
    if count < 0.5:
        return [f"the data do not depend on {name}: it stays near its start"]
    if singular[0] < ILL_POSED * singular[-1] and len(singular) == curve.size:
        return []
    axes = [problem.axes[problem.axis_names.index(axis)] for axis in curve.of]
    along = count ** (1 / len(axes))
    sizes = ", ".join(f"{axis.length / along:.2g} in {axis.name}" for axis in axes)
    return [
        f"finding {name} is ill-posed: the data determine about {count:.0f} of its {curve.size} coefficients, details "
        f"coarser than about {sizes}; finer details are not in the data, and there it is as smooth as possible"
    ]


def spread(r: np.ndarray, freedom: int, known: bool) -> float:
    """σ of a residual: 1 where the noise is known, unless the residuals are larger than chance allows."""
    chi2 = float(r @ r)
    if freedom <= 0 or (known and scipy.stats.chi2.sf(chi2, freedom) >= UNLIKELY):
        return 1.0
    return float(np.sqrt(chi2 / freedom))


def combination(names: tuple[str, ...], direction: np.ndarray) -> str:
    """The sentence: changing a by +1 % and b by −1 % together changes none of the values."""
    direction = direction / direction[np.argmax(np.abs(direction))]
    parts = [
        f"{name} by {'+' if share > 0 else '−'}{abs(share):.2g} %"
        for name, share in zip(names, direction, strict=True)
        if abs(share) > 0.05
    ]
    involved = ", ".join(name for name, share in zip(names, direction, strict=True) if abs(share) > 0.05)
    return (
        f"the data do not determine {involved} separately: changing {' and '.join(parts)} changes none of the values; "
        "fix one of them"
    )

"""The coefficients of exact solutions, from the conditions: wave by wave where possible, otherwise all together.

If every wave satisfies the conditions on the faces by symmetry, initial values act on each wave by itself: a small
system for each, whose right-hand side is a fast Fourier, sine or cosine transform of the data. Other conditions couple
the waves: rows on the faces, one dimension lower than the problem, and a least-squares solve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import scipy
import sympy as sp

from ..fields.basis import AxisBasis
from ..fields.modes import ModalForm, Waves, polynomial, waves
from ..measure.points import moved
from ..measure.relative import TINY
from ..measure.rows.newton import least_squares
from ..problem import Condition, Problem
from ..problem.evaluate import evaluate
from ..problem.facts.structure import axis_kinds
from ..problem.facts.waves import Family, open_axes
from ..problem.relation import Relation
from .thresholds import HIGH, NODES, ROUNDING, SINGULAR


def decoupled(problem: Problem) -> bool:
    """Whether each condition holds by symmetry or acts on each wave by itself (fixed times, constant coefficients)."""
    if open_axes(problem) != [problem.time]:
        return False
    space = tuple(i for i in range(len(problem.axes)) if i != problem.time)
    return all(
        by_symmetry(problem, condition)
        or (
            condition.free == space
            and all(problem.value(condition.coefficient(jet)).is_number for jet in condition.jets)
            and len(_kinds(problem, condition)) == 1
        )
        for condition in problem.conditions
    )


def by_symmetry(problem: Problem, condition: Condition) -> bool:
    """Whether every wave meets the condition: it is on a face of an axis with a sine, cosine or Fourier series."""
    fixed = [i for i in range(len(problem.axes)) if i not in condition.free]
    if len(fixed) != 1 or fixed[0] == problem.time:
        return False
    kinds = {kinds[fixed[0]] for kinds in axis_kinds(problem).values()}
    return kinds <= {"sine", "cosine"} or (kinds == {"periodic"} and condition.kind == "periodic")


def _kinds(problem: Problem, condition: Condition) -> set[tuple[str, ...]]:
    """The kinds of series of a condition's jets: an odd derivative turns sines into cosines."""
    turned = {"sine": "cosine", "cosine": "sine"}
    fields = axis_kinds(problem)
    return {
        tuple(turned.get(kind, kind) if n % 2 else kind for kind, n in zip(kinds, jet.orders, strict=True))
        for jet in condition.jets.values()
        for kinds in (fields[jet.field],)
    }


def coefficients_of(family: Family) -> int:
    """The number of real coefficients: one for a real mode, two for a complex one, none for the conjugate of one."""
    kept = distinct(family)
    return int(np.sum(kept) + np.sum(kept & ~family.real))


def distinct(family: Family) -> np.ndarray:
    """Which modes to keep: of two standing waves with conjugate exponents, the one of positive frequency."""
    return ~family.standing | (family.exponents[:, family.along].imag >= 0)


def wave_by_wave(
    problem: Problem, found: Sequence[Family], known: ModalForm | None, counts: Sequence[int]
) -> tuple[list[Waves], list[float]]:
    """Σ_b a_b (condition c on φ_b) = data of c, solved for every wave; and the tail of the data along each axis."""
    (family,) = found
    space = [i for i in range(len(problem.axes)) if i != family.along]
    rows, data = [], []
    for condition in problem.conditions:
        if by_symmetry(problem, condition):
            continue
        (kinds,) = _kinds(problem, condition)
        points, weights = nodes(problem, condition, counts)
        spectrum = missing(problem, condition, known, points).reshape([len(w) for w in weights])
        for i in space:
            spectrum = _projected(spectrum, kinds[i], i, family.lattice[i])
        data.append(spectrum)
        rows.append(_multipliers(problem, condition, family))
    # A small matrix for each wave, conditions × modes.
    count = len(family.places)
    order = np.concatenate([np.arange(n) for n in np.bincount(family.wave, minlength=count)])
    matrix = np.zeros((count, len(rows), int(order.max(initial=0)) + 1), complex)
    right = np.zeros((count, len(rows)), complex)
    for c, (row, spectrum) in enumerate(zip(rows, data, strict=True)):
        matrix[family.wave, c, order] = row
        right[:, c] = spectrum[tuple(family.places.T)]
    coefficients = _small_systems(matrix, right)[family.wave, order]
    # u is a real part: k also stands for −k, and an exponent for its conjugate.
    both = ~family.standing | (family.exponents[:, family.along].imag > 0)
    coefficients = np.where(both, 2, 1) * np.where(distinct(family), coefficients, 0)
    sizes = np.abs(coefficients) * np.abs(family.coefficients).max(axis=(1, 2), initial=0)
    smallest = np.argsort(sizes, kind="stable")
    dropped = smallest[np.cumsum(sizes[smallest]) <= ROUNDING * sizes.max(initial=0)]
    kept = np.setdiff1d(np.arange(len(sizes)), dropped)
    tails = [
        max(_tail(s, family.lattice[i], i) for s in data) if i in space else 0.0 for i in range(len(counts))
    ]
    return [waves(family.take(kept, coefficients))], tails


def nodes(
    problem: Problem, condition: Condition, counts: Sequence[int]
) -> tuple[np.ndarray, list[np.ndarray]]:
    """A tensor grid over the condition's free axes, (points, axes), and the weights along each axis."""
    kinds = next(iter(axis_kinds(problem).values()))
    ticks, weights = [], []
    for i, axis in enumerate(problem.axes):
        if i in condition.free:
            basis = AxisBasis("chebyshev" if kinds[i] == "general" else kinds[i], counts[i], axis.lo, axis.hi)
            at, weight = basis.nodes(math.ceil(NODES[kinds[i]] * (counts[i] + 1)))
        else:
            at, weight = np.array([axis.lo]), np.ones(1)
        ticks.append(at)
        weights.append(weight)
    return np.stack([mesh.ravel() for mesh in np.meshgrid(*ticks, indexing="ij")], axis=1), weights


def missing(
    problem: Problem,
    relation: Relation,
    known: ModalForm | None,
    points: np.ndarray,
    more: Mapping[sp.Symbol, np.ndarray] | None = None,
) -> np.ndarray:
    """A relation's data minus what the `known` part of the solution contributes; `more` are values of other symbols."""
    values = {axis.symbol: points[:, i] for i, axis in enumerate(problem.axes)} | dict(more or {})
    for symbol, jet in relation.jets.items():
        at = moved(problem, points, jet.place)
        jets = None if known is None else known.jets(at, [jet.orders])[jet.orders]
        values[symbol] = np.zeros(len(at)) if jets is None else jets[:, problem.unknowns.index(jet.field)]
    return -np.broadcast_to(evaluate(problem.value(relation.residual), values, np), len(points)).astype(float)


def _projected(data: np.ndarray, kind: str, axis: int, harmonics: np.ndarray) -> np.ndarray:
    """The coefficients of e^{2πijs}, sin πjs or cos πjs, 0 ≤ s ≤ 1 along an axis, from data at its midpoints."""
    data = np.moveaxis(data, axis, -1)
    count = data.shape[-1]
    if kind == "periodic":
        # The first midpoint is half a step from the face.
        spectrum = scipy.fft.fft(data)[..., harmonics] * np.exp(-1j * np.pi * harmonics / count) / count
    elif kind == "cosine":
        spectrum = scipy.fft.dct(data, type=2)[..., harmonics] * np.where(harmonics == 0, 0.5, 1.0) / count
    else:
        spectrum = scipy.fft.dst(data, type=2)[..., harmonics - 1] * (harmonics > 0) / count
    return np.moveaxis(spectrum, -1, axis)


def _multipliers(problem: Problem, condition: Condition, family: Family) -> np.ndarray:
    """(modes,) the factor by which a condition at a fixed time acts on each mode."""
    row = np.zeros(len(family.wave), complex)
    for symbol, jet in condition.jets.items():
        coefficient = float(problem.value(condition.coefficient(symbol)))
        z = float(problem.value(jet.place[family.along])) - family.anchors[:, family.along]
        c = waves(family).derivative(jet.orders).coefficients[:, problem.unknowns.index(jet.field)]
        row += coefficient * polynomial(c, z) * np.exp(family.exponents[:, family.along] * z)
    return row


def _small_systems(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The least-squares solution of smallest norm of each system, its rows and columns scaled to size one."""
    rows = _sizes(matrix, axis=2)
    matrix = matrix / rows
    columns = _sizes(matrix, axis=1)
    inverse = np.linalg.pinv(matrix / columns, rcond=SINGULAR)
    return np.asarray(np.einsum("nbc,nc->nb", inverse, right / rows[:, :, 0]) / columns[:, 0])


def _sizes(matrix: np.ndarray, axis: int) -> np.ndarray:
    size = np.abs(matrix).max(axis=axis, keepdims=True)
    return np.where(size > 0, size, 1.0)


def _tail(spectrum: np.ndarray, harmonics: np.ndarray, axis: int) -> float:
    """Share of the norm in the highest quarter of the harmonics along an axis."""
    energy = np.sum(np.abs(np.moveaxis(spectrum, axis, 0).reshape(len(harmonics), -1)) ** 2, axis=1)
    highest = np.abs(harmonics) > HIGH * np.abs(harmonics).max()
    return float(np.sqrt(energy[highest].sum() / max(energy.sum(), TINY)))


def all_together(
    problem: Problem, found: Sequence[Family], known: ModalForm | None, counts: Sequence[int]
) -> tuple[list[Waves], list[float]]:
    """min_a ‖conditions(Σ a_n φ_n) − data‖ in L² of the faces; tails of 1, as no axis is known to lack waves."""
    rows, data = condition_rows(problem, problem.conditions, found, known, counts)
    solution, _ = least_squares(np.asfortranarray(rows), -data, orthogonal=False)
    parts, start = [], 0
    for family in found:
        stop = start + coefficients_of(family)
        parts.append(weighted(family, solution[start:stop]))
        start = stop
    return parts, [1.0] * len(counts)


def condition_rows(
    problem: Problem,
    conditions: Sequence[Condition],
    found: Sequence[Family],
    known: ModalForm | None,
    counts: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Each condition at nodes of its face, weighted so that sums of squares are integrals: rows, and their data."""
    blocks, data = [np.empty((0, sum(map(coefficients_of, found))))], [np.empty(0)]
    lengths = np.array([axis.length for axis in problem.axes])
    for condition in conditions:
        points, weights = nodes(problem, condition, counts)
        highest = np.max([jet.orders for jet in condition.jets.values()], axis=0)
        scale = np.prod(lengths**highest) * np.sqrt(_outer(weights))
        columns = np.hstack([table_of(problem, condition, family, points) for family in found])
        blocks.append(scale[:, None] * columns)
        data.append(scale * missing(problem, condition, known, points))
    return np.vstack(blocks), np.concatenate(data)


def weighted(family: Family, solution: np.ndarray) -> Waves:
    """The modes of a family times real coefficients in the order of `table_of`."""
    single = np.flatnonzero(distinct(family))
    double = np.flatnonzero(distinct(family) & ~family.real)
    coefficients = np.zeros(len(family.wave), complex)
    coefficients[single] = solution[: len(single)]
    coefficients[double] += 1j * solution[len(single) :]
    return waves(family.take(single, coefficients))


def _outer(weights: Sequence[np.ndarray]) -> np.ndarray:
    product = np.ones(1)
    for each in weights:
        product = np.outer(product, each).ravel()
    return product


def table_of(problem: Problem, relation: Relation, family: Family, points: np.ndarray) -> np.ndarray:
    """The relation applied to every mode: Re φ, then −Im φ if φ is not real, as Re (a + ib)φ = a Re φ − b Im φ."""
    kept = distinct(family)
    modes = waves(family.take(kept))
    values = {axis.symbol: points[:, i] for i, axis in enumerate(problem.axes)}
    table = np.zeros((len(points), int(kept.sum())), complex)
    for symbol, jet in relation.jets.items():
        coefficient = evaluate(problem.value(relation.coefficient(symbol)), values, np)
        jets = modes.derivative(jet.orders).table(
            moved(problem, points, jet.place), problem.unknowns.index(jet.field)
        )
        table += np.reshape(coefficient, (-1, 1)) * jets
    return np.hstack([table.real, -table[:, ~family.real[kept]].imag])

"""φ = c(z) e^{κ·z}, z = x − anchor: the solutions of the homogeneous equations that fit a box.

A family has waves ik along all axes but one, from the symmetries of the axes (sines, cosines, a Fourier series, or
the harmonics of twice the axis), and along that one the exponents that the dispersion relation gives. Every function
of every family solves the equations exactly; there is a family for each axis along which nothing is known.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..problem import Problem
from .dispersion import Symbol, symbol, toeplitz
from .structure import axis_kinds

Factors = tuple[tuple[str, ...], ...]  # for each field and axis: "exp", "sin" or "cos"
FACTORS = {"sine": "sin", "cosine": "cos"}


@dataclass(frozen=True)
class Family:
    """u_f = Re Σ_j c_fj z_along^j/j! Π_i g_fi(κ_i z_i): g is e^{κz}, or sin kz or cos kz (κ = ik) as `factors` says."""

    factors: Factors
    along: int
    coefficients: np.ndarray  # (modes, fields, powers) complex
    exponents: np.ndarray  # (modes, axes) complex
    anchors: np.ndarray  # (modes, axes): where |e^{κz}| is 1, the end towards which it grows
    wave: np.ndarray  # (modes,) which of the waves it belongs to
    lattice: tuple[np.ndarray, ...] = ()  # the numbers of the harmonics along each axis
    places: np.ndarray = field(default_factory=lambda: np.zeros((0, 0), int))  # (waves, axes) in the lattice

    @cached_property
    def standing(self) -> np.ndarray:
        """(modes,) whether at most the factor `along` travels: then conjugate exponents give the same functions."""
        travelling = [i for i in travelling_axes(self.factors) if i != self.along]
        standing: np.ndarray = ~np.any(self.exponents[:, travelling] != 0, axis=1)
        return standing

    @cached_property
    def real(self) -> np.ndarray:
        """(modes,) whether φ, and so its amplitude, is real."""
        real: np.ndarray = self.standing & (self.exponents[:, self.along].imag == 0)
        return real

    def take(self, kept: np.ndarray, amplitudes: np.ndarray | None = None) -> Family:
        """Some of the modes, times their amplitudes."""
        coefficients = self.coefficients[kept]
        if amplitudes is not None:
            coefficients = coefficients * amplitudes[kept, None, None]
        rows = {name: getattr(self, name)[kept] for name in ("exponents", "anchors", "wave")}
        return replace(self, coefficients=coefficients, **rows)


def travelling_axes(factors: Factors) -> list[int]:
    return [i for i in range(len(factors[0])) if any(row[i] == "exp" for row in factors)]


def open_axes(problem: Problem) -> list[int]:
    """The axes, including time, along which no symmetry is known; if there are none, the last axis."""
    kinds = axis_kinds(problem).values()
    found = [i for i in range(len(problem.axes)) if any(kind[i] == "general" for kind in kinds)]
    return found or [len(problem.axes) - 1]


def families(problem: Problem, modes: Sequence[int], along: Sequence[int] | None = None) -> list[Family]:
    """The families of a problem, with waves up to the `modes`-th harmonic of each axis."""
    relation = symbol(problem)
    return [_family(problem, relation, modes, i) for i in (open_axes(problem) if along is None else along)]


def _family(problem: Problem, relation: Symbol, modes: Sequence[int], along: int) -> Family:
    kinds = list(axis_kinds(problem).values())
    factors = tuple(
        tuple("exp" if i == along else FACTORS.get(kind, "exp") for i, kind in enumerate(row))
        for row in kinds
    )
    of_axis = [set(column) for column in zip(*kinds, strict=True)]
    lattice = tuple(
        np.zeros(1, int) if i == along else _harmonics(kind, modes[i]) for i, kind in enumerate(of_axis)
    )
    steps = [
        (2 if kind == {"periodic"} else 1) * math.pi / axis.length
        for kind, axis in zip(of_axis, problem.axes, strict=True)
    ]
    places = np.array(list(itertools.product(*(range(len(k)) for k in lattice))), int)
    k = np.stack(
        [step * j[places[:, i]] for i, (step, j) in enumerate(zip(steps, lattice, strict=True))], axis=1
    )
    # k and −k are conjugates: keep the one whose first travelling component is positive.
    signs = np.sign(k[:, [i for i in travelling_axes(factors) if i != along]])
    first = np.array([next((sign for sign in row if sign), 1.0) for row in signs])
    places, k = places[first > 0], k[first > 0]
    branches = relation.modes(along, 1j * k)
    exponents = 1j * k[branches.wave]
    exponents[:, along] = branches.exponent
    # e^{ikz} stands for cos kz and i sin kz; a single field needs no phase.
    phases = np.array([1j ** row.count("sin") if len(factors) > 1 else 1 for row in factors])
    family = Family(
        factors,
        along,
        branches.coefficients * phases[:, None],
        exponents,
        _anchors(problem, exponents),
        branches.wave,
        lattice,
        places,
    )
    if len(factors) > 1:
        _make_real(family)
    return family.take(_present(family))


def _harmonics(kinds: set[str], count: int) -> np.ndarray:
    """Up to the `count`-th half wave, or whole wave if the axis is periodic; of both signs if waves travel."""
    least = 1 if kinds == {"sine"} else 0 if kinds <= {"sine", "cosine"} else -count
    return np.arange(least, count + 1)


def _anchors(problem: Problem, exponents: np.ndarray) -> np.ndarray:
    ends = np.array([[axis.lo, axis.hi] for axis in problem.axes])
    return np.where(exponents.real > 0, ends[:, 1], ends[:, 0])


def _make_real(family: Family) -> None:
    """Make coefficients real, in place, for modes that share a wave and an exponent and have real solutions."""
    start = 0
    keys = list(zip(family.wave, family.exponents[:, family.along], strict=True))
    for _, group in itertools.groupby(keys):
        rows = slice(start, start := start + len(list(group)))
        if family.real[rows.start]:
            vectors = family.coefficients[rows].reshape(rows.stop - rows.start, -1)
            # The space that they span is its own conjugate, so the projection on it is real.
            _, basis = np.linalg.eigh((vectors.T @ np.conj(vectors)).real)
            family.coefficients[rows] = basis[:, -len(vectors) :].T.reshape(family.coefficients[rows].shape)


def _present(family: Family) -> np.ndarray:
    """Which modes are not zero everywhere, as sin kz is for k = 0."""
    seen = np.ones(family.coefficients.shape[:2], bool)
    for f, row in enumerate(family.factors):
        for i, factor in enumerate(row):
            seen[:, f] &= (factor != "sin") | (family.exponents[:, i] != 0)
    sizes = np.abs(family.coefficients).max(axis=2)
    present: np.ndarray = np.max(sizes * seen, axis=1) > 1e-12 * np.max(sizes, axis=1)
    return present


def forced(problem: Problem, along: int) -> Family | None:
    """A particular solution where the sources are finite sums of exponentials, sines and cosines; None without sources.

    M(κ) v = f for a source f e^{κ·x}; where that is singular (resonance), with powers of the coordinate `along`.
    """
    relation = symbol(problem)
    axes = len(problem.axes)
    found: list[tuple[np.ndarray, np.ndarray]] = []
    for row, equation in enumerate(problem.equations):
        for kappa, amplitude in _exponentials(problem, equation.source).items():
            right = np.zeros(len(problem.equations), complex)
            right[row] = amplitude
            found.append((np.array(kappa), _response(relation, along, np.array(kappa), right)))
    if not found:
        return None
    powers = max(v.shape[1] for _, v in found)
    exponents = np.array([kappa for kappa, _ in found])
    anchors = _anchors(problem, exponents)
    coefficients = np.zeros((len(found), len(problem.unknowns), powers), complex)
    for i, (_, v) in enumerate(found):
        coefficients[i, :, : v.shape[1]] = v
    # From the origin, where amplitudes are read, to the anchor; powers along the axis move with it.
    coefficients = shifted(coefficients, exponents[:, along], anchors[:, along])
    rest = [i for i in range(axes) if i != along]
    coefficients *= np.exp(np.sum(exponents[:, rest] * anchors[:, rest], axis=1))[:, None, None]
    factors = (("exp",) * axes,) * len(problem.unknowns)
    return Family(factors, along, coefficients, exponents, anchors, np.arange(len(found)))


def shifted(coefficients: np.ndarray, exponent: np.ndarray, by: np.ndarray) -> np.ndarray:
    """c of Σ c_j (z + by)^j/j! e^{κ(z + by)} as a polynomial in z: c′_j = e^{κ by} Σ_i c_{j+i} by^i/i!."""
    powers = coefficients.shape[2]
    moved = np.zeros_like(coefficients)
    for j in range(powers):
        for i in range(powers - j):
            moved[:, :, j] += coefficients[:, :, j + i] * (by**i / math.factorial(i))[:, None]
    grown: np.ndarray = moved * np.exp(exponent * by)[:, None, None]
    return grown


def _response(relation: Symbol, along: int, kappa: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The response, (fields, powers), with as few powers of the coordinate as suffice."""
    most = sp.Poly(relation.determinant, relation.exponents[along]).degree() + 1
    taylor = relation.taylor(along, kappa[None], most)[:, 0]
    for count in range(1, most + 1):
        block = toeplitz(taylor, count)
        wanted = np.concatenate([right, np.zeros((count - 1) * len(right))])
        v = np.linalg.lstsq(block, wanted, rcond=1e-12)[0]
        if np.linalg.norm(block @ v - wanted) <= 1e-12 * np.linalg.norm(right):
            response: np.ndarray = v.reshape(count, -1).T
            return response
    raise SafeNetError("the equations have no answer to their source", "check the source")


def _exponentials(problem: Problem, source: sp.Expr) -> dict[tuple[complex, ...], complex]:
    """f = Σ a e^{κ·x}: κ → a."""
    symbols = [axis.symbol for axis in problem.axes]
    expression = sp.expand(sp.expand(problem.value(source)).rewrite(sp.exp))
    found: dict[tuple[complex, ...], complex] = {}
    for term in sp.Add.make_args(expression):
        if term == 0:
            continue
        slopes = [sp.simplify(term.diff(x) / term) for x in symbols]
        if not all(slope.is_number for slope in slopes):
            raise SafeNetError(
                f"the source {source} is not a sum of exponentials, sines and cosines",
                "use the solver least-squares for other sources",
            )
        kappa = tuple(complex(slope) for slope in slopes)
        amplitude = complex(term.xreplace(dict.fromkeys(symbols, sp.Integer(0))))
        found[kappa] = found.get(kappa, 0) + amplitude
    return found

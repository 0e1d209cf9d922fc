"""u = v e^{κ·x}  ⟹  M(κ) v = 0: the symbol of linear equations with constant coefficients, and its branches.

∂_i multiplies e^{κ·x} by κ_i. With the waves κ = ik given along all axes but one, det M = 0 is a polynomial in the last
exponent s, and its roots are the branches s_j(k): along time, imaginary ones oscillate (wave ±ick), real ones decay
(heat −κk²). An m-fold root brings t e^{st}, …, t^{m−1} e^{st}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from ...errors import SafeNetError
from ..evaluate import evaluate
from ..problem import Problem
from .fact import fact

EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Branches:
    """e^{κ·x} Σ_j c_j z^j/j!, z along the axis of s: for each row its wave, its s, and c of every field and power."""

    wave: np.ndarray  # (m,) which of the given waves
    exponent: np.ndarray  # (m,) complex
    coefficients: np.ndarray  # (m, fields, powers) complex


@dataclass(frozen=True)
class Symbol:
    """M(κ), equations × unknowns: polynomials with real coefficients in one exponent for each axis."""

    matrix: sp.ImmutableMatrix
    exponents: tuple[sp.Symbol, ...]

    @cached_property
    def determinant(self) -> sp.Expr:
        return sp.expand(self.matrix.det(method="berkowitz"))

    def modes(self, along: int, waves: np.ndarray) -> Branches:
        """The branches at many waves, given as exponents (n, axes) whose column `along` is not read.

        A wave at which det M vanishes for every s has no branches: the equations leave it free.
        """
        s = self.exponents[along]
        values = {kappa: waves[:, i] for i, kappa in enumerate(self.exponents)}
        coefficients = np.stack(
            [
                np.broadcast_to(np.asarray(evaluate(c, values, np), complex), len(waves))
                for c in sp.Poly(self.determinant, s).all_coeffs()
            ],
            axis=1,
        )
        found = [(i, *root) for i, roots in enumerate(_roots(coefficients)) for root in _merged(roots)]
        wave = np.array([i for i, _, _ in found], int)
        exponent = np.array([root for _, root, _ in found], complex)
        counts = np.array([count for _, _, count in found], int)
        powers = int(counts.max(initial=1))
        at = waves[wave].astype(complex)
        at[:, along] = exponent
        rows = np.repeat(np.arange(len(found)), counts)
        vectors = self._polarisations(along, at, counts, powers)
        return Branches(wave[rows], exponent[rows], vectors)

    def taylor(self, along: int, at: np.ndarray, count: int) -> np.ndarray:
        """M⁽ⁱ⁾/i! in s for i < count at exponents (n, axes): an array (count, n, equations, unknowns)."""
        values = {kappa: at[:, i] for i, kappa in enumerate(self.exponents)}
        shape = (count, len(at), *self.matrix.shape)
        found = np.zeros(shape, complex)
        for i in range(count):
            part = self.matrix.diff(self.exponents[along], i) / math.factorial(i) if i else self.matrix
            for row, column in np.ndindex(*self.matrix.shape):
                found[i, :, row, column] = evaluate(part[row, column], values, np)
        return found

    def _polarisations(self, along: int, at: np.ndarray, counts: np.ndarray, powers: int) -> np.ndarray:
        """For each m-fold root the m solutions c of Σ_i M⁽ⁱ⁾/i! c_{j+i} = 0, rows in the order of the roots."""
        fields = self.matrix.shape[1]
        if fields == 1:
            each = [np.eye(count, powers)[:, None, :] for count in counts]
        else:
            taylor = self.taylor(along, at, powers)
            each = []
            for i, count in enumerate(counts):
                block = toeplitz(taylor[:, i], count)
                _, _, vectors = np.linalg.svd(_rows_scaled(block))
                padded = np.zeros((count, fields, powers), complex)
                padded[:, :, :count] = (
                    vectors[-count:].conj().reshape(count, count, fields).transpose(0, 2, 1)
                )
                each.append(padded)
        return np.concatenate(each).astype(complex) if each else np.zeros((0, fields, powers), complex)


def toeplitz(taylor: np.ndarray, count: int) -> np.ndarray:
    """[[M, M′, M″/2, …], [0, M, M′, …], …]: M(∂) on e^{st} Σ_{j<count} c_j t^j/j!, as a matrix on the c_j."""
    _, rows, columns = taylor.shape
    block = np.zeros((count * rows, count * columns), complex)
    for j in range(count):
        for i in range(count - j):
            block[j * rows : (j + 1) * rows, (j + i) * columns : (j + i + 1) * columns] = taylor[i]
    return block


def _rows_scaled(block: np.ndarray) -> np.ndarray:
    """Every row scaled to size one, so that equations in different units count alike."""
    size = np.abs(block).max(axis=1, keepdims=True)
    return block / np.where(size > 0, size, 1.0)


def _roots(coefficients: np.ndarray) -> list[np.ndarray]:
    """The roots of each polynomial, highest coefficient first: companion eigenvalues, polished by Newton's method."""
    found = [np.zeros(0, complex)] * len(coefficients)
    present = coefficients != 0
    first, last = present.argmax(axis=1), present.shape[1] - 1 - present[:, ::-1].argmax(axis=1)
    for low, high in {*zip(first, last, strict=True)}:
        rows = np.flatnonzero(present.any(axis=1) & (first == low) & (last == high))
        c = coefficients[rows, low : high + 1]
        # Real coefficients stay real, so that roots come in exact pairs of conjugates.
        c = c if c.imag.any() else c.real
        degree = high - low
        companion = np.tile(np.eye(degree, k=-1, dtype=c.dtype), (len(rows), 1, 1))
        companion[:, :1] = -c[:, None, 1:] / c[:, :1, None]
        roots = np.linalg.eigvals(companion).astype(complex)
        value, slope = np.zeros_like(roots), np.zeros_like(roots)
        for j in range(degree + 1):
            value, slope = value * roots + c[:, j, None], slope * roots + value
        step = np.divide(value, slope, out=np.zeros_like(roots), where=slope != 0)
        # A step larger than rounding belongs to a multiple root, which Newton's method does not improve.
        roots = np.where(np.abs(step) < 1e-9 * np.abs(roots), roots - step, roots)
        zeros = np.zeros(coefficients.shape[1] - 1 - high, complex)
        for row, each in zip(rows, roots, strict=True):
            found[row] = np.concatenate([each, zeros])
    return found


def _merged(roots: np.ndarray) -> list[tuple[complex, int]]:
    """(s, m): m roots within (10 ε)^{1/m} of one another, relatively, are one m-fold root at their mean.

    Rounding spreads an m-fold root that far, and P at the mean is 10 ε at most: the two cases cannot be told apart.
    """
    found = []
    for count in range(len(roots), 1, -1):
        while len(roots) >= count:
            apart = np.abs(roots[:, None] - roots)
            reach = np.sort(apart, axis=1)[:, count - 1]
            centre = int(np.argmin(reach))
            if reach[centre] > (10 * EPS) ** (1 / count) * abs(roots[centre]):
                break
            nearest = np.argsort(apart[centre], kind="stable")[:count]
            found.append((complex(roots[nearest].mean()), count))
            roots = np.delete(roots, nearest)
    return [*found, *((complex(root), 1) for root in roots)]


@fact
def symbol(problem: Problem) -> Symbol:
    """M(κ) of the equations; if they are nonlinear, that of their linearisation at u = 0."""
    exponents = tuple(sp.Symbol(f"kappa_{axis.name}") for axis in problem.axes)
    if len(problem.equations) != len(problem.unknowns):
        raise SafeNetError(
            f"{problem.name} has {len(problem.equations)} equations for {len(problem.unknowns)} unknowns",
            "a dispersion relation needs as many equations as unknowns",
        )
    rows = []
    for equation in problem.equations:
        row = dict.fromkeys(problem.unknowns, sp.Integer(0))
        for jet_symbol, jet in equation.jets.items():
            slope = equation.coefficient(jet_symbol).xreplace(dict.fromkeys(equation.jets, sp.Integer(0)))
            value = problem.value(slope)
            # A polynomial is constant if its expansion is; only other expressions need simplifying, which takes long.
            constant = sp.expand(value) if value.is_polynomial() else sp.simplify(value)
            if not constant.is_number or not constant.is_finite:
                raise SafeNetError(
                    f"the coefficient {constant} of {jet_symbol} in {equation.text} is not constant",
                    "a dispersion relation needs constant coefficients",
                )
            row[jet.field] += constant * sp.prod(_powers(exponents, jet.orders))
        rows.append(list(row.values()))
    found = Symbol(sp.ImmutableMatrix(rows), exponents)
    if found.determinant == 0:
        raise SafeNetError(
            f"the linear part of the equations of {problem.name} leaves every wave free",
            "a dispersion relation needs as many independent equations as unknowns",
        )
    return found


def _powers(exponents: Sequence[sp.Symbol], orders: Sequence[int]) -> list[sp.Expr]:
    return [kappa**order for kappa, order in zip(exponents, orders, strict=True)]

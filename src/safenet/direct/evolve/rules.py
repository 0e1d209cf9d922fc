"""∫ f ≈ Σ w f(ξ) on the reference cell of one, two or three dimensions, exact to degree 5 at least."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np

Rule = tuple[np.ndarray, np.ndarray]  # ξ (points, d), weights


def _line() -> Rule:
    points, weights = np.polynomial.legendre.leggauss(4)
    return (points[:, None] + 1) / 2, weights / 2


def _orbits(orbits: Sequence[tuple[float, tuple[float, ...]]], volume: float) -> Rule:
    """(weight, barycentric coordinates), each in every order; the first coordinate is that of the origin."""
    rows = [(place, weight) for weight, own in orbits for place in sorted(set(permutations(own)))]
    return np.array([place[1:] for place, _ in rows]), volume * np.array([weight for _, weight in rows])


def _radon() -> Rule:
    """Radon's seven points in a triangle: with curved sides the integrands are no polynomials anyway."""
    root = np.sqrt(15)
    orbits = [(0.225, (1 / 3, 1 / 3, 1 / 3))]
    for sign in (-1, 1):
        s = (6 + sign * root) / 21
        orbits.append(((155 + sign * root) / 1200, (s, s, 1 - 2 * s)))
    return _orbits(orbits, 1 / 2)


def _walkington() -> Rule:
    """Walkington's fourteen points in a tetrahedron."""
    orbits = [
        (0.11268792571801585080, (a := 0.31088591926330060980, a, a, 1 - 3 * a)),
        (0.07349304311636194934, (b := 0.09273525031089122640, b, b, 1 - 3 * b)),
        (0.04254602077708146644, (c := 0.04550370412564964949, c, 0.5 - c, 0.5 - c)),
    ]
    return _orbits(orbits, 1 / 6)


RULES: dict[int, Rule] = {1: _line(), 2: _radon(), 3: _walkington()}

"""σ(u), u in the unit cube of d − 1 dimensions: parts of a surface, each uniform in its area.

A face may reach beyond what it bounds: a flat one covers the bounding box of an outline. `solid.py` decides which of
its points are on the surface of a solid.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from .edges import Edge

TABLE = 4097  # entries of the area along a turned edge: linear interpolation is accurate to 1e-7


class Face(ABC):
    """A part of a primitive's boundary; `source` is the name of the primitive, or ""."""

    source: str

    @property
    @abstractmethod
    def measure(self) -> float:
        """Its area, in d dimensions its (d − 1)-dimensional measure."""

    @abstractmethod
    def at(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """σ and the unit normals that leave the primitive, each (n, d), for `unit` (n, d − 1)."""


@dataclass(frozen=True, eq=False)
class Flat(Face):
    """origin + Σ u_i sides_i."""

    origin: np.ndarray
    sides: np.ndarray  # (d − 1, d), at right angles
    normal: np.ndarray
    source: str = ""

    @staticmethod
    def of_box(lower: np.ndarray, upper: np.ndarray, axis: int, end: int, source: str) -> Flat:
        """The lower (0) or upper (1) side of a box across an axis."""
        origin, normal = lower.astype(float), np.zeros(len(lower))
        origin[axis], normal[axis] = (lower, upper)[end][axis], 2.0 * end - 1
        return Flat(origin, np.delete(np.diag(upper - lower), axis, axis=0), normal, source)

    @property
    def measure(self) -> float:
        return float(np.prod(np.linalg.norm(self.sides, axis=1)))

    def at(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.origin + unit @ self.sides, np.tile(self.normal, (len(unit), 1))


@dataclass(frozen=True, eq=False)
class Sphere(Face):
    """|x − center| = radius: one coordinate after another, each from its distribution on a sphere."""

    center: np.ndarray
    radius: float
    source: str = ""

    @property
    def measure(self) -> float:
        d = len(self.center)
        return float(
            2 * np.exp(d / 2 * np.log(np.pi) - scipy.special.gammaln(d / 2)) * self.radius ** (d - 1)
        )

    def at(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = len(self.center)
        normal, left = np.empty((len(unit), d)), np.ones(len(unit))
        for i in range(d - 2):
            half = (d - i - 1) / 2
            x = 2 * scipy.special.betaincinv(half, half, unit[:, i]) - 1
            normal[:, i] = left * x
            left = left * np.sqrt(np.maximum(1 - x**2, 0.0))
        angle = 2 * np.pi * unit[:, d - 2]
        normal[:, d - 2], normal[:, d - 1] = left * np.cos(angle), left * np.sin(angle)
        return self.center + self.radius * normal, normal


@dataclass(frozen=True, eq=False)
class Wall(Face):
    """An edge of the plane, moved along the third axis from `bottom` to `top`."""

    edge: Edge
    bottom: float
    top: float
    source: str = ""

    @property
    def measure(self) -> float:
        return self.edge.length * (self.top - self.bottom)

    def at(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        points, normals = self.edge.at(unit[:, 0])
        height = self.bottom + (self.top - self.bottom) * unit[:, 1]
        return np.column_stack([points, height]), np.column_stack([normals, np.zeros(len(unit))])


@dataclass(frozen=True, eq=False)
class Turned(Face):
    """An edge of the half-plane (r, s), r ≥ 0, turned about the line center + s axis.

    `frame` (3, 3) has two unit vectors across the axis and the axis itself as rows.
    """

    edge: Edge
    center: np.ndarray
    frame: np.ndarray
    source: str = ""

    @cached_property
    def _area(self) -> tuple[np.ndarray, np.ndarray]:
        """s, and the area 2π ∫ r ds from the start of the edge."""
        s = np.linspace(0, 1, TABLE)
        r = np.maximum(self.edge.at(s)[0][:, 0], 0.0)
        steps = np.diff(s) * (r[1:] + r[:-1]) / 2
        return s, 2 * np.pi * self.edge.length * np.concatenate([[0.0], np.cumsum(steps)])

    @property
    def measure(self) -> float:
        return float(self._area[1][-1])

    def at(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s, area = self._area
        profile, normal = self.edge.at(np.interp(unit[:, 0] * area[-1], area, s))
        angle = 2 * np.pi * unit[:, 1]
        around = np.column_stack([np.cos(angle), np.sin(angle)]) @ self.frame[:2]
        points, normals = (v[:, :1] * around + v[:, 1:] * self.frame[2] for v in (profile, normal))
        return self.center + points, normals

"""∂Ω = the parts of all primitives' faces with Ω on one side only: a domain in space, its named pieces, its samples.

No curve in which two faces meet is ever computed: a point of a face bounds the domain if a small step along the
normal leads inside and one against it outside, or the other way round. So areas and volumes of cut shapes come from
many samples, to about 1e-3; areas of whole faces are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise

import numpy as np
import scipy

from ...errors import SafeNetError, nearest
from .body import Selector, both_select, check_chosen, check_selectors, rest_of, selected
from .boundary import probe_step, where
from .edges import ROUNDING, magnitude
from .faces import Face
from .shapes import Primitive, Shape
from .values import Ends

LOOKS = 2048  # points of each face that are tested: do they bound the domain, and in which piece?
VOLUME = 2**14  # points for the volume
SEED = 7


class Solid:
    """The domain of a shape in three dimensions or more, with names for the pieces of its boundary.

    A piece is chosen as in a `Region`: by a predicate on points (n, d), the name of a shape or a pattern of names, by
    several of these, or by "rest".
    """

    def __init__(self, shape: Shape, pieces: Mapping[str, Selector] | None = None) -> None:
        self.shape, self.dimension = shape, shape.dimension
        self.bounds: Ends = shape.bounds
        self.tolerance = ROUNDING * magnitude(*(np.array(corner) for corner in shape.bounds))
        self._step = probe_step(shape.bounds, self.tolerance)
        # Named ones first: where two faces coincide, the name is kept.
        self.leaves = sorted(shape.primitives(), key=lambda leaf: not leaf.name)
        self._faces = [(face, leaf) for leaf in self.leaves for face in leaf.faces]
        self._selectors = dict(pieces or {})
        check_selectors(shape, self._selectors)
        self._rest = rest_of(self._selectors)
        self.pieces, self.nameless, bounding = self._divided()
        if bounding is None:
            raise SafeNetError(f"the domain {shape!r} is empty", "remove less, or start from a larger shape")
        self.some_point = bounding
        check_chosen(shape, ((name, bool(parts)) for name, parts in self.pieces.items()))

    def __repr__(self) -> str:
        return f"Solid({self.shape!r}, pieces: {', '.join(self.pieces) or 'none'})"

    # ---- inside

    @cached_property
    def measure(self) -> float:
        """∫ dx, by counting points."""
        lower, upper = (np.array(corner) for corner in self.bounds)
        unit = scipy.stats.qmc.Sobol(self.dimension, rng=np.random.default_rng(SEED)).random(VOLUME)
        share = float(np.mean(self.shape.level(lower + (upper - lower) * unit) <= 0))
        if share == 0:
            raise SafeNetError(
                f"none of {VOLUME} points in the bounds of {self.shape!r} is inside it",
                "it is empty, or too thin to be sampled",
            )
        return share * float(np.prod(upper - lower))

    def signed_distance(self, points: np.ndarray) -> np.ndarray:
        """φ(p), negative inside, 0 within the tolerance: the distance if only one shape is near, never more."""
        level = self.shape.level(np.asarray(points, float))
        return np.where(np.abs(level) <= self.tolerance, 0.0, level)

    def contains(self, points: np.ndarray, slack: float = 0.0) -> np.ndarray:
        return self.signed_distance(points) <= slack

    # ---- the boundary

    def _bounding(
        self, face: Face, leaf: Primitive, unit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Points of a face, the normals that point out of the domain, and which of the points bound it."""
        points, normals = face.at(unit)
        back, ahead = (self.shape.level(points + sign * self._step * normals) < 0 for sign in (-1, 1))
        bounds = back != ahead
        for other in self.leaves[: self.leaves.index(leaf)]:
            bounds &= np.abs(other.level(points)) > 8 * self.tolerance
        return points, np.where(ahead[:, None], -normals, normals), bounds

    def owners(self, source: str, points: np.ndarray) -> np.ndarray:
        """For points on the surface of the shape `source`, the index of their piece in `pieces`, −1 for none."""
        names = list(self._selectors)
        chosen = np.array(
            [
                selected(one, source, points) if name != self._rest else np.zeros(len(points), bool)
                for name, one in self._selectors.items()
            ]
        ).reshape(len(names), len(points))
        twice = np.flatnonzero(chosen.sum(axis=0) > 1)
        if len(twice):
            both = [names[k] for k in np.flatnonzero(chosen[:, twice[0]])]
            raise both_select(both, where(points[twice[0]]))
        left = names.index(self._rest) if self._rest is not None else -1
        return (
            np.where(chosen.any(axis=0), np.argmax(chosen, axis=0), left)
            if names
            else np.full(len(points), -1)
        )

    def _divided(self) -> tuple[dict[str, dict[int, float]], float, np.ndarray | None]:
        """Piece → {face: the share of it in the piece}, the area that belongs to no piece, and a point of ∂Ω."""
        unit = scipy.stats.qmc.Sobol(self.dimension - 1, rng=np.random.default_rng(SEED)).random(LOOKS)
        pieces: dict[str, dict[int, float]] = {name: {} for name in self._selectors}
        nameless, bounding = 0.0, None
        for k, (face, leaf) in enumerate(self._faces):
            points, _, bounds = self._bounding(face, leaf, unit)
            if not bounds.any():
                continue
            if bounding is None:
                bounding = points[bounds][0]
            owners = self.owners(face.source, points[bounds])
            for i, name in enumerate(pieces):
                share = float(np.sum(owners == i)) / LOOKS
                if share:
                    pieces[name][k] = share
            nameless += face.measure * float(np.sum(owners < 0)) / LOOKS
        return pieces, nameless, bounding

    def extent(self, name: str) -> float:
        """∫ dS over a piece: exact for whole faces."""
        return sum(share * self._faces[k][0].measure for k, share in self._piece(name).items())

    def sample_piece(self, name: str, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points and outward normals of a piece; nan where a point of its faces is not on the piece."""
        faces = list(self._piece(name))
        stops = np.cumsum([0.0, *(self._faces[k][0].measure for k in faces)])
        travelled = unit[:, 0] * stops[-1]
        index = np.clip(np.searchsorted(stops, travelled, side="right") - 1, 0, len(faces) - 1)
        points, normals = (
            np.full((len(unit), self.dimension), np.nan),
            np.full((len(unit), self.dimension), np.nan),
        )
        place = list(self.pieces).index(name)
        for i, (low, high) in enumerate(pairwise(stops)):
            here = np.flatnonzero(index == i)
            if not len(here):
                continue
            face, leaf = self._faces[faces[i]]
            local = unit[here].copy()
            local[:, 0] = np.clip((travelled[here] - low) / (high - low), 0.0, 1.0)
            at, outward, own = self._bounding(face, leaf, local)
            own &= self.owners(face.source, at) == place
            points[here[own]], normals[here[own]] = at[own], outward[own]
        return points, normals

    def _piece(self, name: str) -> dict[int, float]:
        if name not in self.pieces:
            raise SafeNetError(f"the boundary has no piece {name!r}", nearest(name, self.pieces))
        return self.pieces[name]

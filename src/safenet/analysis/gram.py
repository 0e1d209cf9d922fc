"""G_ij = ∫ φ_i φ_j over the domain: how far features are from orthonormal; the paper assumes G = diag(c²).

The tangent kernel of u = wᵀφ is φ(x)·φ(x'), and the nonzero eigenvalues of its integral operator are those of G. The
paper predicts that they are the squared amplitudes c², all 1 at the start, and so a condition number of 1, as if the
products of sines and cosines were orthonormal. On [0, 1] sin(πx) and cos(2πx) are not even orthogonal.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..features import Features, FourierProducts, Joined
from ..fields.basis import gauss_legendre
from ..fields.field import volume
from ..measure.points import sample
from ..networks import Perceptron
from ..networks.frozen import FrozenFeatures
from ..problem import Problem
from ..run.progress import Monitor
from .curvature import widened

NODES = 16  # Gauss points along an axis in the first rule, besides those that the frequencies need
SAMPLE = 16_384  # Sobol points, where the domain is not a box or Gauss rules do not agree
MOST = 4 * SAMPLE  # the most Gauss points of a rule
CHANGE = 1e-6  # of the largest entry, between a rule and one with twice the points along each axis
BLOCK = 1024  # points evaluated at once


@dataclass(frozen=True)
class Gram:
    """G, with its `accuracy` relative to the largest entry, and the squared amplitudes of Fourier products."""

    matrix: np.ndarray
    accuracy: float
    squared_amplitudes: np.ndarray | None = None

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Largest first."""
        return np.maximum(np.linalg.eigvalsh(self.matrix)[::-1], 0.0)

    @property
    def condition(self) -> float:
        """λ_max/λ_min; infinite if the features are linearly dependent up to rounding."""
        values = self.eigenvalues
        rounding = len(values) * np.finfo(float).eps * values[0]
        return float(values[0] / values[-1]) if values[-1] > rounding else math.inf

    def to_json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "features": len(self.matrix),
            "accuracy": self.accuracy,
            "largest": float(self.eigenvalues[0]),
            "smallest": float(self.eigenvalues[-1]),
            "condition": self.condition if math.isfinite(self.condition) else None,
        }
        if self.squared_amplitudes is not None:
            squares = np.sort(self.squared_amplitudes)
            facts["squared_amplitudes"] = {"largest": float(squares[-1]), "smallest": float(squares[0])}
            facts["predicted_condition"] = float(squares[-1] / squares[0]) if squares[0] > 0 else None
        return facts


def feature_grams(problem: Problem, network: Any) -> dict[str, Gram]:
    """`features`: everything that the first layer sees; `fourier`: the products alone, before any normalisation."""
    network = perceptron_of(network)
    if network is None:
        return {}
    found = {"features": Gram(*_gram(network.features, problem))}
    products = fourier_products_of(network)
    if products is not None:
        squares = np.asarray(products.amplitude, dtype=float).ravel() ** 2
        found["fourier"] = Gram(*_gram(products, problem), squares)
    return found


def perceptron_of(network: Any) -> Perceptron | None:
    """The perceptron that is trained (inside hard conditions; the last of several stages), or None."""
    found: Perceptron | None = getattr(network, "perceptron", None)
    return found


def fourier_products_of(network: Any) -> FourierProducts | None:
    """The Fourier products of a network (they come first among its features), None if it has none."""
    perceptron = perceptron_of(network)
    features: Any = None if perceptron is None else perceptron.features
    while isinstance(features, FrozenFeatures) or hasattr(features, "inner"):
        features = features.map.array if isinstance(features, FrozenFeatures) else features.inner
    first = features.parts[0] if isinstance(features, Joined) else features
    return first if isinstance(first, FourierProducts) else None


def _gram(features: Features, problem: Problem) -> tuple[np.ndarray, float]:
    """G and its accuracy: by Gauss rules, doubling the points until two agree, else from a Sobol sample."""
    features, former = widened(features), None
    for points, weights in rules(problem, _highest(features)):
        gram = _integrated(features, points, weights)
        if former is not None:
            change = float(np.abs(gram - former).max() / np.abs(gram).max())
            if change < CHANGE:
                return gram, change
        former = gram
    points, weights = sampled(problem)
    return _integrated(features, points, weights), len(points) ** -0.5


def _integrated(features: Features, points: np.ndarray, weights: np.ndarray) -> np.ndarray:
    gram = np.zeros((features.size, features.size))
    for start in range(0, len(points), BLOCK):
        block, scale = points[start : start + BLOCK], weights[start : start + BLOCK]
        # The last block is padded, so that one program serves all.
        filled = np.concatenate([block, np.repeat(block[:1], BLOCK - len(block), axis=0)])
        values = np.asarray(_values(features, jnp.asarray(filled)))[: len(block)]
        gram += (values * scale[:, None]).T @ values
    return gram


@eqx.filter_jit
def _values(features: Features, points: Float[Array, "n axes"]) -> Float[Array, "n features"]:
    return jax.vmap(features)(points)


def _highest(features: Any) -> np.ndarray:
    """The highest frequency of Fourier products along each axis, 0 where there are none."""
    found = [
        np.abs(np.asarray(part.omega)).max(axis=0)
        for part in jax.tree.leaves(features, is_leaf=lambda node: isinstance(node, FourierProducts))
        if isinstance(part, FourierProducts)
    ]
    return np.max(found, axis=0) if found else np.zeros(1)


def rules(problem: Problem, highest: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Gauss points and weights over a box, with twice as many along each axis each time; none for other domains."""
    lengths = [axis.length for axis in problem.axes]
    # ∫ e^{iκx} over a length L needs a few more than κL/4 Gauss points; a product of two waves has κ = 2ω.
    counts = [
        NODES + math.ceil(w * L / 2) for w, L in zip(np.resize(highest, len(lengths)), lengths, strict=True)
    ]
    while problem.region is None and math.prod(counts) <= MOST:
        along = [gauss_legendre(count) for count in counts]
        nodes = [
            axis.lo + axis.length * (x + 1) / 2 for axis, (x, _) in zip(problem.axes, along, strict=True)
        ]
        weights = [length * w / 2 for length, (_, w) in zip(lengths, along, strict=True)]
        points = np.array(list(itertools.product(*nodes)))
        yield points, np.array([math.prod(parts) for parts in itertools.product(*weights)])
        counts = [2 * count for count in counts]


def sampled(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """A Sobol sample of the domain, and its equal weights."""
    points = sample(problem, SAMPLE, 1, "sobol", 0).interior
    return points, np.full(len(points), volume(problem) / len(points))


class FollowGram(Monitor):
    """Records (iteration, Gram of the Fourier products) during a solve: at first, then every `every` iterations.

    After sn.solve(problem, …, monitor=FollowGram(problem, every=1000)), `records` holds, for the course of training,
    the eigenvalues of the kernel of u = wᵀφ and the squared amplitudes that the paper predicts for them.
    """

    def __init__(self, problem: Problem, every: int = 1000) -> None:
        self.problem, self.every = problem, every
        self.records: list[tuple[int, Gram]] = []
        self._iteration = 0

    def losses(self, iteration: int, total: int, loss: float, terms: Any) -> None:
        self._iteration = iteration

    def network(self, current: Any) -> None:
        if self.records and self._iteration < self.records[-1][0] + self.every:
            return
        grams = feature_grams(self.problem, current())
        if "fourier" in grams:
            self.records.append((self._iteration, grams["fourier"]))

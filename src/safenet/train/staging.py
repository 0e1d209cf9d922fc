"""u ← u + ε u₂:  Levenberg–Marquardt on a second network for the error of the first (Wang and Lai, 2024).

The residual r of the first network, whatever its kind, says how the second should start:

    κ_i = the strongest frequency in the Fourier transform of r along axis i,
    ε   = max over equations and conditions of  ‖r‖ / max_α |∂F/∂u_α| κ^α,

the size of an error of frequency κ that would leave such a residual. The second network has the Fourier products of the
box, stretched along each axis on which they do not reach κ, and a last layer of zeros, so that u starts unchanged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.fft import dctn

from ..features import FourierProducts
from ..features.base import Frozen
from ..measure.residuals import PointResidual
from ..networks.frozen import FrozenMap
from ..networks.methods import Method, build
from ..networks.staged import Staged
from ..problem import Problem
from .objective import PhysicsLoss
from .optimisers.levenberg import LevenbergMarquardt

GRID = 2**14  # points of the transform, over all axes


@dataclass(frozen=True)
class Stage(LevenbergMarquardt):
    """Levenberg–Marquardt on a second network with `features` and `width`; as the first phase, on the plan's network.

    The second network's gradients are ε times those of the first, so no absolute tolerance suits them: it is 0.
    """

    tolerance: float = 0.0
    features: int = 64
    width: int = 16
    name: ClassVar[str] = "second network"
    finds_numbers: ClassVar[bool] = False

    def network(
        self, problem: Problem, loss: PhysicsLoss, theta: Float[Array, " p"], chosen: Method, key: Array
    ) -> Staged:
        """u₁ + ε u₂, with u₁ the loss's network at theta."""
        first = loss.field(theta)
        kappa = dominant_frequencies(problem, first)
        scale = jnp.asarray(error_sizes(problem, loss, first, kappa), theta.dtype)
        chosen = replace(
            chosen,
            embedding="fourier",
            frequencies="box",
            amplitudes="decay",
            normalise="fixed",
            features=self.features,
            width=self.width,
        )
        second = build(problem, chosen, key=key, dtype=theta.dtype)
        second = _silent(_reaching(second, kappa))
        return Staged(FrozenMap(first), second.without_data(), Frozen(scale), chosen)


def dominant_frequencies(problem: Problem, network: Any) -> Float[np.ndarray, " axes"]:
    """κ, from the cosine transform of the residuals on a uniform grid: unlike an FFT, it sees no jumps at the faces."""
    count = max(2, round(GRID ** (1 / len(problem.axes))))
    middles = [axis.lo + axis.length * (np.arange(count) + 0.5) / count for axis in problem.axes]
    points = np.stack([mesh.ravel() for mesh in np.meshgrid(*middles, indexing="ij")], axis=1)
    inside = problem.contains(points)
    energy = np.zeros((count,) * len(problem.axes))
    for equation in problem.equations:
        values = np.asarray(_values(PointResidual(problem, equation), network, jnp.asarray(points)))
        values = np.where(inside, values, 0.0)
        # Normalise: every equation has its own units.
        values = values / max(np.linalg.norm(values), np.finfo(float).tiny)
        energy += dctn(values.reshape(energy.shape), norm="ortho") ** 2
    axes = range(len(problem.axes))
    along = (energy.sum(axis=tuple(j for j in axes if j != i)) for i in axes)
    # Skip the mean, which has no frequency.
    indices = [1 + int(np.argmax(spectrum[1:])) for spectrum in along]
    kappa: np.ndarray = np.array(indices) * np.pi / np.array([axis.length for axis in problem.axes])
    return kappa


def error_sizes(
    problem: Problem, loss: PhysicsLoss, network: Any, kappa: Float[np.ndarray, " axes"]
) -> Float[np.ndarray, " fields"]:
    """ε of each field, from the residuals at the loss's points."""
    found = np.full(len(problem.unknowns), np.finfo(float).tiny)
    terms = [term for term in loss.terms if not term.measured]  # data say nothing of ε
    for relation, term in zip((*problem.equations, *problem.conditions), terms, strict=True):
        size = _rms(_values(term.residual, network, term.points))
        actions: dict[int, float] = {}
        for symbol, jet in relation.jets.items():
            slope = PointResidual(problem, replace(relation, residual=relation.coefficient(symbol)))
            action = _rms(_values(slope, network, term.points)) * float(
                np.prod(kappa ** np.array(jet.orders))
            )
            index = problem.unknowns.index(jet.field)
            actions[index] = max(actions.get(index, 0.0), action)
        for index, action in actions.items():
            if action > 0 and math.isfinite(size / action):
                found[index] = max(found[index], size / action)
    return found


@eqx.filter_jit
def _values(residual: PointResidual, network: Any, points: Float[Array, "n columns"]) -> Float[Array, " n"]:
    return jax.vmap(lambda point: residual(network, point))(points)


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(np.asarray(values, dtype=float)))))


def _reaching(network: Any, kappa: Float[np.ndarray, " axes"]) -> Any:
    """The network with its Fourier products stretched along each axis until they reach κ."""

    def stretched(node: Any) -> Any:
        if not isinstance(node, FourierProducts):
            return node
        highest = np.max(np.asarray(node.omega), axis=0)
        stretch = jnp.asarray(np.maximum(1.0, kappa / highest), node.omega.dtype)
        return replace(node, omega=node.omega * stretch)

    return jax.tree.map(stretched, network, is_leaf=lambda node: isinstance(node, FourierProducts))


def _silent(network: Any) -> Any:
    """The network with a last layer of zeros."""
    last = network.weights[-1], network.biases[-1]
    return eqx.tree_at(
        lambda tree: (tree.weights[-1], tree.biases[-1]), network, tuple(map(jnp.zeros_like, last))
    )

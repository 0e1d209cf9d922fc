"""L(θ) = Σ_k λ_k · 1/(2 n_k) Σ_i r_k(x_i; θ)²: the physics loss, its named terms and its least-squares rows.

An adaptive weighting replaces λ_k by a number for each term, or by one for each point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp
from jax import lax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from ..measure.points import Points
from ..measure.residuals import PointResidual, together
from ..networks.perceptron import trainable
from ..problem import Problem, Relation
from ..problem.data import Measured
from ..problem.numbers import Number
from . import unknowns
from .spread import block_count, summed
from .terms import OwnTerm, Term, own_name, term_names
from .weighting import NTK, Fixed, Weighting, Weights

# Points per Jacobian block: bounds the memory of J at CHUNK × parameters. On two cores, 1024 and 2048 take the same
# time; on an H200 a step with 6,800 parameters takes 84 ms with 1024 and 62 ms with 2048.
CHUNK = 2048
# Points per block of a gradient on a CPU. The jets of a layer then stay in a core's cache, which takes half the time of
# all points at once (measured for a 4 × 50 network on 20k points; 128 to 2048 are within a third of each other). Not
# smaller, so that the default's 4,000 points are one block for each of two cores: in a loop over blocks, whose body it
# fuses less well, XLA takes 1.6 times as long for the same work.
CACHED = 2048
PANEL = 1024  # columns of J multiplied at once


class Fresh(eqx.Module):
    """x_i = lower + (upper − lower) u_i, u ~ U(0, 1)^d: uniform points in a box, new ones at every iteration."""

    lower: Float[Array, " axes"]
    upper: Float[Array, " axes"]
    seed: Int[Array, ""]

    def points(self, count: int, iteration: Int[Array, ""]) -> Float[Array, "n axes"]:
        key = jax.random.fold_in(jax.random.key(self.seed), iteration)
        shape = count, self.lower.shape[0]
        return jax.random.uniform(key, shape, self.lower.dtype, self.lower, self.upper)


def fresh_points(problem: Problem, seed: int, dtype: Any) -> Fresh:
    lower, upper = (jnp.asarray([getattr(axis, end) for axis in problem.axes], dtype) for end in ("lo", "hi"))
    return Fresh(lower, upper, jnp.asarray(seed, jnp.int32))


class PhysicsLoss(eqx.Module):
    """The loss as a function of a network's flat parameters θ; `field(θ)` is the network with these parameters.

    `weights` are the adapted weights so far, or None for the plan's λ. An optimiser that does not adapt them uses them
    unchanged.
    """

    terms: tuple[Term, ...]
    fixed: Any
    unravel: Any = eqx.field(static=True)
    weighting: Weighting = Fixed()
    weights: Weights = None
    own: tuple[OwnTerm, ...] = ()  # their weights are fixed, whatever the weighting does to the other terms
    free: tuple[tuple[str, Number], ...] = eqx.field(
        static=True, default=()
    )  # unknown numbers: the last entries of θ
    fresh: Fresh | None = None  # gives first-order optimisers new equation points at every step

    def field(self, theta: Float[Array, " p"]) -> Any:
        network = theta[: theta.shape[0] - unknowns.size(self.free)] if self.free else theta
        return eqx.combine(self.unravel(network), self.fixed)

    def numbers(self, theta: Float[Array, " p"]) -> dict[sp.Symbol, Any]:
        """The unknown numbers at θ, and the coefficients of unknown functions."""
        return unknowns.values(self.free, theta)

    def found(self, theta: Float[Array, " p"]) -> dict[str, Any]:
        """The same by name, as plain numbers and lists."""
        return unknowns.found(self.free, theta)

    def __call__(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " k"]]:
        """The weighted total and the raw terms 1/(2n) Σ r²."""
        residuals = self.residuals(theta)
        parts = zip(self.terms, residuals, self.row_weights(), strict=True)
        total = jnp.sum(jnp.stack([term.loss(r, w) for term, r, w in parts]))
        own, raw = self._own(theta)
        means = [term.mean(r**2) / 2 for term, r in zip(self.terms, residuals, strict=True)]
        return total + own, jnp.concatenate([jnp.stack(means), raw])

    def _own(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " own"]]:
        """The weighted sum of the user's terms plus the smoothness penalty of unknown functions, and each raw term."""
        field = self.field(theta)
        raw = jnp.asarray([jnp.mean(term.residuals(field) ** 2) / 2 for term in self.own], theta.dtype)
        smooth = self.smoothness(theta)
        return jnp.sum(jnp.asarray([term.weight for term in self.own], theta.dtype) * raw) + smooth, raw

    def smoothness(self, theta: Float[Array, " p"]) -> Float[Array, ""]:
        """The penalty on rough unknown functions, as it is in the total."""
        return jnp.sum(unknowns.roughness(self.free, theta) ** 2) / 2

    def _own_rows(self, theta: Float[Array, " p"]) -> Float[Array, " n"]:
        field = self.field(theta)
        smooth = unknowns.roughness(self.free, theta)
        return jnp.concatenate([smooth, *(term.rows(field) for term in self.own)])

    def value_and_gradient(
        self, theta: Float[Array, " p"]
    ) -> tuple[tuple[Float[Array, ""], Float[Array, " k"]], Float[Array, " p"]]:
        """The total and the terms, and the total's gradient: on a CPU in blocks of points that stay in its cache."""
        cpu = jax.default_backend() == "cpu"
        if not cpu and jax.device_count() == 1:
            return jax.value_and_grad(self, has_aux=True)(theta)
        total, gradient, terms = jnp.zeros((), theta.dtype), jnp.zeros_like(theta), []
        weights = iter(self.row_weights())
        for group in self._groups():

            def value(parameters: Array, blocks: Any, group: Any = group) -> tuple[Array, Array]:
                points, weights, shares = zip(*blocks, strict=True)
                squares = [r**2 / 2 for r in _residuals(self, parameters, group, points)]
                parts = [jnp.sum(w * square) for w, square in zip(weights, squares, strict=True)]
                raw = [jnp.sum(share * square) for share, square in zip(shares, squares, strict=True)]
                return jnp.sum(jnp.stack(parts)), jnp.stack(raw)

            # Every term gets the same number of blocks, so that one block of each makes a batch.
            distinct = group[:1] if group[0].equation else group
            count = block_count(sum(term.points.shape[0] for term in distinct), CACHED if cpu else None)
            shares = [
                jnp.full(term.points.shape[:1], 1 / term.points.shape[0], theta.dtype) for term in group
            ]
            parts = zip(group, shares, strict=True)
            blocks = [
                _blocks(
                    count,
                    term.points,
                    next(weights) * share,
                    share if term.shares is None else term.shares * share,
                )
                for term, share in parts
            ]
            (own, raw), slope = summed(jax.value_and_grad(value, has_aux=True), theta, blocks)
            total, gradient = total + own, gradient + slope
            terms.append(raw)
        if self.own or self.free:
            (own, raw), slope = jax.value_and_grad(self._own, has_aux=True)(theta)
            total, gradient = total + own, gradient + slope
            terms.append(raw)
        return (total, jnp.concatenate(terms)), gradient

    def residuals(self, theta: Float[Array, " p"]) -> list[Float[Array, " _"]]:
        """r of each term: all equations in one pass, all conditions in another, all data in a third."""
        found = []
        for group in self._groups():
            found += _residuals(self, theta, group, [term.points for term in group])
            # Otherwise XLA merges the products of the passes into one and copies all jets before and after it.
            theta = lax.optimization_barrier(theta)
        return found

    def _groups(self) -> list[list[Term]]:
        return [list(group) for _, group in groupby(self.terms, lambda term: (term.equation, term.measured))]

    def row_weights(self) -> tuple[Float[Array, ...], ...]:
        adapted = self.weighting if self.weights is not None else Fixed()
        rows = zip(self.terms, adapted.rows(self, self.weights), strict=True)
        return tuple(w if term.shares is None else w * term.shares for term, w in rows)

    def rows(self, theta: Float[Array, " p"]) -> Float[Array, " m"]:
        parts = zip(self.terms, self.row_weights(), self.residuals(theta), strict=True)
        return jnp.concatenate([*(term.row_scale(w) * r for term, w, r in parts), self._own_rows(theta)])

    # ---- weights that follow θ

    def adapt(self, theta: Float[Array, " p"], weights: Weights, iteration: Int[Array, ""]) -> Weights:
        """The weights at θ after `iteration` steps, given the previous ones (None: the initial ones)."""
        before = self.weighting.start(self) if weights is None else weights
        return self.weighting.adapt(self, theta, before, iteration)

    def weighted(self, weights: Weights) -> PhysicsLoss:
        """The same loss with these weights."""
        return replace(self, weights=weights)

    def renewed(self, iteration: Int[Array, ""]) -> PhysicsLoss:
        """The same loss at the points of this iteration, if every iteration has its own."""
        if self.fresh is None:
            return self
        count = next(term.points.shape[0] for term in self.terms if term.equation)
        return self.at(self.fresh.points(count, iteration))

    def yardstick(self, total: Float[Array, ""], terms: Float[Array, " k"]) -> Float[Array, ""]:
        """Σ_k λ_k L_k with the plan's λ: the same measure for every θ, whatever the weights have become."""
        if isinstance(self.weighting, Fixed):
            return total
        weights = [*(term.weight for term in self.terms), *(term.weight for term in self.own)]
        return jnp.sum(jnp.stack(weights) * terms)

    def equations_alone(self) -> PhysicsLoss:
        """The loss without conditions, data and the user's own terms."""
        terms = tuple(term for term in self.terms if term.equation)
        weights = (
            self.weights[: len(terms)]
            if isinstance(self.weighting, NTK) and self.weights is not None
            else self.weights
        )
        return replace(self, terms=terms, own=(), weights=weights)

    def equation_residuals(self, theta: Float[Array, " p"]) -> tuple[Float[Array, " _"], ...]:
        return tuple(self.equations_alone().residuals(theta))

    def at(self, interior: Float[Array, "n columns"]) -> PhysicsLoss:
        """The same loss with its equations at other points; a column after the axes, if any, holds their shares."""
        axes = self.terms[0].residual.axes
        points, shares = interior[:, :axes], interior[:, axes] if interior.shape[1] > axes else None
        terms = (replace(t, points=points, shares=shares) if t.equation else t for t in self.terms)
        return replace(self, terms=tuple(terms))

    def traces(self, theta: Float[Array, " p"], count: int) -> Float[Array, " k"]:
        """Tr K/n for each term, K = J Jᵀ: the mean of ‖∂r(x_i)/∂θ‖² over its first `count` points."""

        def trace(term: Term) -> Float[Array, ""]:
            points = term.points[:count]
            _, J = self._linearised(theta, term, (points, jnp.ones(points.shape[0], theta.dtype)))
            return jnp.mean(jnp.sum(J**2, axis=1))

        return jnp.stack([trace(term) for term in self.terms])

    def normal_equations(
        self, theta: Float[Array, " p"]
    ) -> tuple[Float[Array, "p p"], Float[Array, " p"], Float[Array, ""]]:
        """JᵀJ, Jᵀr and the loss, summed over blocks of points so that the whole J is never in memory."""
        sums = []
        weights = iter(self.row_weights())
        for group in self._groups():

            def products(theta: Array, blocks: Any, group: Any = group) -> tuple[list[Array], Array, Array]:
                parts = [self._linearised(theta, *block) for block in zip(group, blocks, strict=True)]
                residual, J = map(jnp.concatenate, zip(*parts, strict=True))
                return _lower_panels(J), J.T @ residual, jnp.sum(residual**2) / 2

            count = block_count(sum(term.points.shape[0] for term in group), CHUNK)
            blocks = [_blocks(count, term.points, term.row_scale(next(weights))) for term in group]
            sums.append(summed(products, theta, blocks))
        if self.own or self.free:
            own, J = self._own_rows(theta), jax.jacrev(self._own_rows)(theta)
            sums.append((_lower_panels(J), J.T @ own, jnp.sum(own**2) / 2))
        panels, gradient, total = jax.tree.map(lambda *parts: sum(parts[1:], parts[0]), *sums)
        columns = theta.shape[0]
        lower = jnp.concatenate([jnp.pad(panel, ((0, 0), (0, columns - panel.shape[1]))) for panel in panels])
        return jnp.tril(lower) + jnp.tril(lower, -1).T, gradient, total

    def jacobian(self, theta: Float[Array, " p"]) -> tuple[Float[Array, "m p"], Float[Array, " m"]]:
        """The whole J and r, in the order of `rows`; used where there are fewer rows than parameters."""
        J, r = [], []
        for term, weight in zip(self.terms, self.row_weights(), strict=True):
            count = term.points.shape[0]
            blocks = _blocks(-(-count // CHUNK), term.points, term.row_scale(weight))
            residual, slopes = lax.map(partial(self._linearised, theta, term), blocks)
            J.append(slopes.reshape(-1, theta.shape[0])[:count])
            r.append(residual.reshape(-1)[:count])
        if self.own or self.free:
            J.append(jax.jacrev(self._own_rows)(theta))
            r.append(self._own_rows(theta))
        return jnp.concatenate(J), jnp.concatenate(r)

    def _linearised(
        self, theta: Float[Array, " p"], term: Term, block: tuple[Array, Array]
    ) -> tuple[Float[Array, " n"], Float[Array, "n p"]]:
        """The rows of a block of points, and their gradients."""
        points, scale = block

        def value(parameters: Array, point: Array) -> Array:
            free = self.numbers(parameters)
            return together(self.field(parameters), [term.residual], [point[None]], free)[0][0]

        residual, J = jax.vmap(jax.value_and_grad(value), (None, 0))(theta, points)
        return scale * residual, scale[:, None] * J


def _residuals(
    loss: PhysicsLoss, theta: Float[Array, " p"], group: Sequence[Term], points: Sequence[Array]
) -> list[Float[Array, " _"]]:
    """The residuals of one group. Equations share one array of points, which `together` then evaluates only once."""
    if group[0].equation:
        points = [points[0]] * len(group)
    return together(loss.field(theta), [term.residual for term in group], points, loss.numbers(theta))


def _lower_panels(J: Float[Array, "n p"]) -> list[Float[Array, "rows columns"]]:
    """JᵀJ on and below its diagonal: panels of rows, each with the columns up to its last row.

    Takes two thirds of the time of the full product (6,800 columns, measured on two cores).
    """
    columns = J.shape[1]
    count = -(-columns // PANEL)
    ends = [columns * (i + 1) // count for i in range(count)]
    return [J[:, start:end].T @ J[:, :end] for start, end in pairwise([0, *ends])]


def _blocks(count: int, points: Float[Array, "n columns"], *factors: Float[Array, " n"]) -> tuple[Array, ...]:
    """Points and factors in `count` equal blocks, padded with copies of the first point and factors of zero."""
    size = -(-points.shape[0] // count)
    missing = count * size - points.shape[0]
    points = jnp.concatenate([points, jnp.repeat(points[:1], missing, axis=0)])
    filled = [jnp.concatenate([factor, jnp.zeros(missing, points.dtype)]) for factor in factors]
    return points.reshape(count, size, -1), *(factor.reshape(count, size) for factor in filled)


@dataclass(frozen=True)
class Weighing:
    """λ of the equations, of the conditions, and of single terms by their name in `term_names`."""

    equations: float = 1.0
    conditions: float = 100.0
    named: tuple[tuple[str, float], ...] = ()

    def each(self, problem: Problem) -> tuple[float, ...]:
        """λ of every term, in the order of `term_names`."""
        named, equations = dict(self.named), len(problem.equations)
        return tuple(
            named.get(name, self.equations if i < equations else self.conditions)
            for i, name in enumerate(term_names(problem))
        )


def physics_loss(
    problem: Problem,
    network: Any,
    points: Points,
    weighing: Weighing = Weighing(),  # noqa: B008 (frozen)
    weighting: Weighting | None = None,
    own: Sequence[tuple[float, Callable[[Any], Any]]] = (),
) -> tuple[PhysicsLoss, Float[Array, " p"]]:
    """The loss of a network (any module from point to fields) and its initial flat parameters.

    `own`: the user's own terms, as weights and functions of the network.
    """
    theta, unravel, fixed = flattened(network)
    dtype = theta.dtype
    relations: list[tuple[Relation, Any, bool]] = [(e, points.interior, True) for e in problem.equations]
    relations += [(c, at, False) for c, at in zip(problem.conditions, points.conditions, strict=True)]
    relations += [(measured, measured.rows, False) for measured in problem.measured]
    terms = tuple(
        Term(
            jnp.asarray(at, dtype),
            jnp.asarray(weight, dtype),
            PointResidual(problem, relation),
            equation,
            _shares(getattr(relation, "sigma", None), dtype),
            isinstance(relation, Measured),
        )
        for weight, (relation, at, equation) in zip(weighing.each(problem), relations, strict=True)
    )
    free = tuple(problem.unknown.items())
    if free:
        theta = jnp.concatenate([theta, jnp.asarray(unknowns.started(free), dtype)])
    added = tuple(OwnTerm(jnp.asarray(weight, dtype), f, own_name(f)) for weight, f in own)
    return PhysicsLoss(terms, fixed, unravel, weighting or Fixed(), own=added, free=free), theta


def _shares(sigma: np.ndarray | None, dtype: Any) -> Array | None:
    """1/σ², scaled to 1 on average."""
    return None if sigma is None else jnp.asarray(sigma**-2 / np.mean(sigma**-2), dtype)


def flattened(network: Any) -> tuple[Float[Array, " p"], Any, Any]:
    """(θ, unravel, fixed): `eqx.combine(unravel(θ), fixed)` restores the network."""
    moving = trainable(network)
    theta, unravel = ravel_pytree(moving)
    moves = jax.tree.map(lambda leaf: leaf is not None, moving, is_leaf=lambda x: x is None)
    return theta, unravel, eqx.partition(network, moves)[1]

"""(∇²total + μ I) d = −∇total by conjugate gradients, theta ← theta + α d: NysNewton-CG (Rathore et al., 2024).

Only products with the Hessian are computed. Those with `rank` orthonormal random directions Ω give the Nyström
approximation, whose largest eigenvalues are close to the Hessian's,

    ∇²total ≈ (HΩ)(ΩᵀHΩ)⁻¹(HΩ)ᵀ = U S Uᵀ,      P⁻¹ = U (s + μ)(S + μ I)⁻¹ Uᵀ + I − U Uᵀ,   s = min S,

and P preconditions the conjugate gradients (Frangella, Tropp and Udell, 2023): of the ten orders of magnitude that the
eigenvalues of a physics loss span, only those below s are left. The step α satisfies Armijo's condition; it is found by
the line search of the quasi-Newton methods, starting from 1.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float, Int

from .base import Optimiser, require_double
from .line_search import choose, line_search
from .status import (
    Evaluation,
    Objective,
    State,
    Status,
    Trace,
    code,
    descending,
    first_evaluation,
    iteration_count,
    moved,
    repeat,
    verdict,
)

CHANGE = 2.0  # factor between the dampings of successive steps
Operator = Callable[[Float[Array, " p"]], Float[Array, " p"]]


class NNCGState(State):
    """The gradient at theta, the last direction, μ, and the Nyström approximation U S Uᵀ of the Hessian."""

    gradient: Float[Array, " p"]
    direction: Float[Array, " p"]
    damping: Float[Array, ""]
    U: Float[Array, "p rank"]
    S: Float[Array, " rank"]


@dataclass(frozen=True)
class NNCG(Optimiser):
    """NysNewton-CG: at most `iterations` accepted Newton steps, each by at most `inner` conjugate gradients.

    `damping` is the initial μ. It is halved after every step, but doubled after one that met negative curvature or was
    not taken at its full length: a fixed μ, as in the paper, must be tuned for every problem. The preconditioner of
    rank `rank` is rebuilt every `every` steps, from random directions determined by `seed` and the step's number.
    Conjugate gradients end when the residual is below `forcing` times the gradient, or when they meet negative
    curvature. Every product with the Hessian counts as an evaluation.

    Stops as GRADIENT when max|gradient| <= tolerance, as DECREASE when a step lowers the best loss by a relative amount
    below `tolerance`, and as NO_STEP when no step along the direction lowers it.

    Examples:
        >>> schedule = [sn.Adam(500), sn.LBFGS(1000), sn.NNCG(100, rank=30)]
        >>> [phase.name for phase in sn.Train("pinn", schedule).plan(decay).phases]
        ['adam', 'lbfgs', 'nncg']
    """

    iterations: int
    damping: float = 1e-4
    rank: int = 60
    every: int = 20
    inner: int = 200
    forcing: float = 1e-3
    tolerance: float = 1e-10
    seed: int = 0
    name: ClassVar[str] = "nncg"
    double: ClassVar[bool] = True
    looks: ClassVar[int] = 10  # its steps are few and long

    def start(self, objective: Objective, theta: Float[Array, " p"]) -> NNCGState:
        skew = "conjugate gradients lose their orthogonality within a few steps of single precision"
        require_double(theta, "NysNewton-CG", skew)
        rank = min(self.rank, theta.size)
        return NNCGState(
            **descending(theta, first_evaluation(objective, theta), self.tolerance),
            direction=jnp.zeros_like(theta),
            damping=jnp.asarray(self.damping, theta.dtype),
            U=jnp.zeros((theta.size, rank), theta.dtype),
            S=jnp.zeros(rank, theta.dtype),
        )

    def advance(self, objective: Objective, state: NNCGState, count: int) -> tuple[NNCGState, Trace]:
        limits = Limits(
            *(jnp.asarray(x, jnp.int32) for x in (self.iterations, self.every, self.inner, self.seed)),
            *(jnp.asarray(x, state.theta.dtype) for x in (self.forcing, self.tolerance)),
        )
        return _advance(limits, objective, state, iteration_count(count))


class Limits(eqx.Module):
    """The phase's numbers as device arrays: other values do not compile another program."""

    iterations: Int[Array, ""]
    every: Int[Array, ""]
    inner: Int[Array, ""]
    seed: Int[Array, ""]
    forcing: Float[Array, ""]
    tolerance: Float[Array, ""]


@eqx.filter_jit
def _advance(
    limits: Limits, objective: Objective, state: NNCGState, count: Int[Array, ""]
) -> tuple[NNCGState, Trace]:
    return repeat(lambda state: _step(limits, objective, state), state, count, limits.iterations)


def _step(limits: Limits, objective: Objective, state: NNCGState) -> NNCGState:
    # Linearise once: the products share what depends on theta alone.
    _, hessian = jax.linearize(jax.grad(lambda theta: objective(theta)[0]), state.theta)
    anew = state.iteration % limits.every == 0
    key = jax.random.fold_in(jax.random.key(limits.seed), state.iteration)
    U, S = lax.cond(anew, lambda: nystrom(hessian, key, *state.U.shape), lambda: (state.U, state.S))
    mu = state.damping
    solved = conjugate_gradients(
        lambda v: hessian(v) + mu * v,
        lambda v: precondition(U, S, mu, v),
        -state.gradient,
        state.direction,
        limits.inner,
        limits.forcing,
    )
    here = Evaluation(state.total, state.terms, state.gradient)
    one = jnp.ones((), state.theta.dtype)
    search = line_search(objective, state.theta, here, state.best_total, solved.x, one)

    # Otherwise the damped quadratic does not model the loss: at a saddle, or over so long a step.
    trusted = solved.positive & (search.count == 1)
    products = solved.count + 1 + jnp.where(anew, S.size, 0)
    state = replace(state, evaluations=state.evaluations + search.count + products)
    there = search.evaluation
    after = replace(
        moved(state, search.theta, there.total, there.terms, there.gradient_norm),
        gradient=there.gradient,
        direction=solved.x,
        damping=jnp.where(trusted, mu / CHANGE, mu * CHANGE),
        U=U,
        S=S,
    )
    status = verdict(after, state.best_total, limits.tolerance)
    # A step that was cut short, or one at a saddle, also lowers the loss only a little: only a trusted one counts.
    status = jnp.where(~trusted & (status == Status.DECREASE), code(Status.RUNNING), status)
    failure = jnp.where(search.finite, code(Status.NO_STEP), code(Status.NON_FINITE))
    return choose(search.found, replace(after, status=status), replace(state, status=failure))


def nystrom(
    hessian: Operator, key: Array, size: int, rank: int
) -> tuple[Float[Array, "p rank"], Float[Array, " rank"]]:
    """U and S >= 0, in descending order, with U S Uᵀ ≈ the positive part of the Hessian."""
    omega, _ = jnp.linalg.qr(jax.random.normal(key, (size, rank), jnp.float64))
    products = lax.map(hessian, omega.T).T
    core = omega.T @ products
    core = (core + core.T) / 2
    # A shift makes the core positive definite: it covers rounding and the negative curvature of a network's Hessian.
    rounding = jnp.finfo(core.dtype).eps * jnp.linalg.norm(products)
    shift = rounding + jnp.maximum(0, -jnp.linalg.eigvalsh(core)[0])
    factor = jnp.linalg.cholesky(core + shift * jnp.eye(rank, dtype=core.dtype))
    root = solve_triangular(factor, (products + shift * omega).T, lower=True)
    U, sigma, _ = jnp.linalg.svd(root.T, full_matrices=False)
    return U, jnp.maximum(sigma**2 - shift, 0)


def precondition(
    U: Float[Array, "p rank"], S: Float[Array, " rank"], mu: Float[Array, ""], v: Float[Array, " p"]
) -> Float[Array, " p"]:
    """P⁻¹ v"""
    inside = U.T @ v
    return v + U @ (((S[-1] + mu) / (S + mu) - 1) * inside)


class Solved(eqx.Module):
    """x with residual b − A x, the search direction p of the next step, and r·P⁻¹r."""

    x: Float[Array, " p"]
    residual: Float[Array, " p"]
    p: Float[Array, " p"]
    rz: Float[Array, ""]
    count: Int[Array, ""]
    positive: Bool[Array, ""]


def conjugate_gradients(
    A: Operator,
    inverse: Operator,
    b: Float[Array, " p"],
    guess: Float[Array, " p"],
    limit: Int[Array, ""],
    forcing: Float[Array, ""],
) -> Solved:
    """x ≈ A⁻¹ b with b·x > 0 for any symmetric A; P⁻¹ b if no positive curvature is found at all.

    ½ x·A x − b·x falls with every step. It starts at the best multiple of the guess, where it is at most 0, and so is
    negative at the end: if b is minus a gradient, x is a descent direction.
    """
    product = A(guess)
    curvature = guess @ product
    share = jnp.where(curvature > 0, (guess @ b) / jnp.where(curvature > 0, curvature, 1), 0)
    residual = b - share * product
    z = inverse(residual)
    first = Solved(share * guess, residual, z, residual @ z, jnp.asarray(0, jnp.int32), jnp.asarray(True))
    enough = forcing * jnp.linalg.norm(b)

    def unfinished(at: Solved) -> Bool[Array, ""]:
        going: Array = at.positive & (at.count < limit) & (jnp.linalg.norm(at.residual) > enough)
        return going

    def body(at: Solved) -> Solved:
        product = A(at.p)
        curvature = at.p @ product
        positive = curvature > 0
        alpha = jnp.where(positive, at.rz / jnp.where(positive, curvature, 1), 0)
        residual = at.residual - alpha * product
        z = inverse(residual)
        rz = residual @ z
        return Solved(at.x + alpha * at.p, residual, z + (rz / at.rz) * at.p, rz, at.count + 1, positive)

    last = lax.while_loop(unfinished, body, first)
    return replace(last, x=jnp.where(jnp.any(last.x != 0), last.x, inverse(b)))

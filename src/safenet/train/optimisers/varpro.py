"""min over ω of ½ ‖r(ω, a*(ω))‖²,  a*(ω) = argmin over a of ‖r(ω, a)‖:  variable projection over the frequencies.

The rows of a linear problem are linear in the amplitudes a of the network's last layer, r = A(ω) a + r(ω, 0). So least
squares give a, and only the frequencies are trained, by Levenberg–Marquardt on the projected rows (Golub and Pereyra,
1973) with Kaufman's Jacobian (1975)

    J = (I − A A⁺) ∂r/∂ω,

which leaves out a part that is small where r is. Without a hidden layer this is the paper's Eq. (safenet) with
trainable frequencies: u = Σ a_k φ_k(x; ω). With one, its weights are trained like the frequencies.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int

from ...measure.thresholds import REGULARISATION
from ...networks.perceptron import trainable
from .levenberg import LevenbergMarquardt, LevenbergState
from .status import Trace


class Projected(eqx.Module):
    """An objective of theta that ignores the entries `linear` and uses a*(the others) in their place."""

    inner: Any
    linear: Int[Array, " n"]

    def __call__(self, theta: Float[Array, " p"]) -> tuple[Float[Array, ""], Float[Array, " k"]]:
        total, terms = self.inner(self.solved(theta))
        return total, terms

    def rows(self, theta: Float[Array, " p"]) -> Float[Array, " m"]:
        rows: Array = self.inner.rows(self.solved(theta))
        return rows

    def normal_equations(
        self, theta: Float[Array, " p"]
    ) -> tuple[Float[Array, "p p"], Float[Array, " p"], Float[Array, ""]]:
        """JᵀJ and Jᵀr with Kaufman's J, whose columns are zero where theta is linear."""
        J, r = self.projected(self.solved(theta))
        return J.T @ J, J.T @ r, jnp.sum(r**2) / 2

    def projected(self, theta: Float[Array, " p"]) -> tuple[Float[Array, "m p"], Float[Array, " m"]]:
        """(I − A A⁺) ∂r/∂theta and r, at a theta that is solved."""
        J, r = self.inner.jacobian(theta)
        Q, _, _ = self._factors(J)
        return (J - Q @ (Q.T @ J)).at[:, self.linear].set(0.0), r

    def solved(self, theta: Float[Array, " p"]) -> Float[Array, " p"]:
        """theta with its linear entries replaced by a*: a function of the others alone, to the bit.

        No derivative is taken through a*: at the minimum over a, that of the loss along a is zero.
        """
        theta = theta.at[self.linear].set(0.0)
        J, r = self.inner.jacobian(lax.stop_gradient(theta))
        Q, R, scale = self._factors(J)
        a = -solve_triangular(R, Q.T @ r)
        # Solve once more for the remainder: the first solve loses the digits by which its terms cancel.
        a = a - solve_triangular(R, Q.T @ (r + J[:, self.linear] @ (a / scale)))
        return theta.at[self.linear].set(a / scale)

    def _factors(
        self, J: Float[Array, "m p"]
    ) -> tuple[Float[Array, "m n"], Float[Array, "n n"], Float[Array, " n"]]:
        """Q R = [A/scale; ε I], as in `newton`: products of nearly equal frequencies are nearly dependent."""
        A = J[:, self.linear]
        scale = jnp.linalg.norm(A, axis=0)
        scale = jnp.where(scale > 0, scale, 1)
        size = scale.size
        below = REGULARISATION * jnp.sqrt(size) * jnp.eye(size, dtype=A.dtype)
        Q, R = jnp.linalg.qr(jnp.concatenate([A / scale, below]))
        return Q[: A.shape[0]], R, scale


@dataclass(frozen=True)
class VariableProjection(LevenbergMarquardt):
    """Levenberg–Marquardt on all but the last layer of a network, which is solved for; `iterations` = 0 solves once."""

    name: ClassVar[str] = "variable projection"
    finds_numbers: ClassVar[bool] = False

    def start(self, objective: Any, theta: Float[Array, " p"]) -> LevenbergState:
        projected = Projected(objective, last_layer(objective.field(theta)))
        return _filled(projected, super().start(projected, theta))

    def advance(self, objective: Any, state: LevenbergState, count: int) -> tuple[LevenbergState, Trace]:
        projected = Projected(objective, last_layer(objective.field(state.theta)))
        state, trace = super().advance(projected, state, count)
        return _filled(projected, state), trace


def last_layer(network: Any) -> Int[Array, " n"]:
    """The indices of a perceptron's last layer among its flat parameters."""
    zeros = jax.tree.map(jnp.zeros_like, trainable(network))
    last = zeros.weights[-1], zeros.biases[-1]
    marked = eqx.tree_at(lambda tree: (tree.weights[-1], tree.biases[-1]), zeros, [1 + leaf for leaf in last])
    return jnp.flatnonzero(ravel_pytree(marked)[0]).astype(jnp.int32)


@eqx.filter_jit
def _solved(projected: Projected, theta: Float[Array, " p"]) -> Float[Array, " p"]:
    return projected.solved(theta)


def _filled(projected: Projected, state: LevenbergState) -> LevenbergState:
    """The state with the amplitudes of its frequencies, for any reader of theta; no step depends on them."""
    theta, best = (_solved(projected, theta) for theta in (state.theta, state.best_theta))
    return replace(state, theta=theta, best_theta=best)

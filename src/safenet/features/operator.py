"""φ = Re, Im of z^j/j! e^{ik·z + s(k) z_t}, P(k, s) = 0: waves that solve the (linear part of the) equations exactly.

s follows k through the dispersion relation P, so that the functions stay solutions while the k are trained.
"""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import sympy as sp
from jax import lax
from jax.typing import DTypeLike
from jaxtyping import Array, Complex, Float

from ..fields.modes import wave_factors
from ..problem import Problem
from ..problem.evaluate import evaluate
from ..problem.facts.dispersion import Symbol, symbol
from ..problem.facts.waves import Factors, families, open_axes
from .base import Features, Frozen

NEWTON = 4  # steps from the initial root s to the one at the current k: exact if P is linear in s


class OperatorFeatures(Features):
    """Waves k (modes, all axes but one), trainable where s(k) is a simple root; Newton's method on P(k, ·) gives s."""

    k: Float[Array, "modes waves"]
    start: Frozen  # (modes, 2): s at the start, real and imaginary part
    anchors: Frozen  # (modes, axes)
    symbol: Symbol = eqx.field(static=True)
    factors: Factors = eqx.field(static=True)  # the distinct rows over the fields
    along: int = eqx.field(static=True)
    powers: tuple[int, ...] = eqx.field(static=True)
    simple: tuple[bool, ...] = eqx.field(static=True)
    real: tuple[bool, ...] = eqx.field(static=True)

    @property
    def size(self) -> int:
        return len(self.factors) * (2 * len(self.real) - sum(self.real))

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        exponents = self.exponents()
        z = point - self.anchors.value
        growth = jnp.ones_like(z[:, 0])
        for j in range(max(self.powers), 0, -1):
            growth = jnp.where(np.array(self.powers) >= j, growth * z[:, self.along] / j, growth)
        paired = np.flatnonzero(~np.array(self.real))
        found = []
        for row in self.factors:
            value = growth.astype(exponents.dtype) * wave_factors(row, exponents, z, jnp)
            found += [value.real, value.imag[paired]]
        return jnp.concatenate(found)

    def exponents(self) -> Complex[Array, "modes axes"]:
        """κ: ik, and s(k) on the axis `along`; the derivative of s is that of the implicit function, −P_k/P_s."""
        simple = jnp.asarray(self.simple)
        k = jnp.where(simple[:, None], self.k, lax.stop_gradient(self.k))
        waves = lax.complex(jnp.zeros_like(k), k)
        s = lax.complex(*self.start.value.T)
        kappa = self.symbol.exponents
        rest = [i for i in range(len(kappa)) if i != self.along]
        values = {kappa[i]: waves[:, column] for column, i in enumerate(rest)}
        polynomial = sp.Poly(self.symbol.determinant, kappa[self.along])
        for _ in range(NEWTON):
            here = {**values, kappa[self.along]: s}
            value, slope = (
                jnp.broadcast_to(jnp.asarray(evaluate(p.as_expr(), here, jnp), s.dtype), s.shape)
                for p in (polynomial, polynomial.diff())
            )
            # Divide only where the root is simple: a zero slope would make the gradient of the others nan, too.
            s = s - jnp.where(simple, value / jnp.where(simple, slope, 1.0), 0.0)
        columns = [s if i == self.along else waves[:, rest.index(i)] for i in range(len(kappa))]
        return jnp.stack(columns, axis=1)


def operator_features(problem: Problem, features: int, *, dtype: DTypeLike) -> OperatorFeatures:
    """About `features` functions, longest waves first; s is for time or, in a steady problem, the last open axis."""
    along = open_axes(problem)[-1] if problem.time is None else problem.time
    count = 0
    while True:
        count += 1
        (family,) = families(problem, [count] * len(problem.axes), [along])
        wanted = ~family.standing | (family.exponents[:, along].imag >= 0)
        power = np.array([np.flatnonzero(np.any(c != 0, axis=0)).max(initial=0) for c in family.coefficients])
        keys = list(zip(family.wave, family.exponents[:, along], power, strict=True))
        first = [i for i, key in enumerate(keys) if wanted[i] and keys.index(key) == i]
        rows = tuple(dict.fromkeys(family.factors))
        cost = len(rows) * np.array([1 if family.real[i] else 2 for i in first])
        if cost.sum() >= features or len(problem.axes) == 1:
            break
    rest = [i for i in range(len(problem.axes)) if i != along]
    lengths = np.array([problem.axes[i].length for i in rest])
    k = family.exponents[:, rest].imag
    order = np.argsort(np.sum((k[first] * lengths) ** 2, axis=1), kind="stable")
    kept = np.array(first)[order[: max(1, int(np.searchsorted(np.cumsum(cost[order]), features + 1)))]]
    simple = [sum(key[:2] == other[:2] for other in keys) == 1 for key in (keys[i] for i in kept)]
    s = family.exponents[kept, along]
    return OperatorFeatures(
        jnp.asarray(k[kept], dtype),
        Frozen(jnp.asarray(np.stack([s.real, s.imag], axis=1), dtype)),
        Frozen(jnp.asarray(family.anchors[kept], dtype)),
        symbol(problem),
        rows,
        along,
        tuple(int(p) for p in power[kept]),
        tuple(simple),
        tuple(bool(r) for r in family.real[kept]),
    )

"""Σ_i f(λ_i)/p ≈ 1/n_v Σ_j Σ_k τ_jk² f(θ_jk): stochastic Lanczos quadrature (Golub and Meurant; Ubaru et al., 2017).

For a probe v, ‖v‖ = 1, m Lanczos steps give a tridiagonal matrix T. Its eigenvalues θ_k are nodes and the squares
τ_k² of the first entries of its eigenvectors are weights of a quadrature for the spectral density that v sees; the
mean over random probes is the spectral density of A. The extreme nodes are the extreme eigenvalues, to many digits.

The iteration is matfree's, with full re-orthogonalisation: without it, rounding creates copies of converged
eigenvalues, and the density is wrong. LAPACK's solver for symmetric tridiagonal matrices diagonalises T.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from matfree import decomp
from scipy.linalg import eigh_tridiagonal

from ..errors import SafeNetError
from .curvature import in_batches

PROBES, STEPS = 100, 200  # as in the paper


def lanczos_quadrature(
    A: Any, probes: int = PROBES, steps: int = STEPS, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes, weights and reaches, each (probes, steps), for a symmetric A: a pytree with a `size`, called as A(v).

    Within the reach of a node, β_m |last entry of its eigenvector|, there is an eigenvalue of A. If a Krylov space ends
    early (a matrix of low rank), the nodes beyond its end have weight zero.
    """
    if probes < 1 or steps < 1:
        raise SafeNetError(f"{probes} probes of {steps} steps are too few", "give at least one of each")
    steps = min(steps, A.size)
    found = map(np.asarray, _tridiagonal(A, _probes(A.size, probes, seed), steps))
    nodes, weights, reaches = (np.empty((probes, steps)) for _ in range(3))
    for j, (alpha, beta, rest) in enumerate(zip(*found, strict=True)):
        nodes[j], vectors = eigh_tridiagonal(alpha, beta)
        weights[j], reaches[j] = vectors[0] ** 2, rest * np.abs(vectors[-1])
    # After a breakdown, nodes are coupled to the probe only by rounding; weights are squares, hence ε^1.5.
    weights[weights < np.finfo(float).eps ** 1.5] = 0.0
    return nodes, weights / weights.sum(axis=1, keepdims=True), reaches


def _probes(size: int, count: int, seed: int) -> Float[Array, "count size"]:
    """Random directions: Gaussian vectors of length one, so that the density integrates to one for each of them."""
    v = jax.random.normal(jax.random.key(seed), (count, size), jnp.float64)
    return jnp.asarray(v / jnp.linalg.norm(v, axis=1, keepdims=True))


@eqx.filter_jit
def _tridiagonal(A: Any, probes: Float[Array, "n p"], steps: int) -> tuple[Array, Array, Array]:
    lanczos = decomp.tridiag_sym(steps, reortho="full", materialize=False, custom_vjp=False)

    def one(v: Array) -> Any:
        _, (diagonal, off), residual, _ = lanczos(A, v)
        return diagonal, off, jnp.linalg.norm(residual)

    diagonal, off, rest = in_batches(one, probes)
    return diagonal, off, rest

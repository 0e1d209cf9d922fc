"""Q(t) − Q(0) = 0 as a term of the loss: energy of waves and of Burgers' equation, mass and momentum of KdV's.

The same plan with and without the term shows its effect. Integrals by Gauss–Legendre in space and by
Chebyshev series in time, derivatives exact.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial.chebyshev import chebint, chebvander

import safenet as sn

NODES, TIMES, WEIGHT = 100, 17, 1.0
SEEDS, SCALE = (0,), 0.05  # of the default recipe's steps
Density = Callable[[Any, Any, Any], Any]  # u, u_x, u_t → the density, to be integrated over x
KDV = Path(__file__).parents[2] / "examples" / "kdv-periodic.toml"


@dataclass(frozen=True)
class Balance:
    """Q(t_k) − Q(t_0) + ∫∫ loss, over |Q(t_0)|, with Q = ∫ density dx: zero for a solution."""

    problem: sn.Problem
    density: Density
    loss: Density | None = None

    @cached_property
    def nodes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """x, its weights, t, and the matrix that takes values at t to their integrals from the start."""
        (low, high), (start, end) = ((float(a), float(b)) for a, b in self.problem.bounds.values())
        x, weights = np.polynomial.legendre.leggauss(NODES)
        s = -np.cos(np.pi * np.arange(TIMES) / (TIMES - 1))
        integrals = chebint(np.eye(TIMES), lbnd=-1)  # of every Chebyshev polynomial
        matrix = chebvander(s, TIMES) @ integrals @ np.linalg.inv(chebvander(s, TIMES - 1))
        t, half = start + (end - start) * (s + 1) / 2, (end - start) / 2
        return low + (high - low) * (x + 1) / 2, weights * (high - low) / 2, t, half * matrix

    def of(self, u: Any, u_x: Any, u_t: Any) -> Any:
        """The balance of values at all times (rows) and points (columns)."""
        _, weights, _, integrals = self.nodes
        total = self.density(u, u_x, u_t) @ weights
        missed = total[1:] - total[0]
        if self.loss is not None:
            missed = missed + (integrals @ (self.loss(u, u_x, u_t) @ weights))[1:]
        return missed / jnp.abs(total[0])

    def __call__(self, network: Any) -> Any:
        x, _, t, _ = self.nodes
        points = jnp.asarray(np.stack(np.meshgrid(t, x, indexing="ij")[::-1], axis=-1))

        def jet(point: Any) -> Any:
            (u,), ((u_x, u_t),) = network(point), jax.jacfwd(network)(point)
            return u, u_x, u_t

        return self.of(*jax.vmap(jax.vmap(jet))(points))

    def missed(self) -> float:
        """The balance of the direct solution: the quadrature error, which must be small beside a network's error."""
        sol, (x, _, t, _) = sn.solve(self.problem, monitor=sn.Monitor()), self.nodes
        at = dict(zip("tx", np.meshgrid(t, x, indexing="ij"), strict=True))
        values = sol(**at), sol.diff("x")(**at), sol.diff("t")(**at)
        return float(jnp.sqrt(jnp.mean(self.of(*map(np.asarray, values)) ** 2)))


def cases() -> dict[str, list[Balance]]:
    wave, kdv = sn.library.wave(), sn.read(KDV)
    burgers = sn.library.problem("burgers", nu=0.1)  # these nodes resolve its front
    c, nu = (float(next(iter(problem.parameters.values()))) for problem in (wave, burgers))
    return {
        "wave, energy": [Balance(wave, lambda u, u_x, u_t: (u_t**2 + (c * u_x) ** 2) / 2)],
        "burgers nu=0.1, energy": [
            Balance(burgers, lambda u, u_x, u_t: u**2 / 2, lambda u, u_x, u_t: nu / np.pi * u_x**2)
        ],
        "kdv, mass and momentum": [
            Balance(kdv, lambda u, u_x, u_t: u),
            Balance(kdv, lambda u, u_x, u_t: u**2),
        ],
    }


def study() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, balances in cases().items():
        yield f"{name}: of the direct solution", {"missed": max(one.missed() for one in balances)}
        for kind, terms in (("without", []), ("with", [(WEIGHT, one) for one in balances])):
            results = [
                sn.solve(
                    balances[0].problem,
                    sn.Train(scale=SCALE, terms=terms, seed=seed),
                    monitor=sn.Monitor(),
                ).result
                for seed in SEEDS
            ]
            yield (
                f"{name}: {kind}",
                {
                    "l2re": statistics.median(result.l2re for result in results),
                    "seeds": len(SEEDS),
                    "steps": max(result.iterations for result in results),
                },
            )

"""PyHessian on the same network, side by side: λ_max, trace and seconds.

    python benchmarks/spectra_peers.py results/spectra-peers.json [--points 1000] [--probes 2] [--steps 30]
                                                                  [--traces 100] [--width 50] [--depth 4]

Needs `pip install torch pyhessian`. The wave equation with the plain PINN (4 × 50); weights, points and float64 are the
same in both. Each estimates the trace from its own `--traces` probes vᵀAv (ours of random direction, PyHessian's with
entries ±1); for networks of at most 1000 parameters, the trace is known. PyHessian's density calls torch.eig, which
torch no longer has; here it is replaced by torch.linalg.eigh.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

import safenet as sn
from safenet.analysis import curvature, eigenvalue_spectrum, quadrature_spectrum
from safenet.measure.points import sample
from safenet.train.objective import physics_loss

try:
    import torch
    from pyhessian import hessian
except ImportError as missing:
    sys.exit(f"{missing}: this comparison needs `pip install torch pyhessian`")


class WaveRows(torch.nn.Module):
    """√(λ/n) r at the points of every term of u_tt = 4 u_xx with the conditions of the library's problem."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        tensor = lambda a: torch.nn.Parameter(torch.tensor(np.array(a)))  # noqa: E731
        self.weights = torch.nn.ParameterList(map(tensor, network.weights))
        self.biases = torch.nn.ParameterList(map(tensor, network.biases))

    def u(self, x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
        value = torch.stack([2 * x - 1, 2 * t - 1], dim=1)
        layers = list(zip(self.weights, self.biases, strict=True))
        for W, b in layers[:-1]:
            value = torch.tanh(value @ W.T + b)
        W, b = layers[-1]
        return (value @ W.T + b)[:, 0]

    def forward(self, points: list[torch.Tensor]) -> torch.Tensor:
        def slope(u: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return torch.autograd.grad(u.sum(), x, create_graph=True)[0]

        (x, t), *conditions = [[p[:, i].clone().requires_grad_() for i in (0, 1)] for p in points]
        u = self.u(x, t)
        rows = [(slope(slope(u, t), t) - 4 * slope(slope(u, x), x)) / len(x) ** 0.5]
        (_, left), (_, right), (start, _), (speed, _) = conditions
        zero = torch.zeros_like(speed).requires_grad_()
        residuals = [
            self.u(torch.zeros_like(left), left),
            self.u(torch.ones_like(right), right),
            self.u(start, torch.zeros_like(start))
            - torch.sin(torch.pi * start)
            - torch.sin(4 * torch.pi * start) / 2,
            slope(self.u(speed, zero), zero),
        ]
        return torch.cat([*rows, *((100 / len(r)) ** 0.5 * r for r in residuals)])


def _eig(matrix: torch.Tensor, eigenvectors: bool) -> tuple[torch.Tensor, torch.Tensor]:
    values, vectors = torch.linalg.eigh(matrix)
    return torch.stack([values, torch.zeros_like(values)], dim=1), vectors


def timed(work: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    return work(), round(time.perf_counter() - began, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", type=Path)
    parser.add_argument("--points", type=int, default=1000)
    parser.add_argument("--probes", type=int, default=2)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--traces", type=int, default=100)
    parser.add_argument("--width", type=int, default=50)
    parser.add_argument("--depth", type=int, default=4)
    given = parser.parse_args()
    torch.set_default_dtype(torch.float64)
    torch.eig = _eig
    problem = sn.library.wave()
    chosen = sn.networks.method("pinn", width=given.width, depth=given.depth)
    network = sn.networks.build(problem, chosen, key=jax.random.key(0))
    points = sample(problem, given.points, given.points // 10, "uniform", 0)
    loss, theta = physics_loss(problem, network, points)
    A = curvature(loss, theta)
    quadrature_spectrum("hessian", A, given.probes, given.steps)  # compiles
    ours, seconds = timed(lambda: quadrature_spectrum("hessian", A, given.probes, given.steps))
    # One Lanczos step is vᵀAv.
    quadrature_spectrum("hessian", A, given.traces, 1)
    traced, trace_seconds = timed(lambda: quadrature_spectrum("hessian", A, given.traces, 1))

    cuda = torch.cuda.is_available()
    model = WaveRows(network).to("cuda" if cuda else "cpu")
    places = [
        torch.tensor(p, device="cuda" if cuda else "cpu") for p in (points.interior, *points.conditions)
    ]
    # PyHessian passes its data to the model; a list works if it assumes the CPU (cuda=False).
    peer, setup = timed(
        lambda: hessian(model, lambda rows, _: (rows**2).sum() / 2, (places, None), cuda=False)
    )
    (nodes, weights), peer_seconds = timed(lambda: peer.density(iter=given.steps, n_v=given.probes))
    (top, _), power_seconds = timed(lambda: peer.eigenvalues(top_n=1))
    nodes, weights = np.array(nodes), np.array(weights)
    # It stops when its mean changes by less than `tol`, relatively; with −∞ it never does, so that all probes count.
    peer_traces, peer_trace_seconds = timed(lambda: np.array(peer.trace(given.traces, tol=-np.inf)))
    estimate, error = traced.moment(1)
    peer_estimate, peer_error = peer_traces.mean(), peer_traces.std(ddof=1) / len(peer_traces) ** 0.5
    found = {
        "what": f"wave, pinn, {theta.size} parameters, {given.points} points, {given.probes} × {given.steps} products "
        f"for the density, {given.traces} for the trace",
        "device": str(jax.devices()[0].device_kind),
        "loss": {"ours": float(loss(theta)[0]), "pyhessian": float((model(places) ** 2).sum().detach() / 2)},
        "lambda_max": {
            "ours": ours.lambda_max,
            "pyhessian, Lanczos": float(nodes.max()),
            "pyhessian, power iteration": top[0],
        },
        "trace and its standard error": {
            "ours": [estimate, error],
            "pyhessian": [float(peer_estimate), float(peer_error)],
            "difference in standard errors": float(
                abs(estimate - peer_estimate) / np.hypot(error, peer_error)
            ),
        },
        "seconds": {
            "ours": seconds,
            "pyhessian": peer_seconds,
            "pyhessian, power iteration": power_seconds,
            "trace, ours": trace_seconds,
            "trace, pyhessian": peer_trace_seconds,
            "pyhessian, setup": setup,
        },
    }
    if theta.size <= 1000:
        exact = eigenvalue_spectrum("hessian", A.dense())
        found["lambda_max"]["exact"] = exact.lambda_max
        found["trace and its standard error"]["exact"] = exact.moment(1)[0]
    given.store.parent.mkdir(parents=True, exist_ok=True)
    given.store.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

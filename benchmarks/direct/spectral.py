"""Other systems on Fourier and Chebyshev grids: exponax, NumPy in the plane, splitting, collocation with SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .problems import BOXES, MOMENTS, places
from .systems import LINES

# ---- exponax


def exponax(name: str, n: int, steps: int) -> dict[str, Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    import exponax as ex
    import jax.numpy as jnp

    if name in LINES:
        low, length, _, formula, _, end = LINES[name]
        start = formula(low + length * np.arange(n) / n)[None]
        made: Any = {
            "kuramoto-sivashinsky": lambda: ex.stepper.KuramotoSivashinskyConservative(
                1, length, n, end / steps, order=4
            ),
            "burgers": lambda: ex.stepper.Burgers(
                1, length, n, end / steps, diffusivity=1 / (100 * np.pi), order=4
            ),
        }[name]()
    else:
        made, start = in_space(ex, name, n, steps)
    final = np.asarray(jax.jit(ex.repeat(made, steps))(jnp.asarray(start)))
    if name == "shear-layer":
        final = flow(-final[0])  # its vorticity is u_y − v_x
    every = n // {1: 64, 2: 16, 3: 8}[final.ndim - 1]
    return {"values": [[one[(slice(None, None, every),) * one.ndim].ravel().tolist()] for one in final]}


def in_space(ex: Any, name: str, n: int, steps: int) -> tuple[Any, np.ndarray]:
    """The stepper and its initial values."""
    axes, low, length = BOXES[name]
    x = np.meshgrid(*[low + length * np.arange(n) / n] * axes, indexing="ij")
    reaction, turn = ex.stepper.reaction, 2 * np.pi
    if name == "heat-plane":
        made = ex.stepper.Diffusion(2, length, n, 1 / steps, diffusivity=0.01)
        return made, np.exp(-40 * (x[0] ** 2 + x[1] ** 2))[None]
    if name == "gray-scott":
        made = reaction.GrayScott(
            2,
            1.0,
            n,
            200 / steps,
            diffusivity_1=2e-5,
            diffusivity_2=1e-5,
            feed_rate=0.04,
            kill_rate=0.06,
            order=4,
        )
        return made, PLANES["gray-scott"][2](*x)
    if name == "fisher-plane":
        made = reaction.FisherKPP(2, 1.0, n, 2 / steps, diffusivity=0.01, reactivity=5.0, order=4)
        return made, PLANES["fisher-plane"][2](*x)
    if name == "shear-layer":
        made = ex.stepper.NavierStokesVorticity(2, length, n, 2 / steps, diffusivity=1e-3, order=4)
        return made, (8 * np.cos(x[1]) / np.cosh(8 * np.sin(x[1])) ** 2 - np.cos(x[0]) / 20)[None]
    made = reaction.AllenCahn(3, 1.0, n, 5 / steps, diffusivity=0.01, order=4)
    return made, ((np.cos(turn * x[0]) + np.cos(turn * x[1]) * np.sin(turn * x[2])) / 5)[None]


def flow(vorticity: np.ndarray) -> np.ndarray:
    """(u, v) with v_x − u_y = ω, of mean zero."""
    n = len(vorticity)
    k = np.fft.fftfreq(n, 1 / n)
    kx, ky = k[:, None], k[None, :]
    square = np.where(kx**2 + ky**2 == 0, 1, kx**2 + ky**2)
    stream = np.fft.fft2(vorticity) / square
    return np.stack([np.fft.ifft2(1j * ky * stream).real, np.fft.ifft2(-1j * kx * stream).real])


# ---- NumPy: ETDRK4 in the plane, as an expert would write it for these equations

BUMP = 80.0
PLANES: dict[str, tuple[Any, Any, Any, float]] = {
    # linear symbols in |k|², nonlinear part in the values, initial values, final time
    "gray-scott": (
        lambda s: (-2e-5 * s - 0.04, -1e-5 * s - 0.1),
        lambda u: np.stack([0.04 - u[0] * u[1] ** 2, u[0] * u[1] ** 2]),
        lambda x, y: np.stack(
            [
                1 - np.exp(-BUMP * ((x - 0.5) ** 2 + (y - 0.5) ** 2)) / 2,
                np.exp(-BUMP * ((x - 0.5) ** 2 + (y - 0.5) ** 2)) / 4,
            ]
        ),
        200.0,
    ),
    "fitzhugh-nagumo": (
        lambda s: (10 - s / 100, -0.5 - s / 200),
        lambda u: np.stack([-10 * (u[0] ** 3 + u[1]), u[0]]),
        lambda x, y: np.stack(
            [np.sin(2 * np.pi * x) * np.cos(2 * np.pi * y), np.cos(2 * np.pi * x) / 5 + 0 * y]
        ),
        2.0,
    ),
    "cahn-hilliard": (
        lambda s: (s - s**2 / 400,),
        lambda u: u**3,  # multiplied by −|k|² in Fourier space
        lambda x, y: (np.cos(2 * np.pi * x) + np.cos(4 * np.pi * y) * np.sin(2 * np.pi * x))[None] / 10,
        0.05,
    ),
    "fisher-plane": (
        lambda s: (5 - s / 100,),
        lambda u: -5 * u**2,
        lambda x, y: np.exp(-20 * (np.sin(np.pi * x) ** 2 + np.sin(np.pi * y) ** 2))[None],
        2.0,
    ),
}


def numpy_plane(name: str, n: int, steps: int, until: float | None = None) -> dict[str, Any]:
    symbols, nonlinear, start, end = PLANES[name]
    end = until or end
    low = BOXES[name][1]
    x = low + np.arange(n) / n
    k = np.fft.fftfreq(n, 1 / n)[:, None], np.arange(n // 2 + 1)[None, :]
    square = (2 * np.pi) ** 2 * (k[0] ** 2 + k[1] ** 2)
    kept = (np.abs(k[0]) <= n // 3) & (k[1] <= n // 3)
    outer = -square if name == "cahn-hilliard" else 1.0

    def rest(v: np.ndarray) -> np.ndarray:
        return np.asarray(outer * kept * np.fft.rfft2(nonlinear(np.fft.irfft2(v, (n, n)))))

    h = end / steps
    lin = h * np.stack([one + 0 * square for one in symbols(square)])
    e, e2 = np.exp(lin), np.exp(lin / 2)
    q, f1, f2, f3 = (np.zeros_like(lin) for _ in range(4))
    for angle in np.pi * (np.arange(32) + 0.5) / 32:
        z = lin + np.exp(1j * angle)
        q += (h * (np.exp(z / 2) - 1) / z).real / 32
        f1 += (h * (-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3).real / 32
        f2 += (h * (2 + z + np.exp(z) * (-2 + z)) / z**3).real / 32
        f3 += (h * (-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3).real / 32
    v, found = np.fft.rfft2(start(x[:, None], x[None, :])), []
    for step in range(1, steps + 1):
        nv = rest(v)
        a = e2 * v + q * nv
        na = rest(a)
        nb = rest(e2 * v + q * na)
        v = e * v + nv * f1 + 2 * (na + nb) * f2 + rest(e2 * a + q * (2 * nb - nv)) * f3
        if step % (steps // MOMENTS) == 0:
            found.append(np.fft.irfft2(v, (n, n))[:, :: n // 16, :: n // 16])
    return {"values": [[one[f].ravel().tolist() for one in found] for f in range(len(lin))]}


def split_steps(name: str, n: int, steps: int, until: float = 5.0) -> dict[str, Any]:
    """Schrödinger's cubic equation by Yoshida's splitting of order 4."""
    x, k = -30 + 60 * np.arange(n) / n, 2 * np.pi / 60 * np.fft.fftfreq(n, 1 / n)
    u = (np.exp(1j * x) / np.cosh(x + 5) + np.exp(-1j * x) / np.cosh(x - 5)).astype(complex)
    h, third, found = until / steps, 2 ** (1 / 3), []
    shares = 1 / (2 - third), -third / (2 - third), 1 / (2 - third)
    turns = [np.exp(-0.5j * k**2 * share * h) for share in shares]
    for step in range(1, steps + 1):
        for share, turn in zip(shares, turns, strict=True):
            u = u * np.exp(0.5j * share * h * np.abs(u) ** 2)
            u = np.fft.ifft(turn * np.fft.fft(u))
            u = u * np.exp(0.5j * share * h * np.abs(u) ** 2)
        if step % (steps // MOMENTS) == 0:
            found.append(u[:: n // 64])
    return {"values": [[one.real.tolist() for one in found], [one.imag.tolist() for one in found]]}


# ---- Chebyshev collocation in a square with u = 0 on its sides


def collocated(name: str, n: int, rtol: float) -> dict[str, Any]:
    """e^{tA} for advection and diffusion, DOP853 for waves; values by barycentric interpolation."""
    import scipy

    nodes = (1 - np.cos(np.pi * np.arange(n + 1) / n)) / 2
    weights = (-1.0) ** np.arange(n + 1)
    weights[[0, -1]] /= 2
    gaps = nodes[:, None] - nodes + np.eye(n + 1)
    first = (weights / weights[:, None]) / gaps
    np.fill_diagonal(first, 0.0)
    np.fill_diagonal(first, -first.sum(axis=1))
    one, two = first[1:-1, 1:-1], (first @ first)[1:-1, 1:-1]
    x, y = np.meshgrid(nodes[1:-1], nodes[1:-1], indexing="ij")
    if name == "advection-diffusion":
        along, across = two / 20 - one, two / 20 - one / 2
        u = np.sin(np.pi * x) * np.sin(np.pi * y)
        found = []
        half = [scipy.linalg.expm(0.1 * matrix) for matrix in (along, across)]
        for _ in range(MOMENTS):
            u = half[0] @ u @ half[1].T
            found.append(u)
    else:
        speed, size = 1 + x * y / 2, (n - 1) ** 2

        def rates(t: float, state: np.ndarray) -> np.ndarray:
            u = state[:size].reshape(n - 1, n - 1)
            return np.concatenate([state[size:], (speed * (two @ u + u @ two.T)).ravel()])

        start = np.concatenate([(np.sin(np.pi * x) * np.sin(2 * np.pi * y)).ravel(), np.zeros(size)])
        moments = np.arange(1, MOMENTS + 1) / MOMENTS
        sol = scipy.integrate.solve_ivp(rates, (0, 1), start, "DOP853", moments, rtol=rtol, atol=rtol * 1e-2)
        found = [line[:size].reshape(n - 1, n - 1) for line in sol.y.T]
    at = np.unique(places(name)[0])
    table = scipy.interpolate.barycentric_interpolate(nodes, np.eye(n + 1), at)[:, 1:-1]
    return {"values": [[(table @ u @ table.T).ravel().tolist() for u in found]]}

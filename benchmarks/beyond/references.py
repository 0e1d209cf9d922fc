"""Independent references: closed forms, multipoles, pseudo-spectral and finite-difference runs; none uses safenet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import sph_harm_y

Values = Callable[..., np.ndarray]
CENTRES = np.array([[0.3, 0.3, 0.3], [0.7, 0.7, 0.3], [0.7, 0.3, 0.7], [0.3, 0.7, 0.7]])
RADII = (0.12, 0.15, 0.12, 0.1)


def _harmonics(
    away: np.ndarray, degree: int, radial: Callable[[np.ndarray, int], np.ndarray]
) -> list[np.ndarray]:
    r = np.linalg.norm(away, axis=1) + 1e-300
    theta, phi = np.arccos(np.clip(away[:, 2] / r, -1, 1)), np.arctan2(away[:, 1], away[:, 0])
    found = []
    for l in range(degree + 1):
        for m in range(-l, l + 1):
            Y = sph_harm_y(l, abs(m), theta, phi)
            found.append(radial(r, l) * (Y.real if m >= 0 else Y.imag))
    return found


def four_balls(degree: int = 10, around: int = 22) -> Values:
    """Multipoles in the balls and harmonic polynomials, by least squares for the boundary values."""

    def basis(p: np.ndarray) -> np.ndarray:
        columns = []
        for centre, radius in zip(CENTRES, RADII, strict=True):
            columns += _harmonics(p - centre, degree, lambda r, l, radius=radius: (radius / r) ** (l + 1))
        columns += _harmonics(p - 0.5, around, lambda r, l: (r / 0.87) ** l)
        return np.stack(columns, axis=1)

    def source(p: np.ndarray) -> np.ndarray:
        return -10 / 6 * p[:, 0] ** 3

    random, places, given = np.random.default_rng(1), [], []
    for centre, radius in zip(CENTRES, RADII, strict=True):
        v = random.normal(size=(900, 3))
        places.append(centre + radius * v / np.linalg.norm(v, axis=1)[:, None])
        given.append(np.ones(900))
    for axis in range(3):
        for end in (0, 1):
            side = 0.5 - 0.5 * np.cos(np.pi * random.random((1500, 3)))
            side[:, axis] = end
            places.append(side)
            given.append(np.zeros(1500))
    points = np.vstack(places)
    B, right = basis(points), np.hstack(given) - source(points)
    size = np.linalg.norm(B, axis=0)
    c = np.linalg.lstsq(B / size, right, rcond=1e-12)[0] / size
    print(
        f"    four balls: the boundary is missed by {np.sqrt(np.mean((B @ c - right) ** 2)):.1e}", flush=True
    )
    return lambda x, y, z: basis(np.stack([x, y, z], axis=1)) @ c + source(np.stack([x, y, z], axis=1))


def burgers_plane(nu: float, n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """u and v at t = 1 on n × n points: Fourier, 2/3 rule, Runge–Kutta of order 4 with exact diffusion."""
    x = np.arange(n) / n
    X, Y = np.meshgrid(x, x, indexing="ij")
    k = 2 * np.pi * np.fft.fftfreq(n, 1 / n)
    kx, ky = k[:, None], k[None, : n // 2 + 1].copy()
    ky[:, -1] = abs(ky[:, -1])
    keep = (np.abs(kx) < 2 * np.pi * n / 3) & (np.abs(ky) < 2 * np.pi * n / 3)
    half = np.exp(-nu * (kx**2 + ky**2) / steps / 2)
    state = np.stack(
        [
            np.fft.rfft2(np.sin(2 * np.pi * X) * np.cos(2 * np.pi * Y)),
            np.fft.rfft2(np.cos(2 * np.pi * X) * np.sin(2 * np.pi * Y) + 0.3),
        ]
    )

    def rate(w: np.ndarray) -> np.ndarray:
        u, v = np.fft.irfft2(w, s=(n, n))
        slopes = np.fft.irfft2(np.concatenate([1j * kx * w, 1j * ky * w]), s=(n, n))
        return keep * -np.fft.rfft2(np.stack([u * slopes[0] + v * slopes[2], u * slopes[1] + v * slopes[3]]))

    h = 1 / steps
    for _ in range(steps):
        a = rate(state)
        b = rate(half * (state + h / 2 * a))
        c = rate(half * state + h / 2 * b)
        d = rate(half * (half * state + h * c))
        state = half**2 * (state + h / 6 * a) + h / 3 * half * (b + c) + h / 6 * d
    u, v = np.fft.irfft2(state, s=(n, n))
    return u, v


def driven(n: int) -> np.ndarray:
    """u at t = 100 on n + 1 points along each axis, by finite differences of order 2 and SciPy's BDF."""
    from scipy.sparse import diags_array, eye_array, kron

    h = 1 / n
    x, y = np.meshgrid(np.arange(1, n) * h, np.arange(n + 1) * h, indexing="ij")
    along = diags_array([np.ones(n - 2), -2 * np.ones(n - 1), np.ones(n - 2)], offsets=[-1, 0, 1]) / h**2
    mirror = diags_array([np.ones(n), -2 * np.ones(n + 1), np.ones(n)], offsets=[-1, 0, 1]).tolil() / h**2
    mirror[0, 1] = mirror[n, n - 1] = 2 / h**2
    L = ((kron(along, eye_array(n + 1)) + kron(eye_array(n - 1), mirror)) / 50).tocsr()
    ends, force = np.zeros(x.shape), (np.cos(np.pi * x) * np.cos(np.pi * y)).ravel()
    ends[0] += 1 / (50 * h**2)
    ends[-1] += 1 / (50 * h**2)

    def rate(t: float, u: np.ndarray) -> np.ndarray:
        return L @ u - u**3 + np.sin(t / 2) * force + ends.ravel() * np.sin(t / 3) / 2

    def slopes(t: float, u: np.ndarray) -> Any:
        return L - diags_array(3 * u**2)

    found = solve_ivp(rate, (0, 100), np.zeros(x.size), "BDF", [100], jac=slopes, rtol=1e-7, atol=1e-9)
    inner = found.y[:, -1].reshape(x.shape)
    side = np.full((1, n + 1), np.sin(100 / 3) / 2)
    return np.concatenate([side, inner, side])


def burgers_shock(x: np.ndarray, t: float) -> np.ndarray:
    """u = 1/2 + w(x − t/2, t), w = sin 2π(y − w t): of three roots, the outer on each side of the jump y = 1/2."""

    def root(y: float) -> float:
        ws = np.linspace(1, 0, 2001)
        k = int(np.argmax(ws - np.sin(2 * np.pi * (y - ws * t)) <= 0))
        return float(brentq(lambda w: w - np.sin(2 * np.pi * (y - w * t)), ws[k], ws[k - 1])) if k else 1.0

    return np.array([0.5 + (root(a) if a < 0.5 else -root(1 - a)) for a in (x - t / 2) % 1])


def sod(x: np.ndarray, t: float) -> np.ndarray:
    """The density of the Riemann problem: a rarefaction, a contact and a shock (Toro, chapter 4)."""
    g, (rl, pl), (rr, pr) = 1.4, (1.0, 1.0), (0.125, 0.1)
    cl = np.sqrt(g * pl / rl)

    def behind(p: float) -> float:
        return (p - pr) * np.sqrt(2 / (rr * ((g + 1) * p + (g - 1) * pr)))

    p = brentq(lambda p: 2 * cl / (g - 1) * (1 - (p / pl) ** ((g - 1) / (2 * g))) - behind(p), pr, pl)
    w = behind(p)
    contact = rl * (p / pl) ** (1 / g)
    ahead = rr * (p / pr + (g - 1) / (g + 1)) / ((g - 1) / (g + 1) * p / pr + 1)
    s, tail = (x - 0.5) / t, w - cl * (p / pl) ** ((g - 1) / (2 * g))
    fan = rl * (2 / (g + 1) * (1 - (g - 1) / 2 * s / cl)) ** (2 / (g - 1))
    return np.select([s < -cl, s < tail, s < w, s < w * ahead / (ahead - rr)], [rl, fan, contact, ahead], rr)

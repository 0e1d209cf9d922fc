"""Those who do only this, each with settings from rough to fine: values at the end, at the places of `problems`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .problems import PROBLEMS, STEADY, compared, places

Settings = tuple[Any, ...]


# ---- ours


def ours(name: str, tol: float) -> dict[str, Any]:
    import safenet as sn
    from safenet.problem.toml import loads

    problem = loads(PROBLEMS[name])
    sol = sn.solve(problem, sn.Auto(tol=tol), monitor=sn.Monitor())
    space = problem.axes if name in STEADY else problem.axes[:-1]
    at = {axis.name: ticks for axis, ticks in zip(space, places(name), strict=True)}
    found = sol(**at) if name in STEADY else sol(**at, t=problem.axes[-1].hi)
    values = found if isinstance(found, dict) else {problem.unknowns[0]: found}
    estimate = sol.result.estimate
    return {
        "values": [np.atleast_1d(values[one]).tolist() for one in compared(name)],
        "estimate": estimate["pooled"] if isinstance(estimate, dict) else estimate,
    }


# ---- SciPy


def scipy_ivp(name: str, method: str, rtol: float, atol: float) -> dict[str, Any]:
    from scipy.integrate import solve_ivp

    def lorenz(t: float, y: np.ndarray) -> list[float]:
        return [10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]]

    def robertson(t: float, y: np.ndarray) -> list[float]:
        a, b = -0.04 * y[0] + 1e4 * y[1] * y[2], 3e7 * y[1] ** 2
        return [a, -a - b, b]

    rates, start, end = (lorenz, [1, 1, 1], 20) if name == "lorenz" else (robertson, [1, 0, 0], 1e4)
    sol = solve_ivp(rates, (0, end), start, method=method, rtol=rtol, atol=atol, dense_output=True)
    return {"values": [[value] for value in sol.y[:, -1].tolist()]}


# ---- NumPy: Cox and Matthews' ETDRK4 as Kassam and Trefethen wrote it, for one unknown on a line


LINES: dict[
    str, tuple[float, float, Callable[[Any], Any], Callable[[Any], Any], Callable[[Any], Any], float]
] = {
    # low, length, linear symbol of k, u0(x), nonlinear û of (u, ik), end
    "kuramoto-sivashinsky": (
        0.0,
        32 * np.pi,
        lambda k: k**2 - k**4,
        lambda x: np.cos(x / 16) * (1 + np.sin(x / 16)),
        "advection",
        50.0,
    ),
    "kdv": (-20.0, 40.0, lambda k: 1j * k**3, lambda x: 6 / np.cosh(x) ** 2, "kdv", 1.0),
    "burgers": (-1.0, 2.0, lambda k: -(k**2) / (100 * np.pi), lambda x: -np.sin(np.pi * x), "advection", 1.0),
    "allen-cahn": (
        -1.0,
        2.0,
        lambda k: 5 - k**2 / 1000,
        lambda x: np.cos(np.pi * x) / 2 + 0.3 * np.sin(2 * np.pi * x),
        "cubic",
        1.0,
    ),
}


def numpy_etdrk4(name: str, n: int, steps: int) -> dict[str, Any]:
    low, length, symbol, start, kind, end = LINES[name]
    x, k = low + length * np.arange(n) / n, 2 * np.pi / length * np.arange(n // 2 + 1)
    kept, ik = np.arange(n // 2 + 1) <= n // 3, 1j * k

    def rest(v: np.ndarray) -> np.ndarray:
        u = np.fft.irfft(v, n)
        if kind == "cubic":
            return np.asarray(np.fft.rfft(-5 * u**3) * kept)
        return np.asarray((-3.0 if kind == "kdv" else -0.5) * ik * np.fft.rfft(u * u) * kept)

    h = end / steps
    lin = h * symbol(k)
    e, e2 = np.exp(lin), np.exp(lin / 2)
    z = lin[:, None] + np.exp(2j * np.pi * (np.arange(64) + 0.5) / 64)
    mean = (lambda f: h * f.mean(axis=1)) if kind == "kdv" else (lambda f: h * f.mean(axis=1).real)
    q = mean((np.exp(z / 2) - 1) / z)
    f1 = mean((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3)
    f2 = mean((2 + z + np.exp(z) * (-2 + z)) / z**3)
    f3 = mean((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3)
    v = np.fft.rfft(start(x))
    for _ in range(steps):
        nv = rest(v)
        a = e2 * v + q * nv
        na = rest(a)
        b = e2 * v + q * na
        nb = rest(b)
        c = e2 * a + q * (2 * nb - nv)
        v = e * v + nv * f1 + 2 * (na + nb) * f2 + rest(c) * f3
    return {"values": [np.fft.irfft(v, n)[:: n // 64].tolist()]}


# ---- exponax


def exponax(name: str, n: int, steps: int) -> dict[str, Any]:
    import jax

    jax.config.update("jax_enable_x64", True)
    import exponax as ex
    import jax.numpy as jnp

    if name in ("heat-plane", "allen-cahn-space"):
        return exponax_in_space(name, n, steps)
    if name == "gray-scott":
        stepper = ex.stepper.reaction.GrayScott(
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
        x = np.arange(n) / n
        bump = np.exp(-80 * ((x[:, None] - 0.5) ** 2 + (x - 0.5) ** 2))
        start = np.stack([1 - bump / 2, bump / 4])
    else:
        low, length, _, formula, _, end = LINES[name]
        start = formula(low + length * np.arange(n) / n)[None]
        stepper = {
            "kuramoto-sivashinsky": lambda: ex.stepper.KuramotoSivashinskyConservative(
                1, length, n, end / steps, order=4
            ),
            "kdv": lambda: ex.stepper.KortewegDeVries(
                1,
                length,
                n,
                end / steps,
                convection_scale=6.0,
                dispersivity=-1.0,
                hyper_diffusivity=0.0,
                order=4,
            ),
            "burgers": lambda: ex.stepper.Burgers(
                1, length, n, end / steps, diffusivity=1 / (100 * np.pi), order=4
            ),
        }[name]()
    final = np.asarray(jax.jit(ex.repeat(stepper, steps))(jnp.asarray(start)))
    if final.ndim == 3:
        return {"values": [one[:: n // 16, :: n // 16].ravel().tolist() for one in final]}
    return {"values": [final[0, :: n // 64].tolist()]}


# ---- py-pde


def pypde(name: str, n: int, dt: float) -> dict[str, Any]:
    import pde

    low, length, _, formula, _, end = LINES[name]
    right = {
        "allen-cahn": "laplace(u)/1000 + 5*u - 5*u**3",
        "burgers": f"laplace(u)/{100 * math.pi} - u*d_dx(u)",
    }[name]
    grid = pde.CartesianGrid([[low, low + length]], n, periodic=True)
    state = pde.ScalarField(grid, formula(grid.axes_coords[0]))
    final = pde.PDE({"u": right}).solve(state, t_range=end, dt=dt, adaptive=True, tracker=None)
    # Values in the middle of its cells: to our points by the Fourier series through them.
    waves = np.fft.rfft(final.data) / n
    k, theta = np.arange(len(waves)), 2 * np.pi * (np.arange(64) / 64 - 0.5 / n)
    table = np.exp(1j * np.outer(theta, k)) * np.where((k > 0) & (2 * k < n), 2.0, 1.0)
    return {"values": [(table @ waves).real.tolist()]}


def exponax_in_space(name: str, n: int, steps: int) -> dict[str, Any]:
    import exponax as ex
    import jax
    import jax.numpy as jnp

    x = np.arange(n) / n
    if name == "heat-plane":
        stepper: Any = ex.stepper.Diffusion(2, 2.0, n, 1 / steps, diffusivity=0.01)
        start = np.exp(-40 * ((2 * x[:, None] - 1) ** 2 + (2 * x - 1) ** 2))
    else:
        stepper = ex.stepper.reaction.AllenCahn(3, 1.0, n, 5 / steps, diffusivity=0.01, order=4)
        turn = 2 * np.pi * x
        start = (np.cos(turn)[:, None, None] + np.cos(turn)[:, None] * np.sin(turn)) / 5
    final = np.asarray(jax.jit(ex.repeat(stepper, steps))(jnp.asarray(start[None])))[0]
    every = n // (16 if final.ndim == 2 else 8)
    return {"values": [final[(slice(None, None, every),) * final.ndim].ravel().tolist()]}


# ---- scikit-fem


def scikit_fem(name: str, refinements: int, corner: int) -> dict[str, Any]:
    """Triangles of degree 4, halved so often, and so often again at the corner of an L."""
    import skfem
    from skfem.helpers import dot, grad

    k, inside = 50.0, places(name)
    if name == "l-shape":
        mesh = skfem.MeshTri.init_lshaped().refined(refinements)
        for _ in range(corner):
            middles = mesh.p[:, mesh.t].mean(axis=1)
            near = np.hypot(*middles)
            mesh = mesh.refined(np.flatnonzero(near < 2 * near.min()))
    else:
        mesh = skfem.MeshTri().refined(refinements)
    basis = skfem.Basis(mesh, skfem.ElementTriP4())
    kind = complex if name == "helmholtz-impedance" else float

    @skfem.BilinearForm(dtype=kind)
    def form(u: Any, v: Any, w: Any) -> Any:
        return dot(grad(u), grad(v)) - (0.0 if name == "l-shape" else k**2) * u * v

    @skfem.LinearForm(dtype=kind)
    def load(v: Any, w: Any) -> Any:
        x, y = w.x
        if name == "l-shape":
            return 1.0 * v
        wave = np.exp(40j * x * y) if kind is complex else np.cos(40 * x * y)
        return -(k**2 - 1600 * (x**2 + y**2)) * wave * v

    matrix, right = form.assemble(basis), load.assemble(basis)
    if kind is complex:
        edges = skfem.FacetBasis(mesh, skfem.ElementTriP4())

        @skfem.BilinearForm(dtype=complex)
        def through(u: Any, v: Any, w: Any) -> Any:
            return -1j * k * u * v

        @skfem.LinearForm(dtype=complex)
        def given(v: Any, w: Any) -> Any:
            x, y = w.x
            slope = 40j * (y * w.n[0] + x * w.n[1])
            return (slope - 1j * k) * np.exp(40j * x * y) * v

        values = skfem.solve(matrix + through.assemble(edges), right + given.assemble(edges))
    else:
        fixed = basis.get_dofs()
        values = np.zeros(basis.N)
        if name == "helmholtz":
            values = basis.project(lambda x: np.cos(40 * x[0] * x[1]))
        values = skfem.solve(*skfem.condense(matrix, right, x=values, D=fixed))
    # Its L lacks the quadrant x, y > 0, ours x, y < 0.
    sign = -1.0 if name == "l-shape" else 1.0
    found = basis.probes(sign * np.array(inside)) @ values
    return {"values": [found.real.tolist(), *([found.imag.tolist()] if kind is complex else [])]}

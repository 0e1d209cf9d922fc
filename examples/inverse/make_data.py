"""The data of the inverse examples: exact or independent solutions, with 1 % noise, written beside this file.

python make_data.py               all of them
python make_data.py lorenz        one
"""

import sys
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp
from scipy.sparse import diags
from scipy.sparse.linalg import spsolve

HERE = Path(__file__).parent
NOISE = 0.01


def conductivity_of(x):
    return 1 + np.sin(1.5 * np.pi * x) / 2


def coefficient_of(x, y):
    return 1 + np.sin(np.pi * x) * np.cos(np.pi * y) / 2 + 0.3 * x


def temperature_of(x, t):
    """u_t = u_xx/10 from Σ ± sin(nπx)/n^1.5, n up to 8"""
    return sum(
        (-1) ** (n // 2) / n**1.5 * np.exp(-((n * np.pi) ** 2) * t / 10) * np.sin(n * np.pi * x)
        for n in range(1, 9)
    )


def diffusion(rng, noise):
    """u = exp(−π² nu t) sin πx with nu = 0.3"""
    x, t = rng.random((2, 100))
    return {"x": x, "t": t, "u": noise(np.exp(-0.3 * np.pi**2 * t) * np.sin(np.pi * x))}


def reaction(rng, noise):
    """a' = −k aⁿ with k = 0.8, n = 1.5; b is what came of it"""
    t = np.linspace(0.05, 3, 1000)
    a = (1 + 0.4 * t) ** -2.0
    return {"t": t, "a": noise(a), "b": noise(1 - a)}


def lorenz(rng, noise):
    """s = 10, r = 28, b = 8/3"""
    t = np.linspace(0.02, 2, 700)

    def rate(_, u):
        return [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]]

    run = solve_ivp(rate, (0, 2), [-8, 7, 27], "DOP853", t, rtol=1e-12, atol=1e-12)
    return {"t": t, **{name: noise(values) for name, values in zip("xyz", run.y, strict=True)}}


def brinkman(rng, noise):
    """u = K/nu (1 − cosh r(x − 1/2)/cosh(r/2)), r² = nu eps/(nue K), with nue = K = 0.001"""
    x = rng.random(2000)
    r = np.sqrt(0.4 / 0.001)
    return {"x": x, "u": noise(1 - np.cosh(r * (x - 0.5)) / np.cosh(r / 2))}


def vortices(rng, noise):
    """Taylor and Green's, carried along by (1, 1/2): c = 1, nu = 0.05"""
    x, y, t = rng.random((3, 1000)) * [[2 * np.pi], [2 * np.pi], [1]]
    X, Y, decay = x - t, y - t / 2, np.exp(-0.1 * t)
    u, v = 1 - np.cos(X) * np.sin(Y) * decay, 0.5 + np.sin(X) * np.cos(Y) * decay
    return {"x": x, "y": y, "t": t, "u": noise(u), "v": noise(v)}


def coefficient(rng, noise):
    """div(a grad u) = −10 by finite volumes on 400 × 400 cells, at their centres"""
    n = 400
    at = (np.arange(n) + 0.5) / n
    a = coefficient_of(*np.meshgrid(at, at, indexing="ij"))

    def across(a):
        """The flux through the faces along the first axis: harmonic means inside, half a cell to the walls."""
        inner = 2 * a[1:] * a[:-1] / (a[1:] + a[:-1])
        return np.concatenate([2 * a[:1], inner, 2 * a[-1:]])

    fx, fy = across(a), across(a.T).T
    main = (fx[1:] + fx[:-1] + fy[:, 1:] + fy[:, :-1]).ravel()
    side = fy[:, 1:].copy()
    side[:, -1] = 0
    matrix = diags([main, -fx[1:-1].ravel(), -fx[1:-1].ravel(), -side.ravel()[:-1], -side.ravel()[:-1]],
                   [0, n, -n, 1, -1], format="csc")  # fmt: skip
    u = spsolve(matrix, np.full(n * n, 10 / n**2)).reshape(n, n)
    i, j = rng.integers(n, size=(2, 2500))
    return {"x": at[i], "y": at[j], "u": noise(u[i, j])}


def conductivity(rng, noise):
    """u_t = (k u_x)_x by finite volumes on 800 cells: u at both ends, at 100 times"""
    n, t = 800, np.linspace(0.02, 2, 100)
    k = conductivity_of(np.arange(1, n) / n)

    def rate(t, u):
        return np.diff(np.concatenate([[-np.sin(np.pi * t)], k * np.diff(u) * n, [0.0]])) * n

    banded = {"lband": 1, "uband": 1}
    y = solve_ivp(rate, (0, 2), np.zeros(n), "LSODA", t, rtol=1e-8, atol=1e-10, **banded).y
    ends = np.concatenate([y[0] + np.sin(np.pi * t) / (2 * n * conductivity_of(0)), y[-1]])
    return {"x": np.repeat([0, 1], 100), "t": np.tile(t, 2), "u": noise(ends)}


def backwards(rng, noise):
    x = np.arange(1, 100) / 100
    return {"x": x, "t": np.full(99, 0.5), "u": noise(temperature_of(x, 0.5))}


EXAMPLES = (diffusion, reaction, lorenz, brinkman, vortices, coefficient, conductivity, backwards)


def make(example, level=NOISE, seed=2026):
    """The columns of an example; `level` of the largest value is the noise."""
    rng = np.random.default_rng(seed)

    def noise(values):
        return values + level * np.abs(values).max() * rng.normal(size=values.shape)

    return example(rng, noise)


if __name__ == "__main__":
    for example in EXAMPLES:
        if len(sys.argv) < 2 or example.__name__ in sys.argv[1:]:
            columns = make(example)
            table = np.column_stack(list(columns.values()))
            np.savetxt(
                HERE / f"{example.__name__}.csv", table, "%.8g", ",", header=",".join(columns), comments=""
            )

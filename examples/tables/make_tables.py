"""The tables of the examples beside it, and independent solutions to compare with.

python make_tables.py             all of them
python make_tables.py darcy       one
"""

import sys
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import diags
from scipy.sparse.linalg import spsolve

HERE = Path(__file__).parent


def darcy(n=128):
    """3 or 12, by the sign of smoothed noise: as in the benchmarks of neural operators"""
    at = (np.arange(n) + 0.5) / n
    noise = gaussian_filter(np.random.default_rng(0).normal(size=(n, n)), n / 16, mode="wrap")
    x, y = np.meshgrid(at, at, indexing="ij")
    return {"x": x.ravel(), "y": y.ravel(), "a": np.where(noise > 0, 12.0, 3.0).ravel()}


def pressure(a, finer):
    """div(a grad p) = −1 by finite volumes, `finer` along both axes than the table; harmonic means on faces."""
    a = np.kron(a, np.ones((finer, finer)))
    n = len(a)

    def across(a):
        inner = 2 * a[1:] * a[:-1] / (a[1:] + a[:-1])
        return np.concatenate([2 * a[:1], inner, 2 * a[-1:]])

    fx, fy = across(a), across(a.T).T
    main = (fx[1:] + fx[:-1] + fy[:, 1:] + fy[:, :-1]).ravel()
    side = fy[:, 1:].copy()
    side[:, -1] = 0
    inner, side = -fx[1:-1].ravel(), -side.ravel()[:-1]
    matrix = diags([main, inner, inner, side, side], [0, n, -n, 1, -1], format="csc")
    return (np.arange(n) + 0.5) / n, spsolve(matrix, np.full(n * n, 1 / n**2)).reshape(n, n)


def layers(n=40):
    """A wave speed along a line: layers of 1 and 2 with smooth transitions"""
    x = np.linspace(0, 1, n + 1)
    return {"x": x, "c": 1.5 + 0.5 * np.tanh((x - 0.5) / 0.05)}


def line_wave(c, start, until, cells):
    """u_tt = c(x)² u_xx by leapfrog, u = 0 at both ends: u at the end, at the nodes"""
    x = np.linspace(0, 1, cells + 1)
    h = 1 / cells
    steps = int(np.ceil(until / (0.5 * h / c(x).max())))
    k, c2 = until / steps, c(x) ** 2

    def bent(u):
        d = np.zeros_like(u)
        d[1:-1] = (u[2:] - 2 * u[1:-1] + u[:-2]) / h**2
        return c2 * d

    before, now = start(x), start(x)
    now = before + 0.5 * k**2 * bent(before)
    for _ in range(steps - 1):
        before, now = now, 2 * now - before + k**2 * bent(now)
    return x, now


TABLES = (darcy, layers)

if __name__ == "__main__":
    for table in TABLES:
        if len(sys.argv) < 2 or table.__name__ in sys.argv[1:]:
            columns = table()
            rows = np.column_stack(list(columns.values()))
            np.savetxt(
                HERE / f"{table.__name__}.csv", rows, "%.10g", ",", header=",".join(columns), comments=""
            )

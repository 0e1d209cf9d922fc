"""The data of the inverse examples: exact or independent solutions with 1 % noise. Rewrites the .csv files."""

from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp

HERE = Path(__file__).parent
rng = np.random.default_rng(2026)


def write(name: str, **columns: np.ndarray) -> None:
    table = np.column_stack(list(columns.values()))
    np.savetxt(HERE / name, table, "%.8g", ",", header=",".join(columns), comments="")


def noisy(values: np.ndarray) -> np.ndarray:
    return values + 0.01 * np.abs(values).max() * rng.normal(size=values.shape)


# u = exp(−π² nu t) sin πx with nu = 0.3
x, t = rng.random((2, 100))
write("diffusion.csv", x=x, t=t, u=noisy(np.exp(-0.3 * np.pi**2 * t) * np.sin(np.pi * x)))

# a' = −k aⁿ with k = 0.8, n = 1.5; b is what came of it
t = np.linspace(0.05, 3, 60)
a = (1 + 0.4 * t) ** -2.0
write("reaction.csv", t=t, a=noisy(a), b=noisy(1 - a))

# Lorenz's equations with s = 10, r = 28, b = 8/3
t = np.linspace(0.02, 2, 100)
run = solve_ivp(
    lambda _, u: [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]],
    (0, 2),
    [-8, 7, 27],
    "DOP853",
    t,
    rtol=1e-12,
    atol=1e-12,
)
write("lorenz.csv", t=t, x=noisy(run.y[0]), y=noisy(run.y[1]), z=noisy(run.y[2]))

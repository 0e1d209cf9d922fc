"""family(rng) → a Trial without an answer: there is none, or more than one. Any estimate is a silent failure."""

from __future__ import annotations

import numpy as np

from .problems import Trial

SQUARE = {"x": (0, 1), "y": (0, 1)}
LINE = {"x": (0, 1)}
STRIP = {"x": (0, 1), "t": (0, 1)}


def eigenvalue(rng: np.random.Generator) -> Trial:
    """u″ + n²u = 0, u(0) = 1, u(π) = (−1)ⁿ: any c sin nx can be added; with another value at π, no solution."""
    n = int(rng.integers(1, 7))
    end = (-1) ** n if rng.random() < 0.5 else 2
    why = "infinitely many" if end != 2 else "none"
    return Trial(
        "eigenvalue",
        [f"u_xx + {n}**2*u = 0"],
        ["u(0) = 1", f"u(pi) = {end}"],
        {"x": (0, "pi")},
        None,
        why=why,
    )


def neumann_resonance(rng: np.random.Generator) -> Trial:
    """u″ + (nπ)²u = cos mπx with zero slopes: any c cos nπx can be added; for m = n, no solution."""
    n, m = (int(k) for k in rng.integers(1, 5, 2))
    equation = f"u_xx + ({n}*pi)**2*u = cos({m}*pi*x)"
    return Trial(
        "neumann-resonance", [equation], ["u_x(0) = 0", "u_x(1) = 0"], LINE, None, why="cos nπx is free"
    )


def missing_side(rng: np.random.Generator) -> Trial:
    """Heat without a condition at one end."""
    k, a = int(rng.integers(1, 4)), rng.uniform(0.05, 1)
    end = int(rng.integers(0, 2))
    conditions = [f"u({end}, t) = 0", f"u(x, 0) = sin({k}*pi*x)"]
    return Trial("missing-side", [f"u_t = {a!r}*u_xx"], conditions, STRIP, None, why="a side is free")


def missing_edge(rng: np.random.Generator) -> Trial:
    """Poisson on a square without a condition on one side."""
    sides = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
    del sides[int(rng.integers(0, 4))]
    return Trial(
        "missing-edge", [f"u_xx + u_yy = {rng.uniform(-2, 2)!r}"], sides, SQUARE, None, why="a side is free"
    )


def constant_free(rng: np.random.Generator) -> Trial:
    equation = f"u_xx = cos({int(rng.integers(1, 5))}*pi*x)"
    return Trial("constant-free", [equation], ["u_x(0) = 0", "u_x(1) = 0"], LINE, None, why="u + c")


def unbalanced(rng: np.random.Generator) -> Trial:
    equation = f"u_xx = {rng.uniform(0.5, 2)!r}"
    return Trial("unbalanced", [equation], ["u_x(0) = 0", "u_x(1) = 0"], LINE, None, why="none")


def too_few(rng: np.random.Generator) -> Trial:
    """One equation, two unknowns."""
    a = rng.uniform(0.5, 2)
    kinds = [
        (["u_xx = v"], ["u(0) = 0", f"u(1) = {a!r}", "v(0) = 0"], LINE),
        ([f"u_t = u_xx + {a!r}*v"], ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = 0"], STRIP),
        ([f"u_x + v_x = {a!r}"], ["u(0) = 0", "v(0) = 1"], LINE),
    ]
    equations, conditions, domain = kinds[int(rng.integers(0, 3))]
    return Trial("too-few", equations, conditions, domain, None, ("u", "v"), "an unknown is free")


def cauchy(rng: np.random.Generator) -> Trial:
    """Hadamard: u and u_y on one side of Laplace's equation."""
    k = int(rng.integers(1, 6))
    start = f"sin({k}*pi*x)" if rng.random() < 0.5 else f"x*(1 - x)*exp({k}*x)"
    conditions = ["u(0, y) = 0", "u(1, y) = 0", f"u(x, 0) = {start}", "u_y(x, 0) = 0"]
    return Trial("cauchy", ["u_xx + u_yy = 0"], conditions, SQUARE, None, why="ill-posed")


def backwards(rng: np.random.Generator) -> Trial:
    """Heat backwards in time, from values that no earlier state evolves to."""
    start = f"x*(1 - x)*exp({rng.uniform(0, 3)!r}*x)"
    conditions = ["u(0, t) = 0", "u(1, t) = 0", f"u(x, 0) = {start}"]
    return Trial(
        "backwards", [f"u_t = -{rng.uniform(0.2, 1)!r}*u_xx"], conditions, STRIP, None, why="ill-posed"
    )


def kink(rng: np.random.Generator) -> Trial:
    """u_t + a u_x²/2 = 0 from |x − c|: the kink spreads or stays, and there is no classical solution."""
    c, a = rng.uniform(-0.3, 0.3), rng.uniform(0.5, 2)
    domain = {"x": (-1, 1), "t": (0, 0.4)}
    sign = float(rng.choice([-1, 1]))
    return Trial(
        "kink",
        [f"u_t + {a!r}*u_x**2/2 = 0"],
        [f"u(x, 0) = {sign!r}*abs(x - {c!r})"],
        domain,
        None,
        why="kink",
    )


def shock(rng: np.random.Generator) -> Trial:
    """u_t + u u_x = 0 from −a sin πx: characteristics meet at t = 1/(aπ)."""
    a = rng.uniform(0.8, 3)
    domain = {"x": (-1, 1), "t": (0, 1)}
    conditions = ["u(-1, t) = 0", "u(1, t) = 0", f"u(x, 0) = -{a!r}*sin(pi*x)"]
    return Trial("shock", ["u_t + u*u_x = 0"], conditions, domain, None, why="a shock")


def blow_up(rng: np.random.Generator) -> Trial:
    """u′ = u^p, u(0) = a: u = ∞ at t = a^{1−p}/(p−1)."""
    p, a = int(rng.integers(2, 4)), rng.uniform(0.8, 2)
    end = float(a ** (1 - p) / (p - 1) * rng.uniform(1.1, 3))
    return Trial("blow-up", [f"u_t = u**{p}"], [f"u(0) = {a!r}"], {"t": (0, end)}, None, why="blows up")


def contradictory(rng: np.random.Generator) -> Trial:
    """More conditions than a solution can meet."""
    a = rng.uniform(1, 3)
    return Trial(
        "contradictory",
        ["u_xx = 0"],
        ["u(0) = 0", "u(1) = 1", f"u_x(0.5) = {a + 0.5!r}"],
        LINE,
        None,
        why="none",
    )


def not_lipschitz(rng: np.random.Generator) -> Trial:
    """u′ = a |u|^{1/2}, u(0) = 0: can leave zero at any time."""
    equation = f"u_t = {rng.uniform(0.5, 3)!r}*sqrt(abs(u))"
    return Trial("not-lipschitz", [equation], ["u(0) = 0"], {"t": (0, 2)}, None, why="not unique")

"""family(rng) → Trial: a statement with random numbers in it, and its answer by independent means.

Answers are closed forms, evaluated with mpmath if float64 is not enough, or SciPy's integrators at their tightest.
`None` as an answer means that there is none, or more than one: any estimate is then wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import erf

Answer = Callable[..., Any]
mp.mp.dps = 60


@dataclass(frozen=True)
class Trial:
    """A statement, and `answer`: u as a function of the coordinates. Without an answer, `why` says why there is none;
    with one, why a warning is due: values clash in a corner, or there are other solutions."""

    family: str
    equations: list[str]
    conditions: list[str]
    domain: Mapping[str, tuple[Any, Any]]
    answer: Answer | None
    unknowns: tuple[str, ...] = ("u",)
    why: str = ""
    solver: str = "auto"
    periodic: tuple[str, ...] = ()
    shape: str = ""  # lines of the table [domain] after its axes, and further tables

    @property
    def text(self) -> str:
        def listed(texts: Any) -> str:
            return ", ".join(f'"{text}"' for text in texts)

        ends = "\n".join(f'{axis} = ["{low}", "{high}"]' for axis, (low, high) in self.domain.items())
        return (
            f'name = "{self.family.replace(" ", "-")}"\nunknowns = [{listed(self.unknowns)}]\n'
            f"equations = [{listed(self.equations)}]\n"
            f"conditions = [{listed(self.conditions)}]\n"
            + (f"periodic = [{listed(self.periodic)}]\n" if self.periodic else "")
            + f"[domain]\n{ends}\n{self.shape}"
        )


def number(value: float) -> str:
    return f"({value!r})"


def vectorised(answer: Callable[..., Any]) -> Answer:
    """An answer that uses mpmath, applied to one point at a time."""
    return lambda *at: np.vectorize(lambda *xs: float(answer(*xs)))(*at)


# ---- narrow


def pulse_in_time(rng: np.random.Generator) -> Trial:
    """u′ = −a u + e^{−((t−c)/w)²}/w: u = √π/2 e^{−a(t−c) + a²w²/4} (erf((t−c)/w − aw/2) − erf(−c/w − aw/2))"""
    a, c, w = rng.uniform(0.2, 2), rng.uniform(0.5, 9), 10 ** rng.uniform(-6, -1)

    def u(t: Any) -> Any:
        grown = erf((t - c) / w - a * w / 2) - erf(-c / w - a * w / 2)
        return np.sqrt(np.pi) / 2 * np.exp(-a * (t - c) + (a * w) ** 2 / 4) * grown

    pulse = f"exp(-((t - {c!r})/{w!r})**2)/{w!r}"
    return Trial("pulse-in-time", [f"u_t = -{a!r}*u + {pulse}"], ["u(0) = 0"], {"t": (0, 10)}, u)


def pulse_in_space(rng: np.random.Generator) -> Trial:
    """u″ = −e^{−((x−c)/w)²}/w: −u = √π/2 (x−c) erf((x−c)/w) + w/2 e^{−((x−c)/w)²} and a straight line"""
    c, w = rng.uniform(0.1, 0.9), 10 ** rng.uniform(-6, -1)

    def bend(x: Any) -> Any:
        s = (x - c) / w
        return -(np.sqrt(np.pi) / 2 * (x - c) * erf(s) + w / 2 * np.exp(-(s**2)))

    def u(x: Any) -> Any:
        return bend(x) - (1 - x) * bend(0.0) - x * bend(1.0)

    return Trial(
        "pulse-in-space",
        [f"u_xx = -exp(-((x - {c!r})/{w!r})**2)/{w!r}"],
        ["u(0) = 0", "u(1) = 0"],
        {"x": (0, 1)},
        u,
    )


def narrow_coefficient(rng: np.random.Generator) -> Trial:
    """u′ = −b e^{−((x−c)/w)²}/w u: u = e^{−b√π/2 (erf((x−c)/w) + erf(c/w))}"""
    b, c, w = rng.uniform(0.3, 3), rng.uniform(0.1, 0.9), 10 ** rng.uniform(-5, -1)

    def u(x: Any) -> Any:
        return np.exp(-b * np.sqrt(np.pi) / 2 * (erf((x - c) / w) + erf(c / w)))

    return Trial(
        "narrow-coefficient",
        [f"u_x = -{b!r}*exp(-((x - {c!r})/{w!r})**2)/{w!r}*u"],
        ["u(0) = 1"],
        {"x": (0, 1)},
        u,
    )


def front(rng: np.random.Generator) -> Trial:
    """u = tanh((x−c)/w) in u″ − u³ = f"""
    c, w = rng.uniform(0.2, 0.8), 10 ** rng.uniform(-2.5, -0.5)

    def u(x: Any) -> Any:
        return np.tanh((x - c) / w)

    s = f"tanh((x - {c!r})/{w!r})"
    source = f"-2*{s}*(1 - {s}**2)/{w!r}**2 - {s}**3"
    ends = [f"u(0) = tanh(-{c!r}/{w!r})", f"u(1) = tanh((1 - {c!r})/{w!r})"]
    return Trial("front", [f"u_xx - u**3 = {source}"], ends, {"x": (0, 1)}, u)


# ---- stiff, growing, resonant


def stiff(rng: np.random.Generator) -> Trial:
    k, m = 10 ** rng.uniform(1, 6), rng.uniform(0.5, 3)
    equation = f"u_t = -{k!r}*(u - sin({m!r}*t)) + {m!r}*cos({m!r}*t)"
    return Trial("stiff", [equation], ["u(0) = 0"], {"t": (0, 3)}, lambda t: np.sin(m * t))


def growing(rng: np.random.Generator) -> Trial:
    """An error ε at the start grows to ε e^{kT} with any solver: beyond kT = 35, rounding is the whole answer."""
    k, m, end = rng.uniform(1, 60), rng.uniform(0.5, 3), rng.uniform(0.5, 5)
    equation = f"u_t = {k!r}*(u - cos({m!r}*t)) - {m!r}*sin({m!r}*t)"
    known = (lambda t: np.cos(m * t)) if k * end < 35 else None
    return Trial("growing", [equation], ["u(0) = 1"], {"t": (0, end)}, known, why="moves with rounding")


def resonance(rng: np.random.Generator) -> Trial:
    """u″ + λu = 1, λ = (nπ)²(1 + δ): u = (1 − cos sx − (1 − cos s)/sin s · sin sx)/λ, s² = λ; the float's own λ"""
    n, delta = int(rng.integers(1, 5)), float(rng.choice([-1, 1])) * 10 ** rng.uniform(-12, -0.5)
    value = float((n * np.pi) ** 2 * (1 + delta))

    def u(x: float) -> Any:
        s = mp.sqrt(mp.mpf(value))
        return (1 - mp.cos(s * x) - (1 - mp.cos(s)) / mp.sin(s) * mp.sin(s * x)) / s**2

    return Trial(
        "resonance", [f"u_xx + {value!r}*u = 1"], ["u(0) = 0", "u(1) = 0"], {"x": (0, 1)}, vectorised(u)
    )


def wave_number(rng: np.random.Generator) -> Trial:
    """u″ + k²u = 0, u(0) = 0, u(1) = 1: sin kx/sin k"""
    k = rng.uniform(5, 200)
    return Trial(
        "wave-number",
        [f"u_xx + {k!r}**2*u = 0"],
        ["u(0) = 0", "u(1) = 1"],
        {"x": (0, 1)},
        lambda x: np.sin(k * x) / np.sin(k),
    )


def layer(rng: np.random.Generator) -> Trial:
    """ε u″ + u′ = 0: (1 − e^{−x/ε})/(1 − e^{−1/ε})"""
    eps = 10 ** rng.uniform(-4, 0)
    return Trial(
        "layer",
        [f"{eps!r}*u_xx + u_x = 0"],
        ["u(0) = 0", "u(1) = 1"],
        {"x": (0, 1)},
        lambda x: np.expm1(-x / eps) / np.expm1(-1 / eps),
    )


def turning_point(rng: np.random.Generator) -> Trial:
    """ε u″ − x u′ + u = 0: A x + B ₁F₁(−½; ½; x²/2ε), nearly resonant: its least eigenvalue is about e^{−1/2ε}"""
    eps, left, right = 10 ** rng.uniform(-2.3, -0.5), rng.uniform(0.5, 2), rng.uniform(0.5, 2)

    def u(x: float) -> Any:
        def even(s: float) -> Any:
            return mp.hyp1f1(mp.mpf(-1) / 2, mp.mpf(1) / 2, mp.mpf(s) ** 2 / (2 * mp.mpf(eps)))

        return (right - left) / 2 * x + (right + left) / 2 * even(x) / even(1)

    return Trial(
        "turning-point",
        [f"{eps!r}*u_xx - x*u_x + u = 0"],
        [f"u(-1) = {left!r}", f"u(1) = {right!r}"],
        {"x": (-1, 1)},
        vectorised(u),
    )


# ---- evolution


def heat(rng: np.random.Generator) -> Trial:
    k, a = int(rng.integers(1, 6)), rng.uniform(0.01, 0.5)
    return Trial(
        "heat",
        [f"u_t = {a!r}*u_xx"],
        ["u(0, t) = 0", "u(1, t) = 0", f"u(x, 0) = sin({k}*pi*x)"],
        {"x": (0, 1), "t": (0, 1)},
        lambda x, t: np.exp(-a * (k * np.pi) ** 2 * t) * np.sin(k * np.pi * x),
    )


def heated(rng: np.random.Generator) -> Trial:
    """u = e^{−t} e^{−((x−c)/w)²} by its source."""
    c, w = rng.uniform(0.3, 0.7), 10 ** rng.uniform(-1.3, -0.3)

    def u(x: Any, t: Any) -> Any:
        return np.exp(-t - ((x - c) / w) ** 2)

    g = f"exp(-t - ((x - {c!r})/{w!r})**2)"
    source = f"{g}*(-1 + 2/{w!r}**2 - 4*(x - {c!r})**2/{w!r}**4)"
    at = [f"u({end}, t) = exp(-t - (({end} - {c!r})/{w!r})**2)" for end in (0, 1)]
    start = f"u(x, 0) = exp(-((x - {c!r})/{w!r})**2)"
    return Trial("heated", [f"u_t = u_xx + {source}"], [*at, start], {"x": (0, 1), "t": (0, 1)}, u)


def transport(rng: np.random.Generator) -> Trial:
    b, w = rng.uniform(1, 30), 10 ** rng.uniform(-1.3, 0)

    def u(x: Any, t: Any) -> Any:
        return np.exp((np.cos(x - b * t) - 1) / w**2)

    return Trial(
        "transport",
        [f"u_t + {b!r}*u_x = 0"],
        ["u(0, t) = u(2*pi, t)", f"u(x, 0) = exp((cos(x) - 1)/{w!r}**2)"],
        {"x": (0, "2*pi"), "t": (0, 1)},
        u,
    )


def wave(rng: np.random.Generator) -> Trial:
    k, c = int(rng.integers(1, 8)), rng.uniform(0.5, 3)
    return Trial(
        "wave",
        [f"u_tt = {c!r}**2*u_xx"],
        ["u(0, t) = 0", "u(1, t) = 0", f"u(x, 0) = sin({k}*pi*x)", "u_t(x, 0) = 0"],
        {"x": (0, 1), "t": (0, 1)},
        lambda x, t: np.sin(k * np.pi * x) * np.cos(c * k * np.pi * t),
    )


def logistic(rng: np.random.Generator) -> Trial:
    r, start = rng.uniform(0.5, 10), 10 ** rng.uniform(-8, -0.5)
    return Trial(
        "logistic",
        [f"u_t = {r!r}*u*(1 - u)"],
        [f"u(0) = {start!r}"],
        {"t": (0, 3)},
        lambda t: 1 / (1 + (1 / start - 1) * np.exp(-r * t)),
    )


def lorenz(rng: np.random.Generator) -> Trial:
    """Chaos over a few turns, by DOP853 at 1e-13."""
    start, end = rng.uniform(-5, 5, 3), rng.uniform(1, 4)

    def answer(t: Any) -> Any:
        def flow(_: float, u: Any) -> Any:
            return [10 * (u[1] - u[0]), u[0] * (28 - u[2]) - u[1], u[0] * u[1] - 8 / 3 * u[2]]

        found = solve_ivp(flow, (0, end), start, "DOP853", rtol=1e-13, atol=1e-13, dense_output=True)
        return dict(zip("uvw", found.sol(t), strict=True))

    return Trial(
        "lorenz",
        ["u_t = 10*(v - u)", "v_t = u*(28 - w) - v", "w_t = u*v - 8/3*w"],
        [f"{name}(0) = {value!r}" for name, value in zip("uvw", start.tolist(), strict=True)],
        {"t": (0, float(end))},
        answer,
        ("u", "v", "w"),
    )


def bratu(rng: np.random.Generator) -> Trial:
    """u″ + λe^u = 0: the lower branch 2 log(cosh θ/cosh(θ(1−2x))), θ = √(λ/8) cosh θ·…; none beyond λ = 3.5138"""
    value = rng.uniform(0.2, 3.3) if rng.random() < 0.7 else rng.uniform(3.6, 6)

    def u(x: Any) -> Any:
        theta = float(mp.findroot(lambda s: s - mp.sqrt(mp.mpf(value) / 2) * mp.cosh(s / 2), 0.5))
        return -2 * np.log(np.cosh((x - 0.5) * theta) / np.cosh(theta / 2))

    known = u if value < 3.5 else None
    return Trial(
        "bratu",
        [f"u_xx + {value!r}*exp(u) = 0"],
        ["u(0) = 0", "u(1) = 0"],
        {"x": (0, 1)},
        known,
        why="no solution",
    )


def poisson(rng: np.random.Generator) -> Trial:
    """−Δu = 2π²k² sin sin on a square."""
    k, m = (int(n) for n in rng.integers(1, 6, 2))
    return Trial(
        "poisson",
        [f"u_xx + u_yy = -({k}**2 + {m}**2)*pi**2*sin({k}*pi*x)*sin({m}*pi*y)"],
        ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"],
        {"x": (0, 1), "y": (0, 1)},
        lambda x, y: np.sin(k * np.pi * x) * np.sin(m * np.pi * y),
    )


def power(rng: np.random.Generator) -> Trial:
    """x u′ = a u, u(1) = 1: x^a, not smooth at 0."""
    a = float(rng.choice([0.5, 1.5, 2.5, 2.0, 3.0]))
    return Trial("power", [f"x*u_x = {a!r}*u"], ["u(1) = 1"], {"x": (0, 1)}, lambda x: x**a)


def kinked(rng: np.random.Generator) -> Trial:
    """u″ = sign(x − c): two parabolas."""
    c = rng.uniform(0.2, 0.8)

    def bend(x: Any) -> Any:
        return np.sign(x - c) * (x - c) ** 2 / 2

    def u(x: Any) -> Any:
        return bend(x) - (1 - x) * bend(0.0) - x * bend(1.0)

    return Trial("kinked", [f"u_xx = sign(x - {c!r})"], ["u(0) = 0", "u(1) = 0"], {"x": (0, 1)}, u)

"""The cases of the table: a problem file, a solver, a budget, goals, and how the error is measured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import references

HERE, EXAMPLES = Path(__file__).parent / "problems", Path(__file__).parents[2] / "examples"
X = (np.arange(500) + 0.5) / 500
Scores = dict[str, float]


@dataclass(frozen=True)
class Case:
    file: Path
    goals: dict[str, float]  # what is measured → its largest allowed value
    score: Callable[[Any], Scores]
    seconds: float
    solver: str = "auto"
    parameters: tuple[tuple[str, float], ...] = ()
    budget: str = "300s"


def relative(found: Any, truth: Any, mean: bool = False) -> float:
    gap, truth = np.subtract(found, truth), np.asarray(truth)
    if mean:
        return float(np.sum(np.abs(gap)) / np.sum(np.abs(truth)))
    return float(np.linalg.norm(gap) / np.linalg.norm(truth))


def by_exact(solution: Any) -> Scores:
    error = solution.result.l2re
    return {"error": max(error.values()) if isinstance(error, dict) else error}


def against_multipoles(solution: Any) -> Scores:
    random = np.random.default_rng(5)
    points = random.random((20_000, 3))
    inside = np.all(
        [
            np.linalg.norm(points - c, axis=1) > r
            for c, r in zip(references.CENTRES, references.RADII, strict=True)
        ],
        axis=0,
    )
    at = dict(zip("xyz", points[inside].T, strict=True))
    return {"error": relative(solution(**at), references.four_balls()(**at))}


def against_spectral(nu: float, n: int, steps: int, mean: bool) -> Callable[[Any], Scores]:
    def score(solution: Any) -> Scores:
        u, v = references.burgers_plane(nu, n, steps)
        x = np.arange(n) / n
        # Grid points lie between two cells, whose mean values they share; hence the mean error.
        X, Y = np.meshgrid(x, x, indexing="ij")
        found = solution(x=X.ravel(), y=Y.ravel(), t=np.ones(X.size))
        return {"error": relative([found["u"], found["v"]], [u.ravel(), v.ravel()], mean)}

    return score


def against_differences(solution: Any) -> Scores:
    rough, fine = references.driven(32), references.driven(64)[::2, ::2]
    truth = (4 * fine - rough) / 3
    x = np.arange(33) / 32
    X, Y = np.meshgrid(x, x, indexing="ij")
    return {"error": relative(solution(x=X.ravel(), y=Y.ravel(), t=np.full(X.size, 100.0)), truth.ravel())}


def forces(solution: Any, speed: float, times: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """2 F/(U² D) on the cylinder at each time: ∮ (−p n + ν (∇u + ∇uᵀ) n) ds."""
    angle = np.linspace(0, 2 * np.pi, 401)[:-1]
    n = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points, ds, nu = 0.2 + (0.05 + 1e-9) * n, 2 * np.pi * 0.05 / len(angle), 1e-3
    drag, lift = [], []
    for t in [None] if times is None else times:
        at = points if t is None else np.column_stack([points, np.full(len(points), t)])
        more = () if t is None else (0,)
        value, along, up = (0, 0, *more), (1, 0, *more), (0, 1, *more)
        jets = solution.field.jets(at, [value, along, up])
        p, (u_x, v_x), (u_y, v_y) = jets[value][:, 2], jets[along][:, :2].T, jets[up][:, :2].T
        shear = nu * (u_y + v_x)
        drag.append(np.sum((2 * nu * u_x - p) * n[:, 0] + shear * n[:, 1]) * ds)
        lift.append(np.sum((2 * nu * v_y - p) * n[:, 1] + shear * n[:, 0]) * ds)
    return 20 / speed**2 * np.array(drag), 20 / speed**2 * np.array(lift)


def steady_cylinder(solution: Any) -> Scores:
    drag, _ = forces(solution, 0.2)
    return {"drag": abs(float(drag[0]) / 5.57953523384 - 1)}


def moving_cylinder(solution: Any) -> Scores:
    times = np.asarray(solution.field.times)
    drag, lift = forces(solution, 1.0, times[times > 0.5])
    return {"drag": abs(drag.max() / 2.950921575 - 1), "lift": abs(lift.max() / 0.47795 - 1)}


def shock(
    exact: Callable[..., np.ndarray], times: np.ndarray, unknown: str, top: float
) -> Callable[[Any], Scores]:
    def score(solution: Any) -> Scores:
        found = [np.asarray(solution.sampled({"x": X, "t": t})[0][unknown]) for t in times]
        truth = [exact(X, t) for t in times]
        return {
            "error": relative(found, truth, mean=True),
            "overshoot": max(float(np.max(found)) / top - 1, 0.0),
        }

    return score


def pulse(x: np.ndarray, t: float) -> np.ndarray:
    y = (x - t) % 1
    return ((y > 0.2) & (y < 0.4)).astype(float)


def boundary(solution: Any) -> Scores:
    """The residual on unseen points, and the error on the surface, at points of the STL file's triangles."""
    from safenet.fields.field import jets

    problem = solution.problem
    points, _ = problem.region.sample_piece("skin", np.random.default_rng(9).random((4000, 2)))
    points, value = points[np.isfinite(points[:, 0])], (0, 0, 0)
    found = np.asarray(jets(solution.field, points, [value])[value])[:, 0]
    given = np.sin(2 * points[:, 0]) * np.cos(points[:, 1])
    return {"residual": solution.result.residual, "boundary": relative(found, given)}


def network(file: Path, goal: float) -> Case:
    return Case(file, {"error": goal}, by_exact, 300, "train")


CASES: dict[str, Case] = {
    "reaction and diffusion to t = 100": Case(
        EXAMPLES / "regions/driven.toml", {"error": 1e-3}, against_differences, 60
    ),
    "Burgers in the plane, 1e-2": Case(
        HERE / "burgers-plane.toml", {"error": 1e-3}, against_spectral(1e-2, 128, 1000, False), 120
    ),
    "Burgers in the plane, 1e-3": Case(
        HERE / "burgers-plane.toml",
        {"error": 1e-2},
        against_spectral(1e-3, 384, 1000, True),
        120,
        parameters=(("nu", 1e-3),),
    ),
    "cylinder, DFG 2D-1": Case(EXAMPLES / "regions/cylinder.toml", {"drag": 1e-2}, steady_cylinder, 60),
    "cylinder, DFG 2D-3": Case(
        EXAMPLES / "regions/cylinder-time.toml",
        {"drag": 2e-2, "lift": 5e-2},
        moving_cylinder,
        900,
        budget="900s",
    ),
    "heat around twelve holes": Case(EXAMPLES / "regions/sieve.toml", {"error": 1e-3}, by_exact, 60),
    "Poisson around four balls": Case(
        EXAMPLES / "space/four-balls.toml", {"error": 1e-3}, against_multipoles, 120
    ),
    "Poisson around four balls, network": Case(
        EXAMPLES / "space/four-balls.toml", {"error": 1e-2}, against_multipoles, 300, "train"
    ),
    "Beltrami flow": Case(HERE / "beltrami.toml", {"error": 1e-6}, by_exact, 60),
    "Poisson, 5 dimensions": Case(HERE / "poisson-5.toml", {"error": 1e-8}, by_exact, 60),
    "Poisson, 10 dimensions": Case(EXAMPLES / "many/poisson-10.toml", {"error": 1e-8}, by_exact, 60),
    "ridge, 5 dimensions, network": network(HERE / "ridge-5.toml", 1e-3),
    "ridge, 10 dimensions, network": network(HERE / "ridge-10.toml", 1e-2),
    "Burgers past its shock": Case(
        EXAMPLES / "shocks/burgers.toml",
        {"error": 1e-2, "overshoot": 0.02},
        shock(references.burgers_shock, np.linspace(0.02, 0.5, 25), "u", 1.5),
        60,
    ),
    "square pulse": Case(
        EXAMPLES / "shocks/pulse.toml",
        {"error": 1e-2, "overshoot": 0.02},
        shock(pulse, np.linspace(0.1, 1, 10), "u", 1.0),
        60,
    ),
    "Sod's tube": Case(
        EXAMPLES / "shocks/sod.toml",
        {"error": 1e-2, "overshoot": 0.02},
        shock(references.sod, np.linspace(0.02, 0.2, 10), "rho", 1.0),
        60,
    ),
    "surface from an STL file, network": Case(
        EXAMPLES / "space/ring.toml", {"residual": 1e-2, "boundary": 1e-2}, boundary, 300, "train"
    ),
    "Taylor and Green, periodic": Case(HERE / "taylor-green.toml", {"error": 1e-6}, by_exact, 60),
    "Taylor and Green, all derivatives": Case(EXAMPLES / "taylor-green.toml", {"error": 1e-6}, by_exact, 60),
}

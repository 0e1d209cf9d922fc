"""The flows against a manufactured solution, finer and coarser meshes, another finite element code, public data."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from flow_solver import BACKSTEP, SHIPMENTS, backstep_grid
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq
from taylor_hood import Case, differences, solve

from safenet.reference import Reference, backstep, cavity
from safenet.reference.flow import BACKFLOW, Grid, shipped, values

BOTH = pytest.mark.parametrize("kappa", [0.0, BACKFLOW])


def published(name: str) -> Path:
    for folder in Path(__file__).resolve().parents:
        if (found := folder / "shared" / "reference" / name).exists():
            return found
    pytest.skip(f"{name} is not here")


def rates(errors: list[float], ratio: float = 2.0) -> np.ndarray:
    return np.log(np.array(errors[:-1]) / np.array(errors[1:])) / np.log(ratio)


# The solver.


def manufactured(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """div (sin πx cos πy, −cos πx sin πy) = 0, and p(0, 0) = 0."""
    return {
        "u": np.sin(np.pi * x) * np.cos(np.pi * y),
        "v": -np.cos(np.pi * x) * np.sin(np.pi * y),
        "p": np.sin(x + 2 * y),
    }


def manufactured_case(nu: float) -> Case:
    def velocity(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inside, exact = (x > 0) & (x < 1) & (y > 0) & (y < 1), manufactured(x, y)
        return np.where(inside, np.nan, exact["u"]), np.where(inside, np.nan, exact["v"])

    def force(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # u·∇u = π/2 (sin 2πx, sin 2πy) and −Δu = 2π² u.
        exact, p_x = manufactured(x, y), np.cos(x + 2 * y)
        return (
            np.pi / 2 * np.sin(2 * np.pi * x) + p_x + 2 * np.pi**2 * nu * exact["u"],
            np.pi / 2 * np.sin(2 * np.pi * y) + 2 * p_x + 2 * np.pi**2 * nu * exact["v"],
        )

    return Case(velocity, zero_pressure=(0.0, 0.0), force=force)


@pytest.mark.parametrize(("degree", "cells"), [(2, (4, 8, 16)), (4, (2, 4, 8))])
def test_a_smooth_flow_converges_with_order_k_plus_one_and_its_pressure_with_order_k(
    degree: int, cells: tuple[int, ...]
) -> None:
    nu, errors = 0.05, {"u": [], "v": [], "p": []}
    s = (np.arange(60) + 0.5) / 60
    x, y = np.broadcast_arrays(s[:, None], s)
    for n in cells:
        lines = np.linspace(0, 1, n + 1)
        flow = solve(manufactured_case(nu), Grid(lines, lines, np.ones((n, n), bool)), degree, viscosity=nu)
        for name, exact in manufactured(x, y).items():
            errors[name].append(float(np.sqrt(np.mean((values(flow, x, y)[name] - exact) ** 2))))
    for name, order in {"u": degree + 1, "v": degree + 1, "p": degree}.items():
        assert rates(errors[name])[-1] > order - 0.25, name
    assert rates(errors["u"])[-1] < degree + 1.5


def bisected(lines: np.ndarray) -> np.ndarray:
    return np.insert(lines, range(1, len(lines)), (lines[1:] + lines[:-1]) / 2)


def test_grading_restores_the_rates_that_the_corner_takes_away() -> None:
    """Q2–Q1 on three nested meshes: order 3 for the velocity and 2 for the pressure, or 1/2 for all."""

    def errors(layers: int) -> dict[str, list[float]]:
        grid, flow, moved = backstep_grid(layers), None, []
        for _ in range(3):
            flow = solve(BACKSTEP, grid, 2, start=flow)
            moved.append(differences(flow, shipped("backstep")))
            x, y = bisected(grid.x), bisected(grid.y)
            grid = Grid(x, y, (x[:-1, None] >= 2) | (y[:-1] < 1))
        return {name: [each[name] for each in moved] for name in ("u", "v", "p", "pooled")}

    graded, plain = errors(layers=5), errors(layers=0)
    assert rates(graded["u"])[-1] > 2.7
    assert rates(graded["v"])[-1] > 2.7
    assert rates(graded["p"])[-1] > 1.5
    assert rates(plain["pooled"])[-1] < 0.8
    assert graded["pooled"][-1] < 1e-4


@pytest.mark.parametrize(
    ("name", "first", "last"),
    [
        pytest.param("backstep", 6e-4, 3e-5, marks=pytest.mark.slow),
        pytest.param("backstep_suppressed", 6e-4, 4e-5, marks=pytest.mark.slow),
        ("cavity", 4e-3, 1e-4),
    ],
)
def test_rougher_flows_approach_the_shipped_one_by_a_factor_per_degree(
    name: str, first: float, last: float
) -> None:
    # The same lines as shipped, and the degrees 3, 4 and 5 instead of 6 or 8.
    shipment, errors, flow = SHIPMENTS[name], [], None
    for degree in (3, 4, 5):
        flow = shipment.solve(degree, shipment.layers, shipment.cells, start=flow)
        errors.append(differences(flow, shipped(name))["pooled"])
    assert errors[0] < first
    assert errors[1] < errors[0] / 3
    assert errors[2] < errors[1] / 3
    assert errors[2] < last


def test_newton_from_the_stokes_flow_and_continuation_in_the_reynolds_number_find_the_same_flow() -> None:
    grid, flow = backstep_grid(layers=3), None
    for reynolds in (10, 30, 60, 100):
        flow = solve(BACKSTEP, grid, 3, viscosity=1 / reynolds, start=flow)
    assert differences(flow, solve(BACKSTEP, grid, 3))["pooled"] < 1e-8


def test_behind_a_step_in_a_long_channel_the_flow_reattaches_after_three_step_heights() -> None:
    # At 100 = (2h)(mean speed 2/3)/ν, the Reynolds number of Armaly and others.
    flow = solve(BACKSTEP, backstep_grid(layers=2, end=10.0), 3, viscosity=1 / 75)

    def along_the_wall(x: float) -> float:
        return float(values(flow, np.array(x), np.array(1.9995))["u"])

    assert abs(brentq(along_the_wall, 3.0, 8.0) - 2 - 2.92) < 0.03


def triangles_in_the_cavity(n: int) -> dict[str, np.ndarray]:
    """u, v and p at the vertices of n × n × 2 triangles, by P2–P1 elements and Newton: nothing shared."""
    skfem = pytest.importorskip("skfem")
    from skfem.helpers import ddot, div, dot, grad, mul

    mesh = skfem.MeshTri.init_tensor(*2 * [np.linspace(0, 1, n + 1)])
    velocity = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementTriP2()), intorder=5)
    pressure = velocity.with_element(skfem.ElementTriP1())

    @skfem.BilinearForm
    def jacobian(u, w, at):
        carried = mul(grad(u), at["now"]) + mul(grad(at["now"]), u)
        return ddot(grad(u), grad(w)) / 100 + dot(carried, w)

    @skfem.LinearForm
    def counted_twice(w, at):
        return dot(mul(grad(at["now"]), at["now"]), w)

    B = skfem.BilinearForm(lambda u, q, at: -div(u) * q).assemble(velocity, pressure)
    z = np.zeros(velocity.N + pressure.N)
    x = velocity.doflocs[0]
    lid = velocity.get_dofs(lambda x: np.isclose(x[1], 1)).all(["u^1"])
    z[lid] = 4 * x[lid] * (1 - x[lid])
    origin = velocity.N + np.flatnonzero((pressure.doflocs == 0).all(axis=0))
    fixed = np.concatenate([velocity.get_dofs().all(), origin])
    for _ in range(8):
        now = velocity.interpolate(z[: velocity.N])
        A = skfem.bmat([[jacobian.assemble(velocity, now=now), B.T], [B, None]], "csr")
        right = np.append(counted_twice.assemble(velocity, now=now), np.zeros(pressure.N))
        z = skfem.solve(*skfem.condense(A, right, x=z, D=fixed))
    u, v = z[velocity.nodal_dofs]
    return {"x": mesh.p[0], "y": mesh.p[1], "u": u, "v": v, "p": z[velocity.N :][pressure.nodal_dofs[0]]}


@pytest.mark.slow
def test_triangles_of_another_code_converge_to_the_cavity() -> None:
    errors = {"u": [], "v": [], "p": []}
    for n in (12, 24, 48):
        found = triangles_in_the_cavity(n)
        away = np.abs(found["x"] - 0.5) + found["y"] < 1.3  # p is not finite in the lid's corners
        exact = cavity()(x=found["x"][away], y=found["y"][away])
        for name, error in errors.items():
            error.append(np.linalg.norm(found[name][away] - exact[name]) / np.linalg.norm(exact[name]))
    for name, (least, most) in {"u": (2.5, 3e-4), "v": (2.5, 3e-4), "p": (1.7, 5e-3)}.items():
        assert rates(errors[name])[-1] > least, name
        assert errors[name][-1] < most, name


# The shipped data.


# The data do not change by themselves; rougher flows approach the cavity each time.
@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPMENTS)
def test_a_finer_mesh_moves_the_shipped_flow_by_less_than_the_stated_accuracy(name: str) -> None:
    reference = {"backstep": backstep(), "backstep_suppressed": backstep(BACKFLOW), "cavity": cavity()}[name]
    shipment = SHIPMENTS[name]
    finer = shipment.solve(shipment.degree, shipment.layers, shipment.cells * 3 // 2, start=shipped(name))
    moved = differences(shipped(name), finer)
    assert moved["pooled"] < reference.accuracy
    assert max(moved.values()) < 10 * reference.accuracy


@BOTH
def test_the_back_step_has_its_boundary_values(kappa: float) -> None:
    reference, s = backstep(kappa), np.linspace(0, 1, 301)
    inlet = reference(x=0.0, y=s)
    np.testing.assert_allclose(inlet["u"], 4 * s * (1 - s), atol=1e-7)
    np.testing.assert_allclose(inlet["v"], 0.0, atol=1e-15)
    for x, y in [(4 * s, 0.0), (2 * s, 1.0), (2.0, 1 + s), (2 + 2 * s, 2.0)]:
        wall = reference(x=x, y=y)
        np.testing.assert_allclose([wall["u"], wall["v"]], 0.0, atol=1e-15)
    outlet = reference(x=4.0, y=2 * s)
    np.testing.assert_allclose(outlet["v"], 0.0, atol=1e-15)
    # The condition on p is natural, so that it holds up to the error of the elements.
    np.testing.assert_allclose(outlet["p"], kappa * np.minimum(outlet["u"], 0), atol=2e-3 if kappa else 1e-4)
    assert np.sqrt(np.mean((outlet["p"] - kappa * np.minimum(outlet["u"], 0)) ** 2)) < 2e-4


def test_the_cavity_has_its_boundary_values() -> None:
    reference, s = cavity(), np.linspace(0, 1, 301)
    lid = reference(x=s, y=1.0)
    np.testing.assert_allclose(lid["u"], 4 * s * (1 - s), atol=1e-7)
    np.testing.assert_allclose(lid["v"], 0.0, atol=1e-15)
    for x, y in [(s, 0.0), (0.0, s), (1.0, s)]:
        wall = reference(x=x, y=y)
        np.testing.assert_allclose([wall["u"], wall["v"]], 0.0, atol=1e-15)
    # Zero at the corner, and no jump beside it: p is smooth there, and nearly constant where nothing moves.
    assert abs(reference(x=0.0, y=0.0)["p"]) < 1e-15
    assert np.max(np.abs(reference(x=np.logspace(-6, -3, 20), y=np.logspace(-6, -3, 20))["p"])) < 1e-6


def flux(reference: Reference, x: float, bottom: float, top: float) -> float:
    """∫ u dy at x."""
    points, weights = leggauss(400)
    y = bottom + (top - bottom) * (points + 1) / 2
    return float(weights @ reference(x=x, y=y)["u"]) * (top - bottom) / 2


@BOTH
@pytest.mark.parametrize("x", [0.0, 0.7, 1.9, 2.001, 2.3, 3.1, 3.99, 4.0])
def test_two_thirds_flow_through_every_section(kappa: float, x: float) -> None:
    assert abs(flux(backstep(kappa), x, 0.0, 1.0 if x < 2 else 2.0) - 2 / 3) < 4e-5


@pytest.mark.parametrize("x", [0.1, 0.5, 0.9])
def test_nothing_flows_through_a_section_of_the_cavity(x: float) -> None:
    assert abs(flux(cavity(), x, 0.0, 1.0)) < 1e-6


def test_the_vortex_behind_the_step_reaches_the_outlet_and_less_comes_in_when_held_back() -> None:
    y = np.linspace(1.6, 1.98, 30)
    free, held = (backstep(kappa)(x=4.0, y=y)["u"] for kappa in (0.0, BACKFLOW))
    assert -0.12 < free.min() < -0.07
    assert -0.03 < held.min() < -0.005
    assert np.all(held < 0)
    # Beneath the lid the cavity turns with it: forth above, back below, down on the right.
    assert cavity()(x=0.5, y=0.9)["u"] > 0.2
    assert cavity()(x=0.5, y=0.4)["u"] < -0.1
    assert cavity()(x=0.85, y=0.6)["v"] < -0.1


def test_outside_the_fluid_values_are_nan_and_on_its_boundary_rounding_does_no_harm() -> None:
    reference = backstep()
    for x, y in [(1.0, 1.5), (1.999, 1.001), (-0.01, 0.5), (4.01, 1.0), (3.0, 2.01), (np.nan, 0.5)]:
        assert all(np.isnan(value) for value in reference(x=x, y=y).values())
    s = np.linspace(0.01, 0.99, 50)
    for off in (-1e-15, 0.0, 1e-15):
        for x, y in [
            (off, s),
            (2 + 4 * off, 1 + s),
            (2 * s, 1 + off),
            (4 + 4 * off, 2 * s),
            (4 * s, off),
            (3.0, 2 + off),
        ]:
            assert all(np.isfinite(value).all() for value in reference(x=x, y=y).values())


def test_where_the_pressure_has_no_finite_value_it_is_nan_and_only_there() -> None:
    x, y = np.linspace(0, 4, 401)[:, None], np.linspace(0, 2, 201)
    fields = backstep()(x=x, y=y)
    block = (x < 2 - 1e-9) & (y > 1 + 1e-9)
    np.testing.assert_array_equal(np.isnan(fields["u"]), block)
    assert np.argwhere(np.isnan(fields["p"]) & ~block).tolist() == [[200, 100]]
    in_the_cavity = cavity()(x=np.linspace(0, 1, 101)[:, None], y=np.linspace(0, 1, 101))
    assert np.isfinite(in_the_cavity["u"]).all()
    assert np.argwhere(np.isnan(in_the_cavity["p"])).tolist() == [[0, 100], [100, 100]]


def test_coordinates_broadcast_and_blocks_do_not_matter() -> None:
    x, y = np.linspace(2.1, 3.9, 120)[:, None], np.linspace(0.1, 1.9, 90)
    fields = backstep()(x=x, y=y)
    assert {name: value.shape for name, value in fields.items()} == dict.fromkeys("uvp", (120, 90))
    alone = backstep()(x=x[77, 0], y=y[33])
    assert alone["u"].shape == ()
    for name in "uvp":
        assert abs(alone[name] - fields[name][77, 33]) < 1e-14


@pytest.mark.parametrize("kappa", [1.0, -1.5, np.nan])
def test_a_kappa_without_data_is_refused(kappa: float) -> None:
    with pytest.raises(ValueError, match=r"kappa = 0 and kappa = 1\.5"):
        backstep(kappa)


@cache
def public_errors(kappa: float, end: float) -> dict[str, float]:
    """Relative l2 differences over the nodes of the public file with x ≤ end, but for those at the corner."""
    x, y, *fields = np.loadtxt(published("pinnacle_ns_0_obstacle.dat"), comments="%").T
    chosen = (x <= end) & (np.hypot(x - 2, y - 1) > 0.02)
    ours = backstep(kappa)(x=x[chosen], y=y[chosen])
    return {
        name: float(np.linalg.norm(ours[name] - field[chosen]) / np.linalg.norm(field[chosen]))
        for name, field in zip("uvp", fields, strict=True)
    }


def test_the_back_step_with_suppressed_backflow_agrees_with_the_public_data() -> None:
    """Everywhere u to 1e-3, v to 6e-3, p to 8e-3, as far as its linear elements go.

    Its pressure at the outlet is not 0 where the flow comes back in, but κu with κ = 3/2.
    """
    for end in (3.5, 4.0):
        errors = public_errors(BACKFLOW, end)
        assert errors["u"] < 2e-3
        assert errors["v"] < 1e-2
        assert errors["p"] < 1e-2


def test_with_p_equal_to_0_at_the_outlet_the_flow_is_another_one() -> None:
    """u 2 %, v 17 %, p 38 % up to x = 3.5; u 3.5 %, v 28 %, p 38 % up to the outlet.

    That is no thin layer: a tenth of the speed of the inlet comes back in through the upper quarter of the
    outlet, or does not, and the vortex upstream knows.
    """
    near, whole = public_errors(0.0, 3.5), public_errors(0.0, 4.0)
    np.testing.assert_allclose([near[name] for name in "uvp"], [0.0197, 0.170, 0.377], rtol=0.05)
    np.testing.assert_allclose([whole[name] for name in "uvp"], [0.0351, 0.284, 0.383], rtol=0.05)

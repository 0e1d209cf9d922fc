"""Four holes: the maximum principle on unseen points, finite elements on a curved mesh, and the symmetries."""

from __future__ import annotations

import numpy as np
import pytest

from safenet.reference import four_holes
from safenet.reference.holes import basis, boundary, fitted

ANGLES = np.linspace(0, 2 * np.pi, 1001)
CENTRES = [(s, t) for s in (-0.3, 0.3) for t in (-0.3, 0.3)]


def test_the_misfit_on_unseen_boundary_points_bounds_the_error_everywhere() -> None:
    # u − u* is harmonic, so nowhere larger than here; relative to ‖u‖, which is more than half of ‖1‖, twice that.
    u, s = four_holes(), np.linspace(-0.5, 0.5, 1001)
    worst = max(np.max(np.abs(u(x=x, y=y) - 1)) for x, y in [(s, 0.5), (s, -0.5), (0.5, s), (-0.5, s)])
    for x, y in CENTRES:
        worst = max(worst, np.max(np.abs(u(x=x + 0.1 * np.cos(ANGLES), y=y + 0.1 * np.sin(ANGLES)))))
    assert worst < u.accuracy / 2


def test_more_terms_reduce_the_misfit_geometrically_until_rounding() -> None:
    def misfit(polynomials: int, multipoles: int) -> float:
        series = fitted(polynomials, multipoles)
        side, circle = (basis(z, series.recurrence, multipoles) @ series.coefficients for z in boundary(777))
        return float(max(np.max(np.abs(side - 1)), np.max(np.abs(circle))))

    by_degree = [misfit(k, 22) for k in (8, 16, 24)]
    by_multipole = [misfit(32, k) for k in (6, 10, 14)]
    for coarse, fine in zip(
        [*by_degree[:-1], *by_multipole[:-1]], [*by_degree[1:], *by_multipole[1:]], strict=True
    ):
        assert fine < coarse / 100
    assert misfit(32, 22) < 1e-13


def test_the_mean_value_property_holds_inside() -> None:
    u = four_holes()
    for x, y, radius in [(0.0, 0.0, 0.3), (0.0, 0.3, 0.15), (0.45, 0.1, 0.04)]:
        theta = ANGLES[:-1]
        around = u(x=x + radius * np.cos(theta), y=y + radius * np.sin(theta))
        assert abs(np.mean(around) - u(x=x, y=y)) < 1e-13


def test_the_solution_has_the_symmetries_of_the_square() -> None:
    x, y = np.random.default_rng(0).uniform(-0.5, 0.5, (2, 500))
    u = four_holes()
    for image in (u(x=-x, y=y), u(x=x, y=-y), u(x=y, y=x)):
        np.testing.assert_allclose(image, u(x=x, y=y), atol=1e-13)


def test_values_are_nan_in_the_holes_and_outside_but_not_on_the_boundary() -> None:
    u = four_holes()
    inner = 0.0999999
    assert np.isnan(u(x=0.3 + inner * np.cos(ANGLES), y=0.3 + inner * np.sin(ANGLES))).all()
    assert np.isnan(u(x=[0.3, -0.3, 0.51, 0.0], y=[0.3, -0.3, 0.0, -0.6])).all()
    for x, y in CENTRES:
        assert np.isfinite(u(x=x + 0.1 * np.cos(ANGLES), y=y + 0.1 * np.sin(ANGLES))).all()
    grid = u(x=np.linspace(-0.5, 0.5, 201)[:, None], y=np.linspace(-0.5, 0.5, 101))
    assert grid.shape == (201, 101)
    assert np.nanmin(grid) > -1e-12
    assert np.nanmax(grid) < 1 + 1e-12
    assert abs(np.isnan(grid).mean() - 4 * np.pi * 0.01) < 0.005


def finite_element_error(n: int) -> float:
    """The root mean square of u_h − u at the vertices: quadratic isoparametric triangles on an eighth of the square.

    The eighth is y > x > 0 by symmetry, where (s, t) ∈ [0, 1]² runs from the half circle to the outline
    (1/2, 1/2) → (0, 1/2) → (0, 0).  On the two sides that lie in the square nothing is imposed, as symmetry asks.
    """
    skfem = pytest.importorskip("skfem")
    from skfem.helpers import dot, grad

    flat = skfem.MeshTri.init_tensor(np.linspace(0, 1, n + 1), np.linspace(0, 1, 2 * n + 1))
    s, t = skfem.MeshTri2.from_mesh(flat).doflocs
    outline = np.where(t < 0.5, 0.5 - t, 0.0) + 1j * np.where(t < 0.5, 0.5, 1 - t)
    z = (1 - s) * (0.3 + 0.3j + 0.1 * np.exp(1j * np.pi * (0.25 + t))) + s * outline
    template = skfem.MeshTri2.from_mesh(flat)
    mesh = skfem.MeshTri2(np.stack([z.real, z.imag]), template.t)
    space = skfem.Basis(mesh, skfem.ElementTriP2(), intorder=6)
    stiffness = skfem.BilinearForm(lambda u, v, w: dot(grad(u), grad(v))).assemble(space)
    # The degrees of freedom are numbered alike on the flat mesh, where they are easy to name.
    s, t = skfem.Basis(flat, skfem.ElementTriP2()).doflocs
    hole, outer = np.isclose(s, 0), np.isclose(s, 1) & (t < 0.5 + 1e-9)
    u = np.where(outer, 1.0, 0.0)
    u = skfem.solve(*skfem.condense(stiffness, x=u, D=np.flatnonzero(hole | outer)))
    vertices = mesh.doflocs[:, : flat.p.shape[1]]
    at_vertices = u[space.nodal_dofs[0]]
    return float(np.sqrt(np.mean((at_vertices - four_holes()(x=vertices[0], y=vertices[1])) ** 2)))


def test_curved_finite_elements_converge_to_the_series() -> None:
    errors = [finite_element_error(n) for n in (8, 16, 32)]
    assert errors[-1] < 1e-6
    assert np.all(np.log2(errors[:-1]) - np.log2(errors[1:]) > 3.0)

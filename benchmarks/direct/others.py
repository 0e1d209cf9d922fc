"""Dedalus on a line, FEniCSx on the cavity: each in an interpreter named by an environment variable.

DEDALUS_PYTHON=…   pip install dedalus, with MPI, FFTW and HDF5 from the system's packages
FENICSX_PYTHON=…   the system's Python with its package python3-dolfinx
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .problems import MOMENTS, places
from .systems import LINES

EQUATIONS = {
    "burgers": f"dt(u) - dx(dx(u))/{100 * np.pi!r} = -u*dx(u)",
    "kdv": "dt(u) + dx(dx(dx(u))) = -6*u*dx(u)",
    "kuramoto-sivashinsky": "dt(u) + dx(dx(u)) + dx(dx(dx(dx(u)))) = -u*dx(u)",
    "allen-cahn": "dt(u) - dx(dx(u))/1000 - 5*u = -5*u**3",
}


def dedalus(name: str, n: int, steps: int) -> dict[str, Any]:
    """Fourier modes and its implicit–explicit Runge–Kutta steps of the highest order, RK443."""
    import logging

    logging.disable(logging.CRITICAL)
    import dedalus.public as d3

    low, length, _, start, kind, end = LINES[name]
    coordinate = d3.Coordinate("x")
    spread = d3.Distributor(coordinate, dtype=np.float64)
    dealias = 2 if kind == "cubic" else 3 / 2
    basis = d3.RealFourier(coordinate, size=n, bounds=(low, low + length), dealias=dealias)
    u = spread.Field(name="u", bases=basis)
    problem = d3.IVP([u], namespace={"u": u, "dx": lambda one: d3.Differentiate(one, coordinate)})
    problem.add_equation(EQUATIONS[name])
    u["g"] = start(spread.local_grid(basis))
    solver, found = problem.build_solver(d3.RK443), []
    for step in range(1, steps + 1):
        solver.step(end / steps)
        if step % (steps // MOMENTS) == 0:
            u.change_scales(1)
            found.append(u["g"][:: n // 64].tolist())
    return {"values": [found]}


def fenicsx(name: str, across: int, degree: int) -> dict[str, Any]:
    """Taylor–Hood triangles for the cavity with a smooth lid: Newton with PETSc's LU, at Reynolds numbers 100, 400,
    1000."""
    import dolfinx
    import ufl
    from dolfinx import fem, geometry
    from mpi4py import MPI

    mesh = dolfinx.mesh.create_unit_square(MPI.COMM_WORLD, across, across)
    elements = (
        ufl.VectorElement("CG", mesh.ufl_cell(), degree),
        ufl.FiniteElement("CG", mesh.ufl_cell(), degree - 1),
    )
    space = fem.FunctionSpace(mesh, ufl.MixedElement(*elements))
    state, reynolds = fem.Function(space), fem.Constant(mesh, 100.0)
    (u, p), (v, q) = ufl.split(state), ufl.TestFunctions(space)
    form = ufl.inner(ufl.grad(u), ufl.grad(v)) / reynolds * ufl.dx + ufl.inner(ufl.grad(u) * u, v) * ufl.dx
    form += (-p * ufl.div(v) - q * ufl.div(u)) * ufl.dx
    flow, _ = space.sub(0).collapse()
    lid = fem.Function(flow)
    lid.interpolate(
        lambda x: np.stack([np.where(x[1] > 1 - 1e-12, 16 * x[0] ** 2 * (1 - x[0]) ** 2, 0.0), 0 * x[0]])
    )
    mesh.topology.create_connectivity(1, 2)
    sides = dolfinx.mesh.exterior_facet_indices(mesh.topology)
    fixed = [fem.dirichletbc(lid, fem.locate_dofs_topological((space.sub(0), flow), 1, sides), space.sub(0))]
    pressure, _ = space.sub(1).collapse()
    corner = fem.locate_dofs_geometrical((space.sub(1), pressure), lambda x: np.hypot(x[0], x[1]) < 1e-12)
    fixed.append(fem.dirichletbc(fem.Function(pressure), corner, space.sub(1)))
    problem = fem.petsc.NonlinearProblem(form, state, fixed)
    solver = dolfinx.nls.petsc.NewtonSolver(MPI.COMM_WORLD, problem)
    solver.rtol, solver.convergence_criterion = 1e-9, "incremental"
    solver.krylov_solver.setType("preonly")
    solver.krylov_solver.getPC().setType("lu")
    for value in (100.0, 400.0, 1000.0):
        reynolds.value = value
        solver.solve(state)
    x, y = places("cavity")
    points = np.stack([x, y, 0 * x], axis=1)
    near = geometry.compute_collisions(geometry.BoundingBoxTree(mesh, 2), points)
    inside = geometry.compute_colliding_cells(mesh, near, points)
    cells = [inside.links(i)[0] for i in range(len(points))]
    found = state.sub(0).collapse().eval(points, cells)
    return {"values": [[found[:, 0].tolist()], [found[:, 1].tolist()]]}

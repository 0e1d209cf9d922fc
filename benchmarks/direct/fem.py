"""scikit-fem on the steady problems."""

from __future__ import annotations

from typing import Any

import numpy as np

from .problems import places


def scikit_fem(name: str, refinements: int, corner: int) -> dict[str, Any]:
    """Triangles of degree 4, refined `refinements` times, and `corner` more times at the corner of an L."""
    import skfem
    from skfem.helpers import dot, grad

    if name == "cavity":
        return skfem_cavity(refinements, corner)
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
    # Its L-shape lacks the quadrant x, y > 0; ours lacks x, y < 0.
    sign = -1.0 if name == "l-shape" else 1.0
    found = basis.probes(sign * np.array(inside)) @ values
    return {"values": [[found.real.tolist()], *([[found.imag.tolist()]] if kind is complex else [])]}


def skfem_cavity(across: int, degree: int) -> dict[str, Any]:
    """Taylor–Hood triangles of this degree, `across` along a side; Newton at Reynolds numbers 100, 400, 1000."""
    import skfem
    from scipy.sparse import bmat
    from skfem.helpers import ddot, div, dot, grad, mul

    line = np.linspace(0, 1, across + 1)
    mesh = skfem.MeshTri.init_tensor(line, line)
    flow, press = {2: (skfem.ElementTriP2, skfem.ElementTriP1), 3: (skfem.ElementTriP3, skfem.ElementTriP2)}[
        degree
    ]
    velocity = skfem.Basis(mesh, skfem.ElementVector(flow()), intorder=3 * degree)
    pressure = velocity.with_element(press())

    @skfem.BilinearForm
    def viscous(u: Any, v: Any, w: Any) -> Any:
        return ddot(grad(u), grad(v))

    @skfem.BilinearForm
    def divergence(u: Any, q: Any, w: Any) -> Any:
        return -div(u) * q

    @skfem.BilinearForm
    def carried(u: Any, v: Any, w: Any) -> Any:
        return dot(mul(grad(w["old"]), u) + mul(grad(u), w["old"]), v)

    @skfem.LinearForm
    def carrying(v: Any, w: Any) -> Any:
        return dot(mul(grad(w["old"]), w["old"]), v)

    a, b = viscous.assemble(velocity), divergence.assemble(velocity, pressure)
    state = np.zeros(velocity.N + pressure.N)
    lid = velocity.get_dofs(lambda x: x[1] == 1.0).all("u^1")
    at = velocity.doflocs[0, lid]
    state[lid] = 16 * at**2 * (1 - at) ** 2
    corner = pressure.doflocs
    pin = velocity.N + np.flatnonzero((corner[0] == 0) & (corner[1] == 0))
    fixed = np.concatenate([velocity.get_dofs().all(), pin])
    for reynolds in (100.0, 400.0, 1000.0):
        for _ in range(12):
            u = state[: velocity.N]
            old = velocity.interpolate(u)
            matrix = bmat([[a / reynolds + carried.assemble(velocity, old=old), b.T], [b, None]], "csr")
            left = np.concatenate([a @ u / reynolds + carrying.assemble(velocity, old=old), b @ u])
            left += np.concatenate([b.T @ state[velocity.N :], np.zeros(pressure.N)])
            change = skfem.solve(*skfem.condense(matrix, -left, x=np.zeros(len(state)), D=fixed))
            state = state + change
            if np.linalg.norm(change) < 1e-9 * np.linalg.norm(state):
                break
    found = velocity.probes(np.array(places("cavity"))) @ state[: velocity.N]
    one, two = found.reshape(2, -1)
    return {"values": [[one.tolist()], [two.tolist()]]}

"""The flows that `safenet.reference.flow` ships: the back-step, with and without backflow held back, and the cavity.

The grid lines crowd together geometrically at the corners where the solution is singular, and the degree does the
rest: each degree more takes off a constant factor.

`python tests/reference/flow_solver.py` writes the data into the package and prints the refinement study.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from taylor_hood import Case, differences, solve

from safenet.reference.flow import BACKFLOW, DATA, Flow, Grid, shipped
from safenet.reference.reference import Array


def graded(
    start: float, end: float, cells: int, at_start: int = 0, at_end: int = 0, ratio: float = 0.25
) -> Array:
    """Lines of equal cells, the outermost cut at the fractions ratio, ratio², … towards its end of the interval."""
    h = (end - start) / cells
    return np.concatenate(
        [
            [start],
            start + h * ratio ** np.arange(at_start, 0, -1),
            start + h * np.arange(1, cells),
            end - h * ratio ** np.arange(1, at_end + 1),
            [end],
        ]
    )


def backstep_grid(
    layers: int, cells: int = 4, end: float = 4.0, top: int = 0, turn: float = 1.5, ratio: float = 0.25
) -> Grid:
    """[0, end] × [0, 2] without [0, 2] × [1, 2], graded to (2, 1), to the outlet, and by `top` layers to y = 2.

    At the outlet v has a layer as thin as ν.  With p = κ min(u, 0) there are two places more: at (end, 2) the
    scale is ν/κ, and at (end, turn), where u changes its sign, p has a kink, which a grid line takes up.
    """
    x = np.append(
        graded(0, 2, cells, 0, layers, ratio)[:-1],
        graded(2, end, round(cells * (end - 2) / 2), layers, 3, ratio),
    )
    y = np.concatenate(
        [
            graded(0, 1, cells, 0, layers, ratio)[:-1],
            graded(1, turn, cells // 2, layers, 0, ratio)[:-1],
            graded(turn, 2, cells // 2, 0, top, ratio),
        ]
    )
    return Grid(x, y, fluid=(x[:-1, None] >= 2) | (y[:-1] < 1))


def backstep_velocity(x: Array, y: Array) -> tuple[Array, Array]:
    """u = 4y(1 − y) at x = 0 and 0 on the walls; v = 0 there and at the outlet."""
    wall = (y == 0) | (y == 2) | ((y == 1) & (x <= 2)) | ((y >= 1) & (x == 2))
    u = np.where(wall, 0.0, np.where(x == 0, 4 * y * (1 - y), np.nan))
    v = np.where(wall | (x == 0) | (x == x.max()), 0.0, np.nan)
    return u, v


def cavity_grid(layers: int, cells: int = 4, ratio: float = 0.25) -> Grid:
    """The unit square, graded to (0, 1) and (1, 1), where the lid's speed has a kink, and a little to y = 0."""
    x = graded(0, 1, cells, layers, layers, ratio)
    y = graded(0, 1, cells, min(layers, 2), layers, ratio)
    return Grid(x, y, fluid=np.ones((len(x) - 1, len(y) - 1), dtype=bool))


def cavity_velocity(x: Array, y: Array) -> tuple[Array, Array]:
    """u = 4x(1 − x) at y = 1, 0 on the other walls; v = 0 on all."""
    wall = (x == 0) | (x == 1) | (y == 0) | (y == 1)
    u = np.where(y == 1, 4 * x * (1 - x), np.where(wall, 0.0, np.nan))
    return u, np.where(wall, 0.0, np.nan)


BACKSTEP = Case(backstep_velocity)
SUPPRESSED = Case(backstep_velocity, backflow=BACKFLOW)
CAVITY = Case(cavity_velocity, zero_pressure=(0.0, 0.0))


@dataclass(frozen=True)
class Shipment:
    """A case, its grid by layers and cells, and the degree, layers and cells of the shipped flow."""

    case: Case
    grid: Callable[[int, int], Grid]
    degree: int
    layers: int
    cells: int

    def solve(self, degree: int, layers: int, cells: int, start: Flow | None = None) -> Flow:
        return solve(self.case, self.grid(layers, cells), degree, start=start)

    def make(self) -> Flow:
        """The flow to ship, from a rough one: most of Newton's steps are cheap."""
        rough = self.solve(3, self.layers, self.cells)
        return self.solve(self.degree, self.layers, self.cells, start=rough)

    def study(self, flow: Flow) -> dict[str, dict[str, float]]:
        """How far finer flows are from it: more degrees, more layers, smaller cells, and all of these at once."""
        degree, layers, cells = self.degree, self.layers, self.cells
        finer = {
            "one degree more": (degree + 1, layers, cells),
            "three layers more": (degree, layers + 3, cells),
            "cells by 2/3": (degree, layers, cells * 3 // 2),
            "all three": (degree + 1, layers + 3, cells * 3 // 2),
        }
        return {what: differences(flow, self.solve(*how, start=flow)) for what, how in finer.items()}


# Where u changes its sign at the outlet of the suppressed flow, found by solving twice.
TURN = 1.51229
SHIPMENTS = {
    "backstep": Shipment(BACKSTEP, backstep_grid, degree=6, layers=7, cells=4),
    "backstep_suppressed": Shipment(
        SUPPRESSED,
        lambda layers, cells: backstep_grid(layers, cells, top=3, turn=TURN),
        degree=6,
        layers=7,
        cells=4,
    ),
    "cavity": Shipment(CAVITY, cavity_grid, degree=8, layers=8, cells=6),
}


def save(name: str, flow: Flow) -> None:
    """The lines in double precision, since elements are as small as 1e-6; the values in single: 6e-8 is enough."""
    fields = {field: getattr(flow, field).astype(np.float32) for field in ("u", "v", "p")}
    DATA.mkdir(exist_ok=True)
    np.savez_compressed(DATA / f"{name}.npz", x=flow.grid.x, y=flow.grid.y, fluid=flow.grid.fluid, **fields)


def main() -> None:
    for name, shipment in SHIPMENTS.items():
        flow = shipment.make()
        save(name, flow)
        shipped.cache_clear()
        print(f"{name}.npz: {(DATA / f'{name}.npz').stat().st_size} bytes")
        study = {"rounding to single": differences(shipped(name), flow), **shipment.study(flow)}
        for what, moved in study.items():
            print(f"  {what:20s}" + "".join(f"  {field} {error:.1e}" for field, error in moved.items()))


if __name__ == "__main__":
    main()

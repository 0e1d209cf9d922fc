"""What leaves for other programs: the same numbers, at the right places, under the right names."""

from __future__ import annotations

import itertools
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.direct.plan import DirectPlan
from safenet.solution import Solution

# A field for each unknown that tells all axes apart: u = Σ 10^i x_i + Π x_i, v = −u. A transposed grid shows.
WEIGHTS = 10.0 ** np.arange(4)


def network(fields: int) -> Callable[[jax.Array], jax.Array]:
    """The field above as a network: a function of one point."""

    def at(point: jax.Array) -> jax.Array:
        value = jnp.asarray(WEIGHTS[: len(point)]) @ point + jnp.prod(point)
        return jnp.stack([value, -value][:fields])

    return at


def field(*mesh: np.ndarray) -> np.ndarray:
    total = sum(weight * part for weight, part in zip(WEIGHTS, mesh, strict=False))
    return np.asarray(total + np.prod(np.broadcast_arrays(*mesh), axis=0))


def known(axes: str, fields: int = 1, **result: Any) -> Solution:
    """A solution on [0, 1] × [0, 2] × … with the field above; what equation it belongs to does not matter here."""
    unknowns = ["u", "v"][:fields]
    lines = [f"name = 'known'\nunknowns = {unknowns}"]
    lines.append(f"equations = {[f'{name}_{axes[0]} + {name} = 1' for name in unknowns]}")
    ends = ", ".join(f"{axis} = [0, {i + 1}]" for i, axis in enumerate(axes))
    problem = sn.loads("\n".join(lines) + f"\ndomain = {{ {ends} }}")
    return Solution(problem, network(fields), DirectPlan("auto", ()), result=sn.Result(**result))


# ---- grids


@pytest.mark.parametrize(("axes", "points"), [("x", 101), ("xt", 101), ("xyt", 41), ("xyzt", 21)])
def test_the_grid_spans_the_box(axes: str, points: int) -> None:
    ticks, fields = known(axes).grid()
    assert list(ticks) == list(axes)
    for i, tick in enumerate(ticks.values()):
        np.testing.assert_allclose(tick, np.linspace(0, i + 1, points), rtol=0, atol=1e-15)
    mesh = np.meshgrid(*ticks.values(), indexing="ij")
    np.testing.assert_allclose(fields["u"], field(*mesh), rtol=1e-14)


def test_an_axis_takes_a_count_or_its_points() -> None:
    ticks, fields = known("xyt", fields=2).grid(x=3, t=[0.5, 2])
    assert {name: len(tick) for name, tick in ticks.items()} == {"x": 3, "y": 41, "t": 2}
    assert fields["u"][1, 40, 0] == pytest.approx(0.5 + 10 * 2 + 100 * 0.5 + 0.5 * 2 * 0.5)
    np.testing.assert_array_equal(fields["v"], -fields["u"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"z": 5}, "'z' is not an axis"),
        ({"x": 1}, "x = 1 is too few points"),
        ({"x": 2.5}, "x = 2.5 is not a number of points"),
        ({"x": [0.5, 0.5]}, "the points along x must increase"),
        ({"x": []}, "the points along x must increase"),
        ({"t": [0, 7]}, "t = 7 is outside the domain"),
    ],
)
def test_a_grid_that_cannot_be_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(sn.SafeNetError, match=message):
        known("xt").grid(**given)


def test_one_place_is_a_list(tmp_path: Path) -> None:
    with pytest.raises(sn.SafeNetError) as refusal:
        known("xt").export(tmp_path / "end.csv", x=3, t=0.5)
    assert "one place is t=[1] (--at on the command line)" in refusal.value.remedy
    rows = np.loadtxt(known("xt").export(tmp_path / "end.csv", x=3, t=[0.5]), delimiter=",", skiprows=1)
    np.testing.assert_allclose(rows, [[x, 0.5, field(x, 0.5)] for x in (0, 0.5, 1)])


# ---- xarray


def test_a_dataset_holds_the_solution_at_its_coordinates() -> None:
    xarray = pytest.importorskip("xarray")
    solution = known("xyt", fields=2)
    data = solution.to_xarray(x=4, y=5, t=6)
    assert isinstance(data, xarray.Dataset)
    assert dict(data.sizes) == {"x": 4, "y": 5, "t": 6}
    for i, j, k in itertools.product(range(4), range(5), range(6)):
        here = data.isel(x=i, y=j, t=k)
        values = solution(x=float(here.x), y=float(here.y), t=float(here.t))
        np.testing.assert_allclose([here.u, here.v], [values["u"], values["v"]], rtol=1e-14)
        np.testing.assert_allclose(here.u, field(*(float(here[axis]) for axis in "xyt")), rtol=1e-14)


def test_a_dataset_says_what_was_solved_and_how_well(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    facts = {"method": "safe-net", "residual": 1e-7, "l2re": {"u": 1e-8, "v": 2e-8, "pooled": 1.5e-8}}
    facts |= {"estimate": {"u": 3e-8, "v": 4e-8, "pooled": 3.5e-8}, "estimate_at_least": True}
    facts |= {"solver": "train", "outcome": sn.Outcome.SOLVED, "stop_reason": "All steps were done."}
    data = known("xt", fields=2, **facts).to_xarray(x=4, t=5)
    assert data.attrs["problem"] == "known"
    assert data.attrs["equations"] == "u + u_x = 1; v + v_x = 1"
    assert (data.attrs["l2re"], data.attrs["residual"]) == (1.5e-8, 1e-7)
    assert (data.u.attrs["l2re"], data.v.attrs["l2re"]) == (1e-8, 2e-8)
    assert (data.attrs["outcome"], data.attrs["stop_reason"]) == ("solved", "All steps were done.")
    assert (data.attrs["estimate"], data.attrs["estimate_at_least"]) == (3.5e-8, "yes")
    assert (data.u.attrs["estimate"], data.v.attrs["estimate"]) == (3e-8, 4e-8)

    data.to_netcdf(tmp_path / "known.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "known.nc", engine="scipy") as again:
        xarray.testing.assert_identical(again.load(), data)


def test_without_a_reference_a_dataset_claims_no_error() -> None:
    pytest.importorskip("xarray")
    data = known("xt", residual=1e-7, l2re=None).to_xarray(x=4, t=5)
    assert "l2re" not in data.attrs
    assert data.attrs["residual"] == 1e-7


def test_a_derivative_has_its_own_name_and_no_error_of_the_field() -> None:
    pytest.importorskip("xarray")
    data = known("xt", l2re=1e-8, estimate=1e-8, residual=1e-7).diff("t").to_xarray(x=4, t=5)
    assert list(data.data_vars) == ["u_t"]
    np.testing.assert_allclose(data.u_t, 10 + data.x * (1 + 0 * data.t))
    assert not {"l2re", "estimate", "residual"} & set(data.attrs)


# ---- VTK


def read_vtr(path: Path) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Coordinates and point data of a rectilinear grid, decoded as the VTK XML format is specified: arrays lie after
    the underscore of AppendedData, each after its length in bytes, the first axis running fastest."""
    head, _, tail = path.read_bytes().partition(b"<AppendedData")
    raw = tail[tail.index(b"_") + 1 :]
    root = ET.fromstring(head + b"</VTKFile>")
    assert (root.get("type"), root.get("header_type")) == ("RectilinearGrid", "UInt64")
    order = "<" if root.get("byte_order") == "LittleEndian" else ">"

    def array(element: ET.Element) -> np.ndarray:
        offset = int(element.attrib["offset"])
        assert element.get("type") == "Float64"
        size = int(np.frombuffer(raw, f"{order}u8", 1, offset)[0])
        return np.frombuffer(raw, f"{order}f8", size // 8, offset + 8)

    piece = root.find("RectilinearGrid/Piece")
    assert piece is not None
    extent = np.array(piece.attrib["Extent"].split(), dtype=int).reshape(3, 2)
    shape = tuple(extent[:, 1] - extent[:, 0] + 1)
    ticks = [array(element) for element in piece.findall("Coordinates/DataArray")]
    assert tuple(map(len, ticks)) == shape
    values = {
        e.attrib["Name"]: array(e).reshape(shape, order="F") for e in piece.findall("PointData/DataArray")
    }
    return ticks, values


def read_with_vtk(path: Path) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The same by Kitware's own reader, where it is installed (it is large, and no dependency of ours)."""
    reading = pytest.importorskip("vtkmodules.vtkIOXML")
    to_numpy = pytest.importorskip("vtkmodules.util.numpy_support").vtk_to_numpy
    reader = reading.vtkXMLRectilinearGridReader()
    reader.SetFileName(str(path))
    reader.Update()
    grid = reader.GetOutput()
    ticks = [to_numpy(c) for c in (grid.GetXCoordinates(), grid.GetYCoordinates(), grid.GetZCoordinates())]
    data = grid.GetPointData()
    names = [data.GetArrayName(i) for i in range(data.GetNumberOfArrays())]
    shape = grid.GetDimensions()
    return ticks, {name: to_numpy(data.GetArray(name)).reshape(shape, order="F") for name in names}


READERS = [read_vtr, read_with_vtk]


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("axes", ["x", "xt", "xy", "xyz"])
def test_a_vtk_file_gives_the_numbers_back(axes: str, read: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    counts = {axis: 4 + i for i, axis in enumerate(axes)}
    path = known(axes, fields=2).to_vtk(tmp_path / "new" / "known", **counts)
    assert path == tmp_path / "new" / "known.vtr"
    ticks, values = read(path)
    for i, (axis, count) in enumerate(counts.items()):
        np.testing.assert_allclose(ticks[i], np.linspace(0, i + 1, count), err_msg=axis)
    assert all(list(tick) == [0] for tick in ticks[len(axes) :])
    mesh = np.meshgrid(*ticks, indexing="ij")[: len(axes)]
    np.testing.assert_allclose(values["u"], field(*mesh), rtol=1e-14)
    np.testing.assert_array_equal(values["v"], -values["u"])


@pytest.mark.parametrize("read", READERS)
@pytest.mark.parametrize("axes", ["xyt", "xyzt"])
def test_time_in_space_is_a_series_of_files(axes: str, read: Any, tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    path = known(axes).to_vtk(tmp_path / "movie.pvd", **dict(zip(axes, (3, 4, 5, 6), strict=False)))
    assert path == tmp_path / "movie.pvd"
    listed = ET.parse(path).findall("Collection/DataSet")
    times = [float(entry.attrib["timestep"]) for entry in listed]
    np.testing.assert_allclose(times, np.linspace(0, len(axes), len(axes) + 2))
    for entry, time in zip(listed, times, strict=True):
        ticks, values = read(tmp_path / entry.attrib["file"])
        mesh = np.meshgrid(*ticks, indexing="ij")[: len(axes) - 1]
        np.testing.assert_allclose(values["u"], field(*mesh, np.asarray(time)), rtol=1e-14)


def read_vtu(path: Path) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Points (n, 3), cells (m, k) and point data of an unstructured grid, decoded as the format is specified."""
    head, _, tail = path.read_bytes().partition(b"<AppendedData")
    raw = tail[tail.index(b"_") + 1 :]
    piece = ET.fromstring(head + b"</VTKFile>").find("UnstructuredGrid/Piece")
    assert piece is not None
    kinds = {"Float64": np.float64, "Int64": np.int64, "UInt8": np.uint8}

    def array(element: ET.Element) -> np.ndarray:
        offset, kind = int(element.attrib["offset"]), np.dtype(kinds[element.attrib["type"]])
        size = int(np.frombuffer(raw, "<u8", 1, offset)[0])
        return np.frombuffer(raw, kind, size // kind.itemsize, offset + 8)

    points = array(piece.findall("Points/DataArray")[0]).reshape(-1, 3)
    cells = {element.attrib["Name"]: array(element) for element in piece.findall("Cells/DataArray")}
    width = {22: 6, 24: 10, 10: 4}[int(cells["types"][0])]
    assert (np.diff(cells["offsets"]) == width).all()
    values = {e.attrib["Name"]: array(e) for e in piece.findall("PointData/DataArray")}
    return points, cells["connectivity"].reshape(-1, width), values


def volume(points: np.ndarray, cells: np.ndarray, dimension: int) -> float:
    """Of the straight cells between the corners."""
    corners = points[cells[:, : dimension + 1], :dimension]
    return float(np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])).sum() / (1, 1, 2, 6)[dimension])


def shaped(axes: str, shape: Any) -> Solution:
    space = axes.removesuffix("t")
    second = " + ".join(f"u_{axis}{axis}" for axis in space)
    problem = sn.Problem(
        f"u_t = {second}" if "t" in axes else f"{second} = 0",
        domain={**dict.fromkeys(space, (0, 2)), **({"t": (0, 1)} if "t" in axes else {})},
        shape=shape,
        conditions=["u = 0 on rim"] + [f"u({', '.join(space)}, 0) = 0"] * ("t" in axes),
        pieces={"rim": "rest"},
        unknowns=["u"],
    )
    return Solution(problem, network(1), DirectPlan("auto", ()))


def test_a_disc_is_written_as_a_disc_at_each_time(tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    path = shaped("xyt", sn.Disc((1, 1), 0.8)).export(tmp_path / "disc.pvd", t=[0, 0.5], derivatives=["u_y"])
    listed = ET.parse(path).findall("Collection/DataSet")
    assert [float(entry.attrib["timestep"]) for entry in listed] == [0, 0.5]
    points, cells, values = read_vtu(tmp_path / listed[1].attrib["file"])
    assert volume(points, cells, 2) == pytest.approx(0.64 * np.pi, rel=0.01)
    assert np.hypot(*(points[:, :2] - 1).T).max() == pytest.approx(0.8, rel=1e-9)
    x, y = points[:, :2].T
    np.testing.assert_allclose(values["u"], field(x, y, 0.5), rtol=1e-13)
    np.testing.assert_allclose(values["u_y"], 10 + 0.5 * x, rtol=1e-13)


@pytest.mark.parametrize("made", [True, False], ids=["tetrahedra", "cut"])
def test_a_ball_is_written_as_a_ball(made: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    if made:
        pytest.importorskip("gmsh")
    else:
        monkeypatch.setattr("safenet.views.vtk.obstacle", lambda body: "there is no Gmsh")
    path = shaped("xyz", sn.Ball((1, 1, 1), 0.8)).export(tmp_path / "ball.vtu", x=21)
    assert path == tmp_path / "ball.vtu"
    points, cells, values = read_vtu(path)
    assert volume(points, cells, 3) == pytest.approx(4 / 3 * np.pi * 0.512, rel=0.02)
    assert np.linalg.norm(points - 1, axis=1).max() == pytest.approx(0.8, rel=2e-3)
    np.testing.assert_allclose(values["u"], field(*points.T), rtol=1e-13)


def test_a_box_has_no_cells_and_a_place_is_no_number_of_them(tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    with pytest.raises(sn.SafeNetError, match="is a box"):
        known("xy").export(tmp_path / "box.vtu")
    with pytest.raises(sn.SafeNetError, match="is not a number of points"):
        shaped("xyz", sn.Ball((1, 1, 1), 0.8)).export(tmp_path / "ball.vtu", x=[0.5])


@pytest.mark.parametrize("name", ["wave", "wave.vtr", "nu0.01", "nu0.01.vtr"])
def test_a_name_may_have_its_ending_or_a_dot(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    path = known("xt").to_vtk(tmp_path / name, x=3, t=3)
    assert path == tmp_path / f"{name.removesuffix('.vtr')}.vtr"
    assert path.exists()


def test_four_axes_of_space_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    with pytest.raises(sn.SafeNetError, match="three axes of space, and known has 4"):
        known("wxyz").to_vtk(tmp_path / "known")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyevtk")
    (tmp_path / "file").write_text("")
    with pytest.raises(sn.SafeNetError, match="cannot write"):
        known("xt").to_vtk(tmp_path / "file" / "known", x=3, t=3)


@pytest.mark.parametrize(("library", "method"), [("xarray", "to_xarray"), ("pyevtk.hl", "to_vtk")])
def test_a_missing_library_is_named_with_the_extra(
    library: str, method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(sn.SafeNetError, match=r"pip install 'safenet-pde\[data\]'"):
        getattr(known("xt"), method)(*([tmp_path / "known"] if method == "to_vtk" else []))


def test_a_solved_wave_leaves_as_its_exact_field() -> None:
    problem = sn.library.wave()
    ticks, fields = sn.solve(problem).grid(x=11, t=9)
    np.testing.assert_allclose(fields["u"], problem.reference(x=ticks["x"][:, None], t=ticks["t"]), atol=1e-8)

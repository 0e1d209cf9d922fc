"""Shapes in space: volumes, areas, normals and pieces against closed formulas, surfaces from files."""

import numpy as np
import pytest

import safenet as sn
from safenet import Ball, Box, Cone, Cylinder, Disc, Extrusion, Polygon, Revolution, SafeNetError
from safenet.problem.geometry.body import points_inside, points_on
from safenet.problem.geometry.shapes import Shape
from safenet.problem.geometry.solid import Solid

PI = np.pi
CUBE = Box(x=(0, 1), y=(0, 1), z=(0, 1))
BORE = Cylinder((0.5, 0.5, -1), (0.5, 0.5, 2), 0.25, name="bore")
# shape, volume, area of its surface
SOLIDS = {
    "box": (Box(x=(0, 1), y=(0, 2), z=(0, 3)), 6, 22),
    "ball": (Ball((1, 0, 0), 1), 4 * PI / 3, 4 * PI),
    "ball of five dimensions": (Ball((0,) * 5, 1), 8 * PI**2 / 15, 8 * PI**2 / 3),
    "slanted cylinder": (Cylinder((0, 0, 0), (1, 1, 1), 0.5), PI / 4 * 3**0.5, PI * 3**0.5 + PI / 2),
    "cone": (Cone((0, 0, 0), (0, 0, 1), 1), PI / 3, PI * (1 + 2**0.5)),
    "blunt cone": (Cone((0, 0, 0), (0, 1, 0), 1, top=0.5), PI * 7 / 12, PI * (1.25 + 1.5 * 1.25**0.5)),
    "ring": (Revolution(Disc((1, 0), 0.25), axis=(1, 2, 3)), PI**2 / 8, PI**2),
    "turned box": (Revolution(Box(r=(0.5, 1), s=(0, 1))), 0.75 * PI, 3 * PI + 1.5 * PI),
    "pipe": (Extrusion(Disc((0, 0), 1) - Disc((0, 0), 0.5), 0, 2), 1.5 * PI, 7.5 * PI),
    "prism": (Extrusion(Polygon([(0, 0), (1, 0), (0, 1)]), 0, 1), 0.5, 3 + 2**0.5),
    "bored cube": (CUBE - BORE, 1 - PI / 16, 6 - PI / 8 + PI / 2),
    "two boxes that touch": (CUBE + Box(x=(1, 2), y=(0, 1), z=(0, 1)), 2, 10),
    "two boxes with sides in one plane": (CUBE + Box(x=(0.5, 2), y=(0, 1), z=(0, 1)), 2, 10),
    "half a ball": (Ball((0, 0, 0), 1) - Box(x=(-1, 1), y=(-1, 1), z=(-1, 0)), 2 * PI / 3, 3 * PI),
}


def drawn(seed=0):
    random = np.random.default_rng(seed)
    return lambda *shape: random.random(shape)


@pytest.mark.parametrize("name", SOLIDS)
def test_volume_area_and_normals_are_those_of_the_formula(name):
    shape, volume, area = SOLIDS[name]
    solid = Solid(shape, {"all": "rest"})
    assert solid.measure == pytest.approx(volume, rel=1e-2)
    assert solid.extent("all") == pytest.approx(area, rel=3e-3)
    points, normals, _ = points_on(solid, "all", 20_000, drawn())
    assert np.abs(solid.signed_distance(points)).max() < 1e-9
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0, atol=1e-12)
    # ∮ n dS = 0 and ∮ x·n dS = d V: a wrong normal or a wrong density shows at once.
    d, middle = solid.dimension, np.mean(solid.bounds, axis=0)
    assert np.abs(normals.mean(axis=0)).max() < 0.02
    flux = np.mean(np.sum((points - middle) * normals, axis=1)) * area / d
    assert flux == pytest.approx(volume, rel=0.02)
    step = 1e-5 * np.ptp(solid.bounds)
    outside = ~solid.contains(points + step * normals)
    assert outside.mean() > 0.999  # but for points within a step of an edge that turns inwards
    assert solid.contains(points - step * normals).mean() > 0.999


def test_samples_inside_are_uniform():
    solid = Solid(CUBE - BORE)
    share = points_inside(solid, 4000, drawn(), solid.bounds)
    assert solid.contains(share).all()
    assert np.mean(share[:, 0] < 0.25) == pytest.approx(0.25 / (1 - PI / 16), abs=0.02)


def test_pieces_are_chosen_by_name_pattern_place_and_rest():
    two = CUBE - Ball((0.3, 0.3, 0.3), 0.1, name="ball1") - Ball((0.7, 0.7, 0.7), 0.2, name="ball2")
    where = {"balls": "ball*", "floor": lambda p: p[:, 2] < 1e-9, "walls": "rest"}
    solid = Solid(two, where)
    assert solid.extent("balls") == pytest.approx(4 * PI * (0.01 + 0.04), rel=1e-12)
    assert solid.extent("floor") == 1
    assert solid.extent("walls") == 5
    points, normals, _ = points_on(solid, "balls", 1000, drawn())
    near = np.linalg.norm(points - 0.3, axis=1) < 0.15
    assert near.mean() == pytest.approx(0.2, abs=0.05)
    inward = np.sum(normals * (points - np.where(near, 0.3, 0.7)[:, None]), axis=1)
    assert (inward < 0).all()  # out of the domain is into the ball


def test_a_piece_that_is_part_of_a_face_has_its_share():
    solid = Solid(Ball((0, 0, 0), 1), {"cap": lambda p: p[:, 2] > 0.5, "rest": "rest"})
    assert solid.extent("cap") == pytest.approx(PI, rel=5e-3)
    points, _, _ = points_on(solid, "cap", 500, drawn())
    assert (points[:, 2] > 0.5).all()


@pytest.mark.parametrize("name", SOLIDS)
def test_data_and_text_give_the_same_shape_again(name):
    shape = SOLIDS[name][0]
    assert Shape.from_data(shape.to_data()) == shape
    assert eval(repr(shape)) == shape


BALLS = """
unknowns = ["u"]
equations = ["u_xx + u_yy + u_zz = 0"]
conditions = ["u = 1 on balls", "u_n = 0 on ends", "u = x on rest"]
[pieces]
balls = ["ball1", "c*"]
ends = "z = 0 or z = 1"
rest = "rest"
[domain]
x = [0, 1]
y = [0, 1]
z = [0, 1]
remove = [
    { ball = { center = [0.3, 0.3, 0.3], radius = 0.1, name = "ball1" } },
    { cylinder = { start = [0.7, 0.7, 0.2], end = [0.7, 0.7, "4/5"], radius = 0.1, name = "can" } },
]
"""


def test_a_problem_with_shapes_in_space_is_read_written_and_told():
    problem = sn.loads(BALLS.replace("rest = ", "walls = ").replace("on rest", "on walls"))
    assert problem.normals == ("n_x", "n_y", "n_z")
    assert problem.region.extent("balls") == pytest.approx(0.04 * PI + 0.12 * PI + 0.02 * PI, rel=1e-6)
    assert problem.plane is None
    assert sn.loads(sn.dumps(problem)) == problem
    solvers, reasons = sn.Auto().choice(problem)
    assert solvers == () or solvers[0].obstacle(problem) is None
    assert reasons


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Ball((0, 0, 0), -1), ["radius", "positive"]),
        (lambda: Ball(1, 1), ["center", "numbers"]),
        (lambda: Cylinder((0, 0), (0, 0, 1), 1), ["start", "3 numbers"]),
        (lambda: Cylinder((0, 0, 1), (0, 0, 1), 1), ["begins and ends", "height"]),
        (lambda: Revolution(Disc((0, 0), 1)), ["crosses the axis", "distance"]),
        (lambda: Extrusion(Ball((0, 0, 0), 1), 0, 1), ["not in the plane", "two axes"]),
        (lambda: Ball((0, 0, 0), 1) - Disc((0, 0), 1), ["3 dimensions", "2"]),
        (lambda: Solid(Ball((0, 0, 0), 1) - Ball((0, 0, 0), 2)), ["empty"]),
        (lambda: Solid(CUBE, {"a": "ball"}), ["no shape is named 'ball'"]),
        (lambda: Solid(CUBE, {"a": lambda p: p[:, 0] < 0.5, "b": lambda p: p[:, 1] < 0.5}), ["both select"]),
        (lambda: sn.loads(BALLS.replace("[0.3, 0.3, 0.3]", "[0.3, 0.3]")), ["2 dimensions", "3 axes"]),
    ],
)
def test_what_is_no_shape_is_refused_with_a_remedy(make, words):
    with pytest.raises(SafeNetError) as refused:
        make()
    told = f"{refused.value.message} {refused.value.remedy}"
    assert all(word in told for word in words), told


# ---- surfaces from files


def write_stl(path, shape=(24, 48)):
    """A ball of radius 1 as a binary STL file, by its format: 80 bytes, a count, and 50 bytes for each triangle."""
    theta, phi = np.linspace(0, PI, shape[0]), np.linspace(0, 2 * PI, shape[1])
    s, p = np.meshgrid(theta, phi, indexing="ij")
    grid = np.stack([np.sin(s) * np.cos(p), np.sin(s) * np.sin(p), np.cos(s)], axis=2)
    grid[:, -1], grid[0], grid[-1] = grid[:, 0], (0, 0, 1), (0, 0, -1)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    corners = np.concatenate([np.stack(t, axis=2).reshape(-1, 3, 3) for t in ((a, b, c), (a, c, d))])
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2)
    corners = corners[sides.min(axis=1) > 1e-9].astype("<f4")
    rows = np.zeros(len(corners), dtype=[("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("more", "<u2")])
    rows["corners"] = corners
    path.write_bytes(bytes(80) + np.array(len(rows), "<u4").tobytes() + rows.tobytes())


def test_a_surface_from_an_stl_file_is_the_ball_it_was_made_of(tmp_path):
    pytest.importorskip("trimesh")
    write_stl(tmp_path / "ball.stl")
    ball = sn.Surface(tmp_path / "ball.stl", name="rim")
    points = np.random.default_rng(0).uniform(-1.5, 1.5, (2000, 3))
    assert np.abs(ball.level(points) - (np.linalg.norm(points, axis=1) - 1)).max() < 0.01
    solid = Solid(ball - Ball((0, 0, 0), 0.5, name="core"), {"rim": "rim", "core": "core"})
    assert solid.measure == pytest.approx(4 * PI / 3 * 0.875, rel=0.02)
    assert solid.extent("rim") == pytest.approx(4 * PI, rel=0.01)
    on, normals, _ = points_on(solid, "rim", 1000, drawn())
    assert np.sum(on * normals, axis=1).min() > 0.98


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".off"])
def test_a_problem_on_a_surface_is_saved_with_its_file(tmp_path, suffix):
    pytest.importorskip("trimesh")
    write_stl(tmp_path / "part.stl", (6, 9))
    part = sn.Surface(tmp_path / "part.stl")
    object.__setattr__(part, "file", f"part{suffix}")
    problem = sn.Problem(
        "u_xx + u_yy + u_zz = 0", domain=part, conditions=["u = x on skin"], pieces={"skin": "rest"}
    )
    (tmp_path / "there").mkdir()
    from safenet.problem import write

    write(problem, tmp_path / "there" / "laplace.toml")
    again = sn.read(tmp_path / "there" / "laplace.toml")
    assert again.region.measure == pytest.approx(problem.region.measure, rel=1e-12)
    assert again == problem


def test_a_surface_that_is_open_or_missing_is_refused(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "open.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\n")
    with pytest.raises(SafeNetError, match="not closed"):
        sn.Surface(tmp_path / "open.obj")
    with pytest.raises(SafeNetError, match="there is no file"):
        sn.Surface(tmp_path / "none.stl")
    with pytest.raises(SafeNetError, match="cannot read a surface"):
        sn.Surface(tmp_path / "part.docx")

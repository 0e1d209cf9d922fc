"""A run's values in bulk, and what is said of points that have none: `safenet export`, `safenet eval`, and Python."""

import csv
import warnings

import numpy as np
import pytest

import safenet as sn
from running import run
from safenet.commands.arguments import point

WAVE = """
name = "pulse"
unknowns = ["u", "v"]
equations = ["u_t = v_x", "v_t = u_x"]
conditions = ["v(0, t) = 0", "v(1, t) = 0", "u(x, 0) = cos(pi*x)", "v(x, 0) = 0"]
domain = { x = [0, 1], t = [0, 2] }
"""
# Three quarters of a square: u = 1 + 2x − y is harmonic and has these values on every side.
CORNER = """
name = "corner"
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u = 1 + 2*x - y on sides"]
[domain]
x = [-1, 1]
y = [-1, 1]
remove = [{ box = { x = [0, 1], y = [-1, 0] } }]
[pieces]
sides = "rest"
"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("desk")
    for name, text in {"pulse": WAVE, "corner": CORNER}.items():
        (folder / f"{name}.toml").write_text(text)
        ran = run("solve", f"{name}.toml", "--out", name, cwd=folder)
        assert ran.code == 0, ran.err
    return folder


def exact(x, t):
    u, v = np.cos(np.pi * x) * np.cos(np.pi * t), -np.sin(np.pi * x) * np.sin(np.pi * t)
    slopes = -np.pi * np.sin(np.pi * x) * np.cos(np.pi * t), -np.pi * np.sin(np.pi * x) * np.cos(np.pi * t)
    return {"u": u, "v": v, "u_x": slopes[0], "v_t": slopes[1]}


def table(path):
    """The columns of a CSV file, by Python's own reader."""
    with path.open(newline="") as file:
        head, *rows = csv.reader(file)
    return dict(zip(head, np.array(rows, float).T, strict=True))


# ---- files


def test_a_table_has_a_line_for_each_point_of_the_grid(desk):
    ran = run("export", "pulse", "-o", "new/pulse.csv", "--grid", "5,4", "--with", "u_x,v_t", cwd=desk)
    assert (ran.code, ran.out.strip()) == (0, "new/pulse.csv"), ran.err
    columns = table(desk / "new" / "pulse.csv")
    assert list(columns) == ["x", "t", "u", "v", "u_x", "v_t"]
    mesh = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 2, 4), indexing="ij")
    for name, wanted in {**dict(zip("xt", mesh, strict=True)), **exact(*mesh)}.items():
        np.testing.assert_allclose(columns[name], wanted.ravel(), atol=1e-9, err_msg=name)


def test_arrays_keep_every_digit_and_the_order_of_the_axes(desk):
    words = ("--grid", "t=3", "--with", "v_t", "--at", "x=1/4", "--at", "x=0.75")
    assert run("export", "pulse", "-o", "pulse.npz", *words, cwd=desk).code == 0
    solution = sn.load(desk / "pulse")
    with np.load(desk / "pulse.npz") as data:
        assert set(data) == {"x", "t", "u", "v", "v_t"}
        np.testing.assert_array_equal(data["x"], [0.25, 0.75])
        np.testing.assert_array_equal(data["t"], [0, 1, 2])
        np.testing.assert_array_equal(data["u"], solution(x=data["x"][:, None], t=data["t"])["u"])
        np.testing.assert_allclose(data["v_t"], exact(data["x"][:, None], data["t"])["v_t"], atol=1e-9)


def test_plain_counts_are_for_the_axes_that_are_not_held(desk):
    assert run("export", "pulse", "-o", "end.npz", "--at", "t=2", "--grid", "7", cwd=desk).code == 0
    with np.load(desk / "end.npz") as data:
        assert data["u"].shape == (7, 1)


def test_of_a_region_only_the_points_inside_have_a_line(desk):
    assert run("export", "corner", "-o", "corner.csv", "--grid", "5", cwd=desk).code == 0
    columns = table(desk / "corner.csv")
    # 25 points of the square, without the four that lie in the corner and on the box's outer sides.
    assert len(columns["x"]) == 21
    assert not np.any((columns["x"] > 0) & (columns["y"] < 0))
    np.testing.assert_allclose(columns["u"], 1 + 2 * columns["x"] - columns["y"], atol=1e-9)


def test_arrays_over_a_region_are_nan_outside_and_nothing_is_said(desk):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run("export", "corner", "-o", "corner.npz", "--grid", "5", cwd=desk).code == 0
    with np.load(desk / "corner.npz") as data:
        np.testing.assert_array_equal(
            np.isnan(data["u"]), (data["x"][:, None] > 0) & (data["y"][None, :] < 0)
        )


def test_netcdf_and_vtk_have_the_derivatives_too(desk):
    xarray = pytest.importorskip("xarray")
    assert run("export", "pulse", "-o", "pulse.nc", "--grid", "5,4", "--with", "u_x", cwd=desk).code == 0
    with xarray.open_dataset(desk / "pulse.nc", engine="scipy") as data:
        assert list(data.data_vars) == ["u", "v", "u_x"]
        np.testing.assert_allclose(data.u_x, exact(data.x, data.t)["u_x"], atol=1e-9)
    pytest.importorskip("pyevtk")
    ran = run("export", "pulse", "-o", "pulse.vtr", "--grid", "5,4", "--with", "u_x", cwd=desk)
    assert ran.out.strip() == "pulse.vtr", ran.err
    assert b'Name="u_x"' in (desk / "pulse.vtr").read_bytes()


@pytest.mark.parametrize(
    ("words", "says", "remedy"),
    [
        (("-o", "pulse.txt"), "cannot export to pulse.txt", ".csv, .npz, .nc, .vtr, .vtu, .pvd"),
        (("-o", "a.csv", "--grid", "3,4,5"), "3 numbers for 2 axes (x, t)", "--grid 101,101"),
        (("-o", "a.csv", "--grid", "1"), "x = 1 is too few points", "at least 2"),
        (("-o", "a.csv", "--grid", "1.5"), "x = 1.5 is not a number of points", "at least 2"),
        (("-o", "a.csv", "--grid", "many"), "'many' is not known", "give a number"),
        (("-o", "a.csv", "--grid", "z=4"), "'z' is not an axis", "known: t, x"),
        (("-o", "a.csv", "--grid", "t=4", "--at", "t=1"), "t has a number of points and a value", "--at"),
        (("-o", "a.csv", "--grid", "1e5"), "a grid of 1e+10 points", "fewer"),
        (("-o", "a.csv", "--at", "t=3"), "t = 3 is outside the domain [0, 2]", "only inside"),
        (
            ("-o", "a.csv", "--with", "u_y"),
            "'u_y' is not a derivative",
            "the unknowns are u, v, the axes x, t",
        ),
        (
            (
                "-o",
                "pulse.toml/a.csv",
            ),
            "cannot write pulse.toml/a.csv",
            "another place",
        ),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, tuple) else "",
)
def test_what_cannot_be_exported_is_refused(words, says, remedy, desk):
    ran = run("export", "pulse", *words, cwd=desk)
    assert (ran.code, ran.out) == (2, "")
    message, _, advice = ran.err.partition("→")
    assert says in message
    assert remedy in advice


def test_the_help_teaches_by_example(desk):
    text = run("export", "--help", cwd=desk).out
    for lesson in ("--grid 201,101", "--with u_x,u_t", "--at t=1", ".npz", "ParaView"):
        assert lesson in text


def test_a_point_names_its_option_when_it_is_wrong():
    with pytest.raises(sn.SafeNetError, match="--grid 3 is not of the form"):
        point("3", "--grid")


# ---- outside


def test_eval_names_the_points_outside_and_gives_the_others(desk):
    ran = run("eval", "corner", "--at", "x=0.5,y=-0.5", "--at", "x=0.5,y=0.5", "--at", "x=2,y=0", cwd=desk)
    assert ran.code == 0
    first, second, third = ran.out.splitlines()
    assert first == "u(x=0.5, y=-0.5) = unknown: outside the domain"
    assert float(second.removeprefix("u(x=0.5, y=0.5) = ")) == pytest.approx(1.5, abs=1e-9)
    assert third == "u(x=2, y=0) = unknown: outside the domain"
    assert "x=0.5, y=-0.5 is outside the domain" in ran.err
    assert "x = 2 is outside the domain [-1, 1]" in ran.err
    assert "y=0.5 is" not in ran.err


def test_eval_of_nothing_but_points_outside_is_an_error(desk):
    ran = run("eval", "corner", "--at", "x=0.5,y=-0.5", "--at", "x=2,y=0", "--json", cwd=desk)
    assert (ran.code, ran.out) == (2, "")
    assert "x=0.5, y=-0.5 is outside the domain" in ran.err
    assert "x = 2 is outside the domain [-1, 1]" in ran.err
    assert "→ a solution is known only inside its domain" in ran.err


def test_python_warns_of_points_outside_the_region_and_gives_nan_there(desk):
    solution = sn.load(desk / "corner")
    with pytest.warns(sn.SafeNetWarning, match="2 of 3 points are outside the region of corner") as caught:
        values = solution(x=[0.5, 0.5, 0.9], y=[0.5, -0.5, -0.9])
    assert "e.g. at x=0.5, y=-0.5" in str(caught[0].message)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(np.isnan(values), [False, True, True])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solution(x=[0.5, 0.0], y=[0.5, -0.5])  # a point of the boundary is inside
        _, fields = solution.grid(x=5, y=5)
    assert np.isnan(fields["u"]).sum() == 4
    with pytest.raises(sn.SafeNetError, match=r"x = 2 is outside the domain \[-1, 1\]"):
        solution(x=2, y=0)


# ---- what else is said of a run


def test_a_spectrum_that_cannot_be_taken_names_the_file_of_the_run(desk):
    ran = run("spectrum", "corner", cwd=desk)
    assert ran.code == 2
    assert "safenet spectrum corner/problem.toml --method" in ran.err
    assert run("show", "corner/problem.toml", cwd=desk).code == 0


@pytest.mark.slow
def test_what_is_left_free_is_said_and_no_error_is_estimated_then(desk):
    (desk / "free.toml").write_text(WAVE.replace('"v(1, t) = 0", ', "").replace("u_x", "u_x + v_xx/10"))
    text = run("solve", "free.toml", "--out", "free", cwd=desk).out
    lines = [line.split()[0] for line in text.splitlines()]
    assert "warning" in lines
    assert "error" not in lines  # something is left free, so none is estimated


def test_a_domain_with_normals_and_long_formulas_is_drawn_without_a_warning(desk):
    long = " + ".join(f"sin({k}*x)*cos({k}*y)" for k in range(1, 12))
    (desk / "long.toml").write_text(CORNER.replace("1 + 2*x - y", long))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ran = run("show", "long.toml", "-o", "long.png", cwd=desk)
    assert ran.code == 0, ran.err
    assert (desk / "long.png").stat().st_size > 10_000

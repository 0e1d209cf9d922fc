"""A picture shows what it says: places, times, derivatives, errors in colours that one corner does not spoil; films."""

import shutil
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

import safenet as sn
from running import run
from safenet.direct.plan import DirectPlan
from safenet.errors import SafeNetError
from safenet.fields.sparse import SparseSeries
from safenet.fields.unknown import Unknown
from safenet.measure.scores import protocol_points
from safenet.solution import Solution
from safenet.views.compare import difference
from safenet.views.cuts import Cut, cuts
from safenet.views.domain_picture import plot_domain
from safenet.views.explore import Explorer
from safenet.views.look import STYLES, Picture, colour_bar, error_colours, error_range, error_title, number
from safenet.views.maps import Plane

EXAMPLES = Path(__file__).parents[2] / "examples"
CIRCLE = """
name = "circle"
unknowns = ["x", "y"]
equations = ["x_t = -y", "y_t = x"]
conditions = ["x(0) = 1", "y(0) = 0"]
domain = { t = [0, "2*pi"] }
"""


@pytest.fixture(scope="module")
def heat():
    return sn.solve(
        sn.Problem(
            "u_t = u_xx/10",
            domain={"x": (0, 1), "t": (0, 1)},
            conditions=["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"],
            name="heat",
        )
    )


@pytest.fixture(scope="module")
def circle():
    return sn.solve(sn.loads(CIRCLE))


def exact(x, t):
    return np.exp(-(np.pi**2) * t / 10) * np.sin(np.pi * x)


def drawn(figure):
    """The figure's panels, having been drawn."""
    figure.savefig(BytesIO(), dpi=40)
    return [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]


# ---- places


def test_a_held_axis_leaves_a_line(heat):
    (axes,) = drawn(heat.plot(t=0.5))
    (line,) = axes.lines
    np.testing.assert_allclose(line.get_ydata(), exact(line.get_xdata(), 0.5), atol=1e-12)
    assert axes.get_title() == "$u$ at $t$ = 0.5"
    assert axes.get_xlabel() == "$x$"


def test_several_times_are_several_curves_with_their_times(heat):
    (axes,) = drawn(heat.plot(t=[0, 0.5, 1]))
    for line, t in zip(axes.lines, (0, 0.5, 1), strict=True):
        np.testing.assert_allclose(line.get_ydata(), exact(line.get_xdata(), t), atol=1e-12)
        assert line.get_label() == f"$t$ = {t:g}"


def test_a_derivative_is_drawn_by_its_name(heat):
    u, slope = drawn(heat.plot("u", "u_x", t=0))
    x = slope.lines[0].get_xdata()
    np.testing.assert_allclose(slope.lines[0].get_ydata(), np.pi * np.cos(np.pi * x), atol=1e-10)
    assert [u.get_title(), slope.get_title()] == ["$u$ at $t$ = 0", "$u_{x}$ at $t$ = 0"]


def test_the_title_has_the_estimate_beside_the_residual(heat):
    assert not heat.plot(title=False).get_suptitle()
    title = heat.plot().get_suptitle()
    assert "estimated error" in title
    assert "residual" in title
    assert number(2.3e-8) == "2.3 · 10⁻⁸"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"q": 0.5}, "'q' is not an axis"),
        ({"t": 2}, "t = 2 is outside the domain"),
        ({"t": "soon"}, "is not a number"),
        ({"x": 0.5, "t": 0.5}, "every axis is held"),
        ({"t": list(np.linspace(0, 1, 13))}, "13 pictures are too many"),
        ({"style": "pink"}, "no style 'pink'"),
    ],
)
def test_what_cannot_be_drawn_is_said(heat, given, said):
    with pytest.raises(SafeNetError, match=said):
        heat.plot(**given)


def test_a_field_that_is_not_there_is_named(heat):
    with pytest.raises(SafeNetError, match="'v' is neither an unknown nor a derivative"):
        heat.plot("v")


# ---- kinds of pictures


def test_a_system_has_a_phase_portrait(circle):
    first, second, portrait = drawn(circle.plot())
    assert (first.get_ylabel(), second.get_ylabel()) == ("$x$", "$y$")
    x, y = portrait.lines[0].get_data()
    np.testing.assert_allclose(np.hypot(x, y), 1, atol=1e-8)
    assert (portrait.get_xlabel(), portrait.get_ylabel()) == ("$x$", "$y$")


def test_colours_of_an_error_are_not_those_of_its_worst_corner():
    """All but a thousandth at 1e-8 to 1e-7, and a corner at 1: a range up to 1 would be black."""
    error = np.geomspace(1e-8, 1e-7, 100_000)
    error[:100] = 1.0
    low, high = error_range(error)
    assert 0.5e-7 < high < 2e-7
    assert low >= high / 1e6
    # An error that is spread over many decades keeps six of them.
    low, high = error_range(np.geomspace(1e-20, 1, 1000))
    assert high / low == pytest.approx(1e6)


def test_an_error_of_rounding_is_said_to_be_one():
    ones = np.ones(9)
    assert error_title("u", 1e-15 * ones, ones) == "error $|u - u^*|$ (rounding)"
    assert error_title("u", 1e-12 * ones, ones) == "error $|u - u^*|$"
    assert error_title("u", 1e-12 * ones, 1e6 * ones) == "error $|u - u^*|$ (rounding)"
    # On a logarithmic scale rounding would be stripes from black to white.
    assert error_colours(1e-16 * ones, ones)["vmax"] > 1e-14
    assert error_colours(1e-12 * ones, ones)["norm"].vmax == pytest.approx(1e-12)


def test_a_shape_is_not_stretched_and_a_sliver_is():
    channel = sn.library.named(str(EXAMPLES / "regions" / "cylinder.toml"))  # 2.2 by 0.41
    assert Plane(channel, Cut((0, 1), {})).aspect == "equal"
    plain = sn.Problem(
        "u_t = u_xx + u_yy",
        domain={"x": (0, 1), "y": (0, 11), "t": (0, 1)},
        conditions=["u(x, y, 0) = 0", "u(0, y, t) = 0", "u(1, y, t) = 0"],
    )
    assert Plane(plain, Cut((0, 1), {2: 0.0})).aspect == "equal"
    assert Plane(plain, Cut((0, 2), {1: 0.0})).aspect == "auto"
    sliver = plain._copy(domain={"x": (0, 1), "y": (0, 13), "t": (0, 1)})
    assert Plane(sliver, Cut((0, 1), {2: 0.0})).aspect == "auto"


def test_in_the_picture_of_a_domain_a_circle_is_round_and_no_arrow_reaches_the_title():
    channel = sn.library.named(str(EXAMPLES / "regions" / "cylinder.toml"))
    figure = plot_domain(channel)
    figure.draw_without_rendering()
    axes = next(ax for ax in figure.axes if ax.get_title())
    assert axes.get_aspect() == 1
    (low, high), arrow = axes.get_ylim(), 0.04 * 2.2
    assert low <= -arrow
    assert high >= 0.41 + arrow


def test_the_bar_beside_a_tall_plane_is_as_wide_as_beside_a_flat_one():
    widths = []
    for height in (0.1, 10.0):
        figure = Picture(figsize=(8, 8))
        axes = figure.subplots()
        image = axes.imshow(np.eye(2), extent=(0, 1, 0, height), aspect="equal")
        colour_bar(axes, image)
        figure.draw_without_rendering()
        (bar,) = axes.child_axes
        widths.append(bar.get_window_extent().width)
    assert widths[0] == pytest.approx(widths[1], rel=0.05)


@pytest.mark.parametrize("style", STYLES)
def test_a_style_has_its_paper(heat, style, tmp_path):
    heat.plot(t=0, style=style).savefig(tmp_path / "picture.png", dpi=40)
    corner = imread(tmp_path / "picture.png")[0, 0]
    light, opaque = corner[:3].mean() > 0.9, corner[3] == 1
    assert (light, opaque) == {"light": (True, True), "dark": (False, True)}.get(style, (light, False))


# ---- to play with


def test_the_explorer_goes_where_its_slider_and_a_click_say(heat):
    pytest.importorskip("panel")
    explorer = Explorer(heat)
    x, t = explorer.ticks
    explorer.sliders[1].value = 0.5
    np.testing.assert_allclose(explorer.sections[0].data["u"], exact(x, 0.5), atol=1e-12)
    explorer.move({0: 0.25, 1: 0.3})
    assert explorer.sliders[1].value == 0.3
    np.testing.assert_allclose(explorer.sections[1].data["u"], exact(0.25, t), atol=1e-12)
    assert f"<b>{float(heat(0.25, 0.3)):.8g}</b>" in explorer.reading.object
    explorer.player.value = 100
    assert explorer.point[1] == 1.0
    explorer.move({1: 7.0})  # beyond the domain there is nothing
    assert explorer.point[1] == 1.0


def test_the_explorer_draws_once_for_a_click_that_also_moves_its_slider(heat, monkeypatch):
    pytest.importorskip("panel")
    explorer, drawn = Explorer(heat), []
    monkeypatch.setattr(explorer, "_draw", lambda: drawn.append(tuple(explorer.point)))
    explorer.move({0: 0.25, 1: 0.3})
    explorer.sliders[1].value = 0.7
    assert drawn == [(0.25, 0.3), (0.25, 0.7)]


def test_the_explorer_of_a_system_has_a_curve_for_the_field_chosen(circle):
    pytest.importorskip("panel")
    explorer = Explorer(circle)
    explorer.fields.value = "y"
    np.testing.assert_allclose(explorer.sections[0].data["u"], np.sin(explorer.ticks[0]), atol=1e-8)
    assert circle.explore() is not None


# ---- films and comparisons


def test_a_film_has_its_frames_and_they_differ(heat, tmp_path):
    path = heat.animate(frames=4).save(tmp_path / "heat.gif", dpi=40)
    with Image.open(path) as film:
        frames = []
        for k in range(film.n_frames):
            film.seek(k)
            frames.append(np.asarray(film.convert("L"), dtype=int))
    assert len(frames) == 4
    assert all(np.abs(a - b).max() > 50 for a, b in pairwise(frames))


def test_a_film_may_be_an_mp4(heat, tmp_path):
    if shutil.which("ffmpeg") is None:
        pytest.importorskip("imageio_ffmpeg")
    assert heat.animate(frames=2).save(tmp_path / "heat.mp4", dpi=40).read_bytes()[4:8] == b"ftyp"


def test_a_film_is_of_something_that_moves(circle, heat, tmp_path):
    with pytest.raises(SafeNetError, match="no field that changes in time"):
        circle.animate()
    with pytest.raises(SafeNetError, match="a film shows all times, so t cannot be held"):
        heat.animate(t=0.5)
    with pytest.raises(SafeNetError, match=r"ends in \.gif or \.mp4"):
        heat.animate(frames=2).save(tmp_path / "heat.avi")


def test_two_solutions_are_compared_on_one_grid(heat):
    twice = sn.solve(heat.problem._copy(conditions=["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = 2*sin(pi*x)"]))
    compared = twice.compare(heat)
    assert compared.difference["u"] == pytest.approx(1, rel=1e-9)
    assert len(drawn(compared.figure)) == 3
    assert heat.compare(heat).difference["u"] == 0


def test_solutions_over_ten_axes_are_compared_at_few_points():
    names = "abcdefghij"
    problem = sn.Problem(
        " + ".join(f"u_{x}{x}" for x in names) + " = 0",
        domain=dict.fromkeys(names, (0, 1)),
        conditions=[f"u({', '.join('0' if y == x else y for y in names)}) = 1" for x in names],
    )
    assert len(protocol_points(problem)[0]) < 10_000  # a grid of 9 points along each axis would have 3e9
    ends = (0.0,) * 10, (1.0,) * 10
    one, two = (
        SparseSeries(np.full((1, 1), size), np.zeros((1, 10), int), np.full(2, np.nan), *ends)
        for size in (1.0, 2.0)
    )
    plan = DirectPlan("sparse", ())
    assert difference(Solution(problem, two, plan), Solution(problem, one, plan)) == {"u": 1.0}


def test_the_command_says_the_same_difference(heat, tmp_path):
    half = sn.solve(heat.problem._copy(conditions=["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = x*(1 - x)"]))
    for name, solution in (("a", half), ("b", heat)):
        solution.save(tmp_path / name)
    said = run("runs", "a", "b", "--json", cwd=tmp_path)
    assert said.json["difference"] == half.compare(heat).difference


def test_solutions_of_different_domains_are_not_compared(heat, circle):
    with pytest.raises(SafeNetError, match="different domains"):
        heat.compare(circle)


def test_the_command_draws_places_derivatives_and_films(heat, tmp_path):
    heat.save(tmp_path / "run")
    words = ("--at", "t=0", "--at", "t=0.5", "--derivative", "u_x", "--dpi", "50", "--style", "dark")
    assert run("plot", "run", "-o", "slope.png", *words, cwd=tmp_path).code == 0
    small = imread(tmp_path / "slope.png").shape
    assert run("plot", "run", "-o", "film.gif", "--frames", "2", "--dpi", "40", cwd=tmp_path).code == 0
    assert (tmp_path / "film.gif").read_bytes().startswith(b"GIF8")
    assert max(small[:2]) < 500
    assert run("plot", "run", "-o", "v.png", "--field", "v", cwd=tmp_path).code == 2


def test_a_steady_field_in_space_is_drawn_in_three_layers():
    axes = dict.fromkeys("xyz", (0, 2))
    faces = ["u(0, y, z) = 0", "u(2, y, z) = 1", "u_y(x, 0, z) = 0", "u_y(x, 2, z) = 0"]
    ends = ["u_z(x, y, 0) = 0", "u_z(x, y, 2) = 0"]
    problem = sn.Problem("u_xx + u_yy + u_zz = 0", domain=axes, conditions=faces + ends)
    solution = Solution(problem, Unknown(1), DirectPlan("given", ()))
    assert [cut.held for cut in cuts(solution, {})] == [{2: 0.5}, {2: 1.0}, {2: 1.5}]
    assert [cut.held for cut in cuts(solution, {"y": 0.3})] == [{1: 0.3}]
    assert len(drawn(solution.plot())) == 3


def test_a_slice_of_a_body_is_cut_at_its_boundary_and_not_along_the_grid():
    """The cut of a ball of radius 1 at z = 0.6 is a disc of radius 0.8: along the grid its area is 2 % off."""
    cube = dict.fromkeys("xyz", (-1, 1))
    ball = sn.Problem(
        "u_xx + u_yy + u_zz = 0",
        domain=cube,
        shape=sn.Ball((0, 0, 0), 1),
        conditions=["u = 0 on s"],
        pieces={"s": "rest"},
    )
    plane = Plane(ball, Cut((0, 1), {2: 0.6}))
    level = plane.level((65, 65))
    ax = Picture().subplots()
    image = plane.show(ax, np.where(level > 0, np.nan, 1.0), "u")
    assert np.isfinite(image.get_array()).all()
    path, to_screen = image.get_clip_path().get_transformed_path_and_affine()
    x, y = ax.transData.inverted().transform(to_screen.transform(path.vertices)).T
    assert abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2 == pytest.approx(0.64 * np.pi, rel=2e-3)

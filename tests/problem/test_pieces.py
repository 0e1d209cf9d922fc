"""Regions and named pieces in a problem: text and SymPy forms, normals, checks, and what is left free."""

from __future__ import annotations

import re

import numpy as np
import pytest
import sympy as sp

from safenet.errors import SafeNetError
from safenet.problem import Problem, dumps, loads
from safenet.problem.facts.posedness import left_free
from safenet.problem.facts.structure import axis_kinds
from safenet.problem.geometry.shapes import Box, Disc, Polygon
from safenet.problem.pieces import On, split_piece

x, y, t = sp.symbols("x y t")
u, v, p = (sp.Function(name) for name in "uvp")
U = u(x, y)
LAPLACE = sp.Eq(U.diff(x, 2) + U.diff(y, 2), 0)

STEP = """
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u = 4*y*(1 - y) on inlet", "u_n = 0 on outlet", "u = 0 on walls"]
[domain]
x = [0, 4]
y = [0, 2]
remove = [{ box = { x = [0, 2], y = [1, 2] } }]
[pieces]
inlet = "x = 0"
outlet = "x = 4"
walls = "rest"
"""


HOLE = {"remove": [Disc((0.5, 0.5), 0.1, name="hole")]}


def laplace(**changes):
    given = {
        "domain": {x: (0, 1), y: (0, 1)},
        "pieces": {"all": "rest"},
        "conditions": [On("all", sp.Eq(U, 0))],
    }
    return Problem(LAPLACE, **{**given, **changes})


def test_the_back_step_is_read_from_text():
    problem = loads(STEP)
    assert problem.region is not None
    assert problem.region.measure == pytest.approx(6)
    assert {name: problem.region.extent(name) for name in problem.pieces} == pytest.approx(
        {"inlet": 1, "outlet": 2, "walls": 9}
    )
    assert [condition.piece for condition in problem.conditions] == ["inlet", "outlet", "walls"]
    assert [condition.kind for condition in problem.conditions] == ["dirichlet", "neumann", "dirichlet"]
    assert problem.conditions[0].text == "u = 4*y*(1 - y) on inlet"


def test_text_and_symbols_state_the_same_problem():
    n_x, n_y = sp.symbols("n_x n_y")
    stated = Problem(
        LAPLACE,
        domain={x: (0, 4), y: (0, 2)},
        remove=[Box(x=(0, 2), y=(1, 2))],
        pieces={"inlet": sp.Eq(x, 0), "outlet": sp.Eq(x, 4), "walls": "rest"},
        conditions=[
            On("inlet", sp.Eq(U, 4 * y * (1 - y))),
            On("outlet", sp.Eq(n_x * U.diff(x) + n_y * U.diff(y), 0)),
            On("walls", sp.Eq(U, 0)),
        ],
    )
    assert stated == loads(STEP)


@pytest.mark.parametrize(
    "domain",
    [
        'shape = [{ disc = { center = [0.5, 0.5], radius = 0.5, name = "rim" } }]',
        "shape = [{ polygon = { vertices = [[0, 0], [1, 0], [0.5, 1]] } }]",
        "shape = [{ box = { x = [0, 1], y = [0, 0.5] } }, { box = { x = [0, 0.5], y = [0, 1] } }]",
        'remove = [{ disc = { center = [0.5, 0.5], radius = "sqrt(2)/8" } }]',
    ],
)
def test_writing_and_reading_give_the_same_problem(domain):
    text = STEP.replace("[0, 4]", "[0, 1]").replace(
        "[0, 2]\nremove = [{ box = { x = [0, 2], y = [1, 2] } }]", "[0, 1]\n" + domain
    )
    text = (
        text[: text.index("conditions")] + 'conditions = ["u = x on rim"]\n' + text[text.index("[domain]") :]
    )
    text = text[: text.index("[pieces]")] + '[pieces]\nrim = "rest"\n'
    problem = loads(text)
    assert loads(dumps(problem)) == problem
    assert problem.with_parameters() == problem


def test_a_piece_may_be_part_of_a_side():
    problem = laplace(
        pieces={"door": "x = 0 and y < 1/4", "wall": "rest"},
        conditions=[On("door", sp.Eq(U, 1)), On("wall", sp.Eq(U, 0))],
    )
    assert problem.region.extent("door") == pytest.approx(0.25)
    assert problem.region.extent("wall") == pytest.approx(3.75)


def test_a_piece_may_be_the_boundary_of_a_named_shape():
    hole = Disc((0.5, 0.5), 0.1, name="hole")
    problem = laplace(
        remove=[hole],
        pieces={"inner": "hole", "outer": "rest"},
        conditions=[On("inner", sp.Eq(U, 1)), On("outer", sp.Eq(U, 0))],
    )
    assert problem.region.extent("inner") == pytest.approx(0.2 * np.pi)


def test_an_exact_solution_is_checked_in_the_region_and_with_its_normals():
    n_x, n_y = sp.symbols("n_x n_y")
    r2 = x**2 + y**2
    given = {
        "domain": {x: (-1, 1), y: (-1, 1)},
        "shape": Disc((0, 0), 1),
        "pieces": {"rim": "rest"},
        "exact": r2,
    }
    equation = sp.Eq(U.diff(x, 2) + U.diff(y, 2), 4)
    slope = n_x * U.diff(x) + n_y * U.diff(y)
    Problem(equation, conditions=[On("rim", sp.Eq(U, 1)), On("rim", sp.Eq(slope, 2))], **given)
    with pytest.raises(SafeNetError, match="does not satisfy condition 2"):
        Problem(equation, conditions=[On("rim", sp.Eq(U, 1)), On("rim", sp.Eq(slope, 3))], **given)


def test_a_word_on_at_the_end_is_a_piece_and_nothing_else_is():
    assert split_piece("u = 0 on walls") == ("u = 0", "walls")
    assert split_piece("u(0, t) = on") == ("u(0, t) = on", "")
    assert split_piece("u_t = u_xx") == ("u_t = u_xx", "")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"conditions": [On("wall", sp.Eq(U, 0))]}, "no piece 'wall'"),
        ({"remove": [Disc((1, 0.5), 0.2)]}, "leaves"),
        ({"remove": [Box(x=(0, 1), y=(0, 1))]}, "empty"),
        ({"shape": Disc((0.5, 0.5), 0.7)}, "beyond the axis"),
        ({"pieces": {"all": "rest", "left": "x = 0", "low": "x = 0 and y < 1/2"}}, "both select"),
        ({"pieces": {"all": "rest", "gone": "x = 7"}}, "selects nothing"),
        ({"pieces": {"all": "x + y"}}, "the piece all is 'x \\+ y'"),
        ({"pieces": {"rest": "x = 0"}}, "cannot name a piece"),
        ({"conditions": [sp.Eq(u(0, y), 0)], **HOLE}, "name the piece"),
        ({"conditions": [On("all", sp.Eq(u(0, y), 0))]}, "fixes a place and names a piece"),
        ({"conditions": [sp.Eq(u(0, y), u(1, y))], **HOLE}, "ties two places together"),
        ({"conditions": [sp.Eq(U, 0)]}, "does not say where it holds\n.*u = 0 on all"),
        ({"remove": [Disc((0.5, 0.5), 0.1)], "conditions": [sp.Eq(u(0.5, 0.5), 0)]}, "outside the domain"),
        ({"domain": {x: (0, 1), y: (0, 1), sp.Symbol("z"): (0, 1)}, **HOLE}, "3 axes of space"),
        ({"pieces": {"all": "rest", "holes": "c*"}, **HOLE}, "no shape has such a name"),
        ({"pieces": {"all": "x = 0 or rest"}, **HOLE}, "stands alone"),
        (
            {"pieces": {"all": "rest", "left": "x = 0", "more": "x = 0 or x = 1"}},
            "both select the side x = 0",
        ),
        ({"pieces": {"all": "rest", "left": "x = 0"}, "periodic": [x]}, "x is periodic: it has no sides"),
        ({"periodic": ["x"], **HOLE}, "not a box with whole sides"),
        ({"periodic": ["z"]}, "'z' is not an axis of space"),
        ({"conditions": [sp.Eq(u(1, y), 1), On("all", sp.Eq(U, 0))]}, "also belongs to all, the rest"),
        (
            {"periodic": ["x"], "conditions": [sp.Eq(u(0, y), 0)]},
            "x is periodic, and u\\(0, y\\) = 0 is stated",
        ),
    ],
)
def test_what_is_refused_says_so(changes, message):
    with pytest.raises(SafeNetError) as caught:
        laplace(**changes)
    assert re.search(message, str(caught.value)), caught.value


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("remove =", "remov =", 8, "unknown key 'remov'"),
        ("on walls", "on wals", 4, "no piece 'wals'"),
        ("x = [0, 2], y", "x = [0, 5], y", 8, "leaves"),
        ('inlet = "x = 0"', 'inlet = "x = 9"', 10, "selects nothing"),
        ('"rest"', "3", 12, "the piece walls is not text"),
        ("box = {", "bix = {", 8, "bix"),
        ("remove = [{ box = { x = [0, 2], y = [1, 2] } }]", "remove = 3", 8, "not a list of shapes"),
        ("u_n = 0", "u_m = 0", 4, "u_m is not a derivative"),
    ],
)
def test_errors_in_a_file_name_the_line(old, new, line, message):
    with pytest.raises(SafeNetError, match=message) as caught:
        loads(STEP.replace(old, new))
    assert f"line {line}:" in str(caught.value)


# ---- what is left free


def flow(where):
    a, b, q = u(x, y), v(x, y), p(x, y)
    return Problem(
        [
            sp.Eq(a.diff(x, 2) + a.diff(y, 2), q.diff(x)),
            sp.Eq(b.diff(x, 2) + b.diff(y, 2), q.diff(y)),
            sp.Eq(a.diff(x) + b.diff(y), 0),
        ],
        domain={x: (0, 4), y: (0, 2)},
        pieces={"inlet": "x = 0", "outlet": "x = 4", "walls": "rest"},
        conditions=where,
    )


NO_SLIP = [On(piece, sp.Eq(f(x, y), 0)) for piece in ("inlet", "walls") for f in (u, v)]
CLOSED = [*NO_SLIP, On("outlet", sp.Eq(u(x, y), 0)), On("outlet", sp.Eq(v(x, y), 0))]


def test_a_pressure_without_a_gauge_is_free_up_to_a_constant():
    (text,) = left_free(flow(CLOSED))
    assert text.startswith("p is free up to a constant")
    assert left_free(flow([*CLOSED, sp.Eq(p(0, 0), 0)])) == ()


def test_an_outlet_with_one_condition_says_what_is_free():
    (text,) = left_free(flow([*NO_SLIP, On("outlet", sp.Eq(p(x, y), 0))]))
    assert text.startswith("the face x = 4 has only 1 condition, and 2 are needed")
    assert "u and v are free" in text or "u or v" in text
    assert left_free(flow([*NO_SLIP, On("outlet", sp.Eq(p(x, y), 0)), On("outlet", sp.Eq(v(x, y), 0))])) == ()


def test_a_neumann_problem_is_free_up_to_a_constant():
    n_x, n_y = sp.symbols("n_x n_y")
    slope = n_x * U.diff(x) + n_y * U.diff(y)
    (text,) = left_free(laplace(conditions=[On("all", sp.Eq(slope, 0))]))
    assert text.startswith("u is free up to a constant")


def test_a_part_of_the_boundary_without_a_name_is_mentioned():
    (text,) = left_free(laplace(pieces={"left": "x = 0"}, conditions=[On("left", sp.Eq(U, 0))], **HOLE))
    assert "length 3.63" in text
    assert "carries no condition" in text


def test_a_face_of_a_box_without_a_condition_is_mentioned():
    problem = Problem(
        sp.Eq(u(x, t).diff(t), u(x, t).diff(x, 2)),
        domain={x: (0, 1), t: (0, 1)},
        conditions=[sp.Eq(u(x, 0), 0), sp.Eq(u(0, t), 0)],
    )
    (text,) = left_free(problem)
    assert text.startswith("the face x = 1 has no condition")


def test_a_polygon_is_a_domain():
    triangle = Polygon([(0, 0), (1, 0), (0, 1)])
    assert laplace(shape=triangle).region.measure == pytest.approx(0.5)


def test_a_shape_may_stand_for_the_domain_and_one_for_what_is_removed():
    square, hole = Box(x=(0, 1), y=(0, 1)), Disc((0.5, 0.5), 0.1)
    by_parts = laplace(domain={x: (0, 1), y: (0, 1)}, remove=hole)
    assert by_parts == laplace(remove=[hole])
    assert laplace(domain=square - hole).region.measure == pytest.approx(by_parts.region.measure)


def test_the_outward_slope_is_shown_as_it_is_written():
    assert loads(STEP).conditions[1].text == "u_n = 0 on outlet"


def test_the_gauge_is_advised_where_the_domain_is():
    n_x, n_y = sp.symbols("n_x n_y")
    slope = n_x * U.diff(x) + n_y * U.diff(y)
    on = {x: (-1, 1), y: (-1, 1)}
    (text,) = left_free(laplace(domain=on, shape=Disc((0, 0), 1), conditions=[On("all", sp.Eq(slope, 0))]))
    assert "u(1, 0) = 0" in text


SIDES = """
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u = y on left", "u_n = 1 - y on right", "u = x*(1 - x) on walls"]
domain = { x = [0, 1], y = [0, 1] }
pieces = { left = "x = 0", right = "x = 1", walls = "rest" }
"""
BY_ARGUMENTS = """
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u(0, y) = y", "u_x(1, y) = 1 - y", "u(x, 0) = x*(1 - x)", "u(x, 1) = x*(1 - x)"]
domain = { x = [0, 1], y = [0, 1] }
"""


def test_named_sides_of_a_box_are_its_faces():
    named = loads(SIDES)
    assert named.region is None
    assert named == loads(BY_ARGUMENTS)
    assert [c.number for c in named.conditions] == [1, 2, 3, 3]
    again = loads(named.toml())
    assert again == named
    assert 'walls = "rest"' in named.toml()
    assert again.pieces == named.pieces


def test_a_mistake_on_a_named_side_is_told_as_it_was_written():
    with pytest.raises(SafeNetError, match=r"line 4: condition 3: the boundary has no piece 'wall'"):
        loads(SIDES.replace("on walls", "on wall"))
    with pytest.raises(SafeNetError, match=r"conditions 1 .* and 4 .*contradict"):
        loads(SIDES.replace('on walls"', 'on walls", "u = 2*y on left"'))


def test_sides_of_a_line_have_names_too():
    heat = """
unknowns = ["u"]
equations = ["u_t = u_xx"]
conditions = ["u(x, 0) = sin(pi*x)", "u = 0 on ends"]
domain = { x = [0, 1], t = [0, 1] }
pieces = { ends = ["x = 0", "x = 1"] }
"""
    assert [c.text for c in loads(heat).conditions[1:]] == ["u(0, t) = 0", "u(1, t) = 0"]


VORTICES = """
unknowns = ["u", "v", "p"]
equations = ["u_t + u*u_x + v*u_y + p_x = u_xx + u_yy", "v_t + u*v_x + v*v_y + p_y = v_xx + v_yy", "u_x + v_y = 0"]
conditions = [
    "u(x, y, 0) = -cos(x)*sin(y)", "v(x, y, 0) = sin(x)*cos(y)", "p(0, 0, t) = -exp(-4*t)/2",
]
periodic = ["x", "y"]
[domain]
x = [0, "2*pi"]
y = [0, "2*pi"]
t = [0, 1]
"""


def test_periodic_axes_tie_all_that_the_equations_differentiate():
    problem = loads(VORTICES)
    ties = {c.text for c in problem.conditions if c.kind == "periodic"}
    ends = "(0, y, t) = {}(2*pi, y, t)", "(x, 0, t) = {}(x, 2*pi, t)"
    names = ("u", "u_x", "v", "v_x", "p"), ("u", "u_y", "v", "v_y", "p")
    assert ties == {name + end.format(name) for end, own in zip(ends, names, strict=True) for name in own}
    assert {kind for kinds in axis_kinds(problem).values() for kind in kinds[:2]} == {"periodic"}
    assert loads(problem.toml()) == problem
    assert 'periodic = ["x", "y"]' in problem.toml()
    # What is stated is not added again.
    stated = VORTICES.replace('"p(0, 0, t)', '"u(0, y, t) = u(2*pi, y, t)", "p(0, 0, t)')
    assert loads(stated) == problem


def test_several_shapes_make_one_piece():
    holes = [Disc((0.2 * k, 0.5), 0.05, name=f"c{k}") for k in (1, 2, 3)]
    sieve = {"remove": holes, "conditions": [On("rims", sp.Eq(U, 0))]}
    assert laplace(pieces={"rims": "c*"}, **sieve).region.extent("rims") == pytest.approx(0.3 * np.pi)
    listed = laplace(pieces={"rims": ["c1", "c3"], "walls": "rest"}, **sieve)
    assert listed.region.extent("rims") == pytest.approx(0.2 * np.pi)
    assert listed.pieces["rims"] == "c1 or c3"
    assert loads(listed.toml()) == listed
    mixed = laplace(pieces={"rims": "c1 or x = 0"}, **sieve)
    assert mixed.region.extent("rims") == pytest.approx(0.1 * np.pi + 1)

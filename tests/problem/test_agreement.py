"""Conditions that no function meets, and equations too many, are found in the symbols."""

import warnings

import pytest

import safenet as sn
from safenet.errors import SafeNetError
from safenet.problem.facts.agreement import bends, clashes, corners
from safenet.problem.facts.balance import imbalance
from safenet.problem.facts.posedness import doubts
from safenet.problem.facts.structure import axis_kinds


def heat(*conditions, equations=("u_t = u_xx/10",)):
    listing = [*conditions, "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]
    return sn.loads(f"""
name = "heat"
unknowns = ["u"]
equations = {list(equations)}
conditions = {listing}
domain = {{ x = [0, 1], t = [0, 1] }}
parameters = {{ k = 2 }}
""")


@pytest.mark.parametrize(
    "pair",
    [
        ("u(0, t) = 0", "u(0, t) = 1"),
        ("u(0, t) = sin(t)", "2*u(0, t) = 2*cos(t)"),
        ("u_x(0, t) = 1", "k*u_x(0, t) = 1"),
        ("u_x(0, t) + t*u(0, t) = 0", "2*u_x(0, t) + 2*t*u(0, t) = t"),
        ("u(0, 0) = 1", "u(0, 0) = 2"),
        ("u(0, t) = u(1, t)", "u(0, t) = u(1, t) + 1"),
    ],
)
def test_two_values_of_one_quantity_at_one_place_are_refused_by_name(pair):
    with pytest.raises(SafeNetError, match="contradict each other") as caught:
        heat(*pair)
    assert "conditions 1 (" in str(caught.value)
    assert "and 2 (" in str(caught.value)


@pytest.mark.parametrize(
    "pair",
    [
        ("u(0, t) = sin(t)**2", "u(0, t) = 1 - cos(t)**2"),  # the same, written in two ways
        ("u(0, t) = 0", "u(0, t) = cos(t)**2 + sin(t)**2 - 1"),  # and zero
        ("u(0, t) = 0", "u_x(0, t) = 1"),  # two quantities
        ("u(0, t) = 0", "u(1/2, t) = 1"),  # two places
        ("u_x(0, t) + u(0, t) = 0", "u_x(0, t) - u(0, t) = 1"),  # two combinations
        ("u(0, t) = 1", "u(0, 0) = 0"),  # disagree in a corner only
        ("u(0, t)**2 = 1", "u(0, t) = 1"),  # not linear: no proof
    ],
)
def test_what_may_hold_together_is_accepted(pair):
    assert len(heat(*pair).conditions) == 4


PLATE = """
name = "plate"
unknowns = ["u"]
equations = ["u_xx + u_yy = 0"]
conditions = ["u = {} on side", "u = {} on side", "u = 0 on others"]
[domain]
x = [0, 1]
y = [0, 1]
shape = [{{ box = {{ x = [0, 1], y = [0, 1] }} }}]
[pieces]
side = "x = 0"
others = "rest"
"""


def test_on_a_piece_the_values_are_compared_where_it_is():
    assert len(sn.loads(PLATE.format("y", "y + x")).conditions) == 3
    with pytest.raises(SafeNetError, match=r"conditions 1 .* on side.* and 2"):
        sn.loads(PLATE.format("y", "y + x + 1"))


def test_more_equations_than_unknowns_are_a_doubt_before_the_solve():
    problem = heat("u(0, t) = 0", equations=("u_t = u_xx", "u_t = 2*u_xx"))
    (text,) = doubts(problem)
    assert "2 equations for 1 unknown (u): u_t = u_xx; u_t = 2*u_xx" in text
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        sn.solve(problem, sn.LeastSquares())
    assert "2 equations for 1 unknown" in str(said[0].message)
    assert doubts(heat("u(0, t) = 0")) == ()


TIED = "u(0, t) = u(1, t)", "u_x(0, t) = u_x(1, t)", "u_xx(0, t) = u_xx(1, t)", "u_xxx(0, t) = u_xxx(1, t)"


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_an_axis_whose_values_agree_is_periodic_in_all_derivatives_below_the_order(order):
    def ring(*conditions):
        return sn.loads(f"""
name = "ring"
unknowns = ["u"]
equations = ["u_t = {"-" if order == 4 else ""}u_{"x" * order}"]
conditions = {[*conditions, "u(x, 0) = sin(2*pi*x)"]}
domain = {{ x = [0, 1], t = [0, 1] }}
""")

    assert doubts(ring(*TIED[:order])) == ()
    for given in range(1, order):
        problem = ring(*TIED[:given])
        assert problem == ring(*TIED[:order])
        assert axis_kinds(problem)["u"][0] == "periodic"
        (text,) = doubts(problem)  # an assumption is said
        assert text.startswith("u is assumed to be periodic along x: u_" + "x" * given)
    # Other conditions beside a tie may do as well.
    assert (
        order == 1
        or doubts(ring(TIED[0], *(f"u{k}(0, t) = 0" for k in ("", "_x", "_xx")[: order - 1]))) == ()
    )


@pytest.mark.parametrize(
    ("conditions", "gaps"),
    [
        (["u(x, 0) = 1", "u(0, t) = 0", "u(1, t) = 1"], {"u(0, t) = 0": 1}),
        (["u(x, 0) = cos(pi*x)", "u(0, t) = exp(t)", "u(1, t) = t - 1"], {}),
        (["u(x, 0) = k*x", "u(0, t) = t", "u(1, t) = 1"], {"u(1, t) = 1": 2}),
        (["u(x, 0) = x", "u(0, t) = u(1, t)", "u_x(0, t) = u_x(1, t)"], {"u(0, t) = u(1, t)": 1}),
        (["u(x, 0) = sin(2*pi*x)", "u(0, t) = u(1, t)", "u_x(0, t) = u_x(1, t)"], {}),
        (
            ["u(x, 0) = exp(-900*(x - 1/2)**2)", "u(0, t) = 0", "u(1, t) = 0"],
            {},
        ),  # e^-225 is none to speak of
        (["2*u(x, 0) = 6", "u(0, t) = 3", "u_x(1, t) = 5"], {}),  # a slope that disagrees is no jump
    ],
)
def test_initial_values_that_a_face_does_not_have(conditions, gaps):
    problem = sn.loads(
        f'name = "p"\nunknowns = ["u"]\nequations = ["u_t = u_xx"]\nconditions = {conditions}\n'
        "[domain]\nx = [0, 1]\nt = [0, 1]\n[parameters]\nk = 3\n"
    )
    assert {clash.face.text: clash.gap for clash in clashes(problem)} == pytest.approx(gaps)
    assert any("disagree with" in doubt for doubt in doubts(problem)) is bool(gaps)


@pytest.mark.parametrize(
    ("face", "gap"),
    [
        ("u_x(1, t) = 2", None),
        ("u_x(1, t) = 5", 3),
        ("u_x(1, t) = -k*u(1, t)", 5),  # 2 + 3 · 1
        ("u_x(1, t) = k*u(1, t) - 1", None),
        ("u(1, t) = 0", None),  # a jump is no bend
    ],
)
def test_initial_slopes_that_a_face_does_not_have(face, gap):
    problem = sn.loads(
        'name = "p"\nunknowns = ["u"]\nequations = ["u_t = u_xx"]\n'
        f'conditions = ["u(x, 0) = x**2", "u(0, t) = 0", "{face}"]\n'
        "[domain]\nx = [0, 1]\nt = [0, 1]\n" + ("[parameters]\nk = 3\n" if "k" in face else "")
    )
    assert [bend.gap for bend in bends(problem)] == ([pytest.approx(gap)] if gap else [])


@pytest.mark.parametrize(
    ("top", "side", "gap"),
    [
        ("u(x, 1) = 1", "u(0, y) = 0", 1.0),
        ("u(x, 1) = 1", "u(0, y) = y", None),
        ("u(x, 1) = cos(x)", "u(0, y) = y**2", None),
        ("u(x, 1) = 2", "u_x(0, y) = 0", None),
        ("u(x, 1) = sin(pi*(x + 1))", "u(0, y) = 0", None),  # 1.2e-16 in float64
        ("u(x, 1) = 6000*sin(pi*(x + 1))", "u(0, y) = 0", None),
        ("u(x, 1) = exp(12*x)", "u(0, y) = 0", 1.0),  # however large it is elsewhere
    ],
)
def test_sides_of_a_square_whose_values_differ_at_the_corner(top, side, gap):
    problem = sn.loads(
        f'name = "p"\nunknowns = ["u"]\nequations = ["u_xx + u_yy = 0"]\nconditions = ["{top}", "{side}", '
        '"u_y(x, 0) = 0", "u_x(1, y) = 0"]\n[domain]\nx = [0, 1]\ny = [0, 1]\n'
    )
    assert [(a.text, b.text, d) for a, b, d in corners(problem)] == ([(top, side, gap)] if gap else [])
    assert any("values differ where sides meet" in doubt for doubt in doubts(problem)) is bool(gap)


SLOPES = ["u_x(0, y) = 0", "u_x(1, y) = 0", "u_y(x, 0) = 0", "u_y(x, 2) = 0"]


@pytest.mark.parametrize(
    ("equation", "conditions", "sides"),
    [
        ("u_xx + u_yy = 1", SLOPES, (2, 0)),
        ("u_xx + u_yy = cos(pi*x)", SLOPES, None),
        ("u_xx + u_yy = 1", [*SLOPES[:3], "u_y(x, 2) = 2"], None),
        ("u_xx + u_yy = 1", [*SLOPES[:3], "3*u_y(x, 2) = x"], (2, 1 / 6)),
        ("2*u_xx + 3*u_yy = -1", ["u_x(0, y) = y/2", *SLOPES[1:]], None),  # 2·(−∫ y/2) = −2
        ("u_xx + u_yy = 1", [*SLOPES[:3], "u(x, 2) = 0"], None),
        ("u_xx + u_yy = u + 1", SLOPES, None),
        (
            "u_xx + u_yy = where(x < 1/3, 2, -1)",
            SLOPES,
            None,
        ),  # the nodes of Gauss miss its zero by a hundredth
        ("u_xx + u_yy = where(x < 1/3, 2, 1)", SLOPES, (2.667, 0)),
        ("u_xx + u_yy = 1", SLOPES[:3], None),  # something is free: another doubt
    ],
)
def test_slopes_all_around_must_carry_what_the_source_needs(equation, conditions, sides):
    problem = sn.loads(
        f'name = "p"\nunknowns = ["u"]\nequations = ["{equation}"]\nconditions = {conditions}\n'
        "[domain]\nx = [0, 1]\ny = [0, 2]\n"
    )
    assert imbalance(problem) == (None if sides is None else pytest.approx(sides, rel=0.05))
    assert any("there is no solution" in doubt for doubt in doubts(problem)) is (sides is not None)


def test_a_bar_that_is_loaded_and_held_nowhere():
    bar = (
        'name = "p"\nunknowns = ["u"]\nequations = ["u_xx = x"]\nconditions = {}\ndomain = {{ x = [0, 1] }}\n'
    )
    assert imbalance(sn.loads(bar.format(["u_x(0) = 0", "u_x(1) = 1"]))) == pytest.approx((0.5, 1))
    assert imbalance(sn.loads(bar.format(["u_x(0) = 1/2", "u_x(1) = 1"]))) is None


@pytest.mark.parametrize("start", ["exp(1000*x)", "2**(10**9*x)", "exp(exp(99*x))", "1/(x - 1)"])
def test_values_that_no_float_holds_are_no_jump_and_take_no_time(start):
    problem = sn.loads(
        f'name = "p"\nunknowns = ["u"]\nequations = ["u_t = u_xx"]\n'
        f'conditions = ["u(x, 0) = {start}", "u_x(0, t) = 0", "u(1, t) = 0"]\n'
        "[domain]\nx = [0, 1]\nt = [0, 1]\n"
    )
    assert clashes(problem) == ()


@pytest.mark.parametrize(("held", "gap"), [("sin(pi*(t + 1))", None), ("exp(12*t)", 1.0)])
def test_a_face_that_begins_at_zero_but_for_rounding_does_not_clash(held, gap):
    problem = sn.loads(
        'name = "p"\nunknowns = ["u"]\nequations = ["u_t = u_xx"]\n'
        f'conditions = ["u(x, 0) = 0", "u(0, t) = {held}", "u(1, t) = 0"]\n'
        "[domain]\nx = [0, 1]\nt = [0, 1]\n"
    )
    assert [clash.gap for clash in clashes(problem)] == ([gap] if gap else [])

"""What the symbols promise along each axis, against the parity of the exact solutions and cases known by hand."""

import json
import math

import pytest
import sympy as sp

from safenet import library
from safenet.problem import Problem, loads
from safenet.problem.facts import structure
from safenet.problem.facts.structure import axis_kinds, breaks, carried, kinks, named_frequencies

HEAT = "u_t = u_xx"
START = "u(x, 0) = sin(pi*x)"
ZERO = ["u(0, t) = 0", "u(1, t) = 0"]
FLAT = ["u_x(0, t) = 0", "u_x(1, t) = 0"]
UNIT = {"x": [0, 1], "t": [0, 1]}
SQUARE = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]


def stated(equations, conditions, domain=None, unknowns=("u",)):
    """A problem from its text; a JSON list of strings is a TOML list."""
    axes = "\n".join(f"{name} = {json.dumps(ends)}" for name, ends in (domain or UNIT).items())
    lists = {"unknowns": list(unknowns), "equations": equations, "conditions": conditions}
    return loads(
        "\n".join(f"{key} = {json.dumps(value)}" for key, value in lists.items()) + f"\n[domain]\n{axes}\n"
    )


def heat(*conditions, equation=HEAT):
    return stated([equation], [*conditions, START])


def beam(*conditions):
    return stated(["u_tt + u_xxxx = 0"], [*ZERO, *conditions, START, "u_t(x, 0) = 0"])


def schroedinger(*conditions):
    equations = ["u_t = -v_xx/2 - (u**2 + v**2)*v", "v_t = u_xx/2 + (u**2 + v**2)*u"]
    start = ["u(x, 0) = sin(2*pi*x)", "v(x, 0) = 0"]
    return stated(equations, [*conditions, *start], unknowns=("u", "v"))


def both(*conditions):
    return [text.replace("w", field) for field in "uv" for text in conditions]


@pytest.mark.parametrize(
    ("name", "kind"),
    {
        "wave": "sine",
        "convection": "periodic",
        "reaction": "general",
        "diffusion": "sine",
        "burgers": "sine",
        "allen-cahn": "periodic",
        "nh-heat": "general",
    }.items(),
)
def test_library_problems_are_what_their_conditions_and_equations_make_them(name, kind):
    assert axis_kinds(library.problem(name)) == {"u": (kind, "general")}


CASES = {
    "Dirichlet": (heat(*ZERO), "sine"),
    "Neumann": (heat(*FLAT), "cosine"),
    "Dirichlet and Neumann": (heat("u(0, t) = 0", "u_x(1, t) = 0"), "general"),
    "Robin": (heat("u(0, t) = 0", "u_x(1, t) + u(1, t) = 0"), "general"),
    "inhomogeneous": (heat("u(0, t) = 0", "u(1, t) = 1"), "general"),
    "one face only": (heat("u(0, t) = 0"), "general"),
    "an odd source": (heat(*ZERO, equation="u_t = u_xx + t*sin(3*pi*x)"), "sine"),
    "a source that is not odd": (heat(*ZERO, equation="u_t = u_xx + x"), "general"),
    "an even source, odd conditions": (heat(*ZERO, equation="u_t = u_xx + cos(pi*x)"), "general"),
    "an even source, even conditions": (heat(*FLAT, equation="u_t = u_xx + cos(pi*x)"), "cosine"),
    "a cubic reaction": (heat(*ZERO, equation="u_t = u_xx + u - u**3"), "sine"),
    "a quadratic reaction": (heat(*ZERO, equation="u_t = u_xx + u - u**2"), "general"),
    "a quadratic reaction, even": (heat(*FLAT, equation="u_t = u_xx + u - u**2"), "cosine"),
    "an even conductivity": (heat(*ZERO, equation="u_t = (2 + cos(2*pi*x))*u_xx"), "sine"),
    "a conductivity that is not even": (heat(*ZERO, equation="u_t = (2 + x)*u_xx"), "general"),
    "convection breaks the mirror": (heat(*ZERO, equation="u_t = u_xx + u_x"), "general"),
    # u_xx = 0 on the faces says u_t = 0 there, not u = 0; likewise u_t = 0 itself.
    "second derivatives only": (heat("u_xx(0, t) = 0", "u_xx(1, t) = 0"), "general"),
    "constant in time on the faces": (heat("u_t(0, t) = 0", "u_t(1, t) = 0"), "general"),
    "no derivative in x": (heat(equation="u_t = u - u**3"), "general"),
    "periodic": (heat("u(0, t) = u(1, t)", "u_x(0, t) = u_x(1, t)"), "periodic"),
    "periodic, and the slope is meant": (heat("u(0, t) = u(1, t)"), "periodic"),
    "periodic but for the slope": (heat("u(0, t) = u(1, t)", "u_x(0, t) = 0"), "general"),
    "antiperiodic": (heat("u(0, t) = -u(1, t)", "u_x(0, t) = -u_x(1, t)"), "general"),
    "a hinged beam": (beam("u_xx(0, t) = 0", "u_xx(1, t) = 0"), "sine"),
    "a clamped beam": (beam("u_x(0, t) = 0", "u_x(1, t) = 0"), "general"),
    "a beam with half its conditions": (beam(), "general"),
}


@pytest.mark.parametrize(("problem", "kind"), CASES.values(), ids=CASES.keys())
def test_a_series_is_promised_only_where_the_continuation_solves_the_same_equation(problem, kind):
    assert axis_kinds(problem) == {"u": (kind, "general")}


@pytest.mark.parametrize(
    ("problem", "kinds"),
    [
        (schroedinger(*both("w(0, t) = w(1, t)", "w_x(0, t) = w_x(1, t)")), ("periodic", "periodic")),
        (schroedinger(*both("w(0, t) = 0", "w(1, t) = 0")), ("sine", "sine")),
        (
            schroedinger("u(0, t) = 0", "u(1, t) = 0", "v_x(0, t) = 0", "v_x(1, t) = 0"),
            ("general", "general"),
        ),
        (
            stated(
                ["u_t + v_x = 0", "v_t + u_x = 0"],
                [*ZERO, "v_x(0, t) = 0", "v_x(1, t) = 0", START, "v(x, 0) = 0"],
                unknowns=("u", "v"),
            ),
            ("sine", "cosine"),
        ),
        # The wave equation as a system: v = u_t has no derivative in x and takes the parity of u.
        (
            stated(["u_t = v", "v_t = u_xx"], [*ZERO, START, "v(x, 0) = 0"], unknowns=("u", "v")),
            ("sine", "sine"),
        ),
    ],
    ids=["periodic Schrödinger", "odd Schrödinger", "torn Schrödinger", "acoustics", "wave system"],
)
def test_fields_of_a_system_are_continued_together(problem, kinds):
    assert axis_kinds(problem) == {"u": (kinds[0], "general"), "v": (kinds[1], "general")}


@pytest.mark.parametrize(
    ("source", "conditions", "kinds"),
    [
        ("1", SQUARE, ("general", "general")),
        ("sin(pi*x)*sin(3*pi*y)", SQUARE, ("sine", "sine")),
        ("sin(pi*x)", SQUARE, ("sine", "general")),
        ("sin(2*pi*x)", ["u(0, y) = u(1, y)", "u_x(0, y) = u_x(1, y)", *SQUARE[2:]], ("periodic", "general")),
    ],
)
def test_each_axis_is_judged_by_itself(source, conditions, kinds):
    problem = stated([f"-u_xx - u_yy = {source}"], conditions, {"x": [0, 1], "y": [0, 1]})
    assert axis_kinds(problem) == {"u": kinds}


@pytest.mark.parametrize("name", ["wave", "diffusion", "convection"])
def test_exact_solutions_have_the_symmetry_that_was_promised(name):
    problem = library.problem(name)
    axis, exact = problem.axes[0], problem.value(problem.exact["u"])
    (kind, _) = axis_kinds(problem)["u"]
    images = {
        "sine": [-exact.subs(axis.symbol, 2 * face - axis.symbol) for face in (axis.lower, axis.upper)],
        "periodic": [exact.subs(axis.symbol, axis.symbol + axis.upper - axis.lower)],
    }[kind]
    assert all(sp.simplify(image - exact) == 0 for image in images)


@pytest.mark.parametrize(
    ("problem", "x", "t"),
    [
        (library.wave(), (1, 4), ()),
        (library.wave(beta=7), (1, 7), ()),
        (library.reaction(), (), ()),
        (library.nh_heat(), (2, 6.3), (1, 3)),
        (
            heat(*ZERO, equation="u_t = u_xx + sin(2*pi*x - 5*pi*t + 1) + cos(x*t) + cos(3*pi*x)**2"),
            (1, 2, 3),
            (5,),
        ),
    ],
    ids=["wave", "wave of beta 7", "reaction", "nh-heat", "a travelling source"],
)
def test_named_frequencies_are_the_constant_slopes_of_all_phases(problem, x, t):
    found = named_frequencies(problem)
    assert [list(values) for values in found] == [
        pytest.approx([math.pi * value for value in values], rel=1e-15) for values in (x, t)
    ]


def test_high_frequencies_take_no_algebra_of_their_degree():
    """Opened by angle sums, sin 200x is a polynomial of degree 200: minutes."""
    x, y = sp.symbols("x y")
    wave = sp.sin(200 * x + 1) * sp.cos(120 * y)
    assert not structure._zero(wave - sp.sin(200 * x) * sp.cos(120 * y))
    assert not structure._zero(wave + sp.Rational(1, 10**6) * x)
    turned = sp.sin(200 * x) * sp.cos(1) + sp.cos(200 * x) * sp.sin(1)
    assert structure._zero(wave - sp.cos(120 * (y - 3 * sp.pi)) * turned)
    assert structure._zero(sp.sin(x) ** 2 + sp.cos(x) ** 2 - 1)
    assert structure._zero(sp.sinh(x + y) - sp.sinh(x) * sp.cosh(y) - sp.cosh(x) * sp.sinh(y))
    assert structure._zero(1e8 * x - 1e8 * (x - 1) - 1e8)


# ---- breaks


@pytest.mark.parametrize(
    ("source", "space", "time"),
    [
        ("where(1/3 < x < 2/3, 1, 0)", [1 / 3, 2 / 3], []),
        ("abs(t - 1/4)*heaviside(x - 1/8)", [1 / 8], [1 / 4]),
        ("max(x, 1/2) + min(t, 1/10)*u", [1 / 2], [1 / 10]),
        ("sign(sin(7*x))", [math.pi / 7, 2 * math.pi / 7], []),
        ("where(x**2 < 1/2 or t > 1/2, 1, 0)", [math.sqrt(1 / 2)], [1 / 2]),
        ("where(x < t, 1, 0) + abs(x + 1) + abs(u)", [], []),
    ],
)
def test_where_the_equation_jumps_or_bends(source, space, time):
    found = breaks(heat(*ZERO, equation=f"{HEAT} + {source}"))
    assert found == (pytest.approx(space, abs=1e-13), pytest.approx(time, abs=1e-13))


def test_breaks_of_conditions_are_told_apart_and_parameters_have_their_values():
    problem = stated([HEAT], [*ZERO, "u(x, 0) = where(x < 1/5, 1, 0)"])
    assert breaks(problem) == (pytest.approx([1 / 5]), ())
    assert breaks(problem, conditions=False) == ((), ())
    text = 'unknowns = ["u"]\nequations = ["u_xx = abs(x - c)"]\nconditions = ["u(0) = 0", "u(1) = 0"]\n'
    moved = loads(text + "domain = { x = [0, 1] }\nparameters = { c = 0.3 }\n").with_parameters(c=0.7)
    assert breaks(moved) == (pytest.approx([0.7]),)


@pytest.mark.parametrize(
    ("equation", "term"),
    [
        ("u_t + u*u_x = u_xx/100", "u_x"),
        ("u_t + diff(u**2/2, x) = 0", "u_x"),
        ("u_t + 30*u_x = 0", None),
        ("u_t + x*u_x = u_xx", None),
        ("u_t = u_xx + 5*u*(1 - u)", None),
        ("u_t + u_x**2/2 = 0", None),
    ],
)
def test_a_first_derivative_that_an_unknown_multiplies_is_found(equation, term):
    assert carried(stated([equation], [*ZERO, START])) == term


def test_a_jump_at_zero_is_a_kink_at_zero():
    """The angle of (−1, −y) jumps at y = 0, where halving would go on to the smallest of all numbers."""
    torn = Problem(
        "u_xx + u_yy = 0",
        domain={"x": (-1, 1), "y": (-1, 1)},
        conditions=[
            "u(-1, y) = 1",
            "u(1, y) = where(atan2(-y, -1) < 0, 1, 2)",
            "u(x, -1) = 1",
            "u(x, 1) = 1",
        ],
    )
    assert kinks(torn) == ((), (0.0,))

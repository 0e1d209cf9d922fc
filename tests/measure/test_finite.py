"""A coefficient that is not finite is refused before the solve, by name and place."""

import re
import warnings

import numpy as np
import pytest

import safenet as sn
from safenet.errors import SafeNetError
from safenet.measure.finite import check_finite
from safenet.measure.rows.cells import CellRows


def rod(equation, start="sin(pi*x)", x="[0, 1]"):
    return sn.loads(f"""
name = "rod"
unknowns = ["u"]
equations = ["{equation}"]
conditions = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = {start}"]
domain = {{ x = {x}, t = [0, 1] }}
""")


@pytest.mark.parametrize(
    ("equation", "start", "found"),
    [
        ("u_t = u_xx/(x - 0.5)", "0", r"equation 1 .*: 1/\(x - 1/2\) is not finite at x = 0.5$"),
        ("u_t = u_xx + u/(x - 0.3)**2", "0", "is not finite at x = 0.3$"),
        ("u_t = u_xx/(x - t)", "0", "not finite at x = .*, t = "),
        ("u_t = u_xx/10 + log(x - 0.5)", "0", r"log\(x - 1/2\) is not finite at x = 0.0"),
        ("u_t = u_xx + sqrt(x - 1)*u*u_x", "0", "equation 1 .*: sqrt.* is not finite"),
        ("u_t = u_xx + sin(u/(x - 0.5))", "0", "is not finite at x = 0.5$"),
        ("u_t = u_xx", "1/(x - 0.25)", "condition 3 .* is not finite at x = 0.25$"),
        ("u_t = u_xx", "exp(1000*x)", "condition 3 .* is not finite"),
    ],
)
def test_the_part_and_the_place_are_named(equation, start, found):
    with pytest.raises(SafeNetError) as caught:
        check_finite(rod(equation, start))
    assert re.search(found, caught.value.message)


@pytest.mark.parametrize(
    ("equation", "start"),
    [
        ("u_t = u_xx + u_x/x", "0"),  # at the end of the domain: no solver looks there
        ("u_t = u_xx + log(x)", "0"),
        ("u_t = u_xx + u*sin(x - 0.5)/(x - 0.5)", "0"),  # a denominator that a numerator takes away
        ("u_t = u_xx + coth(x - 0.5) - 1/(x - 0.5)", "0"),  # or another term
        ("u_t = u_xx + exp(-1e4*(x - 0.4)**2)*sin(x - 0.4)/(x - 0.4)", "0"),  # a peak
        ("(x - 0.5)*(u_t + u/(x - 0.5)) = u_xx", "0"),  # multiplied by it
        ("u_t = u_xx + 1/u", "0"),  # what holds an unknown is the solver's affair
        ("u_t = u_xx/(1 + x**2)", "(sign(x - 0.2) + 1)/2"),
    ],
)
def test_what_is_finite_inside_is_accepted(equation, start):
    check_finite(rod(equation, start))


def plate(source):
    return sn.loads(f"""
name = "plate"
unknowns = ["u"]
equations = ["u_xx + u_yy = {source}"]
conditions = ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = 0", "u(x, 1) = 0"]
domain = {{ x = [0, 1], y = [0, 1] }}
""")


@pytest.mark.parametrize(
    ("source", "place"),
    [
        *((f"{f}(pi*x)", "x = 0.5") for f in ("tan", "sec")),
        *((f"{f}(x - 1/4)", "x = 0.25") for f in ("cot", "csc", "coth", "csch")),
        ("1/(x**2 - x + 1/4)", "x = 0.5"),  # a zero where the sign stays
        ("1/sqrt(y**2 - y + 1/4)", "y = 0.5"),
        ("1/abs(x - 1/2)", "x = 0.5"),
        ("1/(1 - cos(4*pi*y))", "y = 0.5"),  # and others on the faces, which are no harm
        ("1/max(x - 1/2, 1/2 - x)", "x = 0.5"),
        ("1/((x - 1/2)**2 + (y - 1/3)**2)", "x = 0.5, y = 0.333333"),  # at one point of the plane
        ("1/sqrt((x - 1/2)**2 + (y - 1/3)**2)", "x = 0.5, y = 0.333333"),
    ],
)
def test_a_pole_is_found_however_it_is_written(source, place):
    with pytest.raises(SafeNetError) as caught:
        check_finite(plate(source))
    assert caught.value.message.endswith(f"is not finite at {place}")


@pytest.mark.parametrize(
    "source",
    [
        "tan(x)",
        "cot(x*y)",  # at the faces x = 0 and y = 0
        "tan(pi*x/2)",  # at x = 1
        "1/sqrt(x)",
        "1/((x - 1/2)**2 + y**2)",  # at a point of the face y = 0
        "1/(1 + x**2)",
        "1/(x**2 - x + 1/4 + 1/10**6)",  # a peak has a top
        "1/(2 + sin(9*x))",
        "tan(x - y)/(x - y)",
        "(1 - cos(x - 1/2))/(x - 1/2)**2",
    ],
)
def test_a_denominator_without_a_zero_inside_is_none(source):
    check_finite(plate(source))


def test_on_a_region_only_its_points_count():
    ring = """
name = "ring"
unknowns = ["u"]
equations = ["u_xx + u_yy = 1/(x**2 + y**2 - RADIUS)"]
conditions = ["u = 1/x on half", "u = 0 on others"]
[domain]
x = [-1, 1]
y = [-1, 1]
shape = [{ disc = { center = [0, 0], radius = 1 } }]
remove = [{ disc = { center = [0, 0], radius = 0.5, name = "inner" } }]
[pieces]
half = "x > 0.2"
others = "rest"
"""
    check_finite(sn.loads(ring.replace("RADIUS", "0.1")))
    with pytest.raises(SafeNetError, match="is not finite at x ="):
        check_finite(sn.loads(ring.replace("RADIUS", "0.5")))


def test_a_singularity_at_a_node_of_the_cells_is_no_numpy_warning():
    """The middle of eleven Gauss nodes: Newton sees that the step is not finite, and nobody else hears of it."""
    rows = CellRows(rod("u_t = u_xx/(x - 0.5)"), [((0.0, 1.0), (0.0, 1.0))], 6, 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step, norm = rows.solve(*rows.linearise(np.ones(rows.unknowns)))
    assert np.isnan(step).all()
    assert np.isnan(norm)

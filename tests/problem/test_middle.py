"""Even or odd about the middle of an axis: only where equations and all conditions are."""

import pytest

from safenet import library
from safenet.problem import Problem, loads
from safenet.problem.facts.structure import middle_parities


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("burgers", (-1, 0)),
        ("allen-cahn", (1, 0)),
        ("reaction", (1, 0)),
        ("diffusion", (-1, 0)),
        ("heat2d", (-1, 1, 0)),
        ("wave", (0, 0)),  # sin πx is even about 1/2, sin 4πx odd
        ("convection", (0, 0)),  # reflected, it would flow the other way
        ("nh-heat", (0, 0)),
    ],
)
def test_parities_of_the_library(name: str, expected: tuple[int, ...]) -> None:
    assert middle_parities(library.problem(name))["u"] == expected


def heat(initial: str, left: str = "0", right: str = "0", equation: str = "u_t = u_xx") -> Problem:
    return loads(f"""
name = "heat"
unknowns = ["u"]
equations = ["{equation}"]
conditions = ["u(0, t) = {left}", "u(2, t) = {right}", "u(x, 0) = {initial}"]
domain = {{ x = [0, 2], t = [0, 1] }}
""")


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (heat("x*(2 - x)"), 1),
        (heat("(x - 1)*x*(2 - x)"), -1),
        (heat("x**2*(2 - x)"), 0),
        (heat("1 + x*(2 - x)", "1", "1"), 1),
        (heat("x", "0", "2"), 0),  # odd only about the value 1, which is not a parity
        (heat("x - 1", "-1", "1"), -1),
        (heat("x*(2 - x)", equation="u_t = u_xx + x"), 0),
        (heat("x*(2 - x)", equation="u_t = u_xx + cos(pi*x)"), 1),
        (heat("x*(2 - x)", equation="u_t = u_xx + u*u_x"), 0),
        (heat("(x - 1)*x*(2 - x)", equation="u_t = u_xx + u*u_x"), -1),
    ],
)
def test_data_faces_and_equation_must_all_agree(problem: Problem, expected: int) -> None:
    assert middle_parities(problem)["u"] == (expected, 0)


def test_fields_of_a_system_may_differ_in_parity() -> None:
    system = loads("""
name = "acoustics"
unknowns = ["p", "v"]
equations = ["p_t = -v_x", "v_t = -p_x"]
conditions = ["v(-1, t) = 0", "v(1, t) = 0", "p(x, 0) = cos(pi*x)", "v(x, 0) = 0"]
domain = { x = [-1, 1], t = [0, 1] }
""")
    assert middle_parities(system) == {"p": (1, 0), "v": (-1, 0)}

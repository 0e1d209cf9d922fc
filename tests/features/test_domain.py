"""Features read off the conditions: the paper's own lists, up to constant factors, and nothing from the solution."""

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from sympy import Eq, Function, cos, exp, pi, sin

from safenet import library
from safenet.features import domain_expressions, domain_features
from safenet.problem import Problem

x, y, t = (sp.Symbol(name, real=True) for name in "xyt")
u = Function("u")
U, V = u(x, t), u(x, y, t)

HEAT2D = Problem(
    Eq(V.diff(t), V.diff(x, 2) / (500 * pi) ** 2 + V.diff(y, 2) / pi**2),
    domain={x: (0, 1), y: (0, 1), t: (0, 5)},
    conditions=[Eq(V.subs(axis, face), 0) for axis in (x, y) for face in (0, 1)]
    + [Eq(u(x, y, 0), sin(20 * pi * x) * sin(pi * y))],
)
INLET = Problem(
    u(x, y).diff(x, 2) + u(x, y).diff(y, 2),
    domain={x: (0, 4), y: (0, 1)},
    conditions=[Eq(u(0, y), 4 * y * (1 - y)), Eq(u(x, 0), 0), Eq(u(x, 1), 0)],
)


def diffusing(start):
    return Problem(
        Eq(U.diff(t), U.diff(x, 2)), domain={x: (0, 1), t: (0, 1)}, conditions=[Eq(u(x, 0), start)]
    )


def same_up_to_factors(found, expected):
    """Each expected function is a constant multiple of exactly one found, and none is left."""
    left = list(found)
    for function in expected:
        matches = [g for g in left if not sp.simplify(g / function).free_symbols]
        if len(matches) != 1:
            return False
        left.remove(matches[0])
    return not left


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (library.wave(), [sin(pi * x), sin(4 * pi * x)]),
        (library.reaction(), [exp(-((x - pi) ** 2) / (2 * (pi / 4) ** 2))]),
        (library.convection(), [sin(x)]),
        (HEAT2D, [sin(20 * pi * x), sin(pi * y), sin(20 * pi * x) * sin(pi * y)]),
        (library.problem("burgers"), [sin(pi * x)]),
        (library.diffusion(), [sin(pi * x)]),
        (library.problem("allen-cahn"), [x**2, cos(pi * x), x**2 * cos(pi * x)]),
        (INLET, [y * (1 - y), y, 1 - y]),
        (library.nh_heat(), [sin(2 * pi * x), x, cos(pi * t), sin(3 * pi * t)]),
    ],
    ids=[
        "wave",
        "reaction",
        "convection",
        "heat2d",
        "burgers",
        "diffusion",
        "allen-cahn",
        "inlet",
        "nh-heat",
    ],
)
def test_the_papers_features_are_found_in_the_conditions(problem, expected):
    assert same_up_to_factors(domain_expressions(problem), expected)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (pi * (sin(x) + sp.sqrt(2) * cos(x)), [sin(x), cos(x)]),
        (-3 * sin(x) + 5, [sin(x)]),
        (2 * sin(x) + sp.Rational(1, 7) * sin(x) * cos(x), [sin(x), cos(x), sin(x) * cos(x)]),
        (sp.Integer(7), []),
    ],
)
def test_a_sum_gives_its_functions_without_their_factors(start, expected):
    assert same_up_to_factors(domain_expressions(diffusing(start)), expected)


@pytest.mark.parametrize(
    ("equation", "start", "left"),
    [
        ("u_t = u_xx", "where(x < 1/2, 1, 0)*sin(x)", 1),
        ("u_t = u_xx", "min(x, 1 - x)", 0),
        ("u_t = u_xx", "abs(x + 1)", 1),  # smooth in the domain
        ("u_t = u_xx", "max(x - 1/2, 0)**3", 1),
        ("u_t + u_x = 0", "where(x < 1/2, 1, 0)", 0),
        ("u_t + u_x = 0", "abs(x - 1/2)", 1),  # the equation sees where its slope jumps
        ("u_t = -u", "where(x < 1/2, 1, 0)", 1),  # no derivative across the jump
    ],
)
def test_what_jumps_or_bends_unseen_by_the_equation_is_no_feature(equation, start, left):
    problem = Problem(equation, domain={"x": (0, 1), "t": (0, 1)}, conditions=[f"u(x, 0) = {start}"])
    assert len(domain_expressions(problem)) == left


def test_the_exact_solution_is_not_read():
    wave = library.wave()
    blind = Problem(
        [equation.statement for equation in wave.equations],
        domain=wave.bounds,
        conditions=[condition.statement for condition in wave.conditions],
        parameters=wave.parameters,
    )
    assert blind.exact is None
    assert domain_expressions(blind) == domain_expressions(wave)


@pytest.mark.parametrize(
    "problem", [library.problem("allen-cahn"), HEAT2D, library.nh_heat()], ids=lambda p: p.name
)
def test_values_are_those_of_the_expressions(problem):
    features = domain_features(problem)
    point = np.array([0.37, 0.81, 0.44])[: len(problem.axes)]
    at = {axis.symbol: value for axis, value in zip(problem.axes, point, strict=True)}
    expected = [float(expression.evalf(30, subs=at)) for expression in features.expressions]
    assert features.size == len(expected)
    np.testing.assert_allclose(features(jnp.asarray(point)), expected, rtol=1e-13)

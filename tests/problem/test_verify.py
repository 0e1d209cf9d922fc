"""An exact solution scores runs, so it is checked first: right ones are proven, wrong ones are caught."""

from __future__ import annotations

import pytest
import sympy as sp
from sympy import Eq, Function, cos, cosh, exp, log, pi, sech, sin, sqrt, symbols, tanh

from safenet.errors import SafeNetError
from safenet.problem import Problem
from safenet.problem.facts.verify import MAX_TERMS, exact_jet, proven
from safenet.problem.jets import Jet

x, y, t, c, k = symbols("x y t c k")
u, v = Function("u"), Function("v")
U = u(x, t)
UNIT = {x: (0, 1), t: (0, 1)}

WAVE = Problem(
    Eq(U.diff(t, 2), c**2 * U.diff(x, 2)),
    domain=UNIT,
    conditions=[Eq(u(0, t), 0), Eq(u(1, t), 0), Eq(u(x, 0), sin(pi * x)), Eq(U.diff(t).subs(t, 0), 0)],
    parameters={c: 2},
    exact=sin(pi * x) * cos(c * pi * t),
)
SOLITON = Problem(  # Korteweg–de Vries, third order and nonlinear
    Eq(U.diff(t) + 6 * U * U.diff(x) + U.diff(x, 3), 0),
    domain={x: (-5, 5), t: (0, 1)},
    conditions=[Eq(u(x, 0), 2 * sech(x) ** 2)],
    exact=2 * sech(x - 4 * t) ** 2,
)
ROTATION = Problem(
    [Eq(u(t).diff(t), v(t)), Eq(v(t).diff(t), -u(t))],
    domain={t: (0, 1)},
    conditions=[Eq(u(0), 0), Eq(v(0), 1)],
    exact={u: sin(t), v: cos(t)},
)
BEAM = Problem(
    Eq(u(x).diff(x, 4), 24),
    domain={x: (0, 1)},
    conditions=[Eq(u(0), u(1)), Eq(u(x).diff(x, 2).subs(x, 0), 2)],
    exact=x**2 * (x - 1) ** 2,
)


@pytest.mark.parametrize("problem", [WAVE, SOLITON, ROTATION, BEAM], ids=["wave", "kdv", "rotation", "beam"])
def test_small_examples_are_proven(problem: Problem) -> None:
    assert proven(problem)


def test_proven_is_not_fooled_by_numbers() -> None:
    # 1e-9·x passes the numerical test (its tolerance is 1e-8) and is no solution.
    almost = Problem(Eq(u(x).diff(x), 1), domain={x: (0, 1)}, exact=x + sp.Rational(1, 10**9) * x)
    assert not proven(almost)


@pytest.mark.parametrize(
    ("exact", "relation"),
    [
        (sin(pi * x) * cos(3 * pi * t), "equation 1"),
        (sin(pi * x) * cos(2 * pi * t) + sp.Rational(1, 1000), "condition 1"),
        (sin(pi * x) * cos(2 * pi * t) + x / 1000, "condition 2"),
        (2 * sin(pi * x) * cos(2 * pi * t), "condition 3"),
        (sin(pi * x) * (cos(2 * pi * t) + sin(2 * pi * t) / 100), "condition 4"),
    ],
)
def test_a_wrong_solution_is_caught_at_the_relation_it_fails(exact: sp.Expr, relation: str) -> None:
    with pytest.raises(SafeNetError, match=f"does not satisfy {relation}: ") as caught:
        WAVE._copy(exact=exact)
    assert "its terms are" in caught.value.remedy


def test_the_terms_of_a_product_of_sums_are_named_one_by_one() -> None:
    with pytest.raises(SafeNetError) as caught:
        Problem((u(x).diff(x) - 1) * (u(x) + 2), domain={x: (1, 2)}, exact=2 * x)
    for term in ("u*u_x →", "-u →", "2*u_x →", "-2 →"):
        assert term in caught.value.remedy


def test_a_product_of_many_sums_is_not_multiplied_out() -> None:
    factors = [u(x) + symbols(f"k{i}") for i in range(40)]
    parameters = {symbols(f"k{i}"): 1 for i in range(40)}
    equation = (u(x).diff(x) - 1) * sp.Mul(*factors)
    assert MAX_TERMS < 2**41
    assert Problem(equation, domain={x: (0, 1)}, parameters=parameters, exact=x).exact is not None


@pytest.mark.parametrize(
    ("equation", "where", "exact"),
    [
        (u(x).diff(x) - 1 / x, [Eq(u(0), 0)], log(x)),  # −∞ at the place of the condition
        (u(x).diff(x) - u(x).diff(x, 2), [], sqrt(x - 2)),  # nan in the whole domain
        (u(x).diff(x) - u(x), [Eq(u(0), 1)], exp(x) + 0 * x + sqrt(x - sp.Rational(1, 2)) * 0.001),  # in half
        (u(x).diff(x) - u(x), [], exp(exp(exp(10 * x)))),  # overflow
        (u(x).diff(x) - u(x), [], 1 / (x - x**2) - 1 / (x - x**2) + tanh(1 / cosh(800 * x)) / 0.001),
    ],
)
def test_nan_and_infinity_never_pass(equation: sp.Expr, where: list[Eq], exact: sp.Expr) -> None:
    with pytest.raises(SafeNetError, match="does not satisfy"):
        Problem(equation, domain={x: (0, 1)}, conditions=where, exact=exact)


def test_parameters_are_numbers_in_the_check() -> None:
    assert WAVE.with_parameters(c=3).exact is not None
    decay = Problem(
        Eq(u(t).diff(t), -k * u(t)),
        domain={t: (0, 1)},
        conditions=[Eq(u(0), 1)],
        exact=exp(-3 * t),
        parameters={k: 3},
    )
    with pytest.raises(SafeNetError, match="does not satisfy equation 1"):
        decay.with_parameters(k=2)


def test_jets_of_the_exact_solution_at_a_place() -> None:
    half = sp.Rational(1, 2)
    jet = exact_jet(WAVE, Jet("u", (1, 1), (half, None)))
    real_x, real_t = (axis.symbol for axis in WAVE.axes)
    assert jet == sp.diff(sin(pi * real_x) * cos(2 * pi * real_t), real_x, real_t).subs(real_x, half)


def test_terms_that_come_up_twice_are_counted_twice():
    """(2 − a)/r + (2 − b)/r has 2/r twice: as one of them the sum would not vanish."""
    y = sp.Symbol("y")
    exact = sp.log((x - 2) ** 2 + (y - 2) ** 2)
    source = sp.diff(exact, x, 2) + sp.diff(exact, y, 2)
    v = sp.Function("v")(x, y)
    Problem(sp.Eq(v.diff(x, 2) + v.diff(y, 2), source), domain={x: (0, 1), y: (0, 1)}, exact={"v": exact})

"""Formulas in pieces: read from text and SymPy, computed, differentiated, written and read again."""

from __future__ import annotations

import warnings
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from sympy import And, Eq, Function, Ne, Or, Piecewise, Rational, symbols

from safenet.errors import SafeNetError
from safenet.problem import Problem, loads
from safenet.problem.evaluate import evaluate
from safenet.problem.language.text import Names, parse_expression
from safenet.problem.language.where import Where, without_piecewise

x, t = symbols("x t", real=True)
HALF = Rational(1, 2)
NAMES = Names(("x", "t"), ("u",), ("c",))
# Both sides of every jump below, and the jumps themselves.
POINTS = np.array([-1.0, 0.0, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0])


def read(text: str) -> sp.Expr:
    return parse_expression(text, NAMES, "f")


# The text, the same in SymPy, and the same in Python, point by point.
FORMS = {
    "interval": (
        "where(1/5 < x <= 2/5, 1, 0)",
        Piecewise((1, And(x > Rational(1, 5), x <= Rational(2, 5))), (0, True)),
        lambda z: 1.0 if 0.2 < z <= 0.4 else 0.0,
    ),
    "outside": (
        "where(x <= 1/5 or x > 2/5, x, -x)",
        Piecewise((x, Or(x <= Rational(1, 5), x > Rational(2, 5))), (-x, True)),
        lambda z: z if z <= 0.2 or z > 0.4 else -z,
    ),
    "three pieces": (
        "where(x < 0, -1, where(x >= 1/2, x**2, 0))",
        Piecewise((-1, x < 0), (x**2, x >= HALF), (0, True)),
        lambda z: -1.0 if z < 0 else z**2 if z >= 0.5 else 0.0,
    ),
    "a root of its own side": (
        "where(x > 0, sqrt(x), 0)",
        Piecewise((sp.sqrt(x), x > 0), (0, True)),
        lambda z: np.sqrt(z) if z > 0 else 0.0,
    ),
    "both sides named": (
        "where(x < 1/2, 1, 2)",
        Piecewise((1, x < HALF), (2, x >= HALF)),
        lambda z: 1.0 if z < 0.5 else 2.0,
    ),
    "a hole filled": (
        "where(x < 0 or x > 0, sin(x)/x, 1)",
        Piecewise((sp.sin(x) / x, Ne(x, 0)), (1, True)),
        lambda z: np.sinc(z / np.pi),
    ),
    "step": ("heaviside(x - 1/2)", sp.Heaviside(x - HALF), lambda z: np.heaviside(z - 0.5, 0.5)),
    "step that is 1 at 0": ("heaviside(x, 1)", sp.Heaviside(x, 1), lambda z: float(z >= 0)),
    "sign": ("sign(x - 1/2)", sp.sign(x - HALF), lambda z: np.sign(z - 0.5)),
    "angle": ("atan2(x, -1)", sp.atan2(x, -1), lambda z: np.arctan2(z, -1.0)),
    "extremes": ("max(x, min(1/2, x**2))", sp.Max(x, sp.Min(HALF, x**2)), lambda z: max(z, min(0.5, z * z))),
    "modulus": ("abs(x - 1/2)", sp.Abs(x - HALF), lambda z: abs(z - 0.5)),
}


@pytest.mark.parametrize("xp", [np, jnp], ids=["numpy", "jax"])
@pytest.mark.parametrize("name", FORMS)
def test_text_and_sympy_have_the_values_of_plain_python(name: str, xp: ModuleType) -> None:
    text, symbolic, plain = FORMS[name]
    wanted = [plain(z) for z in POINTS]
    for expression in (read(text), without_piecewise(symbolic)):
        with warnings.catch_warnings():
            # sin(x)/x where x is 0 is not asked for, and not warned about.
            warnings.simplefilter("error")
            values = evaluate(expression, {x: xp.asarray(POINTS)}, xp)
        np.testing.assert_allclose(np.broadcast_to(values, POINTS.shape), wanted, rtol=1e-14)


@pytest.mark.parametrize("name", FORMS)
def test_a_problem_with_it_as_coefficient_and_data_is_written_and_read(name: str) -> None:
    text, symbolic, _ = FORMS[name]
    u, X, T = Function("u"), *symbols("x t")
    formula = symbolic.xreplace({x: X})
    stated = Problem(
        Eq(u(X, T).diff(T), formula * u(X, T).diff(X, 2)),
        domain={X: (-1, 1), T: (0, 1)},
        conditions=[Eq(u(X, 0), formula)],
    )
    assert loads(stated.toml()) == stated
    assert stated.linear
    file = f"""
        unknowns = ["u"]
        equations = ["u_t = ({text})*u_xx"]
        conditions = ["u(x, 0) = {text}"]
        domain = {{ x = [-1, 1], t = [0, 1] }}
    """
    problem = loads(file)
    assert loads(problem.toml()) == problem
    (condition,) = problem.conditions
    at = {x: POINTS, next(iter(condition.jets)): 0.0}
    for form in (condition.residual, stated.conditions[0].residual):
        np.testing.assert_allclose(-evaluate(form, at, np), [FORMS[name][2](z) for z in POINTS], rtol=1e-14)


# ---- derivatives


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("where(x < 1/2, x, 1 - x)", "where(x < 1/2, 1, -1)"),
        ("where(t < 1/2, sin(x), x**2)", "where(t < 1/2, cos(x), 2*x)"),
        ("where(x + t > 1, (x + t - 1)**2, 0)", "where(x + t > 1, 2*(x + t - 1), 0)"),
        ("max(x, t)", "heaviside(x - t)"),
        ("abs(x - t)", "sign(x - t)"),
        ("atan2(x, t)", "t/(x**2 + t**2)"),
    ],
)
def test_what_is_continuous_has_the_slopes_of_its_pieces(text: str, slope: str) -> None:
    derivative = read(text).diff(x)
    points = jnp.asarray([-0.4, 0.2, 0.6, 0.9])
    grad = jax.vmap(jax.grad(lambda z: evaluate(read(text), {x: z, t: jnp.asarray(0.3)}, jnp)))
    for form in (derivative, read(slope)):
        values = evaluate(form, {x: points, t: jnp.asarray(0.3)}, jnp)
        np.testing.assert_allclose(values, grad(points), rtol=1e-12)


@pytest.mark.parametrize("text", ["where(x < 1/2, 1, 0)", "heaviside(x)", "sign(x)", "where(x < t, x, 2)"])
def test_a_jump_is_not_forgotten_by_its_derivative(text: str) -> None:
    assert read(text).diff(x).has(sp.DiracDelta)
    u, X = Function("u"), symbols("x")
    flux = read(text).xreplace({x: X, t: 1}) * u(X).diff(X)
    with pytest.raises(SafeNetError, match="cannot compute DiracDelta") as caught:
        Problem(Eq(sp.Derivative(flux, X), 0), domain={X: (-1, 1)})
    assert "a jump has no slope" in caught.value.remedy


# ---- what cannot be


@pytest.mark.parametrize(
    "formula", ["sign(u)", "heaviside(u - x)", "where(u > 0, 1, 2)", "where(x < u_x, u, 0)"]
)
def test_a_jump_in_the_unknown_is_refused(formula: str) -> None:
    text = f"unknowns = ['u']\nequations = ['u_x = {formula}']\ndomain = {{ x = [0, 1] }}"
    with pytest.raises(
        SafeNetError, match=r"line 2: equation 1 .* contains a jump whose place depends"
    ) as caught:
        loads(text)
    assert "tanh" in caught.value.remedy


@pytest.mark.parametrize(
    "formula", ["abs(u)", "max(u, 0)", "where(u > 0, u**2, 0)", "where(x < 1/2, u, u**3)"]
)
def test_a_kink_in_the_unknown_is_a_nonlinear_equation(formula: str) -> None:
    text = f"unknowns = ['u']\nequations = ['u_x = {formula}']\ndomain = {{ x = [0, 1] }}"
    assert not loads(text).linear


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        (Piecewise((1, x < HALF)), "does not say what holds elsewhere"),
        (Piecewise((1, x < HALF), (2, x > HALF)), "does not say what holds elsewhere"),
        (Piecewise((1, sp.Xor(x < HALF, t < HALF)), (0, True)), "cannot tell where"),
    ],
    ids=["one piece", "a point left out", "exclusive or"],
)
def test_pieces_that_say_too_little_are_refused(formula: sp.Expr, message: str) -> None:
    u = Function("u")
    with pytest.raises(SafeNetError, match=message) as caught:
        Problem(Eq(u(x, t).diff(t), formula), domain={x: (0, 1), t: (0, 1)}, conditions=[Eq(u(x, 0), 0)])
    assert "(value, True)" in caught.value.remedy


def test_a_parameter_may_decide_a_piece() -> None:
    where = Where(symbols("c", real=True) - x, sp.Integer(1), sp.Integer(0))
    assert where.subs(symbols("c", real=True), 2).subs(x, 1) == 1
    assert Where(x, t, t) == t


@pytest.mark.parametrize(
    "text", ["where(u > 0, sqrt(u), 0)", "where(u > 0, u*log(u), u)", "where(u < 1/2, 1, 1/u)"]
)
def test_the_gradient_knows_nothing_of_the_piece_that_does_not_hold(text: str) -> None:
    formula = parse_expression(text, Names((), (), ("u",)), "a test")
    (symbol,) = formula.free_symbols
    at = np.array([-1.0, 0.0, 0.25, 2.0])
    slopes = jax.grad(lambda u: jnp.sum(evaluate(formula, {symbol: u}, jnp)))(jnp.asarray(at))
    with warnings.catch_warnings(action="error"):
        h = 1e-6
        for i in (0, 2, 3):
            up, down = (float(evaluate(formula, {symbol: at[i] + s * h}, np)) for s in (1, -1))
            assert float(slopes[i]) == pytest.approx((up - down) / (2 * h), abs=1e-6)
    assert np.isfinite(slopes).all()

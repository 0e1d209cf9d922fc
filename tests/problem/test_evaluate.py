"""Array arithmetic against SymPy's own digits: every function, every form of power, NumPy and JAX."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

from safenet.errors import SafeNetError
from safenet.problem.evaluate import COMPOSED, UNARY, computable, constant, evaluate

x, y = sp.symbols("x y", real=True)
N = 25


def points(low: float, high: float) -> np.ndarray:
    return np.random.default_rng(3).uniform(low, high, N)


def digits(expression: sp.Expr, values: np.ndarray, others: np.ndarray | float = 0.7) -> np.ndarray:
    """SymPy's evalf with 30 digits, point by point: an arithmetic that shares nothing with NumPy's."""
    pairs = np.broadcast_arrays(values, others)
    exact = [
        expression.subs({x: sp.Rational(float(a)), y: sp.Rational(float(b))})
        for a, b in zip(*pairs, strict=True)
    ]
    return np.array([float(value.evalf(30)) for value in exact])


def backends() -> list[tuple[ModuleType, float]]:
    # JAX as it starts (float32) and NumPy; XLA's float32 functions keep about six digits.
    return [(np, 1e-13), (jnp, 2e-5)]


SMALL = (sp.asin, sp.acos)
POSITIVE = (sp.log,)


@pytest.mark.parametrize(("xp", "tolerance"), backends(), ids=["numpy", "jax"])
@pytest.mark.parametrize("function", [*UNARY, *COMPOSED], ids=lambda f: f.__name__)
def test_every_function(function: type[sp.Function], xp: ModuleType, tolerance: float) -> None:
    low = 0.1 if function in POSITIVE else -0.9
    values = points(low, 0.9 if function in SMALL else 1.4)
    got = evaluate(function(x), {x: xp.asarray(values)}, xp)
    np.testing.assert_allclose(got, digits(function(x), values), rtol=tolerance)


@pytest.mark.parametrize(("xp", "tolerance"), backends(), ids=["numpy", "jax"])
@pytest.mark.parametrize(
    "expression",
    [
        x**2,
        x**-3,
        x**5,
        x**64,
        (x**2 + 1) ** -64,
        x**66,
        sp.sqrt(x**2 + 1),
        1 / sp.sqrt(x**2 + 1),
        (x**2 + 1) ** sp.Rational(1, 3),
        (x**2 + 1) ** sp.Rational(-5, 2),
        (x**2 + y) ** (x + y),
        sp.exp(x * y),
        2**x,
        sp.pi ** (x * y),
        sp.sqrt(2) * x + sp.pi * y - sp.Rational(1, 3),
        sp.Max(x, y, sp.Rational(1, 2)),
        sp.Min(x, y, -x),
        sp.sin(x * y) ** 2 / (1 + x**2) - x * sp.sin(x * y),
        3 * x * y**2,
    ],
    ids=str,
)
def test_every_form_of_power_and_product(expression: sp.Expr, xp: ModuleType, tolerance: float) -> None:
    values, others = points(-1.5, 1.5), points(0.2, 1.0)
    got = evaluate(expression, {x: xp.asarray(values), y: xp.asarray(others)}, xp)
    wanted = digits(expression, values, others)
    # x**64 in float32 multiplies a rounding error by 64.
    np.testing.assert_allclose(got, wanted, rtol=tolerance * 20, atol=tolerance * 1e-2)


def test_integer_powers_of_negative_numbers_are_real_and_differentiable_at_zero() -> None:
    for power in (1, 2, 3, 4, 7, 64, 65, 100, -1, -2, -63, -64, -65):
        assert evaluate(x**power, {x: np.float64(-1.0)}, np) == (-1) ** power
    slope = jax.grad(lambda z: evaluate(x**3 - x**2 + 2 * x, {x: z}, jnp))
    assert slope(0.0) == 2.0
    assert jax.grad(lambda z: evaluate(x**2, {x: z}, jnp))(0.0) == 0.0


def test_derivatives_of_the_jax_form_agree_with_sympy() -> None:
    expression = sp.sin(3 * x) * sp.exp(-(x**2)) + sp.tanh(x) ** 3 / (2 + sp.cos(x))
    values = points(-1, 1)
    slopes = jax.vmap(jax.grad(lambda z: evaluate(expression, {x: z}, jnp)))(jnp.asarray(values))
    np.testing.assert_allclose(slopes, digits(expression.diff(x), values), rtol=1e-3, atol=1e-5)


def test_jax_keeps_its_precision_and_traces() -> None:
    expression = sp.pi * x + sp.sqrt(2)
    single = evaluate(expression, {x: jnp.ones(2, jnp.float32)}, jnp)
    assert single.dtype == jnp.float32
    compiled = jax.jit(lambda z: evaluate(expression, {x: z}, jnp))
    np.testing.assert_allclose(compiled(jnp.ones(2)), np.full(2, np.pi + np.sqrt(2)), rtol=1e-6)


def test_shared_parts_are_computed_once() -> None:
    calls: list[int] = []

    class Counting:
        """NumPy that counts its sines."""

        sin = staticmethod(lambda z: calls.append(1) or np.sin(z))

    shared = sp.sin(x)
    evaluate(shared**2 + shared**3 + 1 / shared, {x: np.ones(2)}, Counting)  # type: ignore[arg-type]
    assert len(calls) == 1


def test_constants_alone_are_plain_numbers() -> None:
    assert evaluate(sp.Rational(1, 3) + sp.sqrt(2), {}, np) == pytest.approx(1 / 3 + np.sqrt(2), rel=1e-15)
    # Cancellation that float64 alone would lose: SymPy's digits are used.
    assert constant(sp.cosh(30) - sp.sinh(30)) == pytest.approx(np.exp(-30), rel=1e-14)
    assert constant(1 / sp.cosh(1000)) == 0.0
    assert constant(sp.Integer(10) ** 300) == 1e300


@pytest.mark.parametrize(
    "number",
    [
        sp.sqrt(-2),
        sp.log(-1),
        sp.Integer(-8) ** sp.Rational(1, 3),
        sp.zoo,
        sp.nan,
        sp.oo,
        sp.I,
        sp.Integer(10) ** 400,
        sp.exp(1000),
        sp.exp(sp.exp(99)),
        sp.sin(sp.exp(sp.exp(sp.exp(99)))),
    ],
    ids=lambda n: str(n)[:20],
)
def test_what_float64_cannot_hold_is_refused_at_once(number: sp.Expr) -> None:
    with pytest.raises(SafeNetError, match="is not a real number that float64 can hold"):
        evaluate(number, {}, np)


@pytest.mark.parametrize("build", [sp.gamma, sp.erf, sp.DiracDelta])
def test_an_unknown_function_is_named(build: Callable[[sp.Expr], sp.Expr]) -> None:
    with pytest.raises(SafeNetError, match=f"cannot compute {build(x).func.__name__}") as caught:
        evaluate(1 + build(x), {x: np.ones(3)}, np)
    assert ("a jump has no slope" if build is sp.DiracDelta else "sin") in caught.value.remedy


def test_the_slope_of_min_is_a_step_and_that_of_a_step_is_refused() -> None:
    slope = sp.Min(x, 0).diff(x)
    for module in (np, jnp):
        np.testing.assert_array_equal(evaluate(slope, {x: module.asarray([-2.0, 3.0])}, module), [1.0, 0.0])
    computable(slope)
    with pytest.raises(SafeNetError, match="cannot compute DiracDelta"):
        computable(slope.diff(x))


def test_a_symbol_without_a_value_is_named() -> None:
    with pytest.raises(SafeNetError, match="the symbol y has no value in x"):
        evaluate(x * y, {x: 1.0}, np)

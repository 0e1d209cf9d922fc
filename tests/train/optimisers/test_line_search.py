"""The line search against the functions it was made to master, and against rounding."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from safenet.train.optimisers.line_search import Sample, cubic_minimum, line_search, product
from safenet.train.optimisers.status import evaluate


class OneDimensional(eqx.Module):
    """φ of one number, as an objective."""

    def phi(self, a):
        raise NotImplementedError

    def __call__(self, theta):
        total = self.phi(theta[0])
        return total, total[None]

    def rows(self, theta):
        raise NotImplementedError

    def normal_equations(self, theta):
        raise NotImplementedError


class MoreThuente(OneDimensional):
    """The test functions of Moré and Thuente (1994), numbers 1, 2, 4 and 6, lifted by a constant."""

    which: int = eqx.field(static=True)
    lift: jax.Array

    def phi(self, a):
        if self.which == 1:
            return self.lift - a / (a**2 + 2)
        if self.which == 2:
            return self.lift + (a + 0.004) ** 5 - 2 * (a + 0.004) ** 4
        b, c = {4: (0.001, 0.001), 6: (0.001, 0.01)}[self.which]
        root = [math.sqrt(1 + x**2) - x for x in (b, c)]
        return self.lift + root[0] * jnp.sqrt((1 - a) ** 2 + c**2) + root[1] * jnp.sqrt(a**2 + b**2)


class Constant(OneDimensional):
    """φ = 1 with the slope −1 that it does not have."""

    def phi(self, a):
        return 1 - a + jax.lax.stop_gradient(a)


class Rising(OneDimensional):
    """1 + 1e-5 a, which in float32 may be rounding, with the slope of 1e-6 (a − 1)²."""

    def phi(self, a):
        falls = 1e-6 * (a - 1) ** 2
        return jax.lax.stop_gradient(1 + 1e-5 * a - falls) + falls


# At the best loss of the run, and above it by more than rounding.
BESTS = np.float32([1, 1 - 1e-3])


@eqx.filter_jit
def searched(objective, first, best=None):
    theta = jnp.zeros(1, first.dtype)
    here = evaluate(objective, theta)
    return line_search(
        objective, theta, here, here.total if best is None else best, jnp.ones_like(theta), first
    )


def slope(objective, alpha):
    return jax.grad(objective.phi)(alpha)


@pytest.mark.parametrize("which", [1, 2, 4, 6])
def test_more_and_thuentes_functions_are_mastered_from_any_first_step(which):
    objective = MoreThuente(which, jnp.asarray(0.0))
    zero = jnp.asarray(0.0)
    for first in (1e-3, 1e-1, 1.0, 10.0, 1e3):
        found = searched(objective, jnp.asarray(first))
        alpha = found.low.alpha
        assert objective.phi(alpha) <= objective.phi(zero) + 1e-4 * alpha * slope(objective, zero)
        assert abs(slope(objective, alpha)) <= 0.9 * abs(slope(objective, zero))
        assert bool(found.done)
        assert bool(found.found)
        assert int(found.count) <= (14 if which == 2 else 6)  # number 2 starts with a slope of −5e-7


@pytest.mark.parametrize("which", [1, 4])
def test_a_constant_that_swallows_every_digit_is_seen_through(which):
    # φ varies by less than 1, and 1e8 in float32 has a rounding of 8: all values are the same number.
    objective = MoreThuente(which, jnp.asarray(1e8, jnp.float32))
    for first in (1e-1, 1.0, 10.0):
        found = searched(objective, jnp.asarray(first, jnp.float32))
        assert float(found.evaluation.total) == 1e8
        assert bool(found.found)
        alphas = found.low.alpha, jnp.zeros((), jnp.float32)
        slopes = [abs(float(slope(objective, alpha))) for alpha in alphas]
        assert slopes[0] <= 0.9 * slopes[1] * (1 + 1e-6)


def test_a_slope_that_never_changes_is_not_believed_against_the_values():
    found = searched(Constant(), jnp.asarray(1e-3, jnp.float32))
    assert not bool(found.found)


def test_no_step_ends_visibly_above_the_best_loss():
    found = [searched(Rising(), jnp.asarray(1.0, jnp.float32), jnp.asarray(best)) for best in BESTS]
    assert [bool(search.found) for search in found] == [True, False]


def test_cubic_minimum_is_exact_for_a_cubic():
    def sample(x):  # (x − 1)² (x + 2) has its minimum at 1
        return Sample(*(jnp.asarray(v) for v in (x, (x - 1) ** 2 * (x + 2), 3 * x**2 - 3)))

    for a, b in ((0.0, 3.0), (3.0, 0.0), (-0.5, 0.7), (0.7, -0.5)):
        np.testing.assert_allclose(cubic_minimum(sample(a), sample(b)), 1, rtol=1e-13)


def test_products_keep_what_single_precision_would_cancel():
    a = jnp.asarray([1e8, 1.0, -1e8], jnp.float32)
    assert float(product(a, jnp.ones(3, jnp.float32))) == 1
    assert product(a, a).dtype == jnp.float32


class StiffBeside(OneDimensional):
    """½·1e8·θ₀²: the minimum along −g is 1e-6 away, far below the rounding of another component of size 100."""

    def phi(self, a):
        return 0.5e8 * a**2


def test_a_large_component_does_not_hide_the_step_of_a_small_one():
    theta = jnp.array([1e-6, 100.0], jnp.float32)
    here = evaluate(StiffBeside(), theta)
    search = line_search(StiffBeside(), theta, here, here.total, -here.gradient, jnp.float32(1e-2))
    assert search.found
    assert search.evaluation.total < 0.01 * here.total

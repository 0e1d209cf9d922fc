"""With a parity, a basis is the even or odd half of the whole one, and half of the axis says everything."""

import numpy as np
import pytest

from safenet.fields.basis import AxisBasis
from safenet.fields.series import LinearForm
from safenet.measure.rows.series import widen

LOWER, UPPER = -0.5, 1.5
KINDS = ("fourier", "periodic", "sine", "cosine", "chebyshev")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parity", [1, -1])
def test_every_function_has_the_parity(kind: str, parity: int) -> None:
    basis = AxisBasis(kind, 6, LOWER, UPPER, parity)
    x = np.linspace(LOWER, UPPER, 17)
    mirrored = basis(LOWER + UPPER - x)
    np.testing.assert_allclose(mirrored, parity * basis(x), atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_the_halves_together_are_the_whole(kind: str) -> None:
    whole, even, odd = (AxisBasis(kind, 7, LOWER, UPPER, parity) for parity in (0, 1, -1))
    assert even.size + odd.size == whole.size
    x = np.linspace(LOWER, UPPER, 40)
    halves = np.hstack([even(x, 1), odd(x, 1)])
    order_a, order_b = np.lexsort(halves[:3]), np.lexsort(whole(x, 1)[:3])
    np.testing.assert_allclose(halves[:, order_a], whole(x, 1)[:, order_b], atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parity", [1, -1])
def test_half_of_the_nodes_integrate_products_as_all_of_them(kind: str, parity: int) -> None:
    basis = AxisBasis(kind, 5, LOWER, UPPER, parity)
    x, w = basis.nodes(40)
    assert x.max() < (LOWER + UPPER) / 2
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    full_x, full_w = AxisBasis(kind, 5, LOWER, UPPER).nodes(80)
    half_gram = basis(x).T @ (w[:, None] * basis(x))
    np.testing.assert_allclose(half_gram, basis(full_x).T @ (full_w[:, None] * basis(full_x)), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parity", [0, 1, -1])
def test_widening_keeps_the_function(kind: str, parity: int) -> None:
    small, large = AxisBasis(kind, 4, LOWER, UPPER, parity), AxisBasis(kind, 9, LOWER, UPPER, parity)
    amplitudes = np.random.default_rng(0).normal(size=small.size)
    widened = widen(LinearForm((amplitudes,), ((small,),)), ((large,),))
    x = np.linspace(LOWER, UPPER, 23)
    np.testing.assert_allclose(large(x) @ widened, small(x) @ amplitudes, atol=1e-12)

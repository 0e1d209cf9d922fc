"""A network on a region of the plane: its estimated error against the true one, and where there is none."""

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import safenet as sn
from safenet.measure import added
from safenet.measure.estimate import estimated
from safenet.measure.heldout import interior_points
from safenet.measure.thresholds import HARDLY, ROUGH
from safenet.problem import Box, Disc, On, Problem
from safenet.run.budget import Budget, SpentError
from scoring import l2re

x, y = sp.symbols("x y")
u = sp.Function("u")(x, y)


def poisson(exact, shape, more=0, known=None):
    """Δu + more u = known with the values of `exact` on the boundary."""
    known = exact.diff(x, 2) + exact.diff(y, 2) + more * exact if known is None else known
    return Problem(
        sp.Eq(u.diff(x, 2) + u.diff(y, 2) + more * u, known),
        domain={x: (-1, 1), y: (-1, 1)},
        shape=shape,
        pieces={"rim": "rest"},
        conditions=[On("rim", sp.Eq(u, exact))],
        exact=exact,
    )


DISC = Disc((0, 0), 1)
BENT = Box(x=(-1, 1), y=(-1, 1)) - Box(x=(0, 1), y=(-1, 0))
SMOOTH = poisson(sp.exp(x) * (1 + y**2), DISC)


def network(fault):
    """The solution of SMOOTH and a wave that is wrong by `fault`."""

    def value(point):
        a, b = point
        return (jnp.exp(a) * (1 + b**2) + fault * jnp.sin(3 * a + 2 * b))[None]

    return value


@pytest.mark.parametrize("shape", [DISC, BENT, DISC - Disc((0.2, 0), 0.3)], ids=["disc", "bent", "hole"])
@pytest.mark.parametrize("fault", [1e-2, 1e-7])
def test_it_is_near_the_true_error(shape, fault):
    problem = poisson(sp.exp(x) * (1 + y**2), shape)
    found = estimated(problem, network(fault))
    assert found.error == pytest.approx(l2re(problem, network(fault)), rel=0.1)
    assert found.left < 0.01
    assert found.seen > 1e-3


def test_at_rounding_it_is_rounding():
    assert estimated(SMOOTH, network(0.0)).error < 1e-14


def products(points):
    """Chebyshev polynomials to degree 12 along each axis."""
    tables = [jnp.cos(jnp.arange(13.0) * jnp.arccos(points[..., [i]] / 1.1)) for i in range(2)]
    return (tables[0][..., :, None] * tables[1][..., None, :]).reshape(*points.shape[:-1], -1)


@pytest.mark.slow
def test_at_a_corner_that_turns_inwards():
    """r^(2/3) sin(2θ/3) is not smooth there, and its best polynomial, like a network, is."""
    angle = sp.atan2(-x - y, y - x) + sp.pi * sp.Rational(3, 4)
    exact = (x**2 + y**2) ** sp.Rational(1, 3) * sp.sin(2 * angle / 3)
    problem = poisson(exact, BENT, known=0)
    points = interior_points(problem, 4096)
    truth = sp.lambdify((x, y), exact, "numpy")(*points.T)
    amplitudes = np.linalg.lstsq(np.asarray(products(jnp.asarray(points))), truth, rcond=1e-9)[0]

    def smooth(point):
        return (products(point) @ amplitudes)[None]

    found = estimated(problem, smooth)
    assert 1e-3 < l2re(problem, smooth) < 1e-2
    assert 0.2 < found.error / l2re(problem, smooth) < 5


def test_in_time_too():
    problem = sn.loads("""
name = "heat"
unknowns = ["u"]
equations = ["u_t = u_xx + u_yy + exp(-t)*sin(x)*cos(y)"]
conditions = ["u = exp(-t)*sin(x)*cos(y) on rim", "u(x, y, 0) = sin(x)*cos(y)"]
[exact]
u = "exp(-t)*sin(x)*cos(y)"
[domain]
x = [-1, 1]
y = [-1, 1]
t = [0, 1]
shape = [{ disc = { center = [0, 0], radius = 1 } }]
[pieces]
rim = "rest"
""")

    def off(point):
        a, b, t = point
        return (jnp.exp(-t) * jnp.sin(a) * jnp.cos(b) + 1e-4 * jnp.sin(3 * a + 2 * b + 2 * t))[None]

    assert estimated(problem, off).error == pytest.approx(l2re(problem, off), rel=0.1)


def test_a_correction_that_has_not_settled_says_or_more(monkeypatch):
    monkeypatch.setattr(added, "PLANE_MOST", 0)
    assert estimated(SMOOTH, network(1e-2)).left >= 1


def test_it_asks_the_clock():
    with pytest.raises(SpentError):
        estimated(SMOOTH, network(1e-2), clock=Budget(1e-9, found=True))


ROOT = 2.404825557695773  # J₀ is zero there


@pytest.mark.parametrize(("number", "hidden"), [(ROOT**2, True), (1.01 * ROOT**2, False)])
def test_an_eigenfunction_that_nothing_sees(number, hidden):
    """Δu + λu = f on a disc, λ its first eigenvalue: a tenth of J₀ is wrong, and no equation knows."""
    problem = poisson(x**2 + y**2 - 1, DISC, more=sp.Float(number))
    terms = [(-1) ** m * (ROOT / 2) ** (2 * m) / float(sp.factorial(m)) ** 2 for m in range(20)]

    def off(point):
        square = point @ point
        return (square - 1 + 0.1 * jnp.polyval(jnp.array(terms[::-1]), square))[None]

    found = estimated(problem, off)
    assert (found.seen < HARDLY and found.left > ROUGH) is hidden
    assert hidden or 0.5 < found.error / l2re(problem, off) < 2


@pytest.mark.filterwarnings("ignore::safenet.SafeNetWarning")
def test_cells_see_what_a_condition_leaves_free():
    """u_x on the rim and one value: multiples of y are left."""
    problem = Problem(
        sp.Eq(u.diff(x, 2) + u.diff(y, 2), 4),
        domain={x: (-1, 1), y: (-1, 1)},
        shape=DISC,
        pieces={"rim": "rest"},
        conditions=[On("rim", sp.Eq(u.diff(x), 2 * x)), sp.Eq(u.subs({x: 0, y: 0}), 0)],
    )
    result = sn.solve(problem, sn.Cells(unknowns=2000), monitor=sn.Monitor()).result
    assert result.outcome == "not solved"
    assert result.estimate is None


def test_a_network_is_asked_in_blocks_of_one_size():
    sizes = set()

    class Counted:
        def jets(self, points, orders):
            sizes.add(len(points))
            return {order: np.zeros((len(points), 1)) for order in orders}

    blocks = added.Blocks(Counted(), ((0, 0), (2, 0)))
    assert blocks.jets(np.zeros((3000, 2)), [(0, 0)])[0, 0].shape == (3000, 1)
    assert blocks.jets(np.zeros((7, 2)), [(2, 0)])[2, 0].shape == (7, 1)
    assert sizes == {added.BLOCK}

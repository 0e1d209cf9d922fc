"""Of two solutions the better one is kept, also where data that jump leave both with the same worst residual."""

import numpy as np
import pytest
from scipy.special import ndtr

import safenet as sn
from safenet.measure.heldout import HeldOut
from safenet.problem import loads


@pytest.mark.parametrize(
    ("one", "other", "better"),
    [
        (HeldOut((1e-3,), (1e-8,)), HeldOut((1e-2,), (1e-15,)), True),  # by the worst
        (HeldOut((1e-6,), (5e-2,)), HeldOut((1e-4,), (4e-2,)), True),  # alike: by all
        (HeldOut((1e-4,), (4e-2,)), HeldOut((1e-6,), (5e-2,)), False),
        (HeldOut((1e-6,), (5e-2,), jumps=0.2), HeldOut((1e-4,), (4e-2,)), False),
        (HeldOut((0.0,), (0.0,)), HeldOut((0.0,), (0.0,)), False),
        (HeldOut((np.nan,), (0.0,)), HeldOut((1.0,), (1.0,)), False),
        (HeldOut((1.0,), (1.0,)), HeldOut((np.inf,), (0.0,)), True),
        (HeldOut((np.inf,), (0.0,)), HeldOut((np.inf,), (0.0,)), False),
    ],
)
def test_the_worst_part_decides_and_where_it_does_not_the_others(one, other, better):
    assert one.better(other) is better


@pytest.mark.slow
def test_a_rod_that_is_heated_at_one_end_of_a_sudden():
    rod = loads(
        """
        name = "rod"
        unknowns = ["u"]
        equations = ["u_t = u_xx/10"]
        conditions = ["u(0, t) = 1", "u(1, t) = 0", "u(x, 0) = 0"]
        [domain]
        x = [0, 1]
        t = [0, 1]
        """
    )
    x, t = np.meshgrid(np.linspace(0, 1, 51), np.linspace(0.02, 1, 50), indexing="ij")
    n = np.arange(1, 200)[:, None, None]
    waves = np.sin(n * np.pi * x) * np.exp(-((n * np.pi) ** 2) * t / 10) / n
    exact = 1 - x - 2 / np.pi * waves.sum(axis=0)
    with pytest.warns(sn.SafeNetWarning, match=r"disagree with u\(0, t\) = 1 by up to 1: the solution jumps"):
        solution = sn.solve(rod)
    assert np.linalg.norm(solution(x=x, t=t) - exact) < 1e-4 * np.linalg.norm(exact)  # modes alone: 2e-3
    true = np.linalg.norm(solution(x=x, t=t) - exact) / np.linalg.norm(exact)
    assert (
        true / 10 < solution.result.estimate < 1e-3
    )  # the jump at t = 0, which always stays, does not count


def test_a_plate_that_is_quenched():
    # On a grid: the initial values are 1, the sides 0, and what rings for that is gone in a moment.
    plate = loads(
        """
        name = "plate"
        unknowns = ["u"]
        equations = ["u_t = u_xx + u_yy"]
        conditions = ["u(x, y, 0) = 1", "u(0, y, t) = 0", "u(1, y, t) = 0", "u(x, 0, t) = 0", "u(x, 1, t) = 0"]
        [domain]
        x = [0, 1]
        y = [0, 1]
        t = [0, 0.1]
        """
    )
    with pytest.warns(sn.SafeNetWarning, match="the solution jumps"):
        solution = sn.solve(plate)
    s, t = np.linspace(0.02, 0.98, 25)[:, None], np.array([0.0, 0.005, 0.02, 0.1])
    n = np.arange(1, 200, 2)[:, None, None]
    line = (4 / (n * np.pi) * np.sin(n * np.pi * s) * np.exp(-((n * np.pi) ** 2) * t)).sum(axis=0)
    line[:, 0] = 1.0
    x, y, t = np.meshgrid(s.ravel(), s.ravel(), t, indexing="ij")
    misses = np.abs(solution(x=x, y=y, t=t) - line[:, None] * line).max(axis=(0, 1))
    assert misses[0] < 0.05
    assert misses[1:].max() < 1e-6
    assert (
        solution.result.residual < 0.1
    )  # it was 0.5 with an interpolant at the start, and a network followed
    assert solution.result.estimate_since == pytest.approx(0.001)
    assert 1e-10 < solution.result.estimate < 1e-6


@pytest.mark.slow
def test_a_payoff_that_bends_is_marched():
    # By modes the price at the money is wrong by 17 % at t = 0.1, with the same residual.
    option = loads(
        """
        name = "option"
        unknowns = ["V"]
        equations = ["V_t = s^2/2*V_xx + (r - s^2/2)*V_x - r*V"]
        conditions = ["V(x, 0) = max(exp(x) - 1, 0)", "V(-3, t) = 0", "V(3, t) = exp(3) - exp(-r*t)"]
        [domain]
        x = [-3, 3]
        t = [0, 1]
        [parameters]
        s = 0.2
        r = 0.05
        """
    )
    x, t = np.meshgrid(np.linspace(-0.2, 0.2, 9), [0.1, 0.5, 1.0], indexing="ij")
    d = (x + (0.05 + 0.02) * t) / (0.2 * np.sqrt(t))
    exact = np.exp(x) * ndtr(d) - np.exp(-0.05 * t) * ndtr(d - 0.2 * np.sqrt(t))
    solution = sn.solve(option)
    np.testing.assert_allclose(solution(x=x, t=t), exact, rtol=0, atol=1e-6)
    assert "has a bend or a jump at the start" in solution.result.reasons[-1]


@pytest.mark.parametrize("k", [100, 10000])
def test_a_beam_on_springs_with_a_load_on_one_half(k):
    beam = loads(
        f"""
        name = "beam"
        unknowns = ["w"]
        equations = ["w_xxxx + {k}*w = where(x < 1/2, 1, 0)"]
        conditions = ["w(0) = 0", "w_xx(0) = 0", "w(1) = 0", "w_xx(1) = 0"]
        [domain]
        x = [0, 1]
        """
    )
    x, n = np.linspace(0, 1, 41), np.arange(1, 400)[:, None]
    load = 2 * (1 - np.cos(n * np.pi / 2)) / (n * np.pi)
    exact = (load * np.sin(n * np.pi * x) / ((n * np.pi) ** 4 + k)).sum(axis=0)
    solution = sn.solve(beam)
    assert np.abs(solution(x=x).ravel() - exact).max() < 1e-10 * np.abs(exact).max()  # of the series: 1e-12
    assert solution.result.wall_seconds < 20

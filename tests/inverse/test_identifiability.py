"""What the data say about numbers that a training has found, from a field that solves the problem."""

import jax.numpy as jnp
import numpy as np
import pytest

import safenet as sn
from safenet.inverse.identifiability import determined
from safenet.run.found import Found
from safenet.run.result import Outcome

RANDOM = np.random.default_rng(0)
X, T = RANDOM.random((2, 200))
NOISE = 0.01 * RANDOM.normal(size=200)


def heat(t, values, equation="u_t = C*u_xx", **unknown):
    return sn.Problem(
        equation,
        domain={"x": (0, 1), "t": (0, 1)},
        conditions=["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"],
        unknown={"C": {"start": 0.3, "above": 0}, **unknown},
        data=sn.Data(x=X, t=t, u=values),
    )


def cooled(C, x=X, t=T):
    return np.exp(-C * np.pi**2 * t) * np.sin(np.pi * x)


def field(C):
    return lambda p: (jnp.exp(-C * jnp.pi**2 * p[1]) * jnp.sin(jnp.pi * p[0]))[None]


def told(problem, C, **others):
    numbers = {"C": C, **others}
    return determined(problem.found(numbers), field(C), Found(numbers), 1e-7)


def test_data_at_the_start_do_not_tell_a_diffusivity():
    found = told(heat(0.0, cooled(0.1, t=0.0)), 0.0131)
    assert found.free
    assert found.errors["C"] is None
    assert "the data do not depend on C" in found.warnings[0]


def test_the_standard_error_is_that_of_the_direct_fit():
    problem = heat(T, cooled(0.1) + NOISE)
    fit = sn.solve(problem)
    C = float(fit.found["C"])
    found = told(problem, C)
    assert not found.free
    assert found.errors["C"] == pytest.approx(fit.found["C"].error, rel=1e-3)
    assert found.errors["C"] == pytest.approx(0.01 / np.linalg.norm(cooled(0.1) * np.pi**2 * T), rel=0.2)


def test_a_number_far_from_its_start_is_judged_by_its_own_size():
    """A hundredth of C = 0.1, as large as its start, moves u by less than the residual; all of it does not."""
    for start in (0.001, 0.1):
        problem = heat(T, cooled(0.1) + NOISE, C={"start": start})
        found = determined(problem.found({"C": 0.1}), field(0.1), Found({"C": 0.1}), 0.05)
        assert not found.free
        assert not found.warnings


def test_numbers_that_only_appear_as_a_product_are_told():
    problem = heat(T, cooled(0.1), "u_t = C*D*u_xx", D={"start": 1, "above": 0})
    numbers = {"C": 0.1, "D": 1.0}
    found = determined(problem.found(numbers), field(0.1), Found(numbers), 1e-7)
    assert found.free
    assert "separately" in found.warnings[0]
    assert determined(
        problem.found(numbers), field(0.1), Found(numbers), 1.0
    ).free  # far off: by the symbols alone


def test_a_number_in_a_condition_and_in_the_data_has_an_error():
    problem = sn.Problem(
        "u_t = -u",
        domain={"t": (0, 1)},
        conditions=["u(0) = A"],
        unknown={"A": {"start": 1}},
        data=sn.Data(t=T, u=2 * np.exp(-T) + NOISE),
    )
    found = determined(problem.found({"A": 2.0}), lambda t: 2 * jnp.exp(-t), Found({"A": 2.0}), 1e-7)
    assert found.errors["A"] == pytest.approx(np.std(NOISE) / np.linalg.norm(np.exp(-T)), rel=1e-2)


def test_a_training_on_data_that_tell_nothing_is_not_solved():
    problem = sn.Problem(
        "u_t = -C*u",
        domain={"t": (0, 1)},
        conditions=["u(0) = 1"],
        unknown={"C": {"start": 0.3}},
        data=sn.Data(t=np.zeros(5), u=np.ones(5)),
    )
    with pytest.warns(sn.SafeNetWarning, match="the data do not depend on C"):
        sol = sn.solve(problem, sn.Train("pinn", [sn.LBFGS(100)], points=16, width=6, depth=1))
    assert sol.result.outcome == Outcome.NOT_SOLVED

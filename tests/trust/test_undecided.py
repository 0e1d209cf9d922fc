"""What a problem does not decide has no estimate and is not solved; what it does decide keeps both."""

from __future__ import annotations

import numpy as np
import pytest

import safenet as sn

LINE, STRIP, SQUARE = {"x": (0, 1)}, {"x": (0, 1), "t": (0, 1)}, {"x": (0, 1), "y": (0, 1)}
HEAT = ["u(0, t) = 0", "u(1, t) = 0", "u(x, 0) = sin(pi*x)"]


def stated(equations, conditions, domain, unknowns=("u",)):
    def listed(texts):
        return ", ".join(f'"{text}"' for text in texts)

    ends = "\n".join(f'{axis} = ["{low}", "{high}"]' for axis, (low, high) in domain.items())
    return sn.loads(
        f"unknowns = [{listed(unknowns)}]\nequations = [{listed(equations)}]\n"
        f"conditions = [{listed(conditions)}]\n[domain]\n{ends}\n"
    )


UNDECIDED = {
    "an error grows by e^250": (["u_t = 50*(u - cos(t)) - sin(t)"], ["u(0) = 1"], {"t": (0, 5)}),
    "an error grows by e^100": (["u_t = 20*(u - cos(3*t)) - 3*sin(3*t)"], ["u(0) = 1"], {"t": (0, 5)}),
    "an eigenfunction is free": (["u_xx + u = 0"], ["u(0) = 1", "u(pi) = -1"], {"x": (0, "pi")}),
    "cos is free": (["u_xx + pi**2*u = cos(2*pi*x)"], ["u_x(0) = 0", "u_x(1) = 0"], LINE),
    "an eigenvalue is hit": (["u_xx + pi**2*u = cos(pi*x)"], ["u_x(0) = 0", "u_x(1) = 0"], LINE),
    "two unknowns, one equation": (["u_xx = q"], ["u(0) = 0", "u(1) = 0", "u(1/2) = 1"], LINE, ("u", "q")),
    "two unknowns in time": (["u_t = u_xx + v"], [*HEAT[:2], "u(x, 0) = 0"], STRIP, ("u", "v")),
    "no condition on one side": (["u_t = u_xx"], [HEAT[0], HEAT[2]], STRIP),
    "the Cauchy problem": (["u_xx + u_yy = 0"], ["u(x, 0) = exp(-10*x**2)", "u_y(x, 0) = 0"], SQUARE),
    "Hadamard's": (
        ["u_xx + u_yy = 0"],
        ["u(0, y) = 0", "u(1, y) = 0", "u(x, 0) = sin(pi*x)", "u_y(x, 0) = 0"],
        SQUARE,
    ),
    "a kink": (["u_t + u_x**2/2 = 0"], ["u(x, 0) = abs(x)"], {"x": (-1, 1), "t": (0, 0.5)}),
}


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
@pytest.mark.parametrize("name", UNDECIDED)
def test_what_is_not_decided_is_not_solved_and_has_no_estimate(name: str) -> None:
    result = sn.solve(stated(*UNDECIDED[name]), monitor=sn.Monitor()).result
    assert result.outcome == "not solved"
    assert result.estimate is None
    assert result.warnings


DECIDED = {
    "decay": ((["u_t = -u"], ["u(0) = 1"], {"t": (0, 1)}), lambda t: np.exp(-t)),
    "growth that is the solution": ((["u_t = 50*u"], ["u(0) = 1"], {"t": (0, 5)}), lambda t: np.exp(50 * t)),
    "near resonance": (
        (["u_xx + 9.8696*u = 1"], ["u(0) = 0", "u(1) = 0"], LINE),
        lambda x: (1 - np.cos(K * x) - np.tan(K / 2) * np.sin(K * x)) / 9.8696,
    ),
    "a layer": (
        (["u_xx/1000 + u_x = 0"], ["u(0) = 0", "u(1) = 1"], LINE),
        lambda x: np.expm1(-1000 * x) / np.expm1(-1000),
    ),
}
K = np.sqrt(9.8696)


@pytest.mark.parametrize("name", DECIDED)
def test_what_is_decided_is_solved_and_its_error_is_estimated(name: str) -> None:
    statement, exact = DECIDED[name]
    solution = sn.solve(stated(*statement), monitor=sn.Monitor())
    (axis,) = statement[2]
    points = np.linspace(*map(float, statement[2][axis]), 101)
    truth = exact(points)
    error = np.linalg.norm(solution(**{axis: points}) - truth) / np.linalg.norm(truth)
    assert solution.result.outcome == "solved"
    assert solution.result.warnings == []
    assert error < max(10 * solution.result.estimate, 1e-14)


def test_rounding_near_a_resonance_is_part_of_the_estimate() -> None:
    """λ = π²(1 − 4.5e-7): the answer moves by 1e-9 where its data move by 1e-16."""
    estimate = sn.solve(stated(*DECIDED["near resonance"][0]), monitor=sn.Monitor()).result.estimate
    assert 1e-11 < estimate < 1e-6


def test_the_place_where_characteristics_meet_is_named() -> None:
    """From −sin πx the steepest speed is −π: they meet at t = 1/π."""
    from safenet.problem.facts.undecided import undecided

    conditions = ["u(-1, t) = 0", "u(1, t) = 0", "u(x, 0) = -sin(pi*x)"]
    (text,) = undecided(stated(["u_t + u*u_x = 0"], conditions, {"x": (-1, 1), "t": (0, 1)}))
    assert "t = 0.3183" in text
    assert undecided(stated(["u_t + u*u_x = 0"], conditions, {"x": (-1, 1), "t": (0, 0.3)})) == ()


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
@pytest.mark.parametrize(("number", "decided"), [("5.783185962946783", False), ("5.78", True)])
def test_on_a_disc_an_eigenvalue_that_is_hit_is_no_solution_and_one_that_is_missed_is(
    number, decided
) -> None:
    """Δu + λu = 1 with u = 0 on the rim: for J₀(√λ) = 0 every multiple of J₀ leaves u = 1/λ there."""
    disc = sn.loads(
        f'unknowns = ["u"]\nequations = ["u_xx + u_yy + {number}*u = 1"]\nconditions = ["u = 0 on rim"]\n[domain]\n'
        "x = [-1, 1]\ny = [-1, 1]\nshape = [{ disc = { center = [0, 0], radius = 1 } }]\n"
        '[pieces]\nrim = "rest"\n'
    )
    result = sn.solve(disc, sn.Cells(unknowns=2000), monitor=sn.Monitor()).result
    assert (result.outcome == "solved") == decided
    assert any("does not meet them" in text for text in result.warnings) != decided
    if decided:
        assert result.estimate < 1e-3


def test_a_jump_of_what_is_conserved_is_decided_and_one_of_a_product_is_not() -> None:
    from safenet.problem.facts.undecided import undecided

    start = ["u(-1, t) = 2", "u(x, 0) = where(x < 0, 2, 1)"]
    domain = {"x": (-1, 1), "t": (0, 0.5)}
    assert undecided(stated(["u_t + u*u_x = 0"], start, domain)) == ()
    (text,) = undecided(stated(["u*u_t + u**2*u_x = 0"], start, domain))
    assert "how fast the jump moves" in text
    both = [*start, "v(-1, t) = 1", "v(x, 0) = where(x < 0, 1, 2)"]
    (text,) = undecided(stated(["u_t + u*u_x = 0", "v_t + u*v_x = 0"], both, domain, ("u", "v")))
    assert "jump at x = 0" in text

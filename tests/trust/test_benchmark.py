"""A sample of benchmarks/trust: quick families and chosen problems, none of them silent."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.trust.run import chosen, families, generated, judged

import safenet

QUICK = ("pulse-in-space", "stiff", "resonance", "wave-number", "layer", "bratu", "kinked", "eigenvalue")
# By what is stated: pulses that integrators pass by, growth, switches, roots, resonance, layers, several solutions.
PICKED = (
    "u_t = -u + 100*exp(-(100*(t - 5.137))**2)",
    "u_t = 500*sech(1000*(t - 3.3))**2",
    "u_t = 5*(u - cos(t)) - sin(t)",
    "u_t = sign(sin(10*t))",
    "u_t = u/(t + 1e-6)",
    "u_t = 3*abs(u)**(2/3)",
    "u_tt + u_t/(t + 1) + u = 0",
    "u_t + u*u_x = 0.05*u_xx",
    "u_xx + pi**2*u = sin(pi*x)",
    "0.01*u_xx + u*u_x = 0",
    "0.005*u_xx - x*u_x + u = 0",
    "u_xx = 3/2*u**2",
    "u_xx + 20*u - u**3 = 0",
    "u_tt = -u_xx",
    "u_x + v_y = 0",
    "u_xx + v*u = 0",
    "u_xx + u_yy = 2*x",
    # The issue's: narrow in space-time, in a nonlinear equation, and as a coefficient; Helmholtz with two unknowns.
    "u_t = u_xx/10 + sin(pi*x)*100*exp(-(100*(t - 0.37))**2)",
    "u_t = 1000*exp(-(1000*(t - 0.7071))**2) - u**3",
    "u_x = -1e4*exp(-((x - 0.3)/0.0001)**2)*u",
    "u_xx + 2500*u = 0",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_generated_problem_is_not_silent(name: str) -> None:
    row = judged(families()[name](np.random.default_rng(3)), seconds=30.0)
    assert not row["silent"], row


@pytest.mark.parametrize("equation", PICKED)
def test_a_chosen_problem_is_neither_silent_nor_a_false_alarm(equation: str) -> None:
    trial = next(each for each in chosen() if each.equations[0] == equation)
    row = judged(trial, seconds=60.0)
    assert not row["silent"], row
    assert not row["alarm"], row


def test_there_are_at_least_150_chosen_problems_and_every_one_is_another() -> None:
    assert len({trial.text for trial in chosen()}) == len(chosen()) >= 150


def test_a_seed_makes_the_same_problems_twice() -> None:
    count = len(families())
    first, second = ([trial.text for trial in generated(count, 1)] for _ in range(2))
    assert first == second


@pytest.mark.parametrize("part", ["direct", "measure", "train", "solving", "inverse"])
def test_every_threshold_has_one_value(part: str) -> None:
    """A second one of the same name would change what the first decides, far away."""
    file = Path(safenet.__file__).parent / part / "thresholds.py"
    assigned = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.Assign)]
    names = Counter(
        x.id for node in assigned for t in node.targets for x in ast.walk(t) if isinstance(x, ast.Name)
    )
    assert max(names.values()) == 1

"""A sample of benchmarks/trust: one trial of each quick family, none of them silent."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.trust.run import families, judged

QUICK = (
    "pulse-in-space",
    "stiff",
    "resonance",
    "wave-number",
    "layer",
    "logistic",
    "bratu",
    "kinked",
    "eigenvalue",
    "neumann-resonance",
    "constant-free",
    "contradictory",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_trial_is_not_silent(name: str) -> None:

    row = judged(families()[name](np.random.default_rng(3)), seconds=30.0)
    assert not row["silent"], row


def test_every_family_makes_the_same_trial_twice() -> None:

    for make in families().values():
        assert make(np.random.default_rng(1)).text == make(np.random.default_rng(1)).text

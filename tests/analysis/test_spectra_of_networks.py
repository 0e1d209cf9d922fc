"""sn.spectrum of every network that a user can get: methods, hard conditions, frozen features, stages, regions."""

import json

import jax
import numpy as np
import pytest

import safenet as sn
from safenet.analysis import feature_grams, frequency_shares
from safenet.measure.points import sample
from safenet.networks.methods import build, method
from safenet.train.objective import physics_loss

DECAY = """
name = "decay"
unknowns = ["u"]
equations = ["u_x + u = 0"]
conditions = ["u(0) = 1"]
domain = { x = [0, 1] }
"""
QUICK = {"operator": "gauss-newton", "points": 12, "condition_points": 4}
# Every pair of the three choices; the methods go round them.
CHOICES = [
    {"hard": hard, "train_features": moving, "precision": precision}
    for hard, moving, precision in [
        (False, True, "float64"),
        (True, False, "float64"),
        (True, True, "float32"),
        (False, False, "float32"),
    ]
]


def tiny(name):
    return {"method": name, "depth": 1, "width": 3, "features": 8 if sn.METHODS[name].features else 0}


def consistent(analysis):
    """Finite, complete, and with the eigenvalues of JᵀJ: none below zero, their sum Σ J² of the kernel's rows."""
    facts = json.loads(json.dumps(analysis.to_json(), allow_nan=False))
    assert facts["lambda_max"] > 0
    assert facts["lambda_min"] >= -analysis.spectra["loss"].rounding
    rows = analysis.kernels["loss"].jacobian
    assert facts["trace"] == pytest.approx(float(np.sum(rows**2)), rel=1e-8)
    assert str(analysis)
    return facts


# The others compile for a minute more.
FIRST = ("safe-net", "rbf")


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        pytest.param(name, CHOICES[i % 4], id=name, marks=() if name in FIRST else pytest.mark.slow)
        for i, name in enumerate(sn.METHODS)
    ],
)
def test_every_method_has_a_spectrum(name, choice):
    analysis = sn.spectrum(sn.loads(DECAY), **tiny(name), **choice, **QUICK)
    consistent(analysis)
    # u(0) = 1 holds by construction, or it counts.
    assert (analysis.kernels["u(0)"].eigenvalues[0] == 0) == choice["hard"]
    assert ("fourier" in analysis.grams) == name.startswith("safe-net")
    assert (analysis.frequencies is not None) == name.startswith("safe-net")


@pytest.mark.slow
@pytest.mark.parametrize("name", sn.library.names())
def test_every_library_problem_has_a_spectrum(name):
    problem = sn.library.problem(name)
    analysis = sn.spectrum(problem, method="pinn", depth=1, width=3, precision="float64", terms=True, **QUICK)
    facts = consistent(analysis)
    assert len(facts["spectra"]) == 1 + len(problem.equations) + len(problem.conditions)


@pytest.mark.slow
def test_a_system_on_a_region_has_a_spectrum():
    problem = sn.library.cavity()
    analysis = sn.spectrum(problem, method="pinn", depth=1, width=2, precision="float64", **QUICK)
    facts = consistent(analysis)
    assert len(facts["kernels"]) == 1 + len(problem.equations) + len(problem.conditions)


def test_terms_that_hold_by_construction_are_zero_and_drawn():
    analysis = sn.spectrum(sn.loads(DECAY), **tiny("pinn"), hard=True, terms=True, **QUICK)
    assert analysis.spectra["u(0)"].lambda_max == 0
    assert analysis.to_json()["spectra"]["u(0)"]["condition"] is None
    assert len(analysis.plot().axes) == 3
    assert any("by construction" in note for note in analysis.notes)
    # A soft condition that moves by rounding alone is no reason for another weight.
    assert "weights" not in [advice.about for advice in analysis.advice]


@pytest.mark.slow
def test_a_staged_network_is_looked_at_in_its_second_stage():
    sizes = {"features": 8, "width": 3, "points": 20, "condition_points": 4}
    solution = sn.solve(sn.loads(DECAY), sn.Train("safe-net", "multi-stage", scale=0.02, **sizes))
    analysis = sn.spectrum(solution, **QUICK)
    consistent(analysis)
    assert "second network" in analysis.what
    second = solution.field.second
    assert analysis.parameters == second.parameters < solution.field.parameters
    assert set(analysis.grams) == {"features", "fourier"}
    # Its frequencies are those of the second network; a second-order optimiser made it, and is not advised.
    np.testing.assert_array_equal(analysis.frequencies.omega, second.features.inner.omega)
    assert "optimiser" not in [advice.about for advice in analysis.advice]


def test_shares_of_frozen_frequencies_are_those_of_the_first_layer():
    """With ω and c frozen, only the first layer's columns are left to tell the frequencies apart."""
    problem = sn.loads(DECAY)
    for moving in (True, False):
        network = build(
            problem, method("safe-net", features=8, width=3, train_features=moving), key=jax.random.key(0)
        )
        loss, theta = physics_loss(problem, network, sample(problem, 10, 2, "sobol", 0))
        shares = frequency_shares(loss, theta, np.ones(theta.size))
        # A direction of ones: 3 rows of 2 products each, and, where they move, one ω and two amplitudes.
        np.testing.assert_allclose(shares.shares, 6 + 3 * moving)


def test_gram_matrices_resolve_features_whose_frequencies_nobody_names():
    """[1, cos 2πks, sin 2πks] over a period, k ≤ 31: diagonal 1, ½, ½, …; the waves of a series have no ω to read."""
    problem = sn.library.convection()
    network = build(problem, sn.METHODS["rba-pinn"], key=jax.random.key(0))
    gram = feature_grams(problem, network)["features"]
    area = 2 * np.pi
    np.testing.assert_allclose(np.diag(gram.matrix)[:63], area * np.array([1.0, *[0.5] * 62]), rtol=1e-10)
    assert gram.accuracy < 1e-6

"""sn.spectrum and `safenet spectrum`: what a user sees, for networks, runs and what has no spectrum."""

import json

import jax
import jax.numpy as jnp
import pytest

import safenet as sn
from running import run
from safenet.direct.plan import DirectPlan
from safenet.fields.saved import KINDS
from safenet.measure.points import sample
from safenet.networks.methods import build, method
from safenet.train.objective import physics_loss

TINY = {"method": "safe-net", "features": 8, "width": 4}
FEW = {"points": 60, "condition_points": 20}
POISSON = """
name = "poisson"
unknowns = ["u"]
equations = ["u_xx = -sin(pi*x)"]
conditions = ["u(0) = 0", "u(1) = 0"]
domain = { x = [0, 1] }
"""


@pytest.mark.parametrize(("name", "least"), [("wave", 300.0), ("burgers", 300.0), ("convection", 100.0)])
def test_the_output_bias_bounds_lambda_max_from_below(name, least):
    """λ_max ≥ eᵀ∇²L e = ∂²L/∂b² = Σ λ over the conditions on u: the paper's 1.4 on wave and 78 on Burgers cannot be.

    On convection only u(x, 0) = … counts: the periodic condition does not see a constant.
    """
    problem = sn.library.problem(name)
    network = build(problem, method("pinn", depth=1, width=3), key=jax.random.key(0))
    loss, theta = physics_loss(problem, network, sample(problem, 30, 10, "sobol", 0))
    # The parameter that moves u by a constant, the last bias, found by numbering all of them.
    index = int(loss.unravel(jnp.arange(theta.size, dtype=theta.dtype)).biases[-1][0])
    along = jax.jit(jax.jacfwd(jax.jacfwd(lambda b: loss(theta.at[index].add(b))[0])))
    entry = float(along(jnp.zeros(())))
    # Burgers' u u_x sees the constant, too, and adds to it.
    assert entry == pytest.approx(least) if problem.linear else entry > least
    printed = {
        cell.problem: cell.value
        for table in sn.paper.tables()
        if table.quantity == "lambda_max"
        for cell in table.cells
        if cell.method == "safe-net-literal" and cell.options
    }
    assert (printed[name] < least) == (name != "convection")


def test_an_analysis_is_complete_and_survives_json():
    analysis = sn.spectrum(sn.loads(POISSON), **TINY, **FEW, terms=True, precision="float64")
    facts = json.loads(json.dumps(analysis.to_json()))
    assert facts["lambda_max"] == analysis.lambda_max > 0 > facts["lambda_min"]
    assert facts["condition"] >= 1
    assert facts["exact"] is True
    assert list(facts["spectra"]) == ["loss", "equation", "u(0)", "u(1)"]
    assert set(facts["grams"]) == {"features", "fourier"}
    assert facts["points"] == [60, 20]
    # Weyl: a term's largest eigenvalue is at most the whole's, less the others' smallest.
    slack = -sum(facts["spectra"][k]["lambda_min"] for k in list(facts["spectra"])[1:])
    assert facts["spectra"]["equation"]["lambda_max"] <= facts["lambda_max"] + slack
    assert str(analysis).startswith("poisson, safe-net: all parameters of the network")
    figure = analysis.plot()
    assert len(figure.axes) == 3


def test_the_optimisers_see_a_better_conditioned_problem():
    settings = {**TINY, **FEW, "precision": "float64", "operator": "gauss-newton"}
    analysis = sn.spectrum(sn.loads(POISSON), **settings, optimiser="levenberg")
    seen = analysis.spectra["seen by Levenberg–Marquardt"]
    assert seen.lambda_max <= 1 < analysis.lambda_max
    with pytest.raises(sn.SafeNetError, match="unknown optimiser 'newton'"):
        sn.spectrum(sn.loads(POISSON), **settings, optimiser="newton")


def test_the_loss_of_a_linear_form_is_quadratic_in_its_coefficients():
    solution = sn.solve(sn.loads(POISSON), sn.LeastSquares())
    analysis = sn.spectrum(solution, points=64)
    assert "coefficients" in analysis.what
    assert analysis.spectra["loss"].operator == "gauss-newton"
    whole = sn.spectrum(solution, points=64, operator="hessian")
    assert whole.lambda_max == pytest.approx(analysis.lambda_max, rel=1e-9)
    assert analysis.lambda_min >= -analysis.spectra["loss"].rounding


CELLS = {"degrees": [2], "cells": [[[0, 1]]]}
MODES = {"parts": []}
IN_PARTS = {
    "piecewise": ({"pieces": [], "breaks": [0.0, 1.0]}, "slabs of time"),
    "cells": (CELLS, "cells with a polynomial"),
    "elements": (CELLS, "cells with a polynomial"),
    "modes": (MODES, "exact solutions"),
    "gaussian": ({"mean": MODES, "modes": MODES, "factor": [2, 1]}, "a covariance"),
    "time-pieces": ({"pieces": 2, "degree": 3, "space": [[]]}, "pieces of time"),
    "averages": ({"shape": [2, 1, 4], "lower": [0], "upper": [1], "periodic": [False]}, "mean values"),
    "sparse": ({"products": 2, "axes": 1, "fields": 1}, "products of polynomials"),
    "triangles": ({"times": 1, "nodes": 6, "cells": 1, "sizes": [6]}, "finite elements"),
    "unknown": ({}, "nothing, because the solve stopped"),
}


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - {"linear-form"}))
def test_solutions_in_parts_are_refused_with_a_remedy(kind):
    spec, words = IN_PARTS[kind]
    network = KINDS[kind](sn.loads(POISSON), spec)
    remedy = "sn.spectrum.problem, method=.safe-net.*sn.solve.problem, sn.LeastSquares"
    with pytest.raises(sn.SafeNetError, match=f"(?s){words}.*{remedy}"):
        sn.spectrum(sn.Solution(sn.loads(POISSON), network, DirectPlan("auto", ())))
    with pytest.raises(sn.SafeNetError, match="safenet spectrum wave --method safe-net"):
        sn.spectrum(sn.Solution(sn.library.wave(), network, DirectPlan("auto", ())))


def test_without_all_eigenvalues_the_condition_is_bounded_and_not_stated():
    analysis = sn.spectrum(sn.loads(POISSON), **TINY, **FEW, precision="float64", probes=1, steps=5)
    facts = json.loads(json.dumps(analysis.to_json(), allow_nan=False))
    assert (analysis.condition, facts["condition"], facts["rank"]) == (None, None, None)
    assert facts["condition_at_least"] == analysis.spectra["loss"].condition_at_least >= 1
    assert "condition at least " in str(analysis)
    with pytest.raises(sn.SafeNetError, match="a dense spectrum has no probes"):
        sn.spectrum(sn.loads(POISSON), **TINY, **FEW, dense=True, probes=3)


def test_what_gradient_descent_leaves_is_told_as_a_loss_too():
    analysis = sn.spectrum(sn.loads(POISSON), **TINY, **FEW, precision="float64")
    kernel = analysis.kernels["loss"]
    assert kernel.remaining_loss() == pytest.approx(kernel.remaining() * kernel.loss)
    said = f"leave {kernel.remaining():.0%} of its loss, {kernel.remaining_loss():.1e} of {kernel.loss:.1e}"
    assert said in str(analysis)


def test_two_ways_to_a_spectrum_exclude_each_other(tmp_path):
    refused = run("spectrum", "wave", "--dense", "--lanczos", cwd=tmp_path)
    assert (refused.code, "--dense and --lanczos exclude each other" in refused.err) == (2, True)


@pytest.mark.parametrize("counts", [{"points": 0}, {"condition_points": 0}, {"points": -3}])
def test_no_points_are_too_few(counts):
    with pytest.raises(sn.SafeNetError, match="points are too few"):
        sn.spectrum(sn.loads(POISSON), **{**TINY, **FEW, **counts})


def test_weights_that_adapt_are_those_of_the_parameters():
    problem = sn.loads(POISSON)
    settings = {"depth": 1, "width": 5, "precision": "float64", **FEW, "operator": "gauss-newton"}
    plain = sn.spectrum(problem, method="pinn", **settings)
    balanced = sn.spectrum(problem, method="w-pinn", **settings)
    assert balanced.notes
    assert balanced.lambda_max != plain.lambda_max


def test_the_command_prints_json_and_draws(tmp_path):
    options = ["-O", "features=8", "-O", "width=4", "--points", "60", "--condition-points", "20"]
    (tmp_path / "poisson.toml").write_text(POISSON)
    ran = run(
        "spectrum",
        "poisson.toml",
        "--operator",
        "gauss-newton",
        *options,
        "--json",
        "-o",
        "f.png",
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    facts = json.loads(ran.out)
    assert {"lambda_max", "lambda_min", "condition"} <= facts.keys()
    assert (tmp_path / "f.png").stat().st_size > 10_000
    assert "tangent kernels" in ran.err


@pytest.mark.filterwarnings("ignore::safenet.errors.SafeNetWarning")
@pytest.mark.slow
def test_the_command_takes_a_run(tmp_path):
    solution = sn.solve(sn.loads(POISSON), sn.Train("pinn", "paper-4", scale=1e-4, width=4, depth=1, **FEW))
    solution.save(tmp_path / "run")
    ran = run(
        "spectrum",
        "run",
        "--operator",
        "gauss-newton",
        "--lanczos",
        "--probes",
        "3",
        "--steps",
        "9",
        cwd=tmp_path,
    )
    assert ran.code == 0, ran.err
    assert "3 probes of 9 steps" in ran.out
    assert "analysed in float64, trained in float32" in ran.out
    refused = run("spectrum", "run", "--adam", "10", cwd=tmp_path)
    assert refused.code == 2
    assert "which has its own network" in refused.err

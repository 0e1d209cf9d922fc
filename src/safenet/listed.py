"""The names of all problems, solvers, methods and recipes, with a line on each, and the suites.

It imports no other part, so `safenet list` is quick.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

# The paper's problems in its order, then harder ones: their data are not modes of the equation, or networks are known
# to fail at their coefficients.
PROBLEMS = (
    *(
        "wave",
        "convection",
        "reaction",
        "diffusion",
        "heat2d",
        "burgers",
        "allen-cahn",
        "backstep",
        "nh-heat",
    ),
    *("wave-hard", "convection-30", "convection-50", "reaction-10", "heat-bump", "burgers-two", "helmholtz"),
    *("cavity", "four-holes"),
)

SOLVERS: dict[str, str] = {
    "modes": "a sum of exact solutions from the dispersion relation, with coefficients from the conditions",
    "least-squares": "Gauss–Newton for the coefficients of a series, over the whole domain",
    "march": "Newton on cells, on a grid or with series, in slabs of time",
    "cells": "Gauss–Newton on polynomials in cells, refined where the residual is largest",
    "elements": "high-degree elements on rectangles, finer at corners, for steady linear equations of second order",
    "integrate": "SciPy's DOP853 or LSODA, for ordinary differential equations",
    "fourier": "exponential steps on a Fourier grid, for smooth solutions in periodic or mirror-symmetric boxes",
    "conserve": "finite volumes, for conservation laws with jumps and layers too thin for polynomials",
    "evolve": "quadratic triangles or tetrahedra and Rosenbrock steps, for diffusion and flows on regions and solids",
    "sparse": "least squares for a growing list of products of polynomials, in four dimensions and more",
}
METHODS: dict[str, str] = {
    "safe-net": "SAFE-NET: trainable Fourier products and features of the conditions, with our improvements",
    "safe-net-literal": "the paper as printed: 128 features, unit amplitudes, per-point normalisation",
    "pinn": "a plain network of four hidden layers on the coordinates",
    "fls-pinn": "the plain network with a sine as its first layer",
    "w-pinn": "the plain network with the loss weighted by traces of the tangent kernel",
    "w-pinn-grid": "the plain network with the best of three fixed weights for the equation",
    "rba-pinn": "six layers on Fourier series, every point weighted by its past residuals",
    "rff": "random Fourier features as printed, 200 cycles per unit of space",
    "rff-tuned": "random Fourier features of about one cycle per box",
    "rbf": "128 normalised radial functions with trainable centres and widths",
    "rbf-p": "rbf and all monomials up to degree two",
    "piratenet": "gated residual blocks on random Fourier features that start as the identity (Wang et al., 2024)",
    "pinnsformer": "attention over five later times, with waves as activations (Zhao et al., 2024)",
}
RECIPES: dict[str, str] = {
    "default": "1k Adam, then self-scaled Broyden in float64 with new points; sizes follow the device",
    "paper-1": "the paper's schedule 1: 30k Adam, then 10k L-BFGS",
    "paper-1-torch": "schedule 1 with torch's L-BFGS iteration: 30k Adam, then 10k times 20 steps, history 100",
    "paper-2": "schedule 2: Adam and L-BFGS twice, for each of five rates; the lowest training loss wins",
    "paper-3a": "20k Adam, then 20k L-BFGS",
    "paper-3b": "10k Adam, then 30k L-BFGS",
    "paper-3c": "5k Adam, then 35k L-BFGS",
    "paper-3d": "25k Adam, 10k L-BFGS, 5k Adam",
    "paper-3e": "Adam until the loss is on a plateau, then L-BFGS, 40k in all",
    "paper-4": "100k Adam",
    "multiadam": "schedule 1 with separate Adam moments for equations and for conditions (Yao et al., 2023)",
    "ssbroyden": "1k Adam, then 20k self-scaled Broyden steps with a dense inverse Hessian",
    "levenberg-marquardt": "200 Levenberg–Marquardt steps",
    "adaptive-points": "200 Levenberg–Marquardt steps; every 20, new points where the residual is large",
    "multi-stage": "100 Levenberg–Marquardt steps, then 100 on a second network for the error of the first",
    "variable-projection": "linear problems: the last layer by least squares, frequencies by Levenberg–Marquardt",
    "nncg": "11k Adam, 30k L-BFGS, then 2k NysNewton-CG, the schedule of Rathore et al. (2024)",
}


def problems() -> dict[str, Traversable]:
    """The problem files of the library."""
    folder = resources.files(__package__).joinpath("library")
    return {name: folder.joinpath(f"{name}.toml") for name in PROBLEMS}


@cache
def suites() -> dict[str, Traversable]:
    """The built-in suites: the files */suites/NAME.toml. `bench` has the general ones; a study built on it adds its
    own without being named, imported or registered here."""
    folders = [part.joinpath("suites") for part in resources.files(__package__).iterdir() if part.is_dir()]
    files = [file for folder in folders if folder.is_dir() for file in folder.iterdir()]
    return {file.name.removesuffix(".toml"): file for file in sorted(files, key=lambda file: file.name)}


def titles(files: Mapping[str, Traversable]) -> dict[str, str]:
    """The line `title = …` of each file."""
    documents = {name: tomllib.loads(file.read_text(encoding="utf-8")) for name, file in files.items()}
    return {name: str(document.get("title", name)) for name, document in documents.items()}

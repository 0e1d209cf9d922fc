"""Solve a PDE from its symbols: directly where the equations allow it, or by a physics-informed network.

    sn.solve("wave")                                the library's wave equation, by the solver that suits it
    sn.solve(problem, sn.March(tail=1e-8))          a direct solver: Modes, LeastSquares, March, Cells
    sn.solve(problem, sn.Train())                   a network: SAFE-NET, or another, or your own

problem    what is asked            reference  independent solutions       library    the benchmark problems
fields     functions, derivatives   features   point → features            networks   features → fields
run        folder, budget, result   measure    residuals, error estimate   direct     direct solvers
train      training                 solving    the door                    solution   call, diff, error, save
views      pictures, files, words   analysis   spectra, kernels, advice    bench, report, paper   comparisons
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazily import attributes, uncollected

if TYPE_CHECKING:
    from . import (
        analysis,
        bench,
        direct,
        features,
        fields,
        inverse,
        library,
        measure,
        networks,
        paper,
        problem,
        reference,
        report,
        run,
        solving,
        train,
        views,
    )
    from .analysis import spectrum
    from .direct import (
        Cells,
        Conserve,
        Elements,
        Evolve,
        Fourier,
        Integrate,
        LeastSquares,
        March,
        Modes,
        Sparse,
    )
    from .errors import SafeNetError, SafeNetWarning
    from .inverse.plan import Fit
    from .inverse.posterior import Posterior
    from .networks import METHODS, Method
    from .problem import (
        Ball,
        Box,
        Cone,
        Cylinder,
        Data,
        Disc,
        Extrusion,
        On,
        Polygon,
        Problem,
        Revolution,
        Surface,
        Table,
    )
    from .problem.toml import dumps, loads, read
    from .run.progress import Monitor
    from .run.result import Outcome, Result
    from .solution import Solution, load
    from .solving.auto import Auto
    from .solving.door import resume, solve, solve_many
    from .train.phases import (
        LBFGS,
        NNCG,
        Adam,
        LevenbergMarquardt,
        MultiAdam,
        NaturalGradient,
        Optax,
        SSBroyden,
    )
    from .train.recipes import RECIPES
    from .train.solver import Train

__version__ = "0.2.0"

for _large in ("sympy", "scipy.integrate"):
    uncollected(_large)  # saves a quarter of its import time

# Names are imported when first used: `safenet --help` need not wait for JAX.
_NAMES = {
    "problem": (
        *("Ball", "Box", "Cone", "Cylinder", "Data", "Disc", "Extrusion", "On", "Polygon", "Problem"),
        *("Revolution", "Surface", "Table"),
    ),
    "problem.toml": ("dumps", "loads", "read"),
    "networks": ("METHODS", "Method"),
    "run.progress": ("Monitor",),
    "run.result": ("Outcome", "Result"),
    "inverse.plan": ("Fit",),
    "inverse.posterior": ("Posterior",),
    "direct": (
        "Cells",
        "Conserve",
        "Elements",
        "Evolve",
        "Fourier",
        "Integrate",
        "LeastSquares",
        "March",
        "Modes",
        "Sparse",
    ),
    "train.solver": ("Train",),
    "train.phases": (
        "LBFGS",
        "NNCG",
        "Adam",
        "LevenbergMarquardt",
        "MultiAdam",
        "NaturalGradient",
        "Optax",
        "SSBroyden",
    ),
    "train.recipes": ("RECIPES",),
    "solution": ("Solution", "load"),
    "solving.auto": ("Auto",),
    "solving.door": ("resume", "solve", "solve_many"),
    "analysis": ("spectrum",),
    "errors": ("SafeNetError", "SafeNetWarning"),
}
_MODULES = (
    *(
        "analysis",
        "bench",
        "direct",
        "features",
        "fields",
        "inverse",
        "library",
        "measure",
        "networks",
        "paper",
        "problem",
    ),
    *("reference", "report", "run", "solving", "train", "views"),
)

__all__ = [
    "LBFGS",
    "METHODS",
    "NNCG",
    "RECIPES",
    "Adam",
    "Auto",
    "Ball",
    "Box",
    "Cells",
    "Cone",
    "Conserve",
    "Cylinder",
    "Data",
    "Disc",
    "Elements",
    "Evolve",
    "Extrusion",
    "Fit",
    "Fourier",
    "Integrate",
    "LeastSquares",
    "LevenbergMarquardt",
    "March",
    "Method",
    "Modes",
    "Monitor",
    "MultiAdam",
    "NaturalGradient",
    "On",
    "Optax",
    "Outcome",
    "Polygon",
    "Posterior",
    "Problem",
    "Result",
    "Revolution",
    "SSBroyden",
    "SafeNetError",
    "SafeNetWarning",
    "Solution",
    "Sparse",
    "Surface",
    "Table",
    "Train",
    "analysis",
    "bench",
    "direct",
    "dumps",
    "features",
    "fields",
    "inverse",
    "library",
    "load",
    "loads",
    "measure",
    "networks",
    "paper",
    "problem",
    "read",
    "reference",
    "report",
    "resume",
    "run",
    "solve",
    "solve_many",
    "solving",
    "spectrum",
    "train",
    "views",
]

__getattr__, __dir__ = attributes(
    __name__, {name: home for home, names in _NAMES.items() for name in names}, _MODULES
)

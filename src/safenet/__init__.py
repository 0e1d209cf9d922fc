"""SAFE-NET: solve a PDE from its symbols, on Fourier features chosen by those symbols.

problem    what is solved            reference   independent solutions       library    the benchmark problems
features   point → features          networks    features → fields           training   points, loss, optimisers
solving    problem → solution        solution    call, diff, error, plot, save, load
tracking   TensorBoard and others    bench       suites, engines, the store of results
analysis   spectra, kernels, advice   report      tables and figures on one page
paper      the study of the paper: its numbers, claims, suites, page
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazily import attributes

if TYPE_CHECKING:
    from . import analysis, bench, features, library, networks, paper, problem, reference, report, train
    from .analysis import spectrum
    from .errors import SafeNetError, SafeNetWarning
    from .networks import METHODS, Method
    from .problem import Box, Disc, On, Polygon, Problem
    from .problem.toml import dumps, loads, read
    from .run.progress import Monitor
    from .solution import Solution, load
    from .solving.door import resume, solve, solve_many
    from .train.recipes import RECIPES, Plan
    from .views import tracking

__version__ = "0.1.0"

# Names are imported when first used: `safenet --help` need not wait for JAX.
_HOMES = {
    "Problem": "problem",
    "On": "problem",
    "Box": "problem",
    "Disc": "problem",
    "Polygon": "problem",
    "read": "problem.toml",
    "loads": "problem.toml",
    "dumps": "problem.toml",
    "METHODS": "networks",
    "Method": "networks",
    "Monitor": "run.progress",
    "Plan": "train.recipes",
    "RECIPES": "train.recipes",
    "Solution": "solution",
    "load": "solution",
    "solve": "solving.door",
    "solve_many": "solving.door",
    "spectrum": "analysis",
    "resume": "solving.door",
    "SafeNetError": "errors",
    "SafeNetWarning": "errors",
}
_MODULES = (
    "problem",
    "reference",
    "library",
    "features",
    "networks",
    "train",
    "direct",
    "measure",
    "fields",
    "views",
    "analysis",
    "bench",
    "report",
    "paper",
)

__all__ = [
    "METHODS",
    "RECIPES",
    "Box",
    "Disc",
    "Method",
    "Monitor",
    "On",
    "Plan",
    "Polygon",
    "Problem",
    "SafeNetError",
    "SafeNetWarning",
    "Solution",
    "analysis",
    "bench",
    "direct",
    "dumps",
    "features",
    "fields",
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
    "solve",
    "solve_many",
    "spectrum",
    "train",
    "views",
]

__getattr__, __dir__ = attributes(__name__, _HOMES, _MODULES)

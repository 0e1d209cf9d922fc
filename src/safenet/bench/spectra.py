"""θ after training → the spectrum of ∇²L there, kept in the run folder: nodes and density by Lanczos quadrature.

With the points and weights of the run, in float64, by the protocol of the paper: probes of unit length, all
steps re-orthogonalised. One spectrum costs probes × steps products with the Hessian.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ..analysis.curvature import curvature
from ..analysis.density import quadrature_spectrum
from ..analysis.study import loss_of
from ..measure.points import sample
from ..run.checkpoint import pack, unpack, write_atomically
from ..solution import load
from ..train.plan import Plan
from .case import Case

FILE = "spectrum.npz"
EVERY = 4  # every fourth point of the density's grid is kept: still one for each width of its kernel


def spectrum(case: Case, folder: Path) -> tuple[dict[str, Any], np.ndarray]:
    """Facts such as λ_max, and columns log₁₀|λ|, ρ₊, ρ₋; computed unless the folder has them."""
    assert case.spectrum is not None
    if not (folder / FILE).is_file():
        began, plan = time.monotonic(), case.plan
        assert isinstance(plan, Plan), "a suite asks for the spectra of networks only"
        points = sample(case.problem, plan.interior, plan.condition, plan.sampler, plan.seed)
        loss, theta, _, notes = loss_of(load(folder, case.problem), points)
        found = quadrature_spectrum("hessian", curvature(loss, theta), *case.spectrum, plan.seed)
        (decades, above), (_, below) = found.density(1), found.density(-1)
        facts = found.to_json() | {"notes": notes, "seconds": round(time.monotonic() - began, 3)}
        density = np.column_stack([decades, above, below])[::EVERY]
        write_atomically(folder / FILE, pack({"density": density}, facts))
    arrays, facts = unpack(folder / FILE)
    return facts, arrays["density"]

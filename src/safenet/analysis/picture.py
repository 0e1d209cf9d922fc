"""Spectral densities over the decades of |λ|, and the eigenvalues of the tangent kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..views.look import COLOURS, INK, Picture
from .density import WIDTH

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .study import Analysis

LEAST = 1e-6  # densities below this share of the eigenvalues per decade are not drawn


def plot(analysis: Analysis) -> Figure:
    """A panel for positive and one for negative eigenvalues, and one for the kernels."""
    figure = Picture(figsize=(13.5, 4.0), layout="constrained")
    positive, negative, kernels = figure.subplots(1, 3)
    for axes, sign, side in ((positive, 1, "λ > 0"), (negative, -1, "λ < 0")):
        _draw_densities(analysis, axes, sign)
        axes.set_title(f"{side}: share of eigenvalues per decade", fontsize=10)
    positive.legend(fontsize=8)
    for (name, kernel), colour in zip(analysis.kernels.items(), COLOURS, strict=False):
        values = kernel.eigenvalues
        kernels.semilogy(
            np.arange(1, len(values) + 1), np.where(values > 0, values, np.nan), color=colour, label=name
        )
    kernels.set_title("tangent kernels: κ_i", fontsize=10)
    kernels.set_xlabel("i")
    kernels.legend(fontsize=8)
    title = f"{analysis.problem}, {analysis.method}: {analysis.what}  ·  λ_max {analysis.lambda_max:.2e}"
    figure.suptitle(f"{title}  ·  Gaussian kernel of {WIDTH} decades", fontsize=11, color=INK)
    return figure


def _draw_densities(analysis: Analysis, axes: Axes, sign: int) -> None:
    for (name, spectrum), colour in zip(analysis.spectra.items(), COLOURS, strict=False):
        decades, density = spectrum.density(sign)
        axes.semilogy(decades, np.where(density > LEAST, density, np.nan), color=colour, label=name)
    axes.set_xlabel("log₁₀|λ|")

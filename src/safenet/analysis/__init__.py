"""Why does it train? Spectra of the loss's curvature, tangent kernels, Gram matrices, and a diagnosis in words."""

from .curvature import Curvature, curvature, widened
from .density import Spectrum, eigenvalue_spectrum, quadrature_spectrum
from .diagnosis import Advice, diagnose, frequency_shares
from .gram import FollowGram, Gram, feature_grams
from .kernel import Kernel, field_kernel, tangent_kernels
from .lanczos import lanczos_quadrature
from .preconditioned import Preconditioned, lbfgs_state, seen_by_lbfgs, seen_by_levenberg
from .study import Analysis, loss_of, spectrum

__all__ = [
    "Advice",
    "Analysis",
    "Curvature",
    "FollowGram",
    "Gram",
    "Kernel",
    "Preconditioned",
    "Spectrum",
    "curvature",
    "diagnose",
    "eigenvalue_spectrum",
    "feature_grams",
    "field_kernel",
    "frequency_shares",
    "lanczos_quadrature",
    "lbfgs_state",
    "loss_of",
    "quadrature_spectrum",
    "seen_by_lbfgs",
    "seen_by_levenberg",
    "spectrum",
    "tangent_kernels",
    "widened",
]

"""Solutions known to many more digits than a network reaches, each with a bound on its own error."""

from safenet.reference.allen_cahn_series import allen_cahn
from safenet.reference.cole_hopf import burgers
from safenet.reference.reference import Reference

__all__ = ["Reference", "allen_cahn", "burgers"]

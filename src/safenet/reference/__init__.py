"""Solutions known to many more digits than a network reaches, each with a bound on its own error."""

from safenet.reference.allen_cahn_series import allen_cahn
from safenet.reference.cole_hopf import burgers, burgers_two
from safenet.reference.d_alembert import wave_hard
from safenet.reference.flow import backstep, cavity
from safenet.reference.heat_images import heat_bump
from safenet.reference.holes import four_holes
from safenet.reference.reference import Reference

__all__ = [
    "Reference",
    "allen_cahn",
    "backstep",
    "burgers",
    "burgers_two",
    "cavity",
    "four_holes",
    "heat_bump",
    "wave_hard",
]

"""Point → features: Fourier products, random waves, radial functions, series, features taken from the conditions."""

from .base import Coordinates, Features, Frozen, Joined, UnitBox, Unscaled, box
from .corner import CornerModes, corner_modes
from .domain import DomainFeatures, domain_expressions, domain_features
from .fourier import FourierProducts, fourier_products
from .normalise import BatchNormalised, PointNormalised, Scaled, normalised
from .operator import OperatorFeatures, operator_features
from .radial import Monomials, Radial, radial
from .random_fourier import RandomFourier, random_fourier
from .seam import SeamFlow, seam_flow
from .series import Series, series

__all__ = [
    "BatchNormalised",
    "Coordinates",
    "CornerModes",
    "DomainFeatures",
    "Features",
    "FourierProducts",
    "Frozen",
    "Joined",
    "Monomials",
    "OperatorFeatures",
    "PointNormalised",
    "Radial",
    "RandomFourier",
    "Scaled",
    "SeamFlow",
    "Series",
    "UnitBox",
    "Unscaled",
    "box",
    "corner_modes",
    "domain_expressions",
    "domain_features",
    "fourier_products",
    "normalised",
    "operator_features",
    "radial",
    "random_fourier",
    "seam_flow",
    "series",
]

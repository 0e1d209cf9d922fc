"""Point → features: Fourier products, features read off the conditions, normalisation; `+` joins them."""

from .base import Coordinates, Features, Joined
from .domain import DomainFeatures, domain_expressions, domain_features
from .fourier import FourierProducts, fourier_products
from .normalise import PointNormalised, Scaled, normalised

__all__ = [
    "Coordinates",
    "DomainFeatures",
    "Features",
    "FourierProducts",
    "Joined",
    "PointNormalised",
    "Scaled",
    "domain_expressions",
    "domain_features",
    "fourier_products",
    "normalised",
]

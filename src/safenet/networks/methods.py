"""A method is a declaration: which features, which network. New ones are lines in the table below."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array

from .. import backend  # noqa: F401  (float64)
from ..errors import SafeNetError, nearest
from ..features import Coordinates, Features, domain_features, fourier_products, normalised
from ..features.fourier import AMPLITUDES, FREQUENCIES
from ..features.normalise import NORMALISATIONS
from ..problem import Problem
from .basis import AxisBasis
from .linear_form import LinearForm, Piecewise
from .perceptron import ACTIVATIONS, Perceptron, perceptron


@dataclass(frozen=True)
class Method:
    """`features` Fourier products (0: the coordinates themselves), joined by `domain` features, then layers."""

    features: int = 128
    frequencies: str = "harmonic"
    amplitudes: str = "unit"
    normalise: str = "point"
    domain: bool = True
    width: int = 50
    depth: int = 1
    activation: str = "tanh"

    def __post_init__(self) -> None:
        choices = {
            "frequencies": FREQUENCIES,
            "amplitudes": AMPLITUDES,
            "normalise": NORMALISATIONS,
            "activation": tuple(ACTIVATIONS),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise SafeNetError(
                    f"{name} = {getattr(self, name)!r} is unknown", nearest(getattr(self, name), allowed)
                )
        for name, least in {"features": 0, "width": 1, "depth": 1}.items():
            if getattr(self, name) < least:
                raise SafeNetError(f"{name} = {getattr(self, name)} is too small", f"the least is {least}")


METHODS: dict[str, Method] = {
    "safe-net": Method(frequencies="box", amplitudes="decay", normalise="fixed"),
    "safe-net-literal": Method(),
    "pinn": Method(features=0, normalise="none", domain=False, depth=4),
}
DESCRIPTIONS: dict[str, str] = {
    "safe-net": "our best: features and solver chosen from the symbols",
    "safe-net-literal": "the paper as printed: 128 features, unit amplitudes, per-point normalisation",
    "pinn": "a plain network of four hidden layers on the coordinates",
}


def method(name: str, **options: Any) -> Method:
    """The named method with some of its options changed."""
    if name not in METHODS:
        raise SafeNetError(f"there is no method {name!r}", nearest(name, METHODS))
    known = {item.name for item in fields(Method)}
    for option in options:
        if option not in known:
            raise SafeNetError(f"a method has no option {option!r}", nearest(option, known))
    return replace(METHODS[name], **options)


def build(problem: Problem, chosen: Method, *, key: Array, dtype: DTypeLike = jnp.float64) -> Perceptron:
    """The network of a method for a problem, initialised by `key`."""
    feature_key, layer_key = jax.random.split(key)
    features: Features | None = None
    if chosen.features:
        features = fourier_products(
            problem, chosen.features, chosen.frequencies, chosen.amplitudes, key=feature_key, dtype=dtype
        )
    else:
        features = Coordinates(tuple(a.lo for a in problem.axes), tuple(a.hi for a in problem.axes))
    if chosen.domain:
        domain = domain_features(problem)
        features = features + domain if domain.size else features
    features = normalised(features, chosen.normalise, problem, dtype)
    return perceptron(
        features,
        len(problem.unknowns),
        chosen.width,
        chosen.depth,
        chosen.activation,
        key=layer_key,
        dtype=dtype,
    )


def network_spec(network: Any, chosen: Method, dtype: str) -> dict[str, Any]:
    """What is needed, beside the arrays, to build the same network again."""
    if isinstance(network, (LinearForm, Piecewise)):
        return network.spec()
    return {"kind": "perceptron", "method": asdict(chosen), "dtype": dtype}


def skeleton(problem: Problem, spec: dict[str, Any]) -> Any:
    """A network of the structure `spec` describes; its arrays are placeholders to be filled."""
    if spec["kind"] == "perceptron":
        return build(problem, Method(**spec["method"]), key=jax.random.key(0), dtype=jnp.dtype(spec["dtype"]))
    if spec["kind"] == "linear-form":
        bases = tuple(tuple(AxisBasis(**basis) for basis in axes) for axes in spec["bases"])
        shapes = ([basis.size for basis in axes] for axes in bases)
        return LinearForm(tuple(jnp.zeros(shape) for shape in shapes), bases)
    pieces = tuple(skeleton(problem, piece) for piece in spec["pieces"])
    return Piecewise(pieces, tuple(spec["breaks"]))

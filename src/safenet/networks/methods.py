"""A method is a declaration: which features, which network, which weights. New ones are lines in the table below."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any

import jax
import jax.numpy as jnp
from jax.typing import DTypeLike
from jaxtyping import Array

from .. import backend  # noqa: F401  (float64)
from ..errors import SafeNetError, nearest
from ..features import (
    Coordinates,
    Features,
    Monomials,
    UnitBox,
    Unscaled,
    box,
    corner_modes,
    domain_features,
    fourier_products,
    normalised,
    operator_features,
    radial,
    random_fourier,
    seam_flow,
    series,
)
from ..features.fourier import AMPLITUDES, FREQUENCIES, LENGTHS, named_length
from ..features.normalise import NORMALISATIONS
from ..problem import Problem
from .constrained import Constrained, constrained
from .former import Former, former
from .frozen import FrozenFeatures, FrozenMap
from .modulated import Modulated
from .perceptron import ACTIVATIONS, Perceptron, perceptron
from .pirate import Pirate, pirate

WEIGHTINGS = ("fixed", "ntk", "rba")


@dataclass(frozen=True)
class Method:
    """The features, the layers and the weighting of the loss, as numbers and names only.

    Every field is also an option of `Train` and of suites, so an ablation takes one line. A field that the chosen
    embedding or weighting does not use has no effect.

    Examples:
        >>> method = sn.Method(features=64, width=32, depth=3)
        >>> training = sn.Train(method, "paper-1")
    """

    # Features: how many (0: the coordinates themselves), of which kind, and what joins them.
    features: int = 128
    frequencies: str = "harmonic"  # of the Fourier products
    amplitudes: str = "unit"
    normalise: str = "point"
    domain: bool = True  # features taken from the conditions
    seams: bool = False  # whether those include how diffusion rounds off a kink at a periodic seam
    corners: bool = False  # whether modes of re-entrant corners, times outputs of the network, are added
    train_features: bool = True  # whether frequencies and amplitudes are trained with the layers
    # Layers.
    width: int = 50
    depth: int = 1  # hidden layers; 0: u = Σ a φ, the linear form
    activation: str = "tanh"
    omega_0: float = 0.0  # > 0: the first layer is sin(ω₀ (W φ + b))
    skip: bool = False  # whether the features also go to the output directly: u = Σ a φ + what the layers add
    carriers: bool = False  # u = N₀ + Σ ψ N_ψ with the functions ψ of the conditions
    hard: bool = False  # u = g + d N: conditions hold by construction where they can
    adaptive: bool = False  # whether each layer's activation has a trained slope: σ(10 a z)
    # `dense`, or `pirate`: `depth` gated blocks as wide as the features; `attention`: a PINNsFormer.
    layers: str = "dense"
    # More about the features.
    embedding: str = "fourier"
    k: str = "auto"  # of the harmonic frequencies ℓπ/k
    scaled: bool = True  # whether coordinates, random and radial features use the box scaled to a unit one
    sigma_space: float = 1.0  # σ of the random frequencies, in cycles per unit of the inputs
    sigma_time: float = 1.0
    bandwidth: float = 1.0  # initial σ of the radial functions
    degree: int = 0  # > 0: monomials up to this total degree join the features
    # Points from which the normalisations `batch`, `global` and `fixed` take their statistics.
    batch: int = 512
    # Weights of the loss's terms: those of the plan, adapted by Adam and then kept.
    weighting: str = "fixed"
    ntk_every: int = 1000
    ntk_points: int = 300
    rba_decay: float = 0.999
    rba_rate: float = 0.01
    weight_grid: Sequence[float] = ()  # values of the equations' weight λ to choose from

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight_grid", tuple(self.weight_grid))  # JSON has lists only
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise SafeNetError(
                    f"{name} = {getattr(self, name)!r} is unknown", nearest(str(getattr(self, name)), allowed)
                )
        for name, least in LEAST.items():
            value, whole = getattr(self, name), isinstance(least, int)
            if not isinstance(value, Integral if whole else Real) or value == math.inf:
                kind = "whole" if whole else "finite"
                raise SafeNetError(f"{name} = {value!r} is not a {kind} number", f"the least is {least}")
            if not float(value) >= least:
                raise SafeNetError(f"{name} = {value} is too small", f"the least is {least}")
        for name in POSITIVE:
            if not _positive(getattr(self, name)):
                raise SafeNetError(
                    f"{name} = {getattr(self, name)!r} is not positive", "give a positive number"
                )
        if not (isinstance(self.rba_decay, Real) and 0 <= float(self.rba_decay) < 1):
            raise SafeNetError(f"rba_decay = {self.rba_decay!r} is not in [0, 1)", "the paper's is 0.999")
        if not all(map(_positive, self.weight_grid)):
            raise SafeNetError(f"weight_grid = {self.weight_grid} is not positive", "give positive numbers")


def _positive(value: Any) -> bool:
    return isinstance(value, Real) and 0 < float(value) < math.inf


def _fourier(problem: Problem, chosen: Method, inputs: Coordinates, key: Array, dtype: DTypeLike) -> Features:
    return fourier_products(
        problem,
        chosen.features,
        chosen.frequencies,
        chosen.amplitudes,
        chosen.k,
        key=key,
        dtype=dtype,
    )


def _random(problem: Problem, chosen: Method, inputs: Coordinates, key: Array, dtype: DTypeLike) -> Features:
    sigma = chosen.sigma_space, chosen.sigma_time
    return random_fourier(problem, chosen.features, *sigma, inputs, key=key, dtype=dtype)


def _radial(problem: Problem, chosen: Method, inputs: Coordinates, key: Array, dtype: DTypeLike) -> Features:
    return radial(inputs, chosen.features, chosen.bandwidth, key=key, dtype=dtype)


def _series(problem: Problem, chosen: Method, inputs: Coordinates, key: Array, dtype: DTypeLike) -> Features:
    return series(problem, max(1, chosen.features // 2))


def _operator(
    problem: Problem, chosen: Method, inputs: Coordinates, key: Array, dtype: DTypeLike
) -> Features:
    return operator_features(problem, chosen.features, dtype=dtype)


def _hybrid(problem: Problem, chosen: Method, inputs: Coordinates, key: Array, dtype: DTypeLike) -> Features:
    """Fourier products for waves and radial functions for local detail, half of the features each."""
    half = replace(chosen, features=chosen.features // 2)
    keys = jax.random.split(key)
    waves = _fourier(problem, half, inputs, keys[0], dtype)
    return waves + _radial(problem, half, inputs, keys[1], dtype)


EMBEDDINGS: dict[str, Callable[[Problem, Method, Coordinates, Array, DTypeLike], Features]] = {
    "fourier": _fourier,
    "random": _random,
    "radial": _radial,
    "series": _series,
    "operator": _operator,
    "hybrid": _hybrid,
}
LAYERS = ("dense", "pirate", "attention")
CHOICES: dict[str, tuple[str, ...]] = {
    "frequencies": FREQUENCIES,
    "amplitudes": AMPLITUDES,
    "normalise": NORMALISATIONS,
    "activation": tuple(ACTIVATIONS),
    "embedding": tuple(EMBEDDINGS),
    "k": LENGTHS,
    "weighting": WEIGHTINGS,
    "layers": LAYERS,
}
LEAST = {
    **{"features": 0, "width": 1, "depth": 0, "degree": 0, "batch": 2},
    **{"omega_0": 0.0, "ntk_every": 1, "ntk_points": 1, "rba_rate": 0.0},
}
POSITIVE = ("sigma_space", "sigma_time", "bandwidth")

PINN = Method(features=0, normalise="none", domain=False, depth=4)
EMBEDDED = replace(PINN, features=128)

METHODS: dict[str, Method] = {
    "safe-net": Method(frequencies="box", amplitudes="decay", normalise="fixed"),
    # k = L on every problem: with the printed k = 1 it does not train on longer axes (docs/reading-the-paper.md).
    "safe-net-literal": Method(k="L"),
    "pinn": PINN,
    "fls-pinn": replace(PINN, omega_0=1.0),
    "w-pinn": replace(PINN, weighting="ntk"),
    "w-pinn-grid": replace(PINN, weight_grid=(1e-1, 1e-3, 1e-4)),
    # m = 31 waves: 16k parameters on the wave equation, the only thing that the paper says about m.
    "rba-pinn": replace(PINN, embedding="series", features=62, depth=6, weighting="rba"),
    "rff": replace(EMBEDDED, embedding="random", scaled=False, sigma_space=200.0, sigma_time=10.0),
    # One cycle per box: a choice that requires no knowledge of the solution.
    "rff-tuned": replace(EMBEDDED, embedding="random"),
    "rbf": replace(EMBEDDED, embedding="radial"),
    "rbf-p": replace(EMBEDDED, embedding="radial", degree=2),
    # The authors' settings: three blocks, 256 features of two cycles per box, 727k parameters.
    "piratenet": replace(
        EMBEDDED, embedding="random", features=256, layers="pirate", depth=3, sigma_space=2.0, sigma_time=2.0
    ),
    # The authors' settings: five steps of 1e-4, 454k parameters.
    "pinnsformer": replace(PINN, layers="attention", width=512, scaled=False),
}
# Options of safe-net when it is trained with a dense inverse Hessian: four layers on the features and the coordinates,
# the linear form beside them, and an output for each function of the conditions. Chosen among some 30 variants, one to
# three seeds each, on the nine problems of the paper, by the worst ratio of an error to the best error on that problem:
# those nine are selection data; other problems and seeds are the test. Results are in docs/networks.md.
TRAINED_DENSELY: dict[str, Any] = {
    **{"features": 64, "width": 32, "depth": 4, "degree": 1},
    **{"skip": True, "carriers": True, "seams": True, "corners": True},
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


def settled(problem: Problem, chosen: Method) -> Method:
    """The method with one name for one network: `k` is "auto" wherever it gives the same frequencies as "auto"."""
    harmonic = chosen.features and chosen.embedding == "fourier" and chosen.frequencies == "harmonic"
    return replace(chosen, k=named_length(problem, chosen.k)) if harmonic and chosen.k != "auto" else chosen


def build(
    problem: Problem, chosen: Method, *, key: Array, dtype: DTypeLike = jnp.float64
) -> Perceptron | Modulated | Constrained | Pirate | Former:
    """The network of a method for a problem, initialised by `key`."""
    if chosen.layers == "attention":
        return former(len(problem.axes), len(problem.unknowns), chosen.width, key=key, dtype=dtype)
    feature_key, layer_key = jax.random.split(key)
    features = normalised(
        _features(problem, chosen, feature_key, dtype), chosen.normalise, problem, dtype, chosen.batch
    )
    if chosen.layers == "pirate":
        fields = len(problem.unknowns)
        return pirate(features, fields, chosen.depth, chosen.activation, key=layer_key, dtype=dtype)
    carriers = _of_conditions(problem, chosen)
    carried = carriers if chosen.domain and chosen.carriers and carriers.size > 0 else None
    modes = corner_modes(problem) if chosen.corners else None
    fields, kept = len(problem.unknowns), 0 if carried is None else carried.size
    layers = perceptron(
        features if chosen.train_features else FrozenFeatures(FrozenMap(features)),
        fields * (1 + kept) + (0 if modes is None else modes.size // fields),
        chosen.width,
        chosen.depth,
        chosen.activation,
        chosen.omega_0,
        chosen.skip,
        chosen.adaptive,
        key=layer_key,
        dtype=dtype,
    )
    network: Perceptron | Modulated = layers
    if carried is not None or modes is not None:
        if carried is not None:
            carried = normalised(carried, "fixed", problem, dtype, chosen.batch)
        network = Modulated(layers, fields, carried, modes)
    return constrained(problem, network) if chosen.hard else network


def _features(problem: Problem, chosen: Method, key: Array, dtype: DTypeLike) -> Features:
    """[embedding or coordinates; monomials; features of the conditions]"""
    corners = box(problem)
    inputs = (UnitBox if chosen.scaled else Unscaled)(*corners)
    if chosen.features:
        features = EMBEDDINGS[chosen.embedding](problem, chosen, inputs, key, dtype)
    else:
        features = (Coordinates if chosen.scaled else Unscaled)(*corners)
    if chosen.degree:
        features = features + Monomials(inputs, chosen.degree)
    data = _of_conditions(problem, chosen)
    return features + data if chosen.domain and data.size else features


def _of_conditions(problem: Problem, chosen: Method) -> Features:
    """The functions that the conditions are made of and, with `seams`, those that follow from their kinks."""
    data, flow = domain_features(problem), seam_flow(problem) if chosen.seams else None
    return data if flow is None else data + flow

"""θ = (network, z): unknown numbers, and the coefficients of unknown functions, are the last parameters of a loss."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import sympy as sp
from jaxtyping import Array, Float

from ..problem.jets import coordinate
from ..problem.language.tabulated import coefficients_of
from ..problem.numbers import Curve, Number
from .thresholds import SMOOTH

Free = tuple[tuple[str, Number], ...]


def size(free: Free) -> int:
    return sum(math.prod(number.shape) for _, number in free)


def started(free: Free) -> np.ndarray:
    """z of their initial values."""
    return np.concatenate([np.ravel(number.z) for _, number in free])


def parts(free: Free, theta: Float[Array, " p"]) -> dict[str, Array]:
    """z of each unknown, in its own shape."""
    found, start = {}, theta.shape[0] - size(free)
    for name, number in free:
        stop = start + math.prod(number.shape)
        found[name] = theta[start:stop].reshape(number.shape)
        start = stop
    return found


def values(free: Free, theta: Float[Array, " p"]) -> dict[sp.Symbol, Any]:
    """The values to insert into the equations: numbers and the coefficients of functions, by their symbols."""
    found = {}
    for (name, number), z in zip(free, parts(free, theta).values(), strict=True):
        symbol = coefficients_of(name) if isinstance(number, Curve) else coordinate(name)
        found[symbol] = number.at(z, jnp)
    return found


def found(free: Free, theta: Float[Array, " p"]) -> dict[str, Any]:
    """The same by name, as plain numbers and lists."""
    return {symbol.name.rstrip("#"): np.asarray(v).tolist() for symbol, v in values(free, theta).items()}


def roughness(free: Free, theta: Float[Array, " p"]) -> Float[Array, " n"]:
    """√λ × second differences of the coefficients; half the sum of their squares is the smoothness penalty."""
    rows = [jnp.zeros(0, theta.dtype)]
    for (_, number), z in zip(free, parts(free, theta).values(), strict=True):
        if isinstance(number, Curve):
            scale = math.sqrt(SMOOTH if number.smooth is None else number.smooth)
            rows += [scale * jnp.diff(z, 2, axis=axis).ravel() for axis in range(z.ndim)]
    return jnp.concatenate(rows)

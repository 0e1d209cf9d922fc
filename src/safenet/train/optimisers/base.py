"""What every optimiser shares besides its step: what a schedule needs to know of it, and the checks of its numbers."""

from dataclasses import MISSING, fields
from math import inf
from numbers import Integral, Real
from typing import Any, ClassVar, cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...errors import SafeNetError

SQUARED = "JᵀJ squares the condition of J, which leaves nothing of single precision"


class Optimiser:
    """What a schedule needs from a phase, besides `start` and `advance`."""

    double: ClassVar[bool] = False  # needs float64: single precision would mislead it
    # Adapts the weights; other optimisers keep the weights that they find.
    adapts_weights: ClassVar[bool] = False
    finds_numbers: ClassVar[bool] = True  # also trains the unknown numbers of a problem
    looks: ClassVar[int] = 500  # iterations between two looks at the residual, if there is a tolerance
    counted: ClassVar[tuple[str, ...]] = ("iterations",)  # its fields that count iterations
    may_be_zero: ClassVar[tuple[str, ...]] = ("resample", "seed")  # besides these

    def __post_init__(self) -> None:
        """Check the numbers: one without a default, or with a whole one, is whole, and none is negative."""
        for item in fields(cast(Any, self)):
            value = getattr(self, item.name)
            if item.default is MISSING or type(item.default) is int:
                least = 0 if item.name in (*self.counted, *self.may_be_zero) else 1
                fits, kind = isinstance(value, Integral) and int(value) >= least, "whole number"
            elif type(item.default) is float and not isinstance(value, jax.Array):  # such as a traced rate
                least, kind = 0, "number"
                fits = isinstance(value, Real) and 0 <= float(value) < inf
            else:
                continue
            if not fits:
                raise SafeNetError(
                    f"{type(self).__name__} has {item.name} = {value!r}", f"give a {kind}, at least {least}"
                )

    @property
    def code(self) -> str:
        """The name of the phase's code, which no plan can hold; "" if it has none."""
        return ""


def require_double(theta: Float[Array, " p"], name: str, why: str) -> None:
    """Refuse single precision where a method would be misled by it."""
    if theta.dtype != jnp.float64:
        raise SafeNetError(
            f"{name} needs float64 parameters, but theta is {theta.dtype}: {why}",
            "leave out the precision, or use LBFGS, which works in float32",
        )

"""φ ↦ (φ − mean φ)/(‖φ − mean φ‖ + ε), or a fixed scale: the normalisation between features and network.

The paper does not say over which axis its mean and norm are taken. `point` takes them over the features of one
point, `batch` over a sample of points for each feature, `global` over all features of all points in it. Each is
a map of one point, so its derivatives are well defined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float

from ..fields.derivatives import Jets, Orders, added, by_rule, composed, elementwise, knows, product
from ..problem import Problem
from .base import Features, Frozen, Joined, image, table

NORMALISATIONS = ("point", "batch", "global", "fixed", "none")
EPSILON = 1e-3
WAVES = 32  # with so many Fourier products, their values at a point are never all nearly equal


class PointNormalised(Features):
    """(φ − mean φ)/(‖φ − mean φ‖₂ + 10⁻³) over the features of one point: the paper's normalisation."""

    inner: Features
    operators: ClassVar[tuple[str, ...]] = ("image",)

    @property
    def size(self) -> int:
        return self.inner.size

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        features = self.inner(point)
        centred = features - jnp.mean(features)
        return centred / (_norm(centred) + EPSILON)

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        """W c q with c = φ − mean φ and q = 1/(‖c‖ + ε), one number per point: W is applied first."""
        sums = jnp.sum(W, axis=1, keepdims=True)
        found = image(self.inner, jnp.concatenate([W, jnp.full_like(W[:1], 1 / self.size)]), x, orders)
        mean = {alpha: value[-1:] for alpha, value in found.items()}
        square = self._square(mean, x, orders)
        quotient = composed(elementwise(_reciprocal_norm, square[(0,) * x.shape[0]]), square, orders)
        centred = {alpha: value[:-1] - sums * mean[alpha] for alpha, value in found.items()}
        return product(centred, quotient, orders)

    def _square(self, mean: Jets, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
        """‖φ − m‖² = Σφ² − n m² if there are many waves, with Σφ² in closed form: they are never all nearly equal.

        If they could be, the difference would cancel; then the features themselves are centred.
        """
        parts = self.inner.parts if isinstance(self.inner, Joined) else (self.inner,)
        if not any(_many_waves(part) for part in parts):
            tables = table(self.inner, x, orders)
            centred = {alpha: value - mean[alpha] for alpha, value in tables.items()}
            return _summed(product(centred, centred, orders))
        squares = (_squares(part, x, orders) for part in parts)
        lost = {alpha: -self.size * value for alpha, value in product(mean, mean, orders).items()}
        return added(*squares, lost)


def _many_waves(features: Features) -> bool:
    return knows(features, "squares") and features.size >= WAVES


def _squares(features: Features, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
    """Σφ²"""
    if _many_waves(features):
        return by_rule(features, "squares", (x,), orders)
    values = table(features, x, orders)
    return _summed(product(values, values, orders))


def _summed(jets: Jets) -> Jets:
    return {alpha: jnp.sum(value, axis=0, keepdims=True) for alpha, value in jets.items()}


class BatchNormalised(Features):
    """(φ_j − mean_i φ_j(x_i))/(‖φ_j(x_i) − mean‖₂ + 10⁻³): over a fixed sample x_i of the box, feature by feature.

    A batch of the training points would give interior and faces different networks, so the sample is from the box.
    Mean and norm follow the trainable features; they do not depend on the point, so all points share them.
    The norm grows with the square root of the sample's size, as the printed one does with the batch's.
    """

    inner: Features
    sample: Frozen
    whole: bool = eqx.field(static=True, default=False)  # one mean and one norm for all features together
    operators: ClassVar[tuple[str, ...]] = ("image",)

    @property
    def size(self) -> int:
        return self.inner.size

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        mean, norm = self._statistics(jax.vmap(self.inner)(self.sample.value))
        return (self.inner(point) - mean) / (norm + EPSILON)

    def _statistics(self, batch: Float[Array, "points features"]) -> tuple[Array, Array]:
        """The mean, and the norm of the centred values, for each feature; with `whole`, the same for all features."""
        if not self.whole:
            mean = jnp.mean(batch, axis=0)
            return mean, _norm(batch - mean)
        mean = jnp.full(self.size, jnp.mean(batch))
        return mean, jnp.full(self.size, _norm(jnp.ravel(batch - mean)))

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        zero = (0,) * x.shape[0]
        batch = table(self.inner, self.sample.value.T, [zero])[zero].T
        mean, norm = self._statistics(batch)
        scaled = W / (norm + EPSILON)
        return added(image(self.inner, scaled, x, orders), {zero: -(scaled @ mean)[:, None]})


def _norm(values: Float[Array, " n *features"]) -> Float[Array, " *features"]:
    """‖·‖₂ along the first axis. √ has no derivative at 0; there all values are equal, and the quotient is 0 anyway."""
    square = jnp.sum(values**2, axis=0)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def _reciprocal_norm(square: Float[Array, ...]) -> Float[Array, ...]:
    """1/(√s + ε), with the slope 0 at s = 0 as above."""
    return 1 / (jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0) + EPSILON)


class Scaled(Features):
    """φ/s with one fixed s, by which the derivatives are divided, too."""

    inner: Features
    scale: Frozen
    operators: ClassVar[tuple[str, ...]] = ("image",)

    @property
    def size(self) -> int:
        return self.inner.size

    def __call__(self, point: Float[Array, " axes"]) -> Float[Array, " features"]:
        return self.inner(point) / self.scale.value

    def image(
        self, W: Float[Array, "rows features"], x: Float[Array, "axes points"], orders: Sequence[Orders]
    ) -> Jets:
        return image(self.inner, W / self.scale.value, x, orders)


def normalised(
    features: Features, how: str, problem: Problem, dtype: DTypeLike, batch: int = 512
) -> Features:
    """`point`, `batch`, `global`: the paper's, over either axis or both; `fixed`: s² = mean ‖φ‖² initially; `none`."""
    if how == "point":
        return PointNormalised(features)
    if how == "none":
        return features
    sample = jnp.asarray(_spread(problem, batch), dtype)
    if how in ("batch", "global"):
        return BatchNormalised(features, Frozen(sample), how == "global")
    values = jax.vmap(features)(sample)
    return Scaled(features, Frozen(jnp.sqrt(jnp.mean(jnp.sum(values**2, axis=1)))))


def _spread(problem: Problem, count: int) -> np.ndarray:
    """The first `count` Sobol points of the box: the same for every seed."""
    from scipy.stats import qmc

    unit = qmc.Sobol(len(problem.axes), scramble=False).random_base2(math.ceil(math.log2(count)))[:count]
    low = np.array([axis.lo for axis in problem.axes])
    points: np.ndarray = low + np.array([axis.length for axis in problem.axes]) * unit
    return points

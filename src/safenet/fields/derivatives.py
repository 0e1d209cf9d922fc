"""∂^α f for a set of multi-indices α: at one point by nested forward mode, on a whole batch by propagating jets.

At one point the multi-indices form a tree — u, u_x, u_xx, u_xt, … — and each edge is one forward-mode derivative of its
parent, so that u and u_x are computed on the way to u_xx and shared by everything below them.

On a batch a jet is {α: ∂^α h}, arrays of (width, points), and goes through a network by the rules of calculus: linear
maps act on each ∂^α h alone, products follow Leibniz and compositions Faà di Bruno. A derivative that is not in the
dict is zero, and one that is the same at all points may have a single column. The gradient of the result then passes
every ∂^α h once, whereas that of nested forward mode passes the lower ones again on the way to each higher one.
Where only Σ c_α ∂^α u is needed, the derivatives are propagated together, as one `Operator`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .. import backend  # noqa: F401  (float64)
from ..problem.jets import Orders as Orders
from ..problem.jets import along

PointFunction = Callable[[Float[Array, " axes"]], Float[Array, " fields"]]
Jets = dict[Orders, Any]

SINGLE = (
    lax.DotAlgorithmPreset.TF32_TF32_F32_X3
)  # how tensor cores multiply float32 (benchmarks/loop/gpu_ways.py)
NARROW = 8  # with at most so many rows or columns, sums are faster than an accelerator's matrix unit
# On an accelerator the number of points is padded to a multiple of this; else XLA copies what it sums over the points.
ALIGNED = 256


def point_jets(
    field: PointFunction, orders: Sequence[Orders]
) -> Callable[[Float[Array, " axes"]], dict[Orders, Float[Array, " fields"]]]:
    """x ↦ {α: ∂^α f(x)} at one point: exactly the derivatives asked for, and those on the way to them."""
    tree = _tree(orders)

    def compute(point: Float[Array, " axes"]) -> dict[Orders, Float[Array, " fields"]]:
        return _descend(field, point, (0,) * point.shape[0], tree)

    return compute


def batch_jets(
    field: PointFunction, points: Float[Array, "points axes"], orders: Sequence[Orders]
) -> dict[Orders, Float[Array, "points fields"]]:
    """{α: ∂^α f} at many points: propagated where the field knows how, else nested, point by point."""
    count, axes = points.shape
    if not knows(field, "propagate"):
        nested = jax.vmap(point_jets(field, expanded(orders)))(points)
        return {alpha: collected(nested, alpha) for alpha in orders}
    x = _aligned(points.T)
    found = propagated(field, x, below(orders))
    zero = (0,) * axes
    return {alpha: whole(found.get(alpha), found[zero], x.shape[1])[:, :count].T for alpha in orders}


def _aligned(x: Float[Array, "axes points"]) -> Float[Array, "axes more"]:
    """The points; many points on an accelerator are padded with copies of the last to a multiple of ALIGNED."""
    missing = -x.shape[1] % ALIGNED
    if jax.default_backend() == "cpu" or x.shape[1] < 16 * ALIGNED:
        return x
    return jnp.pad(x, ((0, 0), (0, missing)), mode="edge")


def propagated(field: PointFunction, x: Float[Array, "axes points"], orders: Sequence[Orders]) -> Jets:
    """{α: ∂^α f} as jets on a batch, by `.propagate` or else nested; `orders` must include all below each of them."""
    if knows(field, "propagate"):
        return by_rule(field, "propagate", (x,), orders)
    found = jax.vmap(point_jets(field, expanded(orders)), in_axes=1, out_axes=1)(x)
    return {alpha: collected(found, alpha) for alpha in orders}


def differentiated(
    field: PointFunction, points: Float[Array | np.ndarray, "points axes"], orders: tuple[Orders, ...]
) -> Mapping[Orders, Float[Array, "points fields"]]:
    """{α: ∂^α f} at many points, compiled."""
    return _batched(field, jnp.asarray(points), orders)


@eqx.filter_jit
def _batched(
    field: PointFunction, points: Float[Array, "points axes"], orders: tuple[Orders, ...]
) -> dict[Orders, Float[Array, "points fields"]]:
    # In the points' precision, whatever the field was trained in.
    field = jax.tree.map(
        lambda leaf: leaf.astype(points.dtype) if eqx.is_inexact_array(leaf) else leaf, field
    )
    return batch_jets(field, points, orders)


def knows(thing: Any, rule: str) -> bool:
    """Whether `rule` belongs to the `__call__` that `thing` uses: a subclass may have overridden `__call__` alone."""
    for cls in type(thing).__mro__:
        if rule in vars(cls) or "__call__" in vars(cls):
            return rule in vars(cls)
    return False


# ---- at one point


def _tree(orders: Sequence[Orders]) -> set[Orders]:
    """All multi-indices on the paths (first axis first) from 0 to each of the given ones."""
    nodes: set[Orders] = set()
    for order in orders:
        step = [0] * len(order)
        nodes.add(tuple(step))
        for axis, count in enumerate(order):
            for _ in range(count):
                step[axis] += 1
                nodes.add(tuple(step))
    return nodes


def _descend(
    function: PointFunction, point: Float[Array, " axes"], here: Orders, tree: set[Orders]
) -> dict[Orders, Float[Array, " fields"]]:
    found: dict[Orders, Float[Array, " fields"]] = {}
    last = max((axis for axis, count in enumerate(here) if count), default=0)
    for axis in range(last, point.shape[0]):
        child = tuple(count + (i == axis) for i, count in enumerate(here))
        if child not in tree:
            continue
        direction = jnp.zeros_like(point).at[axis].set(1.0)

        def derivative(p: Array, direction: Array = direction) -> Array:
            slope: Array = jax.jvp(function, (p,), (direction,))[1]
            return slope

        found |= _descend(derivative, point, child, tree)
    return {here: function(point)} | found


# ---- on a batch


class Operator(tuple[int, ...]):
    """L = Σ_α c_α ∂^α with numbers c_α and 1 ≤ |α| ≤ 2: propagated as one jet instead of one for each part.

    L(f g) = f Lg + g Lf + Σ c_ij (f_i g_j + f_j g_i) and L σ(h) = σ′(h) Lh + σ″(h) Σ c_ij h_i h_j need no second
    derivative besides L; Li et al. (2023) use this for the Laplacian. An Operator stands in lists of multi-indices,
    after them, and is equal only to itself.
    """

    parts: dict[Orders, Any]

    def __new__(cls, parts: Mapping[Orders, Any]) -> Operator:
        self = super().__new__(cls)
        self.parts = dict(parts)
        return self

    __eq__, __ne__, __hash__ = object.__eq__, object.__ne__, object.__hash__

    @property
    def zero(self) -> Orders:
        """The multi-index of the value itself."""
        return (0,) * len(next(iter(self.parts)))

    @property
    def pairs(self) -> list[tuple[Any, Orders, Orders]]:
        """(c_ij, e_i, e_j) of its second derivatives."""
        found = []
        for alpha, c in self.parts.items():
            if sum(alpha) == 2:
                i, j = (axis for axis, n in enumerate(alpha) for _ in range(n))
                found.append((c, along(i, len(alpha)), along(j, len(alpha))))
        return found


def by_rule(thing: Any, rule: str, arguments: Sequence[Any], orders: Sequence[Orders]) -> Jets:
    """thing.rule(*arguments, orders).

    Each Operator is expanded into its parts and assembled again afterwards, unless the class that defines the rule
    can handle an Operator itself: then the rule's name is in its `operators`.
    """
    home = next(cls for cls in type(thing).__mro__ if rule in vars(cls))
    if rule in vars(home).get("operators", ()) or not any(isinstance(alpha, Operator) for alpha in orders):
        jets: Jets = getattr(thing, rule)(*arguments, orders)
        return jets
    found = getattr(thing, rule)(*arguments, expanded(orders))
    wanted = {alpha: collected(found, alpha) for alpha in orders}
    return {alpha: value for alpha, value in wanted.items() if value is not None}


def expanded(orders: Sequence[Orders]) -> tuple[Orders, ...]:
    """The orders with each Operator replaced by its parts, and everything below those."""
    plain, operators = _parted(orders)
    return below([*plain, *(alpha for L in operators for alpha in L.parts)]) if operators else tuple(orders)


def _parted(orders: Sequence[Orders]) -> tuple[list[Orders], list[Operator]]:
    """The multi-indices, and the Operators."""
    operators = [alpha for alpha in orders if isinstance(alpha, Operator)]
    return [alpha for alpha in orders if not isinstance(alpha, Operator)], operators


def collected(found: Jets, alpha: Orders) -> Any:
    """∂^α, or Σ c_α ∂^α of an Operator; None where it is zero."""
    if not isinstance(alpha, Operator):
        return found.get(alpha)
    terms = [c * found[beta] for beta, c in alpha.parts.items() if beta in found]
    return sum(terms[1:], start=terms[0]) if terms else None


def below(orders: Sequence[Orders]) -> tuple[Orders, ...]:
    """All β ≤ some α, lowest first: what products and compositions need to form every ∂^α and Operator."""
    plain, operators = _parted(orders)
    plain += [alpha for L in operators for alpha in (L.zero, *(e for _, *pair in L.pairs for e in pair))]
    found = {beta for alpha in plain for beta in itertools.product(*(range(n + 1) for n in alpha))}
    return (*sorted(found, key=lambda beta: (sum(beta), beta)), *operators)


def added(*parts: Jets) -> Jets:
    """Σ_k f_k"""
    total: Jets = {}
    for part in parts:
        for alpha, value in part.items():
            total[alpha] = total[alpha] + value if alpha in total else value
    return total


def product(f: Jets, g: Jets, orders: Sequence[Orders]) -> Jets:
    """∂^α (f g) = Σ_{β ≤ α} C(α, β) ∂^β f ∂^{α−β} g, entry by entry."""
    found: Jets = {}
    for alpha in orders:
        if isinstance(alpha, Operator):
            ways = [(1, alpha.zero, alpha), (1, alpha, alpha.zero)]
            ways += [way for c, i, j in alpha.pairs for way in ((c, i, j), (c, j, i))]
        else:
            ways = [(_choose(alpha, beta), beta, _minus(alpha, beta)) for beta in below([alpha])]
        terms = [_times(c, f[beta] * g[rest]) for c, beta, rest in ways if beta in f and rest in g]
        if terms:
            found[alpha] = sum(terms[1:], start=terms[0])
    return found


def composed(slope: Callable[[int], Any], inner: Jets, orders: Sequence[Orders]) -> Jets:
    """∂^α σ(h), entry by entry, where slope(k) is σ^(k)(h):

    ∂^{α+e_i} σ^(k)(h) = Σ_{β ≤ α} C(α, β) ∂^β σ^(k+1)(h) ∂^{α−β+e_i} h.
    """
    slope = cache(slope)

    @cache
    def derivative(alpha: Orders, k: int) -> Any:
        if isinstance(alpha, Operator):
            terms = [slope(1) * inner[alpha]] if alpha in inner else []
            squares = [c * (inner[i] * inner[j]) for c, i, j in alpha.pairs if i in inner and j in inner]
            if squares:
                terms.append(slope(2) * sum(squares[1:], start=squares[0]))
            return sum(terms[1:], start=terms[0]) if terms else None
        if not any(alpha):
            return slope(k)
        axis = next(i for i, n in enumerate(alpha) if n)
        lower = tuple(n - (i == axis) for i, n in enumerate(alpha))
        terms = []
        for beta in below([lower]):
            rest = tuple(n + (i == axis) for i, n in enumerate(_minus(lower, beta)))
            outer = derivative(beta, k + 1) if rest in inner else None
            if outer is not None:
                terms.append(_times(_choose(lower, beta), outer * inner[rest]))
        return sum(terms[1:], start=terms[0]) if terms else None

    found = {alpha: derivative(alpha, 0) for alpha in orders}
    return {alpha: value for alpha, value in found.items() if value is not None}


def linear(weight: Float[Array, "rows width"], inner: Jets) -> Jets:
    """∂^α (W h) = W ∂^α h, one product for each α.

    Joining all ∂^α h into one matrix here would copy them; on a GPU, XLA joins the products itself where that pays. On
    an accelerator a narrow W is applied as a sum, which XLA fuses with the operations around it: the jets of the last
    layer, or of few features, are then never written to memory.
    """
    if jax.default_backend() != "cpu" and min(weight.shape) <= NARROW:
        return _summed(weight, inner)
    return {alpha: matmul(weight, value) for alpha, value in inner.items()}


def _summed(weight: Float[Array, "rows width"], inner: Jets) -> Jets:
    """Σ_k W_k h_k if W has few columns; else one sum over h for each of its few rows.

    W is broadcast over the points once for all ∂^α h, so that its gradient is one sum over points, not one for each α.
    """
    few = weight.T if weight.shape[1] <= NARROW else weight

    @cache
    def spread(count: int) -> list[Array]:
        return [jnp.broadcast_to(own[:, None], (own.size, count)) for own in few]

    found = {}
    for alpha, h in inner.items():
        wide = spread(h.shape[1])
        if few is weight:
            found[alpha] = jnp.stack([jnp.sum(own * h, axis=0) for own in wide])
        else:
            terms = [own * row for own, row in zip(wide, h, strict=True)]
            found[alpha] = sum(terms[1:], start=terms[0])
    return found


def matmul(a: Float[Array, "m k"], b: Float[Array, "k n"]) -> Float[Array, "m n"]:
    """A B; float32 as three TF32 products if the device has TF32: on tensor cores, with float32's accuracy.

    Measured on an H200 for five seeds of a 4 × 50 network: 2.5 ms an iteration instead of 3.5, and gradients to 7e-7.
    """
    single = a.dtype == b.dtype == jnp.float32
    return jnp.matmul(a, b, precision=SINGLE if single and _has_tf32() else None)


@cache
def _has_tf32() -> bool:
    """NVIDIA GPUs since Ampere have it; the capabilities of other vendors are not numbers."""
    capability = getattr(jax.devices()[0], "compute_capability", "")
    return capability.replace(".", "").isdigit() and float(capability) >= 8


def elementwise(function: Callable[[Any], Any], at: Any) -> Callable[[int], Any]:
    """k ↦ f^(k)(at) for a function f that acts entry by entry, by nested forward mode."""

    def slope(k: int) -> Any:
        derivative = function
        for _ in range(k):
            derivative = _differentiated(derivative)
        return derivative(at)

    return slope


def _differentiated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda z: jax.jvp(function, (z,), (jnp.ones_like(z),))[1]


def whole(value: Any, like: Any, count: int) -> Any:
    """∂^α h for each of `count` points: zero if it is None, broadcast if it is the same at all of them."""
    return jnp.broadcast_to(jnp.zeros_like(like) if value is None else value, (like.shape[0], count))


def _minus(alpha: Orders, beta: Orders) -> Orders:
    return tuple(n - m for n, m in zip(alpha, beta, strict=True))


def _choose(alpha: Orders, beta: Orders) -> int:
    """C(α, β) = Π_i C(α_i, β_i)"""
    return math.prod(math.comb(n, m) for n, m in zip(alpha, beta, strict=True))


def _times(count: Any, value: Any) -> Any:
    return value if isinstance(count, int) and count == 1 else count * value

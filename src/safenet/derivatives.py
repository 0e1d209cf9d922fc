"""∂^α f for a set of multi-indices α, in one batched pass.

The multi-indices form a tree — u, u_x, u_xx, u_xt, … — and each edge is one forward-mode derivative of its
parent, so that u and u_x are computed on the way to u_xx and shared by everything below them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from . import backend  # noqa: F401  (float64)

Orders = tuple[int, ...]
Field = Callable[[Float[Array, " axes"]], Float[Array, " fields"]]


def point_jets(
    field: Field, orders: Sequence[Orders]
) -> Callable[[Float[Array, " axes"]], dict[Orders, Float[Array, " fields"]]]:
    """x ↦ {α: ∂^α f(x)} at one point: exactly the derivatives asked for, and those on the way to them."""
    tree = _tree(orders)

    def compute(point: Float[Array, " axes"]) -> dict[Orders, Float[Array, " fields"]]:
        return _descend(field, point, (0,) * point.shape[0], tree)

    return compute


def jets(
    field: Field, points: Float[Array | np.ndarray, "points axes"], orders: Sequence[Orders]
) -> Mapping[Orders, Float[Array | np.ndarray, "points fields"]]:
    """{α: ∂^α f} at many points; a field that knows its derivatives in closed form (`.jets`) is asked itself."""
    closed = getattr(field, "jets", None)
    if closed is not None:
        return closed(points, orders)
    return _batched(field, jnp.asarray(points), tuple(orders))


@eqx.filter_jit
def _batched(
    field: Field, points: Float[Array, "points axes"], orders: tuple[Orders, ...]
) -> dict[Orders, Float[Array, "points fields"]]:
    # In the points' precision, whatever the field was trained in.
    field = jax.tree.map(
        lambda leaf: leaf.astype(points.dtype) if eqx.is_inexact_array(leaf) else leaf, field
    )
    return jax.vmap(point_jets(field, orders))(points)


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
    function: Field, point: Float[Array, " axes"], here: Orders, tree: set[Orders]
) -> dict[Orders, Float[Array, " fields"]]:
    found: dict[Orders, Float[Array, " fields"]] = {}
    last = max((axis for axis, count in enumerate(here) if count), default=0)
    for axis in range(last, point.shape[0]):
        child = tuple(count + (i == axis) for i, count in enumerate(here))
        if child not in tree:
            continue
        direction = jnp.zeros_like(point).at[axis].set(1.0)

        def derivative(p: Array, direction: Array = direction) -> Array:
            return jax.jvp(function, (p,), (direction,))[1]

        found |= _descend(derivative, point, child, tree)
    return {here: function(point)} | found

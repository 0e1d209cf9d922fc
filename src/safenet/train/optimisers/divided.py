"""The rows of a dense matrix, divided among the devices: each multiplies its own, and only vectors are exchanged.

A device that has the whole matrix reads all of it in every product: then two cores are no faster than one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

AXIS = "points"


@cache
def mesh() -> Mesh:
    """All devices, along one axis."""
    return jax.make_mesh((jax.device_count(),), (AXIS,), axis_types=(AxisType.Auto,))


def divided(matrix: Float[Array, "p q"]) -> Float[Array, "padded q"]:
    """The matrix with its rows divided among the devices, in a program; rows of zeros make the shares equal."""
    devices = jax.device_count()
    if devices == 1:
        return matrix
    return _placed(jnp.pad(matrix, ((0, -matrix.shape[0] % devices), (0, 0))), PartitionSpec(AXIS))


def undivided(rows: Float[Array, "padded q"], count: int) -> Float[Array, "p q"]:
    """The first `count` rows, on every device."""
    if jax.device_count() == 1:
        return rows
    return _placed(rows, PartitionSpec())[:count]


def _placed(x: Array, spec: PartitionSpec) -> Array:
    placed: Array = lax.with_sharding_constraint(x, NamedSharding(mesh(), spec))
    return placed


def by_rows(function: Callable[..., Any], rows: Any, *whole: Any, joined: bool) -> Any:
    """function(own rows, index of their first, *whole) on every device; results are divided too, unless `joined`."""
    if jax.device_count() == 1:
        return function(rows, 0, *whole)

    def share(rows: Array, *whole: Array) -> Any:
        found = function(rows, lax.axis_index(AXIS) * rows.shape[0], *whole)
        return jax.tree.map(lambda x: lax.all_gather(x, AXIS, tiled=True), found) if joined else found

    every = PartitionSpec()
    return jax.shard_map(
        share,
        mesh=mesh(),
        in_specs=(PartitionSpec(AXIS), *(every for _ in whole)),
        out_specs=every if joined else PartitionSpec(AXIS),
        check_vma=False,
    )(rows, *whole)

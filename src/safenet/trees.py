"""A field as a frozen dataclass of arrays, registered as a pytree as soon as JAX is loaded.

A direct solve needs only NumPy and does not wait for JAX.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, dataclass_transform

import numpy as np

from .lazily import after_import


def static() -> Any:
    """A field that is part of the structure: hashable, not a leaf."""
    return field(metadata={"static": True})


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(static,))
class Tree:
    """Subclasses are frozen dataclasses; their fields are leaves or trees, except for `static()` ones: structure."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, eq=False)(cls)
        after_import("jax", partial(_register, cls))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self) or _structure(other) != _structure(self):
            return False
        own, others = list(tree_leaves(self)), list(tree_leaves(other))
        return len(own) == len(others) and all(map(np.array_equal, own, others))

    def __hash__(self) -> int:
        return hash((type(self), _structure(self)))


def _names(cls: Any, structure: bool) -> list[str]:
    return [one.name for one in fields(cls) if bool(one.metadata.get("static")) == structure]


def _structure(tree: Any) -> tuple[Any, ...]:
    return tuple(getattr(tree, name) for name in _names(type(tree), True))


def _made(cls: Any, names: list[str], values: Any, more: list[str], others: Any) -> Any:
    """An instance made without its constructor: JAX may put anything in the place of leaves."""
    found = object.__new__(cls)
    for name, value in (*zip(names, values, strict=True), *zip(more, others, strict=True)):
        object.__setattr__(found, name, value)
    return found


def _register(cls: type[Tree]) -> None:
    from jax.tree_util import GetAttrKey, register_pytree_with_keys

    from . import backend  # noqa: F401  (float64)

    names, more = _names(cls, False), _names(cls, True)
    register_pytree_with_keys(
        cls,
        lambda own: (
            [(GetAttrKey(name), getattr(own, name)) for name in names],
            _structure(own),
        ),
        lambda others, values: _made(cls, names, values, more, others),
    )


def tree_leaves(tree: Any) -> Iterator[Any]:
    """The arrays and numbers of a tree, in JAX's order."""
    if isinstance(tree, Tree):
        for name in _names(type(tree), False):
            yield from tree_leaves(getattr(tree, name))
    elif isinstance(tree, (tuple, list)):
        for part in tree:
            yield from tree_leaves(part)
    else:
        yield tree


def filled(tree: Any, leaves: Iterator[Any]) -> Any:
    """The same tree with these leaves."""
    if isinstance(tree, Tree):
        cls = type(tree)
        names, more = _names(cls, False), _names(cls, True)
        values = [filled(getattr(tree, name), leaves) for name in names]
        return _made(cls, names, values, more, [getattr(tree, name) for name in more])
    if isinstance(tree, (tuple, list)):
        return type(tree)(filled(part, leaves) for part in tree)
    return next(leaves)

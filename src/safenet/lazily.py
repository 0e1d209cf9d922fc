"""name → module.name, imported when first used: a command that needs no JAX need not wait for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def attributes(
    package: str, homes: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: each name from its home in it, and its modules themselves."""
    parts = tuple(modules)

    def get(name: str) -> Any:
        if name in homes:
            value = getattr(importlib.import_module(f".{homes[name]}", package), name)
            setattr(sys.modules[package], name, value)
            return value
        if name in parts:
            return importlib.import_module(f".{name}", package)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted([*vars(sys.modules[package]), *homes, *parts])

    return get, names

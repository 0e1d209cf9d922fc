"""name → module.name, imported when first used: a command that needs no JAX need not wait for it."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def attributes(
    package: str, homes: Mapping[str, str], modules: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package: names from their home modules in it, and its modules themselves."""
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


def after_import(module: str, action: Callable[[], Any]) -> None:
    """Run `action` as soon as anyone has imported `module`; at once if it is imported already."""
    if module in sys.modules:
        action()
        return
    _following(module).actions.append(action)


def uncollected(module: str) -> None:
    """Switch off garbage collection when anyone imports `module`: it makes many objects and hardly any garbage."""
    if module not in sys.modules:
        _following(module)


def _following(module: str) -> _Follower:
    for finder in sys.meta_path:
        if isinstance(finder, _Follower) and finder.module == module:
            return finder
    sys.meta_path.insert(0, found := _Follower(module, []))
    return found


@contextmanager
def _no_collection() -> Iterator[None]:
    """Switch off garbage collection meanwhile. Afterwards new objects count as old, so they are not scanned at once."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
        if enabled:
            gc.enable()


class _Follower(MetaPathFinder):
    """Finds a module as the other finders do, imports it without garbage collection, then runs its actions."""

    def __init__(self, module: str, actions: list[Callable[[], Any]]) -> None:
        self.module, self.actions = module, actions

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.module:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(loaded: ModuleType) -> None:
                with _no_collection():
                    execute(loaded)
                for action in self.actions:
                    action()

            spec.loader.exec_module = exec_module  # type: ignore[method-assign, assignment]
        return spec


class _Later:
    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._module), name)


def later(module: str) -> Any:
    """A module that is imported when one of its attributes is first used."""
    return _Later(module)

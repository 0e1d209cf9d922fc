"""name → module.name, imported when first used: a command that needs no JAX need not wait for it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
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


def after_import(module: str, action: Callable[[], Any]) -> None:
    """Do `action` as soon as `module` is imported, by whomever: at once if it is."""
    if module in sys.modules:
        action()
        return
    for finder in sys.meta_path:
        if isinstance(finder, _Follower) and finder.module == module:
            finder.actions.append(action)
            return
    sys.meta_path.insert(0, _Follower(module, [action]))


class _Follower(MetaPathFinder):
    """Finds a module as the other finders do, and acts behind its import."""

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
    """A module that is imported when something of it is first asked for."""
    return _Later(module)

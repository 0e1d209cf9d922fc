"""A network as data: what is needed, apart from its arrays, to rebuild it.

The user's own network is rebuilt by the function that made it. A run folder names that function and never imports it:
either a module of the user's own that defines it has been imported already, or the function is given to `load`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import reduce
from pathlib import Path
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp

from ..errors import SafeNetError
from ..features.base import Frozen
from ..fields.unknown import Unknown
from ..problem import Problem
from .frozen import FrozenMap
from .methods import Method, build
from .staged import Staged

OWN = "own"
INSTALLED = {"site-packages", "dist-packages"}  # the folders of installed packages


def network_spec(network: Any, plan: Any) -> dict[str, Any]:
    """The specification of a network made by `plan` (its method, precision and factory), or of `Unknown`."""
    if isinstance(network, Unknown):
        return network.spec()
    if plan.method == OWN:
        return {
            "kind": OWN,
            "class": type(network).__name__,
            "factory": plan.factory,
            "dtype": plan.precision,
        }
    return _spec(network, plan.network, plan.precision)


def _spec(network: Any, chosen: Method, dtype: str) -> dict[str, Any]:
    if isinstance(network, Staged):  # two networks, each with its own `Method`
        return {
            "kind": "staged",
            "first": _spec(network.first.array, chosen, dtype),
            "second": _spec(network.second, network.method, dtype),
        }
    return {"kind": "perceptron", "method": asdict(chosen), "dtype": dtype}


def skeleton(problem: Problem, spec: dict[str, Any], factory: Callable[[Any], Any] | None = None) -> Any:
    """A network of the structure `spec` describes; its arrays are placeholders to be filled."""
    if spec["kind"] == Unknown.kind:
        return Unknown(len(problem.unknowns))
    if spec["kind"] == OWN:
        made = (factory or _factory(spec))(jax.random.key(0))
        dtype = jnp.dtype(spec["dtype"])
        return jax.tree.map(lambda a: jnp.asarray(a, dtype) if eqx.is_inexact_array(a) else a, made)
    if spec["kind"] == "staged":
        first, second = skeleton(problem, spec["first"]), skeleton(problem, spec["second"])
        scale = jnp.zeros(len(problem.unknowns), spec["second"]["dtype"])
        return Staged(FrozenMap(first), second, Frozen(scale), Method(**spec["second"]["method"]))
    return build(problem, Method(**spec["method"]), key=jax.random.key(0), dtype=jnp.dtype(spec["dtype"]))


def _factory(spec: dict[str, Any]) -> Callable[[Any], Any]:
    module, _, name = str(spec["factory"]).partition(":")
    if _users(module):
        with suppress(AttributeError):
            made: Any = reduce(getattr, name.split("."), cast(Any, sys.modules[module]))
            # The user's module may also hold functions of others: it imports os, and so has os.abort.
            if f"{made.__module__}:{made.__qualname__}" == spec["factory"]:
                return cast("Callable[[Any], Any]", made)
    what = f"made by {spec['factory']}" if spec["factory"] else f"a {spec['class']}"
    raise SafeNetError(
        f"the network of this run is your own, {what}, which is not known here",
        "import the module of yours that defines it, or give the function: sn.load(folder, factory=make)",
    )


def _users(module: str) -> bool:
    """Whether an imported module is the user's own. A stranger's folder may not call Python's functions, such as
    sys.exit, nor those of an installed package."""
    if module not in sys.modules:
        return False
    file, package = getattr(sys.modules[module], "__file__", None), module.partition(".")[0]
    if package in sys.stdlib_module_names or package == __name__.partition(".")[0]:
        return False
    return module == "__main__" or (file is not None and not INSTALLED.intersection(Path(file).parts))

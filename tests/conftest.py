"""Every test runs with the shapes of its signatures checked, no dtype promoted silently, and no window opened."""

import ctypes
import gc
import os
from collections.abc import Iterator
from pathlib import Path

import beartype
import jax
import jaxtyping
import pytest

from safenet import backend  # noqa: F401  (float64)

os.environ["MPLBACKEND"] = "Agg"
gc.set_threshold(50_000, 20, 20)  # tracing makes many objects and few cycles: a sixteenth of the time

# An int where a float is asked for is as good (PEP 484).
typechecked = beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))

# Not for problem/, library/ and reference/: their signatures are SymPy's, whose metaclasses beartype refuses.
jaxtyping.install_import_hook(
    [
        "safenet.fields",
        "safenet.features",
        "safenet.networks",
        "safenet.measure",
        "safenet.direct",
        "safenet.train",
    ],
    f"{__name__}.typechecked",
)


MAPS, MANY = Path("/proc/self/maps"), 12_000  # maps: a fifth of those that Linux grants a process
FREED = getattr(ctypes.CDLL(None), "malloc_trim", None) if MAPS.exists() else None


@pytest.fixture(autouse=True, scope="module")
def few_programs() -> Iterator[None]:
    """JAX keeps every program that it has compiled, in several maps each, and glibc most of what was freed: dropped
    after each file, lest a process that has run thousands of tests is killed for want of either."""
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MANY:
        jax.clear_caches()
        gc.collect()
    if FREED is not None:
        FREED(0)


@pytest.fixture(autouse=True)
def strict_promotion(request: pytest.FixtureRequest) -> Iterator[None]:
    """float32 never meets float64 unnoticed; where optax itself is the oracle, its promotions are let pass."""
    with jax.numpy_dtype_promotion("standard" if request.path.name == "test_adam.py" else "strict"):
        yield

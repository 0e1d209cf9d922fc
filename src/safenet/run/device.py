"""The device of a run, without loading JAX to find out: a direct solve does not need JAX."""

from __future__ import annotations

import sys


def process_index() -> int:
    """The index of this process among those that JAX has joined; the first one writes and prints for all."""
    if "jax" not in sys.modules:
        return 0
    import jax

    return jax.process_index()


def device_name() -> str:
    """cpu, or the accelerator that JAX has found."""
    if "jax" not in sys.modules:
        return "cpu"
    from .. import backend

    return backend.device_name()

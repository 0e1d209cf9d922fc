"""Where a run takes place, without loading JAX to find out: a direct solve does without."""

from __future__ import annotations

import sys


def process_index() -> int:
    """Of several processes that JAX joined, which this is; the first of them writes and speaks for all."""
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

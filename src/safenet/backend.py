"""JAX, set up once: float64 is available and float32 is not rounded further; every array states its own precision."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
# On a GPU, JAX multiplies float32 matrices in TF32, with 10 bits: gradients become too rough for any line search.
jax.config.update("jax_default_matmul_precision", "highest")

MOST_CORES = 8  # with more, each core gets too few blocks of points


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cores_as_devices() -> None:
    """One CPU device for each core, for `train/spread.py`; no-op if the number of devices is already set."""
    flags = os.environ.get("XLA_FLAGS", "")
    counted = jax.config.jax_num_cpu_devices  # type: ignore[attr-defined]
    if counted != -1 or "xla_force_host_platform_device_count" in flags:
        return
    with contextlib.suppress(RuntimeError):  # JAX is already initialised
        jax.config.update("jax_num_cpu_devices", min(cores(), MOST_CORES))


_cores_as_devices()


def cache_compilations() -> None:
    """Keep compiled programs between runs of the command line, in the user's cache folder or where JAX is told to."""
    # The small ones too: a solve has dozens of them, seconds in all.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    if jax.config.jax_compilation_cache_dir:  # type: ignore[attr-defined]
        return
    # A home that is read-only, or none at all (a user without an entry in passwd), costs time, not results.
    with contextlib.suppress(OSError, RuntimeError):
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "safenet" / "jax"
        folder.mkdir(parents=True, exist_ok=True)
        jax.config.update("jax_compilation_cache_dir", str(folder))


def device_name() -> str:
    device = jax.devices()[0]
    return f"{device.platform}:{device.device_kind}" if device.platform != "cpu" else "cpu"

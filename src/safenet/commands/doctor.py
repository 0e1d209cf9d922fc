"""`safenet doctor`: versions, devices, caches, and what is missing. Paste it into a bug report."""

from __future__ import annotations

import json
import os
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

from .arguments import AsJson

PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "scipy", "sympy", "matplotlib", "typer")
# Optional packages: (the package, the extra that brings it, what it is for).
OPTIONAL = (
    ("xarray", "data", "export to netCDF"),
    ("pyevtk", "data", "export to ParaView"),
    ("pyarrow", "data", "tables as Parquet"),
    ("plotly", "report", "safenet report"),
    ("panel", "ui", "safenet ui"),
    ("distributed", "dask", "safenet bench on a cluster"),
    ("tensorboardX", "tracking", "--track tensorboard"),
)


def doctor(as_json: AsJson = False) -> None:
    """Print versions, devices, caches and what is missing.

    Paste it into a bug report.
    """
    facts = _facts()
    if as_json:
        print(json.dumps(facts))
        return
    for heading, entries in facts.items():
        print(heading)
        for entry in entries if isinstance(entries, list) else [f"{k:<14} {v}" for k, v in entries.items()]:
            print(f"  {entry}")
        print()


def _facts() -> dict[str, Any]:
    import safenet

    devices, cache = _devices()
    return {
        "versions": {
            "safenet": safenet.__version__,
            "Python": f"{platform.python_version()} on {platform.system()} {platform.machine()}",
            **{name: _version(name) or "MISSING" for name in PACKAGES},
        },
        "devices": devices,
        "caches": cache,
        "advice": _advice(devices),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> tuple[dict[str, str], dict[str, str]]:
    import jax

    from ..backend import cache_compilations, cores

    cache_compilations()
    found = jax.devices()
    kinds = {f"{device.platform}: {device.device_kind}" for device in found}
    folder = jax.config.jax_compilation_cache_dir  # type: ignore[attr-defined]
    files = list(Path(folder).glob("*")) if folder else []
    size = sum(file.stat().st_size for file in files) / 2**20
    return (
        {
            "JAX uses": ", ".join(sorted(kinds)),
            "cores": str(cores()),
            "float64": "on" if jax.config.jax_enable_x64 else "OFF",  # type: ignore[attr-defined]
        },
        {"compiled": f"{folder or 'not kept'} ({len(files)} files, {size:.0f} MiB; safe to delete)"},
    )


def _advice(devices: dict[str, str]) -> list[str]:
    """What is missing, and the command that installs it; each line can be read alone."""
    lines = [
        f"{package} is not installed, for {use}: pip install 'safenet-pde[{extra}]'"
        for package, extra, use in OPTIONAL
        if _version(package) is None
    ]
    if shutil.which("nvidia-smi") and "cuda" not in devices["JAX uses"] and "gpu" not in devices["JAX uses"]:
        lines.append("an NVIDIA driver is here, but JAX does not use it: pip install 'safenet-pde[cuda]'")
    if os.environ.get("JAX_PLATFORMS"):
        lines.append(f"JAX_PLATFORMS={os.environ['JAX_PLATFORMS']} is set and determines the device")
    return lines or ["nothing is missing"]

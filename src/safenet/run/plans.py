"""What all plans share: they are data, and their default values can be left out."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any


def changed(declared: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not at their defaults."""
    usual = {
        item.name: item.default_factory() if item.default_factory is not MISSING else item.default
        for item in fields(declared)
    }
    return {name: getattr(declared, name) for name in usual if getattr(declared, name) != usual[name]}

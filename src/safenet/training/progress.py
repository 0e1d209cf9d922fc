"""What a running solve tells whoever watches: the phase, the step, the losses. A watcher overrides what it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Monitor:
    """A silent watcher; `cli.py` has one that draws, users may write their own."""

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        """A phase (or a part of it) begins; `fraction` of the phase is done."""

    def step(self, iteration: int, loss: float) -> None:
        """An inner iteration ended."""

    def level(self, unknowns: int, residual: float) -> None:
        """A level or slab ended with this held-out residual."""

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        """An optimiser is at `iteration` of `total`."""

    def gradient(self, norm: float) -> None:
        """max|∂total/∂theta_i| at the iteration that `losses` has just been told of."""

    def network(self, current: Callable[[], Any]) -> None:
        """`current()` is the network as it stands, for whoever wants to look: nothing steers by it."""

"""The progress of a solve: its phase, step and losses. A monitor overrides what it wants to show."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from math import isfinite
from typing import Any

from .outlook import Outlook

LINE_EVERY = 5.0  # seconds between lines
BEAT = 1.0  # seconds between checks whether a line is due while a phase is silent: it compiles, or factorises
FIRST_LINE = 2.0  # seconds before the first line: a shorter solve prints nothing


class Monitor:
    """Receives the progress of a solve and shows nothing. Subclass it to show progress in your own way.

    Examples:
        >>> solution = sn.solve(decay, monitor=sn.Monitor())  # without lines of progress
    """

    def expect(self, costs: Sequence[float], sure: bool = True) -> None:
        """A pass begins; `costs` are its own and those of the passes after it; `sure`: whether these will come."""

    def limit(self, end: float) -> None:
        """The solve has a budget, until time.monotonic() is `end`."""

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        """A phase (or a part of it) begins; `fraction` of the phase is done."""

    def step(self, iteration: int, loss: float) -> None:
        """An inner iteration ended."""

    def level(self, unknowns: int, residual: float) -> None:
        """A level or slab ended with this held-out residual."""

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        """An optimiser is at `iteration` of `total`; the `terms` add up to the loss, all with the plan's weights."""

    def gradient(self, norm: float) -> None:
        """max|∂total/∂theta_i| at the iteration of the last call of `losses`."""

    def network(self, current: Callable[[], Any]) -> None:
        """`current()` returns the present network. It is for display only."""

    def ended(self) -> None:
        """The solve has ended, with any result."""


class Both(Monitor):
    """Several watchers of one run: each call goes to all of them."""

    def __init__(self, *monitors: Monitor) -> None:
        self.monitors = monitors


def _to_all(name: str) -> Callable[..., None]:
    @wraps(getattr(Monitor, name))
    def call(both: Both, *told: Any, **named: Any) -> None:
        for monitor in both.monitors:
            getattr(monitor, name)(*told, **named)

    return call


for _name in [name for name in vars(Monitor) if not name.startswith("_")]:
    setattr(Both, _name, _to_all(_name))


class Lines(Monitor):
    """A line on standard error every few seconds: the default in Python. A silent phase repeats its last line."""

    def __init__(self) -> None:
        self.began = self.spoke = time.monotonic()
        self.silence = min(FIRST_LINE, LINE_EVERY)
        self.name = self.detail = self.error = self.last = ""
        self.over = threading.Event()
        self.watch: threading.Thread | None = None
        self.outlook = Outlook()

    def ended(self) -> None:
        self.over.set()
        if self.watch is not None:
            self.watch.join()  # a line on its way must not come after the end
            self.watch = None

    def beat(self) -> None:
        """Repeat the last line if a line is overdue."""
        if time.monotonic() - self.spoke > max(self.silence, LINE_EVERY):
            self._line(f"{self.last}{' ' if self.last else ''}…")

    def _watched(self) -> None:
        """Start to watch for silence, until the solve has ended or the monitor is gone."""
        if self.watch is None:
            self.over.clear()
            self.watch = threading.Thread(target=_watching, args=(weakref.ref(self), self.over), daemon=True)
            self.watch.start()

    def expect(self, costs: Sequence[float], sure: bool = True) -> None:
        self.outlook.expect(costs, sure)

    def limit(self, end: float) -> None:
        self.outlook.end = end

    def phase(self, name: str, detail: str = "", fraction: float | None = None) -> None:
        if name != self.name and fraction is None:
            self.outlook.expect(())  # of unknown duration, such as the estimate
        self.name, self.detail = name, detail
        self._watched()
        if fraction is not None:
            self.outlook.reached(fraction)
        self.show(detail, fraction, 1.0 if fraction is not None else None)

    def step(self, iteration: int, loss: float) -> None:
        self.show(f"{self.detail} · step {iteration}, residual {loss:.1e}")

    def level(self, unknowns: int, residual: float) -> None:
        measured = (
            f" · held-out residual {residual:.1e}" if isfinite(residual) else ""
        )  # a rough pass has none
        self.show(f"{unknowns} coefficients{measured}{self.error}")

    def losses(self, iteration: int, total: int, loss: float, terms: Mapping[str, float]) -> None:
        ordered = sorted(terms.items(), key=lambda item: -item[1])
        largest, others = ordered[:3], [value for _, value in ordered[3:]]
        if others:
            largest.append((f"{len(others)} more" if len(others) > 1 else ordered[3][0], sum(others)))
        listing = " + ".join(f"{name} {value:.1e}" for name, value in largest)
        self.outlook.reached(iteration / max(total, 1))
        detail = f"{iteration}/{total} · loss {loss:.2e} ({listing}){self.error}"
        self.show(detail, float(iteration), float(total))

    def show(self, detail: str, completed: float | None = None, total: float | None = None) -> None:
        """Show what a phase is doing, and its progress."""
        self.last = detail
        if time.monotonic() - self.spoke > self.silence:
            self._line(detail)

    def _line(self, detail: str) -> None:
        left = f" · {self.outlook}" if str(self.outlook) else ""
        said = f"{self.name}{'' if detail in ('', '…') else ':'} {detail}".rstrip()
        self.write(f"{time.monotonic() - self.began:6.0f} s  {said}{left}")
        self.spoke, self.silence = time.monotonic(), LINE_EVERY

    def write(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)


def _watching(monitor: weakref.ref[Lines], over: threading.Event) -> None:
    while not over.wait(BEAT):
        lines = monitor()
        if lines is None:
            return
        lines.beat()
        del lines

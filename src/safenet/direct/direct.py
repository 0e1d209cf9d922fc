"""Phases that solve for the amplitudes of a linear form: on the whole box, or marching through slabs of time.

Both start small, measure the result on held-out points, and enlarge what is not resolved. Both are generators of
progress: after every level or slab they yield a `Direct` state that can be saved and continued from.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..fields.basis import AxisBasis
from ..fields.cells import CellForm
from ..fields.modes import ModalForm
from ..fields.series import Bases, LinearForm, Piecewise
from ..measure.heldout import held_out
from ..measure.rows.newton import Newton, newton
from ..measure.rows.series import Collocation, widen
from ..problem import Problem
from ..problem.facts.structure import axis_kinds, middle_parities, named_frequencies
from ..run.progress import Monitor
from .ending import failure

FAILED = 0.1  # a held-out residual above this: the linear form does not solve the problem
HOPELESS = 0.3  # and in the shortest of slabs: least squares settled on something, not on a solution


@dataclass(frozen=True)
class Direct:
    """A linear form on the way: its pieces so far, how well they hold, and where to go on."""

    network: LinearForm | Piecewise | CellForm | ModalForm | None = None
    residual: float = math.inf
    iterations: int = 0
    evaluations: int = 0
    cursor: dict[str, Any] = field(default_factory=dict)
    done: bool = False
    given_up: bool = False  # the phase ended without solving the problem
    exhausted: bool = False  # a finer phase of the same kind would not help
    final: bool = False  # nor would any other: the solution itself ends or jumps
    suspect: bool = False  # so it seems, unless a finer phase of the same kind gets past it
    reason: str = ""


def axis_bases(
    problem: Problem, modes: list[int], general: str, span: tuple[float, float] | None = None
) -> Bases:
    """For each field and axis the basis its kind calls for; `general` where the symbols promise nothing."""
    kinds, parities = axis_kinds(problem), middle_parities(problem)
    fields = []
    for name in problem.unknowns:
        bases = []
        for i, axis in enumerate(problem.axes):
            low, high = span if span is not None and axis.is_time else (axis.lo, axis.hi)
            kind, parity = kinds[name][i], parities[name][i]
            if kind != "general":
                bases.append(AxisBasis(kind, modes[i], low, high, parity))
            elif axis.is_time and span is not None:
                # Within a slab time is short and smooth: polynomials need half as many functions.
                bases.append(AxisBasis("chebyshev", modes[i], low, high))
            else:
                count = modes[i] if general == "fourier" else 2 * modes[i]
                bases.append(AxisBasis(general, count, low, high, parity))
        fields.append(tuple(bases))
    return tuple(fields)


def first_modes(problem: Problem, least: int) -> list[int]:
    """Enough modes for every frequency that the data names, and `least` beside them."""
    modes = []
    for i, (axis, named) in enumerate(zip(problem.axes, named_frequencies(problem), strict=True)):
        period = axis.length if _kind(problem, i) == "periodic" else 2 * axis.length
        highest = max(named, default=0.0) * period / (2 * math.pi)
        modes.append(least + math.ceil(min(highest, 64)))
    return modes


def _kind(problem: Problem, axis: int) -> str:
    return next(iter(axis_kinds(problem).values()))[axis]


def unknowns_of(bases: Bases) -> int:
    return sum(math.prod(basis.size for basis in axes) for axes in bases)


@dataclass(frozen=True)
class LeastSquares:
    """min_a ‖F(Σ a_k φ_k)‖² on the whole box, in levels of more and more modes.

    Stops when the held-out residual is below `tolerance`, no longer improves, or the next level would have more
    than `unknowns` amplitudes.
    """

    tolerance: float = 1e-11
    unknowns: int = 2600
    least: int = 6
    growth: float = 1.4
    general: str = "fourier"
    only_above: float = 0.0
    name: str = "least squares"

    def run(self, problem: Problem, monitor: Monitor, state: Direct | None = None) -> Iterator[Direct]:
        state = state or Direct(cursor={"modes": first_modes(problem, self.least), "poor": 0})
        modes, poor = list(state.cursor["modes"]), int(state.cursor["poor"])
        while True:
            bases = axis_bases(problem, modes, self.general)
            size = unknowns_of(bases)
            # The first level may be twice as large: it is the only one then, and better than none.
            if size > self.unknowns * (1 if state.network is not None else 2):
                reason = f"more than {self.unknowns} amplitudes would be needed"
                yield replace(state, done=True, given_up=state.network is None, reason=reason)
                return
            monitor.phase(self.name, f"{size} amplitudes")
            collocation = Collocation(problem, bases, oversampling=oversampling(problem))
            best = state.network if isinstance(state.network, LinearForm) else None
            start = np.zeros(collocation.unknowns) if best is None else widen(best, bases)
            result = newton(collocation, start, problem.linear, report=monitor.step)
            current = collocation.form(result.amplitudes)
            residual = held_out(problem, current).worst
            monitor.level(size, residual)
            better = residual < state.residual
            # While nothing is resolved at all (a thin layer, a high frequency) more modes are the only hope; a linear
            # problem can afford it, one solve a level.
            unresolved = problem.linear and FAILED < residual < math.inf
            hopeful = residual < 0.5 * state.residual or unresolved
            poor = 0 if hopeful else poor + 1
            modes = [max(count + 1, math.ceil(count * self.growth)) for count in modes]
            state = Direct(
                network=current if better else state.network,
                residual=min(residual, state.residual),
                iterations=state.iterations + result.iterations,
                evaluations=state.evaluations + result.evaluations,
                cursor={"modes": modes, "poor": poor},
            )
            state = ended(state, self.tolerance)
            yield state
            if state.done:
                return


def ended(state: Direct, tolerance: float) -> Direct:
    """A level's state, done where its residual is within the tolerance or three levels in a row were poor ones."""
    if state.residual <= tolerance:
        return replace(state, done=True, reason=f"the held-out residual is below {tolerance:.0e}")
    if state.cursor["poor"] >= 3:
        nothing = state.network is None
        idle = "more modes no longer reduce the held-out residual"
        reason = "the residual is not finite" if nothing else idle
        return replace(state, done=True, given_up=nothing, reason=reason)
    return state


def oversampling(problem: Problem) -> float:
    """Rows per unknown along each axis: their product over the axes stays near 2."""
    return {1: 2.0, 2: 1.5}.get(len(problem.axes), 1.3)


@dataclass(frozen=True)
class Marching:
    """The same in slabs [t₀, t₀ + h], each handed the end of the one before.

    In every slab the modes of an axis grow while its amplitudes do not decay (tail above `tail`), and h shrinks
    while time is not resolved or Newton fails; then the axis with the larger tail is refined while the held-out
    residual is above `tail` too and refining helps. Both recover when a slab is easy. Several marches with smaller
    and smaller `tail` make a schedule; one that would cost more than `work` multiplications gives up early.
    """

    tail: float = 1e-5
    work: float = 2.5e12
    unknowns: int = 3200
    least: int = 8
    degree: int = 6
    lowest_degree: int = 4
    slabs: int = 8
    shortest: float = 1e-4
    only_above: float = 0.0
    name: str = "marching"

    def run(self, problem: Problem, monitor: Monitor, state: Direct | None = None) -> Iterator[Direct]:
        time = problem.time
        assert time is not None
        start, end = problem.axes[time].lo, problem.axes[time].hi
        if state is None:
            modes = first_modes(problem, self.least)
            modes[time] = self.degree
            state = Direct(
                cursor={"modes": modes, "h": (end - start) / self.slabs, "worst": 0.0, "work": 0.0}
            )
        pieces = list(state.network.pieces) if isinstance(state.network, Piecewise) else []
        breaks = list(state.network.breaks) if isinstance(state.network, Piecewise) else [start]
        modes, h, worst = list(state.cursor["modes"]), float(state.cursor["h"]), float(state.cursor["worst"])
        work = float(state.cursor["work"])
        iterations, evaluations = state.iterations, state.evaluations
        last = math.inf  # the residual of the last attempt at this slab
        while breaks[-1] < end:
            t0 = breaks[-1]
            span = (t0, end if t0 + 1.01 * h >= end else t0 + h)
            monitor.phase(self.name, f"t = {t0:.4g} … {span[1]:.4g}", (t0 - start) / (end - start))
            collocation, result = self._slab(problem, monitor, modes, span, pieces)
            iterations, evaluations = iterations + result.iterations, evaluations + result.evaluations
            work += result.iterations * collocation.rows * collocation.unknowns**2
            if work > self.work * (0.25 + (t0 - start) / (end - start)):
                reason = f"given up at t = {t0:.4g}: to this accuracy it would cost too much"
                yield replace(state, done=True, given_up=True, reason=reason)
                return
            form = collocation.form(result.amplitudes)
            tails = form.tails()
            residual = held_out(problem, form, 256, span).worst if result.converged else math.inf
            poor = residual > self.tail and residual < 0.5 * last
            change = self._change(problem, tails, result.converged, poor, modes, span[1] - t0, end - start)
            if change is not None:
                # Only a refinement for the residual's sake must earn its keep.
                last = residual if _resolved(tails, self.tail) else math.inf
                modes, h = change
                continue
            shortest = span[1] - t0 <= self.shortest * (end - start)
            if not result.converged or (shortest and residual > HOPELESS):
                reason, final = failure(problem, state.network, t0)
                yield replace(state, done=True, given_up=True, final=final, reason=reason)
                return
            last = math.inf
            worst = max(worst, residual)
            pieces.append(form)
            breaks.append(span[1])
            if tails[time] < 1e-3 * self.tail and result.iterations <= 5:
                h = min(1.5 * h, (end - start) / 2)
            modes = [
                max(self.least, int(count / 1.3)) if i != time and tails[i] < 1e-5 * self.tail else count
                for i, count in enumerate(modes)
            ]
            state = Direct(
                network=Piecewise(tuple(pieces), tuple(breaks)),
                residual=worst,
                iterations=iterations,
                evaluations=evaluations,
                cursor={"modes": modes, "h": h, "worst": worst, "work": work},
                done=breaks[-1] >= end,
                # All axes resolved to `tail` and the residual not: the solution has a kink, or the modes ran out.
                exhausted=worst > 10 * self.tail,
                reason=f"reached t = {end:g} in {len(pieces)} slabs" if breaks[-1] >= end else "",
            )
            monitor.level(sum(piece.parameters for piece in pieces), worst)
            yield state

    def _slab(
        self,
        problem: Problem,
        monitor: Monitor,
        modes: list[int],
        span: tuple[float, float],
        pieces: list[LinearForm],
    ) -> tuple[Collocation, Newton]:
        bases = axis_bases(problem, modes, "chebyshev", span)
        previous = pieces[-1] if pieces else None
        handover = None
        if previous is not None:

            def handover(index: int, k: int, points: np.ndarray) -> np.ndarray:
                orders = tuple(k if i == problem.time else 0 for i in range(points.shape[1]))
                return previous.jets(points, [orders])[orders][:, index]

        collocation = Collocation(problem, bases, handover, oversampling=1.3)
        amplitudes = self._guess(problem, bases, span[0], previous)
        return collocation, newton(collocation, amplitudes, problem.linear, report=monitor.step)

    def _guess(self, problem: Problem, bases: Bases, t0: float, previous: LinearForm | None) -> np.ndarray:
        """Constant in time: the state at the slab's start."""
        if previous is None:
            return np.zeros(unknowns_of(bases))
        frozen = []
        for amplitude, axes in zip(previous.amplitudes, previous.bases, strict=True):
            state = np.tensordot(np.asarray(amplitude), axes[-1](np.array([t0]))[0], axes=1)
            tensor = np.zeros((*state.shape, axes[-1].size))
            tensor[..., 0] = state
            frozen.append(tensor)
        return widen(LinearForm(tuple(frozen), previous.bases), bases)

    def _change(
        self,
        problem: Problem,
        tails: list[float],
        converged: bool,
        poor: bool,
        modes: list[int],
        h: float,
        duration: float,
    ) -> tuple[list[int], float] | None:
        """More modes where space is not resolved, a shorter slab where time is not, None to accept."""
        time = problem.time
        assert time is not None
        coarse = [i for i, tail in enumerate(tails) if i != time and tail > self.tail]
        if poor and not coarse:
            worst = max(range(len(tails)), key=lambda i: tails[i])
            coarse = [worst] if worst != time else []
        grown = [math.ceil(count * 1.5) if i in coarse else count for i, count in enumerate(modes)]
        while converged and coarse:
            if unknowns_of(axis_bases(problem, grown, "chebyshev", (0.0, 1.0))) <= self.unknowns:
                return grown, h
            if grown[time] <= self.lowest_degree:
                break
            # A front needs its modes in space: pay for them with a lower degree in shorter slabs.
            grown[time] -= 1
        late = tails[time] > self.tail or (poor and not coarse)
        if (not converged or late) and h > self.shortest * duration:
            return modes, h / 2
        return None


def _resolved(tails: list[float], limit: float) -> bool:
    return all(tail <= limit for tail in tails)

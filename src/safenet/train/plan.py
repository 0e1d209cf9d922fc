"""Everything that decides a training run, as data: the same plan on the same machine gives the same bits."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ..errors import SafeNetError
from ..networks.methods import Method
from ..networks.saved import OWN
from .objective import Weighing
from .optimisers.adam import Adam
from .optimisers.own import Optax
from .phases import PHASES, Phase

__all__ = ["OWN", "SCOUT", "Plan"]

SCOUT = 0  # the seed that tries rates, or a method's weights, for all seeds


@dataclass(frozen=True)
class Plan:
    """A network, its points and weights, and the phases of its training.

    With `variants` it is several runs, of which one is chosen: each variant names what it changes, the `rate` (of the
    first Adam, later ones in proportion), the `residual_weight` or both. `select` says by what: the final training
    `loss`, or the held-out `residual` where the losses differ in their weights and do not compare. Never by the error.
    The runs of one seed, SCOUT, choose for all: the paper searches "per PDE", and a search for each of five seeds would
    be 25 runs instead of nine.

    What is code and not data has a name here only: `factory`, the function that makes a network of the user's own, and
    `own`, all else that must be given again when a run is resumed.
    """

    method: str = "safe-net"
    recipe: str = "default"
    seed: int = 0
    precision: str = "float64"
    network: Method = field(default_factory=Method)
    interior: int = 20_000
    condition: int = 2_000
    sampler: str = "uniform"
    residual_weight: float = 1.0
    condition_weight: float = 100.0
    phases: tuple[Phase, ...] = ()
    until: tuple[int, ...] = ()
    variants: tuple[dict[str, float], ...] = ()
    select: str = "loss"
    reasons: tuple[str, ...] = ()
    weights: tuple[tuple[str, float], ...] = ()  # of single terms, by their names
    factory: str = ""
    own: tuple[str, ...] = ()

    solver = "train"

    @property
    def weighing(self) -> Weighing:
        return Weighing(self.residual_weight, self.condition_weight, self.weights)

    def phase(self, index: int, done: int) -> Phase:
        """The phase at its place, after `done` iterations of those before it."""
        phase, total = self.phases[index], self.until[index] if self.until else 0
        return replace(phase, iterations=max(0, total - done)) if total else phase

    @property
    def candidates(self) -> tuple[Plan, ...]:
        """The runs among which one is chosen: one for each variant, by the seed that tries them; or itself alone."""
        return tuple(replace(plan, seed=SCOUT) for plan in self.settled) or (self,)

    @property
    def settled(self) -> tuple[Plan, ...]:
        """For each variant the run that it would be, should it be chosen."""
        return tuple(self._varied(**variant) for variant in self.variants)

    @property
    def scouts(self) -> bool:
        """Whether the chosen candidate is the run itself already."""
        return not self.variants or self.seed == SCOUT

    def _varied(self, rate: float | None = None, residual_weight: float | None = None) -> Plan:
        weight = self.residual_weight if residual_weight is None else residual_weight
        rates = [phase.rate for phase in self.phases if isinstance(phase, Adam)]
        phases = tuple(
            replace(phase, rate=phase.rate / rates[0] * rate) if rate and isinstance(phase, Adam) else phase
            for phase in self.phases
        )
        return replace(self, phases=phases, variants=(), residual_weight=weight)

    def at_rate(self, rate: float) -> Plan:
        """The plan with another rate of its first Adam, and those of later ones in proportion."""
        if not any(isinstance(phase, Adam) for phase in self.phases):
            raise SafeNetError(
                f"the recipe {self.recipe} has no rate",
                "leave out the rates, or use a recipe with Adam: paper-1",
            )
        if any("rate" in variant for variant in self.variants):
            raise SafeNetError(
                f"the recipe {self.recipe} chooses among rates of its own",
                "leave out the rates, or use paper-1",
            )
        if not 0 < rate < float("inf"):
            raise SafeNetError(f"the rate is {rate}", "give a positive number, e.g. 1e-3")
        return replace(self._varied(rate=rate), variants=self.variants)

    def to_json(self) -> str:
        # What is as ever since it was added stays unsaid: plans of earlier versions keep their text.
        unsaid = {name for name in ("weights", "factory", "own") if not getattr(self, name)}
        data = asdict(replace(self, phases=()))
        data["phases"] = [_phase_json(phase) for phase in self.phases]
        return json.dumps({name: value for name, value in data.items() if name not in unsaid}, indent=1)

    @staticmethod
    def from_json(text: str) -> Plan:
        data = json.loads(text)
        data["network"] = Method(**data["network"])
        data["phases"] = tuple(_phase(dict(phase)) for phase in data["phases"])
        for name in ("until", "variants", "reasons", "own"):
            data[name] = tuple(data.get(name, ()))
        data["weights"] = tuple((name, weight) for name, weight in data.get("weights", ()))
        return Plan(**data)


def _phase_json(phase: Phase) -> dict[str, Any]:
    if isinstance(phase, Optax):
        phase = replace(phase, transformation=None)  # code, not data: only the numbers are kept
    return {"phase": type(phase).__name__, **asdict(phase)}


def _phase(data: dict[str, Any]) -> Phase:
    kind = data.pop("phase")
    if kind not in PHASES:
        raise SafeNetError(f"there is no optimiser {kind!r}", f"known: {', '.join(PHASES)}")
    return PHASES[kind](**({"transformation": None} if kind == "Optax" else {}) | data)

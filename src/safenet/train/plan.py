"""Everything that decides a training run, as data: the same plan on the same machine gives the same bits."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar, cast

from ..errors import SafeNetError
from ..networks.methods import Method
from ..networks.saved import OWN, network_spec, skeleton
from ..problem import Problem
from ..run.plans import changed
from .objective import Weighing
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
    tol: float | None = None  # the run ends where its error is estimated at this or below

    solver: ClassVar[str] = "train"
    trains: ClassVar[bool] = True

    @property
    def words(self) -> tuple[str, ...]:
        """What a case is called by: pinn, paper-1."""
        return self.method, self.recipe

    @property
    def own_network(self) -> bool:
        """Whether its network is the user's own code."""
        return self.method == OWN

    @property
    def parts(self) -> tuple[Phase, ...]:
        """What is done one after another."""
        return self.phases

    @property
    def batches(self) -> bool:
        """Whether several runs of it can be one program: phases that take their numbers as arguments, no own
        code, and no tolerance to end by."""
        return (
            not self.own and self.tol is None and all(getattr(phase, "numbers", ()) for phase in self.phases)
        )

    def seeded(self, seed: Any) -> Plan:
        return replace(self, seed=checked_seed(seed))

    def spec(self, field: Any) -> dict[str, Any]:
        """What is needed, beside its arrays, to build a network again."""
        return network_spec(field, self)

    def skeleton(
        self, problem: Problem, spec: dict[str, Any], factory: Callable[[Any], Any] | None = None
    ) -> Any:
        """A network of that structure, its arrays to be filled; `factory` makes one of the user's own."""
        return skeleton(problem, spec, factory)

    def lean(self) -> dict[str, Any]:
        """Without what is as ever: an option that a later version adds renames no earlier case."""
        said = json.loads(self.to_json())
        phases = zip(self.phases, said["phases"], strict=True)
        return {name: said[name] for name in changed(self) if name in said and name != "reasons"} | {
            "network": {name: said["network"][name] for name in changed(self.network)},
            "phases": [{name: each[name] for name in ("phase", *changed(phase))} for phase, each in phases],
        }

    @property
    def weighing(self) -> Weighing:
        return Weighing(self.residual_weight, self.condition_weight, self.weights)

    def phase(self, index: int, done: int) -> Phase:
        """The phase at its place, after `done` iterations of those before it."""
        phase, total = self.phases[index], self.until[index] if self.until else 0
        return replace(phase, iterations=max(0, total - done)) if total else phase

    @property
    def candidates(self) -> tuple[Plan, ...]:
        """The runs among which one is chosen: one for each variant, by the seed that tries them; or itself alone.

        Those of variants have no tolerance: the losses of runs that ended by it would not compare.
        """
        return tuple(replace(plan, seed=SCOUT, tol=None) for plan in self.settled) or (self,)

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
        rates = self._rates()
        first = next((of for of in rates if of), None)
        phases: tuple[Any, ...] = tuple(
            replace(cast(Any, phase), rate=of / first * rate) if rate and first and of else phase
            for phase, of in zip(self.phases, rates, strict=True)
        )
        return replace(self, phases=phases, variants=(), residual_weight=weight)

    def _rates(self) -> list[float]:
        """The rate of each phase that has one, else 0."""
        return [getattr(phase, "rate", 0.0) for phase in self.phases]

    def at_rate(self, rate: float) -> Plan:
        """The plan with another rate of its first Adam, and those of later ones in proportion."""
        if not any(self._rates()):
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
        unsaid = {name for name in ("weights", "factory", "own", "tol") if not getattr(self, name)}
        data = asdict(replace(self, phases=()))
        data["phases"] = [{"phase": type(phase).__name__, **phase_data(phase)} for phase in self.phases]
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


def checked_seed(seed: Any) -> int:
    """NumPy's whole numbers are as good; 1.0 and "1" are slips."""
    if not isinstance(seed, Integral) or int(seed) < 0:
        raise SafeNetError(f"the seed is {seed!r}", "give a whole number from 0 on")
    return int(seed)


def phase_data(phase: Phase) -> dict[str, Any]:
    """The numbers of a phase; an optimiser of the user's own is code, and stays out."""
    return {name: value for name, value in vars(phase).items() if name != "transformation"}


def _phase(data: dict[str, Any]) -> Phase:
    kind = data.pop("phase")
    if kind not in PHASES:
        raise SafeNetError(f"there is no optimiser {kind!r}", f"known: {', '.join(PHASES)}")
    return PHASES[kind](**data)

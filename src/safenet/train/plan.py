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

    A plan with `variants` is several runs, one of which is chosen. A variant sets the `rate` (of the first Adam; later
    ones stay in proportion), the `residual_weight`, or both. `select` is the criterion: the final training `loss`, or
    the held-out `residual` if the losses differ in their weights and are not comparable. It is never the error. The
    runs of one seed, SCOUT, choose for all seeds: the paper searches "per PDE", and a search for each of five seeds
    would be 25 runs instead of nine.

    Code is not data, so a plan only names it: `factory` is the function that makes the user's own network, and `own` is
    everything else that must be given again when a run is resumed.
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
    tol: float | None = None  # the run ends once its estimated error is at most this

    solver: ClassVar[str] = "train"
    trains: ClassVar[bool] = True

    @property
    def words(self) -> tuple[str, ...]:
        """The words that name a case: pinn, paper-1."""
        return self.method, self.recipe

    @property
    def own_network(self) -> bool:
        """Whether its network is the user's own code."""
        return self.method == OWN

    @property
    def parts(self) -> tuple[Phase, ...]:
        """The steps that are carried out one after another."""
        return self.phases

    @property
    def batches(self) -> bool:
        """Whether several runs of this plan can share one program: all phases take their numbers as arguments, and
        there is neither the user's own code nor a tolerance."""
        return (
            not self.own and self.tol is None and all(getattr(phase, "numbers", ()) for phase in self.phases)
        )

    def seeded(self, seed: Any) -> Plan:
        return replace(self, seed=checked_seed(seed))

    def spec(self, field: Any) -> dict[str, Any]:
        """What is needed, apart from its arrays, to rebuild a network."""
        return network_spec(field, self)

    def skeleton(
        self, problem: Problem, spec: dict[str, Any], factory: Callable[[Any], Any] | None = None
    ) -> Any:
        """A network of the structure in `spec`, its arrays to be filled; `factory` makes the user's own network."""
        return skeleton(problem, spec, factory)

    def lean(self) -> dict[str, Any]:
        """The plan without its default values, so that an option added by a later version renames no earlier case."""
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
        """The phase at `index`, if the earlier ones have made `done` iterations."""
        phase, total = self.phases[index], self.until[index] if self.until else 0
        return replace(phase, iterations=max(0, total - done)) if total else phase

    @property
    def candidates(self) -> tuple[Plan, ...]:
        """The runs to choose from: one for each variant, with the seed that tries them, or the plan itself alone.

        Runs of variants have no tolerance: the losses of runs that it ended would not be comparable.
        """
        return tuple(replace(plan, seed=SCOUT, tol=None) for plan in self.settled) or (self,)

    @property
    def settled(self) -> tuple[Plan, ...]:
        """For each variant, the run if it is chosen."""
        return tuple(self._varied(**variant) for variant in self.variants)

    @property
    def scouts(self) -> bool:
        """Whether the chosen candidate already is this plan's run."""
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
        """The plan with another rate for its first Adam; the rates of later ones stay in proportion."""
        if not any(self._rates()):
            raise SafeNetError(
                f"the recipe {self.recipe} has no rate",
                "leave out the rates, or use a recipe with Adam: paper-1",
            )
        if any("rate" in variant for variant in self.variants):
            raise SafeNetError(
                f"the recipe {self.recipe} already tries several rates",
                "leave out the rates, or use paper-1",
            )
        if not 0 < rate < float("inf"):
            raise SafeNetError(f"the rate is {rate}", "give a positive number, e.g. 1e-3")
        return replace(self._varied(rate=rate), variants=self.variants)

    def to_json(self) -> str:
        # Fields that were added later are left out while empty, so that older plans keep their text.
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
    """The seed as an int. NumPy's integers are accepted; 1.0 and "1" are refused as slips."""
    if not isinstance(seed, Integral) or int(seed) < 0:
        raise SafeNetError(f"the seed is {seed!r}", "give a whole number from 0 on")
    return int(seed)


def phase_data(phase: Phase) -> dict[str, Any]:
    """The numbers of a phase, without the user's own optimiser, which is code."""
    return {name: value for name, value in vars(phase).items() if name != "transformation"}


def _phase(data: dict[str, Any]) -> Phase:
    kind = data.pop("phase")
    if kind not in PHASES:
        raise SafeNetError(f"there is no optimiser {kind!r}", f"known: {', '.join(PHASES)}")
    return PHASES[kind](**data)

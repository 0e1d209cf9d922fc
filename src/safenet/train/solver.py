"""Train a network on a problem: the choice of network, schedule, points and start.

sn.Train()                                              SAFE-NET, Adam then self-scaled Broyden, float64
sn.Train("pinn", "paper-1", width=20)                   a method and a recipe by name, with options of the method
sn.Train(network=make, schedule=[sn.Optax(optax.adam(1e-3), 5000), sn.SSBroyden(20_000)],
         terms=[(1.0, energy)], start=another_solution)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from ..errors import SafeNetError, nearest
from ..features.fourier import MOST
from ..measure.points import FRESH, SAMPLERS, check_points
from ..networks.methods import METHODS, Method, build, method, settled
from ..networks.perceptron import parameter_count
from ..problem import Problem
from ..run.result import checked_tolerance
from .phases import PHASES, Phase
from .plan import OWN, SCOUT, Plan, checked_seed
from .recipes import Recipe, recipe, scaled
from .terms import own_name, term_names
from .thresholds import DENSE_PARAMETERS, DENSE_SHARE

PRECISIONS = ("float32", "float64")
OPTIONS = {item.name for item in fields(Method)}
SETTINGS = {
    "points",
    "condition_points",
    "weights",
    "precision",
    "scale",
    "sampler",
    "seed",
    "start",
    "terms",
    "tol",
}

# Names that other libraries give to the steps and the rate of a training; here each optimiser has its own.
OPTIMISERS_OWN = {"iterations", "epochs", "steps", "lr", "rate", "learning_rate", "optimizer", "optimiser"}
OWN_REMEDY = (
    "steps and rates are those of the optimisers: sn.Train(…, [sn.Adam(1000, rate=1e-3), sn.LBFGS(5000)])"
)


@dataclass(frozen=True)
class Own:
    """The user's own code in a training run, which a plan can only name."""

    module: Any = None  # the network itself
    factory: Callable[[Any], Any] | None = None  # key → network
    phases: tuple[Phase, ...] = ()  # with their optax optimisers
    terms: tuple[tuple[float, Callable[[Any], Any]], ...] = ()
    points: np.ndarray | None = None
    start: Any = None  # a field to start from
    callback: Callable[[Progress], Any] | None = None


@dataclass(frozen=True)
class Progress:
    """The argument of a callback: the phase, the iteration, the loss, the weighted share of each term in it, and a
    function that returns the current network. Weights are the plan's, even while a weighting adapts them."""

    phase: str
    iteration: int
    loss: float
    terms: Mapping[str, float]
    network: Callable[[], Any]


class Train:
    """Train a network: SAFE-NET, another method, or your own.

    `network`: a method's name, a `Method`, a function key → equinox.Module, or a module that maps a point to fields.
    `schedule`: a recipe's name, or phases: Adam, LBFGS, SSBroyden, LevenbergMarquardt, …, and any optax optimiser in
    `Optax`. `terms`: pairs (weight, function of the network); each function returns values to drive to zero.
    `points`: the number of interior points, or an array of them; `condition_points`: the number on each condition.
    `weights`: a mapping from the names of the loss's terms (or "equations", "conditions") to numbers. `start`: a
    solution to start from. `callback`: called with the progress; the run stops when it returns True. `scale` multiplies
    all iterations. `tol`: the run ends as soon as its estimated relative error is at most this (not while variants are
    compared). `options` are fields of `Method`: features, width, depth, activation, hard, weighting, …

    Examples:
        >>> training = sn.Train("pinn", [sn.Adam(1000), sn.LBFGS(500)], width=20, depth=3, seed=1)
        >>> training.plan(decay).network.width
        20
    """

    name: ClassVar[str] = "train"

    def __init__(
        self,
        network: Any = "safe-net",
        schedule: Any = "default",
        *,  # arguments typed Any are checked below
        terms: Sequence[Any] = (),
        points: Any = None,
        condition_points: Any = None,
        weights: Mapping[str, float] | None = None,
        start: Any = None,
        callback: Callable[[Progress], Any] | None = None,
        seed: Any = 0,
        precision: str | None = None,
        scale: Any = 1.0,
        sampler: str | None = None,
        tol: float | None = None,
        **options: Any,
    ) -> None:
        schedule = [schedule] if hasattr(schedule, "advance") else schedule  # one optimiser alone
        self.network, self.schedule, self.options = network, schedule, options
        self.weights, self.seed, self.precision = dict(weights or {}), checked_seed(seed), precision
        self.scale, self.sampler, self.tol = scale, sampler, checked_tolerance(tol)
        self.points, self.condition_points = points, condition_points
        self._check()
        start = getattr(start, "field", start)
        if start is not None and not callable(start):
            raise SafeNetError(
                f"start = {start!r} is not a solution", "give what sn.solve returned, or a network"
            )
        modular = isinstance(network, eqx.Module)
        named = isinstance(network, (str, Method))
        self.own = Own(
            module=network if modular else None,
            factory=None if modular or named else network,
            phases=() if isinstance(schedule, str) else tuple(schedule),
            terms=_terms(terms),
            points=None if points is None or np.ndim(points) < 2 else np.asarray(points, dtype=float),
            start=start,
            callback=callback,
        )

    def __repr__(self) -> str:
        return f"Train({self.method!r}, {self.recipe!r})"

    @property
    def method(self) -> str:
        """The method's name; `own` for the user's own network."""
        if isinstance(self.network, Method):
            return next((name for name, known in METHODS.items() if known == self.network), "method")
        return self.network if isinstance(self.network, str) else OWN

    @property
    def recipe(self) -> str:
        return self.schedule if isinstance(self.schedule, str) else OWN

    def obstacle(self, problem: Problem) -> str | None:
        """Why this training does not suit the problem, or None."""
        if self.recipe != OWN and recipe(self.recipe).linear and not problem.linear:
            return f"the recipe {self.recipe} is for linear problems, and this one is not"
        phases = self.own.phases or recipe(self.recipe).phases
        alone = [phase.name for phase in phases if not phase.finds_numbers]
        if problem.unknown and alone:
            return f"{alone[0]} cannot train the unknown numbers of a problem"
        if self.options.get("weighting", "fixed") != "fixed" and not any(p.adapts_weights for p in phases):
            names = ", ".join(phase.name for phase in phases)
            return f"adaptive weights need Adam or an optax optimiser; the schedule has only {names}"
        if self.sampler == FRESH and problem.region is not None:
            return 'the sampler "fresh" needs a box; this domain is not a box'
        if self.sampler == FRESH and self._network(Recipe(())).weighting == "rba":
            return 'the weighting "rba" keeps a weight for each point, so it needs fixed points'
        return None

    # ---- checks, each with its remedy

    def _check(self) -> None:
        known = isinstance(self.network, (str, Method)) or callable(self.network)
        if not known:
            raise SafeNetError(
                f"{self.network!r} is not a network",
                "give a method's name, a Method, a module, or a function key → module",
            )
        if self.options and not isinstance(self.network, (str, Method)):
            raise SafeNetError(
                f"{next(iter(self.options))} is an option of a method, and the network is your own",
                "leave the option out, or name a method",
            )
        for name in self.options:
            if name not in OPTIONS:
                of_an_optimiser = name in OPTIMISERS_OWN
                remedy = OWN_REMEDY if of_an_optimiser else nearest(name, OPTIONS | SETTINGS)
                raise SafeNetError(f"there is no option {name!r}", remedy)
        if isinstance(self.schedule, str):
            recipe(self.schedule)
        elif not self.schedule or not all(type(phase) in PHASES.values() for phase in self.schedule):
            raise SafeNetError(
                f"schedule = {self.schedule!r} is not made of known optimisers",
                "e.g. [sn.Adam(1000), sn.LBFGS(5000)]; your own goes in sn.Optax(optimiser, 5000), as an optax one",
            )
        if self.precision not in (None, *PRECISIONS):
            raise SafeNetError(
                f"there is no precision {self.precision!r}", nearest(str(self.precision), PRECISIONS)
            )
        if not isinstance(self.scale, Real) or not 0 < float(self.scale) < math.inf:
            raise SafeNetError(
                f"the scale is {self.scale!r}", "give a positive number, e.g. 0.01 for a hundredth"
            )
        for name, weight in self.weights.items():
            _checked_weight(f"of {name}", weight)
        if self.sampler is not None and self.sampler not in SAMPLERS:
            raise SafeNetError(f"there is no sampler {self.sampler!r}", nearest(self.sampler, SAMPLERS))

    def _counts(self, usual: Recipe) -> tuple[int, int]:
        """Points inside and on each condition."""
        inside = len(self.points) if self.own.points is not None else self.points
        for count, kind in ((inside, "points"), (self.condition_points, "condition points")):
            if count is not None and not (isinstance(count, Integral) and int(count) >= 1):
                given = f"an array of shape {np.shape(count)}" if np.ndim(count) else repr(count)
                remedy = "give a whole number, at least 1"
                remedy += "; or an array with a row for each point" if kind == "points" else ""
                raise SafeNetError(f"the number of {kind} is {given}", remedy)
        return int(inside or usual.interior), int(self.condition_points or usual.condition)

    # ---- the plan

    def plan(self, problem: Problem) -> Plan:
        """The run as data: names and options resolved, sizes chosen for the problem and the device, with reasons."""
        obstacle = self.obstacle(problem)
        if obstacle:
            raise SafeNetError(f"{problem.name}: {obstacle}", "use another recipe, sampler or weighting")
        check_points(problem, self.own.points)
        usual = Recipe(()) if self.recipe == OWN else recipe(self.recipe, problem)
        chosen = settled(problem, self._network(usual))
        interior, condition = self._counts(usual)
        precision = self.precision or self._own_precision() or usual.precision
        plan = Plan(
            method=self.method,
            recipe=self.recipe,
            seed=self.seed,
            precision=precision,
            network=chosen,
            interior=interior,
            condition=condition,
            sampler=self.sampler or usual.sampler,
            until=tuple(round(self.scale * total) for total in usual.until),
            variants=_variants(usual.rates, chosen),
            select="residual" if chosen.weight_grid else "loss",
            factory=factory_name(self.own.factory),
            own=self._code(),
            tol=self.tol,
            **self._weights(problem),
        )
        phases, reasons = self._phases(problem, plan, usual)
        if chosen.weighting != "fixed" and not any(phase.adapts_weights for phase in phases):
            reasons = (
                *reasons,
                f"no phase adapts the {chosen.weighting} weights, so they stay at the plan's values",
            )
        short = [phase.name for phase in phases if phase.double]
        if plan.precision == "float32" and short:
            raise SafeNetError(
                f"{short[0]} needs float64", "leave out the precision, or choose a paper recipe"
            )
        if plan.variants:
            measure = {"loss": "final training loss", "residual": "held-out residual"}[plan.select]
            reasons = (
                *reasons,
                f"the best of {len(plan.variants)} variants, by the {measure} of seed {SCOUT}",
            )
            if plan.tol is not None:
                compared = f"the tolerance does not stop runs of seed {SCOUT}, which are compared"
                reasons = (*reasons, f"{compared}; it does stop runs of other seeds")
        return replace(plan, phases=tuple(scaled(phase, self.scale) for phase in phases), reasons=reasons)

    def _network(self, usual: Recipe) -> Method:
        if isinstance(self.network, Method):
            return replace(self.network, **self.options)
        if isinstance(self.network, str):
            asked = usual.network if self.network == "safe-net" else {}
            return method(self.network, **(dict(asked) | self.options))
        return Method()

    def _own_precision(self) -> str | None:
        """The precision of the user's own module, if one was given."""
        if self.own.module is None:
            return None
        kinds = {
            str(leaf.dtype) for leaf in jax.tree.leaves(eqx.filter(self.own.module, eqx.is_inexact_array))
        }
        return "float64" if "float64" in kinds or not kinds else "float32"

    def _weights(self, problem: Problem) -> dict[str, Any]:
        """The weights of the equations, the conditions and single terms, as fields of a plan."""
        named = dict(self.weights)
        found: dict[str, Any] = {}
        for name, key in (("equations", "residual_weight"), ("conditions", "condition_weight")):
            if name in named:
                found[key] = float(named.pop(name))
        known = term_names(problem)
        spaced = {"".join(name.split()): name for name in known}
        named = {spaced.get("".join(name.split()), name): weight for name, weight in named.items()}
        for name in named:
            if name not in known:
                raise SafeNetError(
                    f"the loss of {problem.name} has no term {name!r}",
                    f"its terms are {', '.join(known)}; or give equations, conditions",
                )
        return found | ({"weights": tuple((name, float(w)) for name, w in named.items())} if named else {})

    def _code(self) -> tuple[str, ...]:
        """The names of the code that a plan cannot hold."""
        found = [f"network {type(self.own.module).__name__}"] if self.own.module is not None else []
        found += [f"network {own_name(self.own.factory)}"] if self.own.factory is not None else []
        found += [phase.code for phase in self.own.phases if phase.code]
        found += [f"term {own_name(function)}" for _, function in self.own.terms]
        found += ["points"] if self.own.points is not None else []
        found += ["start"] if self.own.start is not None else []
        return tuple(found)

    def _phases(
        self, problem: Problem, plan: Plan, usual: Recipe
    ) -> tuple[tuple[Phase, ...], tuple[str, ...]]:
        """The recipe's phases; L-BFGS instead of a dense inverse Hessian where that would not fit."""
        if not usual.sparing:
            return self.own.phases or usual.phases, ()
        size, most = self._parameters(problem, plan), most_dense()
        few = [f"{len(problem.axes)} axes: Fourier products of two of them at a time"]
        said = few if len(problem.axes) > MOST and not (self.own.module or self.own.factory) else []
        said += [usual.reason] if usual.reason else []
        if size <= most:
            why = f"{size} parameters: self-scaled Broyden with a dense inverse Hessian, in float64"
            return usual.phases, (*said, why)
        why = f"{size} parameters are too many for a dense inverse Hessian ({most} at most here): L-BFGS"
        return usual.sparing, (*said, why)

    def _parameters(self, problem: Problem, plan: Plan) -> int:
        if self.own.module is not None:
            return parameter_count(self.own.module)
        make = self.own.factory or (
            lambda key: build(problem, plan.network, key=key, dtype=jnp.dtype(plan.precision))
        )
        return parameter_count(eqx.filter_eval_shape(make, jax.random.key(0)))


def most_dense() -> int:
    """The largest number of parameters for which a dense inverse Hessian fits on this device and pays off."""
    if jax.default_backend() == "cpu":
        return DENSE_PARAMETERS[False]
    memory = (jax.devices()[0].memory_stats() or {}).get("bytes_limit", math.inf)
    return int(min(DENSE_PARAMETERS[True], math.sqrt(DENSE_SHARE * memory / (3 * 8))))


def _terms(given: Any) -> tuple[tuple[float, Callable[[Any], Any]], ...]:
    found = []
    for entry in given:
        pair = isinstance(entry, (tuple, list)) and len(entry) == 2
        if not pair or not isinstance(entry[0], Real) or not callable(entry[1]):
            raise SafeNetError(
                f"the term {entry!r} is not a weight and a function",
                "e.g. terms=[(1.0, energy)] with energy(network)",
            )
        _checked_weight(f"of the term {own_name(entry[1])}", entry[0])
        found.append((float(entry[0]), entry[1]))
    return tuple(found)


def _checked_weight(of: str, weight: Any) -> None:
    if not isinstance(weight, Real) or not 0 <= float(weight) < math.inf:
        raise SafeNetError(f"the weight {of} is {weight!r}", "give a number, at least 0")


def factory_name(factory: Any) -> str:
    """`module:function`: how a run folder records the function that makes its network."""
    if factory is None:
        return ""
    name = f"{factory.__module__}:{getattr(factory, '__qualname__', '<partial>')}"
    return "" if "<" in name else name  # a lambda, a partial or a nested function cannot be looked up by name


def _variants(rates: Sequence[float], chosen: Method) -> tuple[dict[str, float], ...]:
    """Every rate of the recipe with every weight of the method; empty if there is nothing to choose."""
    steps: list[dict[str, float]] = [{"rate": rate} for rate in rates]
    weights: list[dict[str, float]] = [{"residual_weight": weight} for weight in chosen.weight_grid]
    if not steps and not weights:
        return ()
    return tuple(rate | weight for rate in steps or [{}] for weight in weights or [{}])

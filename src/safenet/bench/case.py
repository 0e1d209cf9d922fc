"""case = (problem, plan); its name is the SHA-256 of both: the same content is the same case, wherever it was run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from .. import library
from ..direct.plan import DirectPlan
from ..networks.methods import METHODS, Method
from ..problem import Problem
from ..problem.toml import loads
from ..solving.plans import plan_for
from ..train.plan import Plan
from ..train.solver import Train
from .naming import called, setting, statement

AnyPlan = DirectPlan | Plan

# Raised when the same configuration would give another result: what was measured before then no longer counts.
PROTOCOL = 1
SEARCH_PROTOCOL = 2  # of plans with variants: one seed chooses for all


STARTS = ("k", "frequencies", "amplitudes")  # options of a method that set numbers and no structure
RENAMED = {"interior": "points", "condition": "condition_points"}  # as older suites say


def planned(
    problem: Problem, *, solver: str = "train", method: str = "", recipe: str = "", **options: Any
) -> AnyPlan:
    """What a case of a suite does: a solver by its name, or a network by its method, recipe and options."""
    if solver != "train":
        return plan_for(problem, solver)
    given = {RENAMED.get(name, name): value for name, value in options.items()}
    return Train(method, recipe, **given).plan(problem)


def protocol(plan: Mapping[str, Any]) -> int:
    """Of a plan, as JSON."""
    return SEARCH_PROTOCOL if plan.get("variants") else PROTOCOL


@dataclass(frozen=True)
class Case:
    """One run of a suite: a problem with its parameters and the plan with every number that decides the result.

    With a `spectrum`, (probes, steps) of Lanczos quadrature, the Hessian of the loss is looked at afterwards.
    `name` is what its problem is called beside the others of its suite; it decides nothing.
    """

    problem: Problem
    plan: AnyPlan
    spectrum: tuple[int, int] | None = None
    name: str = field(default="", compare=False)

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """All that decides the result, as JSON, defaults and all: what a worker is given and a row keeps."""
        plan = json.loads(self.plan.to_json())
        del plan["reasons"]  # they decide nothing, nor does a title
        found = {"protocol": protocol(plan), "problem": statement(self.problem), "plan": plan}
        # Named only where there is one: a case without is what it was before there were any.
        return found | ({"spectrum": list(self.spectrum)} if self.spectrum else {})

    def seeded(self, seed: int) -> Case:
        """The same with another seed; what does not depend on it is not worked out again."""
        if seed == self.plan.seed or not self.plan.trains:  # a direct solve has no seed
            return self
        other = replace(self, plan=self.plan.seeded(seed))
        plan = self.configuration["plan"] | {"seed": seed}
        vars(other).update(configuration=self.configuration | {"plan": plan}, group=self.group)
        return other

    @property
    def plain(self) -> Case:
        """The same training, without a spectrum after it."""
        return replace(self, spectrum=None)

    @cached_property
    def id(self) -> str:
        return content_id(self._essence(self.plan.seed))

    @cached_property
    def group(self) -> str:
        """The same for all seeds of a configuration: they can run as one program."""
        return content_id(self._essence(None))

    @cached_property
    def program(self) -> str:
        """The same for cases that differ only in where a network starts: they may run as one program, too."""
        essence = self._essence(None)
        plan = essence["plan"]
        if not self.plan.trains or plan.get("variants"):
            return self.group
        network = {name: value for name, value in plan["network"].items() if name not in STARTS}
        return content_id(essence | {"plan": plan | {"network": network}})

    def _essence(self, seed: int | None) -> dict[str, Any]:
        """The configuration without what is as ever: an option that a later version adds renames no earlier case."""
        return self.configuration | {"plan": self.plan.lean() | ({"seed": seed} if self.plan.trains else {})}

    @cached_property
    def variant(self) -> dict[str, Any]:
        """What differs from the method and the recipe as they are named."""
        return _variant(self.problem, self.plan)

    @property
    def facts(self) -> dict[str, Any]:
        """What a row repeats of its case, to be found by."""
        plan = self.plan
        return {
            "problem": self.problem.name,
            "solver": plan.solver,
            "method": plan.method,
            "recipe": plan.recipe,
            "seed": plan.seed,
            "variant": self.variant,
            "precision": plan.precision,
            "configuration": self.configuration,
        }

    @property
    def label(self) -> str:
        """wave · pinn · paper-1 · depth=2 · seed 0"""
        return f"{self.cell} · seed {self.plan.seed}"

    @cached_property
    def cell(self) -> str:
        """What all seeds of it are called: wave · pinn · paper-1 · depth=2"""
        text, plan = statement(self.problem), self.plan
        words = [self.name or called([text])[text], *plan.words]
        words += [setting(name, value) for name, value in self.variant.items()]
        return " · ".join([*words, "spectrum"] if self.spectrum else words)

    @staticmethod
    def of(configuration: dict[str, Any]) -> Case:
        """The case of a configuration, with the library's reference where the problem is one of the library's."""
        problem = library.with_library_reference(loads(configuration["problem"]))
        kind = DirectPlan if "passes" in configuration["plan"] else Plan
        plan = kind.from_json(json.dumps({"reasons": [], **configuration["plan"]}))
        return Case(problem, plan, tuple(configuration.get("spectrum", ())) or None)


def content_id(configuration: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON: sorted keys, no spaces."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _variant(problem: Problem, plan: AnyPlan) -> dict[str, Any]:
    if not isinstance(plan, Plan):  # the numbers of a direct solver are its own
        return {}
    usual = Train(plan.method, plan.recipe, seed=plan.seed).plan(problem)
    named = METHODS[plan.method]
    differs: dict[str, Any] = {
        item.name: getattr(plan.network, item.name)
        for item in fields(Method)
        # Against both: the default recipe may choose other sizes than the method's.
        if getattr(plan.network, item.name)
        not in (getattr(named, item.name), getattr(usual.network, item.name))
    }
    for name in ("precision", "interior", "condition", "sampler"):
        if getattr(plan, name) != getattr(usual, name):
            differs[RENAMED.get(name, name)] = getattr(plan, name)
    if (plan.phases, plan.until) != (usual.phases, usual.until):
        differs["iterations"] = "+".join(str(getattr(phase, "iterations", 1)) for phase in plan.phases)
    return differs

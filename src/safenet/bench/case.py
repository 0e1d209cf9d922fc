"""case = (problem, plan); its id is the SHA-256 of both, so equal content is the same case, wherever it runs."""

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

# Incremented when the same configuration would give a different result; earlier measurements then no longer count.
PROTOCOL = 1
SEARCH_PROTOCOL = 2  # for plans with variants: one seed chooses for all seeds


STARTS = ("k", "frequencies", "amplitudes")  # method options that change values, not structure
RENAMED = {"interior": "points", "condition": "condition_points"}  # names in plans and older suites → option
# What distinguishes plans beside networks and phases, and how it is called in a label.
SETTINGS = {
    **{name: name for name in ("precision", "sampler", "weights", "tol")},
    **RENAMED,
    **{"residual_weight": "weights.equations", "condition_weight": "weights.conditions"},
}


def planned(
    problem: Problem, *, solver: str = "train", method: str = "", recipe: str = "", **options: Any
) -> AnyPlan:
    """The plan of a suite's case: a solver by name, or a network by method, recipe and options."""
    if solver != "train":
        return plan_for(problem, solver)
    given = {RENAMED.get(name, name): value for name, value in options.items()}
    return Train(method, recipe, **given).plan(problem)


def protocol(plan: Mapping[str, Any]) -> int:
    """The protocol number of a plan, given as JSON."""
    return SEARCH_PROTOCOL if plan.get("variants") else PROTOCOL


@dataclass(frozen=True)
class Case:
    """One run of a suite: a problem with its parameters, and a plan with every number that affects the result.

    With `spectrum` = (probes, steps), the spectrum of the loss's Hessian is computed afterwards by Lanczos quadrature.
    `reference` is the id of a direct solve of the same problem, by which the run is scored, or empty.
    `name` tells the problem apart from the others of its suite; it does not affect the result.
    """

    problem: Problem
    plan: AnyPlan
    spectrum: tuple[int, int] | None = None
    reference: str = ""
    name: str = field(default="", compare=False)

    @cached_property
    def configuration(self) -> dict[str, Any]:
        """Everything that affects the result, as JSON with all defaults: what a worker receives and a row keeps."""
        plan = json.loads(self.plan.to_json())
        del plan["reasons"]  # like a title, they do not affect the result
        found = {"protocol": protocol(plan), "problem": statement(self.problem), "plan": plan}
        # Only where there is one, so that cases without keep the ids they had before there were any.
        found |= {"spectrum": list(self.spectrum)} if self.spectrum else {}
        return found | ({"reference": self.reference} if self.reference else {})

    def seeded(self, seed: int) -> Case:
        """The same case with another seed; whatever does not depend on the seed is reused."""
        if seed == self.plan.seed or not self.plan.trains:  # a direct solve has no seed
            return self
        other = replace(self, plan=self.plan.seeded(seed))
        plan = self.configuration["plan"] | {"seed": seed}
        vars(other).update(configuration=self.configuration | {"plan": plan}, group=self.group)
        return other

    @property
    def plain(self) -> Case:
        """The same training, without a spectrum after it and without a score."""
        return replace(self, spectrum=None, reference="")

    @cached_property
    def id(self) -> str:
        return content_id(self._essence(self.plan.seed))

    @cached_property
    def group(self) -> str:
        """An id shared by all seeds of a configuration: they can run as one program."""
        return content_id(self._essence(None))

    @cached_property
    def program(self) -> str:
        """An id shared by cases that differ only in a network's initial values: they may run as one program, too."""
        essence = self._essence(None)
        plan = essence["plan"]
        if not self.plan.trains or plan.get("variants"):
            return self.group
        network = {name: value for name, value in plan["network"].items() if name not in STARTS}
        return content_id(essence | {"plan": plan | {"network": network}})

    def _essence(self, seed: int | None) -> dict[str, Any]:
        """The configuration without options at their defaults, so that an option added later changes no earlier id."""
        return self.configuration | {"plan": self.plan.lean() | ({"seed": seed} if self.plan.trains else {})}

    @cached_property
    def variant(self) -> dict[str, Any]:
        """The settings that differ from those of the named method and recipe."""
        return _variant(self.problem, self.plan)

    @property
    def facts(self) -> dict[str, Any]:
        """The columns by which a row's case can be found."""
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
        """The label without the seed: wave · pinn · paper-1 · depth=2"""
        text, plan = statement(self.problem), self.plan
        words = [self.name or called([text])[text], *plan.words]
        words += [setting(name, value) for name, value in self.variant.items()]
        return " · ".join([*words, "spectrum"] if self.spectrum else words)

    @staticmethod
    def of(configuration: dict[str, Any]) -> Case:
        """The case of a configuration, with the library's reference if the problem is from the library."""
        problem = library.with_library_reference(loads(configuration["problem"]))
        kind = DirectPlan if "passes" in configuration["plan"] else Plan
        plan = kind.from_json(json.dumps({"reasons": [], **configuration["plan"]}))
        spectrum = tuple(configuration.get("spectrum", ())) or None
        return Case(problem, plan, spectrum, configuration.get("reference", ""))


def content_id(configuration: dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON: sorted keys, no spaces."""
    text = json.dumps(configuration, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _variant(problem: Problem, plan: AnyPlan) -> dict[str, Any]:
    if not isinstance(plan, Plan):  # a direct solver has no options here
        return {}
    usual = Train(plan.method, plan.recipe, seed=plan.seed).plan(problem)
    named = METHODS[plan.method]
    differs: dict[str, Any] = {
        item.name: getattr(plan.network, item.name)
        for item in fields(Method)
        # Different from both: the default recipe may choose other sizes than the method's.
        if getattr(plan.network, item.name)
        not in (getattr(named, item.name), getattr(usual.network, item.name))
    }
    for name, told in SETTINGS.items():
        value = getattr(plan, name)
        if value != getattr(usual, name):
            differs[told] = dict(value) if name == "weights" else value
    if (plan.phases, plan.until) != (usual.phases, usual.until):
        differs["iterations"] = "+".join(str(getattr(phase, "iterations", 1)) for phase in plan.phases)
    return differs

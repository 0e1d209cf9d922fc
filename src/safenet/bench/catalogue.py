"""problems × methods × recipes × options × seeds, as a TOML file: the product of its lists, or one for each part.

A part with `solvers` is problems × solvers: direct solves have no seeds and no options.

title = "Depth on two problems"
problems = ["wave", { name = "convection", beta = 30 }, "mine.toml"]
methods = ["safe-net-literal", "pinn"]
recipes = ["paper-1"]
seeds = 5                          # 0 … 4, or a list
options = { depth = [1, 2, 4] }    # of `sn.Train`; a list is a grid
spectrum = [100, 200]              # after each run, the Hessian's spectrum: probes, Lanczos steps of each
reference = "auto"                 # a direct solve scores the runs on problems without a known solution

[smoke]                            # replaces the above with `--smoke`
seeds = 1
options = { depth = [1, 2], scale = 0.01, points = 500 }

[[part]]                           # several products: a list that a part does not give is the one above
methods = ["rff"]

[[part]]
solvers = ["auto", "march"]        # in place of methods, recipes, options and seeds
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import library, listed
from ..errors import SafeNetError, nearest
from ..problem import Problem
from ..problem.toml import MAX_BYTES, read
from ..run.checkpoint import contents
from .naming import called, statement

if TYPE_CHECKING:
    from .case import Case

SCALES = ("full", "smoke")
KEYS = ("problems", "methods", "recipes", "solvers", "seeds", "options", "spectrum", "reference")
# Keys for networks only, with their defaults.
NETWORKS: dict[str, Any] = {
    "methods": [],
    "recipes": [],
    "seeds": 1,
    "options": {},
    "spectrum": [],
    "reference": "",
}


@dataclass(frozen=True)
class Suite:
    """Cases as data; paths of problem files are relative to `place`."""

    name: str
    title: str
    labels: tuple[str, ...]
    parts: tuple[Mapping[str, Any], ...]
    smoke: Mapping[str, Any] | None  # None: no table; an empty one says that the suite is small already
    place: Path

    def parts_at(self, scale: str) -> list[Mapping[str, Any]]:
        """The complete parts at a scale."""
        if scale not in SCALES:
            raise SafeNetError(f"there is no scale {scale!r}", nearest(scale, SCALES))
        if scale == "full":
            return [*self.parts]
        if self.smoke is None:
            raise SafeNetError(
                f"the suite {self.name} has no [smoke] table, which would make it small",
                "add [smoke] with e.g. seeds = 1 and options = { scale = 0.02, points = 500, condition_points = 100 }",
            )
        return [laid_over(part, self.smoke) for part in self.parts]

    def cases(self, scale: str = "full", only: str = "") -> list[Case]:
        """Every case once, all configurations of the first seed before those of the second.

        `only` keeps the cases whose label contains all of its words; «seed 1» counts as one word.
        """
        parts = self.parts_at(scale)
        stated = [[self._problem(entry) for entry in part["problems"]] for part in parts]
        titles = called(statement(problem) for pairs in stated for pair in pairs for problem in pair)
        found = {
            case.id: case
            for part, pairs in zip(parts, stated, strict=True)
            for case in self._product(part, [problem for problem, _ in pairs], titles)
        }
        cases = sorted(found.values(), key=lambda case: case.plan.seed)
        wanted = _words(only)
        chosen = [case for case in cases if not wanted or wanted <= _words(case.label)]
        own = {case.id for case in chosen}
        scored_by = dict.fromkeys(c.reference for c in chosen if c.reference and c.reference not in own)
        if not chosen:
            known = {word for case in cases for word in _words(case.label)}
            strange = sorted(wanted - known)
            remedy = (
                nearest(strange[0], known) if strange else "no case has all of these words: see --dry-run"
            )
            raise SafeNetError(f"no case of {self.name} has {only!r} in its label", remedy)
        return [*(found[id] for id in scored_by), *chosen]

    def _product(
        self, part: Mapping[str, Any], problems: list[Problem], names: Mapping[str, str]
    ) -> Iterator[Case]:
        from .case import Case, planned

        seeds = part["seeds"]
        scores: dict[str, Case] = {}  # direct solves, by the title of their problem
        if part["reference"]:
            unknown = (problem for problem in problems if not problem.has_reference)
            scores = {names[statement(problem)]: self._direct(problem, names) for problem in unknown}
            yield from scores.values()
        for problem, (names_of, options) in product(problems, ways(part)):
            title = names[statement(problem)]
            score = scores[title].id if title in scores else ""
            try:
                _check_options(options)
                plan = planned(problem, **names_of, **options)
            except (SafeNetError, TypeError) as error:
                where = " · ".join([f"{self.name}: {title}", *names_of.values()])
                raise SafeNetError(f"{where}: {getattr(error, 'message', error)}", _remedy(error)) from None
            case = Case(problem, plan, tuple(part["spectrum"]) or None, score, title)
            for seed in range(seeds) if isinstance(seeds, int) else seeds:
                yield case.seeded(seed)

    def _direct(self, problem: Problem, names: Mapping[str, str]) -> Case:
        """The direct solve that scores the runs on a problem."""
        from .case import Case, planned

        plan, title = planned(problem, solver="auto"), names[statement(problem)]
        if plan.trains:
            raise SafeNetError(
                f"{self.name}: {title} has no direct solve that could score its runs",
                'leave out reference = "auto": they are then compared by the residual',
            )
        return Case(problem, plan, name=title)

    def _problem(self, entry: Any) -> tuple[Problem, Problem]:
        """(problem, the same before its parameters were set), from a library name, a file, or a table with `name`."""
        table = dict(entry) if isinstance(entry, dict) else {"name": entry}
        name = table.pop("name", None)
        if not isinstance(name, str):
            raise SafeNetError(
                f"{self.name}: a problem has no name", 'e.g. { name = "convection", beta = 30 }'
            )
        for key, value in table.items():
            if type(value) not in (int, float, str):
                raise SafeNetError(
                    f"{self.name}: {key} of {name} is {value!r}", f"give a number or a formula, {key} = 30"
                )
        if name.endswith(".toml"):
            own = read(self.place / name)
            # The parameters first: the reference depends on their values.
            return library.with_library_reference(own.with_parameters(**table)), own
        return stated(name, **table), stated(name)


stated = cache(library.problem)  # one object, shared by all entries that name it


def ways(part: Mapping[str, Any]) -> list[tuple[dict[str, str], dict[str, Any]]]:
    """How the problems of a part are solved: ({solver} or {method, recipe}, options)"""
    if part["solvers"]:
        return [({"solver": solver}, {}) for solver in part["solvers"]]
    grid = {key: value if isinstance(value, list) else [value] for key, value in part["options"].items()}
    return [
        ({"method": method, "recipe": recipe}, dict(zip(grid, values, strict=True)))
        for method, recipe, values in product(part["methods"], part["recipes"], product(*grid.values()))
    ]


# Examples of plan options: a value must have the same type. For method options, the defaults are the examples.
PLAN_OPTIONS = {
    "precision": "float32",
    "sampler": "uniform",
    "scale": 0.01,
    "points": 20_000,
    "condition_points": 2_000,
}
MOST = 10_000  # seeds, and combinations of options
KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list of numbers",
}


def _check_options(options: Mapping[str, Any]) -> None:
    """Check that each value has its option's type; unknown names and invalid values are found elsewhere."""
    from ..networks.methods import Method

    usual = PLAN_OPTIONS | vars(Method())
    for name, value in options.items():
        kind = type(usual.get(name, value))
        if name in usual and not _is(value, kind):
            example = "[[0.1, 0.01]]" if kind is tuple else json.dumps(usual[name])
            raise SafeNetError(f"{name} = {value!r} is not {KINDS[kind]}", f"e.g. {name} = {example}")


def _is(value: Any, kind: type) -> bool:
    if kind is tuple:
        return isinstance(value, (list, tuple)) and all(_is(each, float) for each in value)
    return type(value) in (int, float) if kind is float else type(value) is kind


def _words(text: str) -> set[str]:
    """wave · pinn · depth=2 · seed 1 → {"wave", "pinn", "depth=2", "seed 1"}"""
    return set(re.findall(r"seed \d+|[^ ·]+", " ".join(text.split())))


def _remedy(error: Exception) -> str:
    return str(getattr(error, "remedy", "")) or "see `safenet solve --help` for the options"


def names() -> tuple[str, ...]:
    """The built-in suites."""
    return tuple(listed.suites())


def suite(name: str | Path) -> Suite:
    """A built-in suite by its name, or one from a file."""
    path = Path(name)
    if str(name) in names():
        return loads(listed.suites()[str(name)].read_text(encoding="utf-8"), str(name), Path())
    if path.suffix != ".toml":
        raise SafeNetError(
            f"there is no suite {str(name)!r}", f"{nearest(str(name), names())}; a file ends in .toml"
        )
    try:
        return loads(contents(path, MAX_BYTES).decode(), path.stem, path.parent)
    except UnicodeDecodeError:
        raise SafeNetError(f"{path} is not UTF-8 text", "save the file as UTF-8") from None
    except OSError as obstacle:
        raise SafeNetError(f"cannot read {path}: {obstacle.strerror}", "check the path") from None


def loads(text: str, name: str, place: Path) -> Suite:
    """A suite from its text."""
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error)[:200]
        raise SafeNetError(
            f"the suite {name} is not valid TOML: {reason}", "see docs/benchmarks.md"
        ) from None
    head = {key: document.pop(key) for key in KEYS if key in document}
    title, labels = document.pop("title", name), document.pop("labels", [])
    smoke, parts = document.pop("smoke", None), document.pop("part", [{}])
    if document:
        raise SafeNetError(f"the suite {name} has an unknown key {next(iter(document))!r}", _known(document))
    for key, value, fits, kind in (
        ("title", title, isinstance(title, str), 'a text, e.g. title = "Depth"'),
        ("labels", labels, _all(labels, str), 'a list of texts, e.g. labels = ["tab:depth"]'),
        ("smoke", smoke, smoke is None or isinstance(smoke, dict), "a table: [smoke]"),
        ("part", parts, parts != [] and _all(parts, dict), "one or more tables, each under [[part]]"),
    ):
        if not fits:
            raise SafeNetError(f"the suite {name} has {key} = {value!r}", f"it must be {kind}")
    for table in (head, *parts, smoke or {}):
        for key in table:
            if key not in KEYS:
                raise SafeNetError(f"the suite {name} has an unknown key {key!r}", nearest(key, KEYS))
            if key in NETWORKS and "solvers" in table:
                raise SafeNetError(
                    f"the suite {name} has both solvers and {key}, but {key} apply only to networks",
                    "give solvers a [[part]] of their own",
                )
    _check_head(head, parts, name)
    whole = [laid_over(head, part) for part in parts]
    for part in whole:
        _check(part, name)
    _check(laid_over(whole[0], smoke or {}), name)
    return Suite(name, title, tuple(labels), tuple(whole), smoke, place)


def _check_head(head: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], name: str) -> None:
    """Keys above the parts are only defaults for them: one that no part takes would be dropped silently."""
    for key in head:
        # A part with solvers has no networks, and one with methods no solvers.
        others = {"methods"} if key == "solvers" else {"solvers"} if key in NETWORKS else set()
        if all(({key} | others) & part.keys() for part in parts):
            raise SafeNetError(
                f"the suite {name} has {key} above its parts, but no [[part]] uses them",
                "only the parts are run: put what stands above them into a [[part]] of its own",
            )


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """A complete part: each key from `above`, else from `below`. A part with solvers has no keys for networks;
    `methods` in `above` removes the solvers."""
    part = {"solvers": [], **NETWORKS, **below, **above}
    if "methods" in above:
        return part | {"solvers": []}
    return part | NETWORKS if part["solvers"] else part


def _known(document: Mapping[str, Any]) -> str:
    return nearest(next(iter(document)), ("title", "labels", "smoke", "part", *KEYS))


def _all(value: Any, kind: type) -> bool:
    """Whether the value is a list of this kind."""
    return isinstance(value, list) and all(isinstance(each, kind) for each in value)


def _check(part: Mapping[str, Any], name: str) -> None:
    """The required lists are there and hold names; seeds are a count or a list of numbers."""
    for key in ("problems", "solvers") if part["solvers"] else ("problems", "methods", "recipes"):
        if not isinstance(part.get(key), list) or not part[key]:
            raise SafeNetError(f"the suite {name} has no list of {key}", f'e.g. {key} = ["…"]')
        for entry in part[key]:
            if not isinstance(entry, str) and not (key == "problems" and isinstance(entry, dict)):
                raise SafeNetError(
                    f"the suite {name} has {entry!r} among its {key}", "each must be a name in quotes"
                )
    seeds, spectrum = part["seeds"], part["spectrum"]
    several = isinstance(seeds, list) and seeds and all(type(seed) is int and seed >= 0 for seed in seeds)
    if not several and not (type(seeds) is int and seeds > 0):
        raise SafeNetError(
            f"the suite {name} has seeds = {seeds!r}", "give how many, 1 or more, or a list such as [0, 1]"
        )
    if not isinstance(part["options"], dict):
        raise SafeNetError(f"the suite {name} has no table of options", "e.g. options = { depth = [1, 2] }")
    for option, value in part["options"].items():
        if value == []:
            raise SafeNetError(f"the suite {name} has no value for {option}", "give values, or leave it out")
    if part["reference"] not in ("", "auto"):
        raise SafeNetError(
            f"the suite {name} has reference = {part['reference']!r}",
            'write reference = "auto": the direct solve that is chosen by default scores the runs',
        )
    _check_counts(part, name)
    pair = isinstance(spectrum, list) and len(spectrum) == 2
    if spectrum != [] and not (pair and all(type(count) is int and count > 0 for count in spectrum)):
        raise SafeNetError(
            f"the suite {name} has spectrum = {spectrum!r}", "give probes and steps, e.g. [100, 200]"
        )


def _check_counts(part: Mapping[str, Any], name: str) -> None:
    """A product of lists grows fast: at most MOST seeds, and MOST combinations of options."""
    seeds = part["seeds"]
    grid = math.prod(len(value) for value in part["options"].values() if isinstance(value, list))
    for what, count in (("seeds", seeds if isinstance(seeds, int) else len(seeds)), ("options", grid)):
        if count > MOST:
            raise SafeNetError(f"the suite {name} has {count} {what}", f"give at most {MOST}")

"""Every claim of the paper, our measurement, the verdict, and the command that measures it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from ..report.results import Configured, Scale, Summary, configuration_key
from ..report.words import NONE
from . import ablations, further  # noqa: F401  (enter their judges)
from .evidence import OURS, PAPER, PRINTED_K, Evidence, View
from .judges import JUDGES
from .printed import Table, claims, compared, tables
from .verdicts import ALIKE, NOTHING, SEEDS, SHARES, TOO_FEW, UNMEASURED, Finding, better, by_share, same

# Claims that no suite measures: they are computed for the page.
COMPUTED = {
    "condition-one": "safenet spectrum wave --method safe-net-literal",
    "lambda-printed": "safenet report DIR -o page.html",
    "heat-scored": "safenet report DIR -o page.html",
}
# Tables whose errors are claims by themselves; the errors of ablations are judged by the sentences about them.
ERRORS = (
    "optimizer_comparison_config1",
    "optimizer_comparison_config2",
    "tab:adam_only_results",
    "tab:nh-heat",
)


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. `scale` is set if all runs are at another scale than the paper's.

    `printed` is what the same rule finds in the paper's own tables, if they have the numbers. `short` is the claim in a
    few words.
    """

    name: str
    label: str
    text: str
    rule: str
    finding: Finding
    command: str
    scale: Scale | None = None
    printed: Finding = NOTHING
    otherwise: Finding = NOTHING  # with the printed rule for the frequencies, if that changes the finding
    short: str = ""

    @property
    def verdict(self) -> str:
        return self.finding.verdict

    @property
    def ours(self) -> str:
        return self.finding.ours or NONE


@dataclass(frozen=True)
class PaperTables(View):
    """The printed errors as if they had been measured: do the paper's sentences follow from its tables?"""

    suite: str = ""

    def error(self, problem: str, method: str, recipe: str, **options: Any) -> Summary | None:
        value = _printed_errors(self.suite).get(configuration_key(problem, method, recipe, options))
        return None if value is None else Summary((value,))


@cache
def _printed_errors(suite: str) -> dict[Configured, float]:
    """Where tables contradict each other, the suite's own table wins, then the comparisons of all methods."""
    found: dict[Configured, float] = {}
    for table in sorted(tables(), key=lambda table: (table.suite != suite, table.label not in ERRORS)):
        for cell in table.cells if table.quantity == "l2re" else ():
            key = configuration_key(cell.problem, cell.method, cell.recipe or "", cell.options)
            found.setdefault(key, math.inf if cell.value is None else cell.value)
    return found


def ledger(results: Evidence) -> list[Entry]:
    """All entries: measured ones first, and each part in the paper's order."""
    entries = [*_sentences(results), *_errors(results)]
    return sorted(entries, key=lambda entry: (entry.verdict in (TOO_FEW, UNMEASURED), not entry.finding.ours))


def _errors(results: Evidence) -> Iterator[Entry]:
    """The printed errors themselves, SAFE-NET's and the baselines'."""
    rule = f"As printed is the median over the seeds {ALIKE}. {SHARES}"
    for table in tables():
        if table.label not in ERRORS:
            continue
        for whose, ours in (("SAFE-NET's errors", True), ("The baselines' errors", False)):
            # At another scale, the two are not comparable.
            finding = _judged(results.at(PAPER), partial(_agreement, table, ours=ours))
            name = f"errors-{table.suite}-{'safe-net' if ours else 'baselines'}"
            text = f"{whose} as printed ({table.title[0].lower()}{table.title[1:]})."
            printed_k = View(results, PAPER, PRINTED_K)
            other = _judged(printed_k, partial(_agreement, table, ours=ours))
            yield Entry(
                *(name, table.label, text, rule, finding, f"safenet bench {table.suite} --out DIR"),
                otherwise=_differing(other, finding),
                short=f"{whose if ours else whose.lower()} are as printed ({table.title})",
            )


def _agreement(table: Table, view: View, ours: bool) -> Finding:
    cells = [c for c in table.cells if (c.method == OURS) == ours and compared(c.problem)]
    pairs = [
        (found, cell.value)
        for cell in cells
        if (found := view.median(cell.problem, cell.method, cell.recipe or "", **cell.options)) is not None
    ]
    if not pairs:
        return NOTHING
    alike = sum(same(*pair) for pair in pairs)
    ahead = sum(better(*pair) for pair in pairs)
    words = f"{alike} of {len(pairs)} as printed, {ahead} better, {len(pairs) - alike - ahead} worse"
    return Finding(words, by_share(alike, len(pairs)), len(pairs), len(cells), "cells")


def _sentences(results: Evidence) -> Iterator[Entry]:
    for claim in claims():
        judge = JUDGES[claim.name]
        finding, scale = _found(results, partial(judge.measure, claim))
        theirs = PaperTables(Evidence([]), PAPER, suite=claim.suite)
        printed = NOTHING if claim.name in COMPUTED else judge.measure(claim, theirs)
        command = COMPUTED.get(claim.name, f"safenet bench {claim.suite} --out DIR")
        printed_k = View(results, PAPER, PRINTED_K)
        other = NOTHING if scale else _judged(printed_k, partial(judge.measure, claim))
        told = claim.name, claim.label, claim.text, judge.rule, finding, command, scale, printed
        yield Entry(*told, _differing(other, finding), claim.short)


def _judged(view: View, measure: Callable[[View], Finding]) -> Finding:
    """The finding, limited by its rows and by its verdict for each seed alone; `seeds` is the fewest of any cell."""
    finding = measure(view).limited
    if finding.verdict not in (TOO_FEW, UNMEASURED) and max(view.seeds, default=1) > 1:
        finding = finding.steady(
            [measure(replace(view, seed=s, seeds=[])).limited.verdict for s in range(SEEDS)]
        )
    return replace(finding, seeds=min(view.seeds, default=0))


def _differing(other: Finding, finding: Finding) -> Finding:
    return NOTHING if other == finding else other


def _found(results: Evidence, measure: Callable[[View], Finding]) -> tuple[Finding, Scale | None]:
    """The finding at the paper's scale; else, without a verdict, at another scale."""
    finding = _judged(results.at(PAPER), measure)
    if finding.ours:
        return finding, None
    for scale in results.scales():
        other = measure(results.at(scale)).limited
        if other.ours:
            return replace(other, verdict=UNMEASURED), scale
    return NOTHING, None

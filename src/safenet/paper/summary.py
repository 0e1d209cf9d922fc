"""What came out, in three sentences: the claims, the printed errors, and who is ahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..report.sheets import Sheet
from .judging import Entry
from .verdicts import NOT, PARTLY, REPRODUCED, TOO_FEW, UNMEASURED


def sentences(entries: Sequence[Entry], sheets: Sequence[Sheet]) -> list[str]:
    """Only what the rows say; a sentence without rows is left out."""
    return [text for text in (_claims(entries), _printed(sheets), _ahead(sheets)) if text]


def _claims(entries: Sequence[Entry]) -> str:
    found = Counter(entry.verdict for entry in entries)
    return (
        f"Of the paper's {len(entries)} claims we reproduce {found[REPRODUCED]}, reproduce {found[PARTLY]} partly, and "
        f"do not reproduce {found[NOT]}; {found[TOO_FEW]} have too few runs for a verdict, and {found[UNMEASURED]} "
        "have no runs at the paper's scale."
    )


def _printed(sheets: Sequence[Sheet]) -> str:
    marks = Counter(cell.mark for sheet in sheets for row in sheet.rows for cell in row[1:])
    known = {mark: marks[mark] for mark in ("same", "better", "worse")}
    if not any(known.values()):
        return ""
    return (
        f"We measured {sum(known.values())} of its printed numbers: {known['same']} are within a factor of two, "
        f"{known['better']} are better and {known['worse']} are worse."
    )


def _ahead(sheets: Sequence[Sheet]) -> str:
    """In the first table that has a best cell: whose they are."""
    for sheet in sheets:
        best = Counter(row[0].text for row in sheet.rows for cell in row[1:] if cell.best)
        if not best:
            continue
        (first, count), *_ = best.most_common(1)
        columns = sum(any(row[i].best for row in sheet.rows) for i in range(1, len(sheet.head)))
        return (
            f"In our runs of “{sheet.title}”, {first} has the smallest error in {count} of {columns} columns."
        )
    return ""

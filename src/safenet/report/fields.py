"""Solution fields: the pictures of `safenet plot`, one per problem, from the run folders beside the store."""

from __future__ import annotations

import base64
import io
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from .. import library
from ..bench.naming import setting
from ..bench.store import Row
from ..errors import SafeNetError
from ..solution import load
from .results import Results
from .words import PLAIN, Names

MOST = 6
DPI = 80


@dataclass(frozen=True)
class Picture:
    """A PNG as a data URL."""

    title: str
    url: str


def fields(results: Results, names: Names = PLAIN, first: Collection[str] = ()) -> Iterator[Picture]:
    """For each problem the run with the smallest error; runs of the `first` methods are preferred."""
    for row in _chosen(results, first)[:MOST]:
        folder = results.folder(row)
        assert folder is not None
        stream = io.BytesIO()
        try:
            load(folder).plot().savefig(stream, dpi=DPI, format="png")
        except SafeNetError:
            continue  # an incomplete folder, or one of another version: the row gets no picture
        data = base64.b64encode(stream.getvalue()).decode()
        options = [setting(name, value) for name, value in row.variant.items()]
        how = ", ".join([names.method(row.method or row.solver), *filter(None, [row.recipe]), *options])
        title = f"{names.problem(results.problem(row))}: {how}"
        yield Picture(title, f"data:image/png;base64,{data}")


def _chosen(results: Results, first: Collection[str]) -> list[Row]:
    def order(row: Row) -> tuple[bool, float]:
        return row.method not in first, row.l2re or 0.0

    best: dict[str, Row] = {}
    for row in results.rows:
        if row.l2re is None or results.folder(row) is None:
            continue
        problem = results.problem(row)
        if problem not in best or order(row) < order(best[problem]):
            best[problem] = row
    names = [*library.names(), *best]
    return [best[name] for name in sorted(best, key=names.index)]

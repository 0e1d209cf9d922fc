"""Studies that take minutes. Pages are made of their results: texts between <!-- NAME --> and <!-- end of NAME -->."""

from __future__ import annotations

from collections.abc import Mapping


def written(page: str, found: Mapping[str, str]) -> str:
    """The page with each text put between the markers of its name."""
    for name, text in found.items():
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        before, opened, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            raise ValueError(f"the page has no {begin} … {end}")
        page = f"{before}{begin}\n{text.rstrip()}\n{end}{after}"
    return page
